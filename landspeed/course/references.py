"""Citations of the lessons: RFCs by number, and phrases with the years of works, systems and events.

A number in a citation is no figure: it is right if the citation stands here.
"""

from __future__ import annotations

RFCS = {
    1323: "TCP Extensions for High Performance",
    2615: "PPP over SONET/SDH",
    2018: "TCP Selective Acknowledgment Options",
    2883: "An Extension to the SACK Option (DSACK)",
    3168: "The Addition of Explicit Congestion Notification to IP",
    3449: "TCP Performance Implications of Network Path Asymmetry",
    3540: "Robust ECN Signaling with Nonces",
    5681: "TCP Congestion Control",
    6298: "Computing TCP's Retransmission Timer",
    6356: "Coupled Congestion Control for Multipath Transport Protocols",
    6582: "The NewReno Modification to TCP's Fast Recovery Algorithm",
    6928: "Increasing TCP's Initial Window",
    7323: "TCP Extensions for High Performance",
    8257: "Data Center TCP (DCTCP)",
    8289: "Controlled Delay Active Queue Management (CoDel)",
    8290: "The Flow Queue CoDel Packet Scheduler and Active Queue Management Algorithm",
    8446: "The Transport Layer Security (TLS) Protocol Version 1.3",
    8684: "TCP Extensions for Multipath Operation with Multiple Addresses",
    8985: "The RACK-TLP Loss Detection Algorithm for TCP",
    9000: "QUIC: A UDP-Based Multiplexed and Secure Transport",
    9293: "Transmission Control Protocol",
    9330: "Low Latency, Low Loss, and Scalable Throughput (L4S): Architecture",
    9332: "Dual-Queue Coupled Active Queue Management for L4S",
    9406: "HyStart++: Modified Slow Start for TCP",
    9438: "CUBIC for Fast and Long-Distance Networks",
}
WORKS = (
    "Alizadeh et al. 2010",
    "BBR (2016)",
    "Appenzeller, Keslassy and McKeown 2004",
    "Chiu and Jain 1989",
    "Ha and Rhee 2011",
    "McKenney 1990",
    "Mathis, Semke, Mahdavi and Ott 1997",
    "Ware et al. 2019",
    "RFC 1323, 1992",
    "RFC 9438 section 5.1",
    "Reno (1988, RFC 5681), HTCP (2004), CUBIC (2008, RFC 9438) and BBR (2016)",
    "Reno of 1990",
    "the year 2000",
    "the record of 2004",
    "25 June 2004",
    "Linux (since 2.4 for senders, 2.6 for receivers)",
    "Linux has it since 6.17, and the usual kernel of this course is 6.12",
)
