"""The physics of a path, each formula once, with its source. Units are in the names; rates are bits per second.

Words: line rate = bits on the line, framing included; throughput = IP packets; goodput = payload over time.
"""

# The guest imports this: dataclasses and typing are guest/stdlib_stand_ins there.
from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

ETHERNET_FRAMING = 38  # IEEE 802.3: preamble and start 8, header 14, FCS 4, gap 12
POS_FRAMING = 9  # RFC 2615, 1662: flag 1, address 1, control 1, protocol 2, FCS 4
FRAMING_BYTES = {
    "ethernet": ETHERNET_FRAMING,
    "pos": POS_FRAMING,
    # By the words of tc-cake(8), which says what each is made of; how they are cut: `CELLS`; the least: `LEAST_BYTES`.
    "ipoa-vcmux": 8,
    "ipoa-llcsnap": 16,
    "bridged-vcmux": 24,
    "bridged-llcsnap": 32,
    "pppoa-vcmux": 10,
    "pppoa-llc": 14,
    "pppoe-vcmux": 32,
    "pppoe-llcsnap": 40,
    "conservative": 48,
    "pppoe-ptm": 30,
    "bridged-ptm": 22,
    "docsis": 18,
    "vlan": ETHERNET_FRAMING + 4,  # IEEE 802.1Q: tag 4
    "qinq": ETHERNET_FRAMING + 8,  # IEEE 802.1ad: two tags
    "mpls": ETHERNET_FRAMING + 4,  # RFC 3032: a label
    "pppoe": ETHERNET_FRAMING + 8,  # RFC 2516: PPPoE 6, PPP 2
    "gre": ETHERNET_FRAMING + 24,  # RFC 2784: IPv4 20, GRE 4
    "vxlan": ETHERNET_FRAMING + 50,  # RFC 7348: IPv4 20, UDP 8, VXLAN 8, inner Ethernet 14
    "wireguard": ETHERNET_FRAMING + 60,  # IPv4 20, UDP 8, header 16, tag 16; a packet below the MTU has up to 15 more
    "ipsec": ETHERNET_FRAMING + 54,  # RFC 4303, 4106: IPv4 20, ESP 8, IV 8, trailer 2, tag 16; up to 3 of padding more
}
CELLS: dict[str, Literal["atm", "ptm"]] = {
    **dict.fromkeys(("ipoa-vcmux", "ipoa-llcsnap", "bridged-vcmux", "bridged-llcsnap", "pppoa-vcmux"), "atm"),
    **dict.fromkeys(("pppoa-llc", "pppoe-vcmux", "pppoe-llcsnap", "conservative"), "atm"),
    **dict.fromkeys(("pppoe-ptm", "bridged-ptm"), "ptm"),
}
"""How the framings of DSL cut packets: cells of ATM, or blocks of PTM."""
LEAST_BYTES = {"docsis": 64}  # tc-cake(8): mpu 64
INSIDE_BYTES = {
    "pppoe": 8, "gre": 24, "vxlan": 50, "wireguard": 60, "ipsec": 54,
    "pppoe-vcmux": 8, "pppoe-llcsnap": 8, "pppoe-ptm": 8,
}  # fmt: skip
"""What tunnels put into the payload of a frame beside the packet, so that its MTU is so much smaller."""
IP_HEADER = {4: 20, 6: 40}  # RFC 791, RFC 8200
TCP_HEADER = 20  # RFC 9293
TCP_TIMESTAMPS = 12  # RFC 7323: 10 and two of padding
# MPTCP's data sequence signal in each packet of data: kind, length and flags 4, acknowledgment of 64 bits 8, number of
# 64 bits 8, subflow's number 4, length 2, and two of padding (RFC 8684 section 3.3).
TCP_DATA_SEQUENCE = 28
INITIAL_WINDOW_PACKETS = 10  # RFC 6928
MAX_TCP_WINDOW = 65535 << 14  # RFC 7323 section 2.3
CUBIC_C, CUBIC_BETA = 0.4, 0.7  # RFC 9438 section 4.1, 4.6
SUPER_PACKET_BYTES = 180_000  # what the emulated world lets a GSO packet grow to (worlds/emu/guest/network/offloads.py)
# RED as tc(8) sets it up when it is told no more than the limit (tc-red(8)): what every world takes. Not gentle: above
# the upper threshold everything is dropped. ECN-capable packets are marked instead.
RED_MAX_PROBABILITY = 0.02
RED_WEIGHT_LOG = 9  # the average moves by 1/512 of the difference at each packet (Floyd and Jacobson 1993: 0.002)
CODEL_TARGET_NS, CODEL_INTERVAL_NS = 5_000_000, 100_000_000  # RFC 8289 section 4.2, 4.3
PIE_TARGET_NS, PIE_UPDATE_NS = 15_000_000, 15_000_000  # RFC 8033 section 4.2, 4.3
PIE_ALPHA, PIE_BETA = 2, 20  # in 1/16: 0.125 and 1.25 (RFC 8033 section 4.2)
DUALPI2_TARGET_NS, DUALPI2_UPDATE_NS = 15_000_000, 16_000_000  # RFC 9332 appendix A.1
DUALPI2_ALPHA, DUALPI2_BETA = 41, 819  # in 1/256 Hz: 0.16 and 3.2 Hz (RFC 9332 appendix A.1)
DUALPI2_STEP_NS = 1_000_000  # RFC 9332 appendix A.1
FQ_CODEL_FLOWS = 1024  # RFC 8290 section 4.2
GRO_BYTES = 65_536  # what Linux joins at most (net/core/gro.c)
# How long a busy line of the emulated world may hold packets for the next ones (patch 0011,
# worlds/emu/guest/shaping/interrupt_moderation.py).
MODERATION_NS, MODERATION_SHARE = 64_000, 1 / 2048

# Linux: SO_RCVBUF is doubled when set (socket(7)), and the window offered is the buffer times the share of payload in
# what an skb is charged for, in 256ths. SKB_OVERHEAD is that charge beside the payload of one packet (its head of a
# kilobyte, and the descriptor), as runs of many MTUs show it. The share is measured at the first packet larger than
# 536 bytes, and is a half before it (tcp_measure_rcv_mss, TCP_DEFAULT_SCALING_RATIO; Linux 6.5 and later).
LINUX_BUFFER_FACTOR = 2
SKB_OVERHEAD_BYTES = 1344
PAYLOAD_SHARE_STEPS = 256
LEAST_MEASURED_BYTES = 536


def mss_bytes(mtu: int, ip_version: int, *, mptcp: bool = False) -> int:
    """Payload of a full packet: MTU − IP header − 20 TCP − 12 timestamps (RFC 9293, RFC 7323) − 28 with MPTCP."""
    return mtu - IP_HEADER[ip_version] - TCP_HEADER - TCP_TIMESTAMPS - (TCP_DATA_SEQUENCE if mptcp else 0)


def ack_bytes(ip_version: int) -> int:
    """A bare acknowledgment: IP header + 20 TCP + 12 timestamps."""
    return IP_HEADER[ip_version] + TCP_HEADER + TCP_TIMESTAMPS


def bytes_per_ack(mss: int, fidelity: str, *, rate_bps: int, joined_ns: int = 0) -> int:
    """Payload that an acknowledgment stands for: two full packets (RFC 1122 section 4.2.3.2, RFC 5681 section 4.2).

    A receiving host that joins packets (GRO) acknowledges what it has joined at once: what comes in `joined_ns`, 64 KB
    at most. A super-packet, of the millisecond of the rate that Linux puts into one (tcp_tso_autosize), is one, too.
    """
    if fidelity == "super-packets":
        return max(2 * mss, min(SUPER_PACKET_BYTES, rate_bps // (8 * 1000)))
    return max(2 * mss, min(GRO_BYTES, rate_bps * joined_ns // (8 * 10**9)))


def ack_limit_bps(back_rate_bps: int, framing_bytes: int, ip_version: int, acked_bytes: int) -> int:
    """Goodput at which bare acknowledgments fill a line of the way back: line rate / ACK × payload for each.

    2 Mbit/s of Ethernet, IPv4, two packets of 1448 B: 2778 ACKs of 90 B a second, 64.4 Mbit/s.
    """
    return back_rate_bps * acked_bytes // (ack_bytes(ip_version) + framing_bytes)


def line_rate_limit_bps(
    line_rate_bps: int, mtu: int, framing_bytes: int, ip_version: int, *, mptcp: bool = False
) -> int:
    """Greatest goodput over a line: line rate × MSS / (MTU + framing). GbE, IPv6, 9000 B: 987.8 Mbit/s."""
    return line_rate_bps * mss_bytes(mtu, ip_version, mptcp=mptcp) // (mtu + framing_bytes)


def record_share(protect: str) -> float:
    """The payload's share of full records (1: there are none).

    The engine's have 64 KiB, a head of 8 B and a tag of 16 B (engine/src/protect/protect.h); TLS 1.3's have 16 KiB, a
    head of 5 B, a type of 1 B and a tag of 16 B (RFC 8446 section 5.2).
    """
    payload, beside = {"none": (1, 0), "ktls": (1 << 14, 22)}.get(protect, (1 << 16, 24))
    return payload / (payload + beside)


def bus_limit_bps(bus_rate_bps: int, mtu: int, ip_version: int) -> int:
    """Greatest goodput of a host that moves `bus_rate_bps` of IP packets: rate × MSS / MTU."""
    return bus_rate_bps * mss_bytes(mtu, ip_version) // mtu


def bus_for_goodput_bps(goodput_bps: int, mtu: int, ip_version: int) -> int:
    """The inverse: the bus rate that a recorded goodput corresponds to (a fit, not a prediction)."""
    return math.ceil(goodput_bps * mtu / mss_bytes(mtu, ip_version))


def window_limit_bps(usable_window_bytes: int, streams: int, rtt_ns: int) -> int:
    """Goodput that the window allows: streams × window / RTT (RFC 1323 section 1.1). 150 MB over 276 ms: 4.35 Gbit/s.

    The window is the usable one. Linux makes something else of the figure asked: `linux_usable_window_bytes`.
    """
    return streams * usable_window_bytes * 8 * 10**9 // rtt_ns if rtt_ns else 10**18


def linux_usable_window_bytes(asked_bytes: int, mss: int, fidelity: str) -> int:
    """Window that Linux probably offers for SO_RCVBUF of `asked_bytes`: twice that, times the payload's share.

    It cannot offer more than its window scale lets it say, which it chooses at the SYN from the figure asked:
    65535 · 2^(⌊log2 asked⌋ - 15) (tcp_select_initial_window in net/ipv4/tcp_output.c; RFC 7323). Never more than TCP
    can have. A prediction: the run reads back what was granted; that rules.
    """
    unit = mss if fidelity == "packets" else SUPER_PACKET_BYTES
    share = PAYLOAD_SHARE_STEPS // 2
    if unit > LEAST_MEASURED_BYTES:
        share = PAYLOAD_SHARE_STEPS * unit // (unit + SKB_OVERHEAD_BYTES)
    usable = LINUX_BUFFER_FACTOR * asked_bytes * share // PAYLOAD_SHARE_STEPS
    scale = min(14, max(0, asked_bytes.bit_length() - 16))
    return min(MAX_TCP_WINDOW, 65535 << scale, usable)


def pacing_limit_bps(pacing_bps: int, streams: int) -> int:
    """Goodput of paced streams: Linux spaces them by their payload (tcp_update_skb_after_send, since 4.20)."""
    return streams * pacing_bps


def bdp_bytes(rate_bps: int, rtt_ns: int) -> int:
    """Bandwidth-delay product: rate × RTT / 8. 10 Gbit/s × 264 ms: 330 MB."""
    return rate_bps * rtt_ns // (8 * 10**9)


def bdp_of_routes_bytes(routes: Iterable[tuple[int, int]]) -> int:
    """BDP of all routes of a multipath connection together, which its one window must hold.

    (Rate, RTT) of each: the sum of the rates × the longest RTT, since what overtook a packet of the slowest route waits
    for it (RFC 6182 section 5.3; one window for all subflows: RFC 8684 section 3.3.4).
    """
    rates, rtts = zip(*routes, strict=True)
    return bdp_bytes(sum(rates), max(rtts))


def serialization_ns(packet_bytes: int, framing_bytes: int, rate_bps: int) -> int:
    """Time a packet needs to leave at the line rate; not part of the propagation delay."""
    return math.ceil((packet_bytes + framing_bytes) * 8 * 10**9 / rate_bps)


def slow_start_ns(target_bytes: int, mss: int, rtt_ns: int) -> int:
    """Time until a stream's window has grown from ten packets to `target_bytes`, doubling each RTT (RFC 5681, 6928)."""
    packets = max(1.0, target_bytes / mss)
    return max(0, math.ceil(math.log2(packets / INITIAL_WINDOW_PACKETS)) * rtt_ns) if packets > 1 else 0


def reno_recovery_ns(window_bytes: int, mss: int, rtt_ns: int, *, delayed_ack: bool = False) -> int:
    """Time Reno needs back to window W after one loss: W/2 round trips, one packet each (RFC 5681).

    With delayed ACKs counted as one each: W round trips. Linux counts what an ACK covers, so W/2 is its figure.
    """
    return round(window_bytes / mss * (1.0 if delayed_ack else 0.5) * rtt_ns)


def cubic_recovery_ns(window_bytes: int, mss: int) -> int:
    """Time CUBIC needs back to window W after one loss: K = (W (1 − β) / C)^(1/3) seconds (RFC 9438 section 4.2)."""
    window = window_bytes / mss
    return round(cubic_k_s(window, CUBIC_BETA * window) * 10**9)


def cubic_k_s(origin_packets: float, window_packets: float) -> float:
    """Time in which CUBIC grows from a window to its origin: ((origin − window) / C)^(1/3) (RFC 9438 section 4.2)."""
    return ((origin_packets - window_packets) / CUBIC_C) ** (1 / 3)


def cubic_packets(origin_packets: float, k_s: float, since_s: float) -> float:
    """CUBIC's window: C (t − K)³ + origin (RFC 9438 section 4.2)."""
    return CUBIC_C * (since_s - k_s) ** 3 + origin_packets


def square_root_law_bps(mss: int, rtt_ns: int, loss: float) -> int:
    """Loss-limited goodput of a Reno stream: MSS/RTT × sqrt(3/2)/sqrt(p) (Mathis et al. 1997)."""
    return round(mss * 8 / (rtt_ns / 1e9) * math.sqrt(1.5) / math.sqrt(loss)) if loss > 0 and rtt_ns else 10**18


def red_weight_log(max_bytes: int) -> int:
    """RED's weight as a power of two. Linux keeps the average in 32 bits: above 4 MB it must be heavier.

    From 1 GB on it is 0: the average is the queue itself.
    """
    return max(0, min(RED_WEIGHT_LOG, 31 - max_bytes.bit_length()))


def red_thresholds_bytes(queue_bytes: int) -> tuple[int, int]:
    """Average queues at which RED begins to drop and at which it drops everything: 1/12 and 1/4 of the queue."""
    return queue_bytes // 12, queue_bytes // 4


def score_bit_m_per_s(goodput_bps: int, distance_m: int) -> int:
    """Land Speed Record: goodput × terrestrial distance, bit·m/s (rules of the Internet2 LSR)."""
    return goodput_bps * distance_m


def packets_needed(rate_bps: int, delay_ns: int, queue_bytes: int, mtu: int, framing_bytes: int) -> int:
    """Full packets that are on a line of this delay and in its queue: the least that a packet limit must hold."""
    in_flight = math.ceil(rate_bps * delay_ns / (8 * 10**9) / (mtu + framing_bytes))
    return in_flight + math.ceil(queue_bytes / mtu) + 1
