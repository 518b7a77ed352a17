"""Datagrams: what a flow of UDP sends, and what a path lets through of it. Sizes are of IP packets unless they say so.

A sender that heeds nobody sends at its rate. Where a line is slower its queue fills, and then of all that comes the
share 1 - line / rate is dropped.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from landspeed.scenario.theory.physics import IP_HEADER

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Transfer

UDP_HEADER = 8  # RFC 768
LEAST_PAYLOAD = 40  # number, time and seal of a datagram (engine/src/probe/datagram.h)
RTP_HEADER = 12  # RFC 3550 section 5.1
CALL_SPEECH_BYTES, CALL_PACKETS_PER_S = {"g711": 160}, 50  # RFC 3551: 8000 B/s, of 20 ms each


def payload_bytes(packet_bytes: int, ip_version: int) -> int:
    """Payload of a datagram in an IP packet of that size."""
    return packet_bytes - IP_HEADER[ip_version] - UDP_HEADER


def call_packet_bytes(call: str, ip_version: int) -> int:
    """IP packet of a call: speech behind RTP and UDP. G.711 over IPv4: 200 B."""
    return CALL_SPEECH_BYTES[call] + RTP_HEADER + UDP_HEADER + IP_HEADER[ip_version]


def payload_rate_bps(transfer: Transfer, ip_version: int) -> int:
    """Bits of payload per second while it sends, rounded down: what the sending programs of both worlds go by."""
    assert transfer.rate_bps is not None
    assert transfer.packet_bytes is not None
    return transfer.rate_bps * payload_bytes(transfer.packet_bytes, ip_version) // transfer.packet_bytes


def active_share(transfer: Transfer) -> float:
    """Share of the time in which it sends."""
    if not transfer.active_ns or not transfer.idle_ns:
        return 1.0
    turns, rest_ns = divmod(transfer.duration_ns or 0, transfer.active_ns + transfer.idle_ns)
    sends_ns = turns * transfer.active_ns + min(rest_ns, transfer.active_ns)
    return sends_ns / transfer.duration_ns if transfer.duration_ns else 1.0


def datagrams_sent(transfer: Transfer, ip_version: int) -> int:
    """Count of the datagrams of a flow: as many as have their time within it."""
    assert transfer.packet_bytes is not None
    bits, rate_bps = 8 * payload_bytes(transfer.packet_bytes, ip_version), payload_rate_bps(transfer, ip_version)

    def within(span_ns: int) -> int:
        return math.ceil(span_ns * rate_bps / (bits * 10**9)) if span_ns > 0 else 0

    whole_ns = transfer.duration_ns or 0
    if not transfer.active_ns or not transfer.idle_ns:
        return within(whole_ns)
    turns, rest_ns = divmod(whole_ns, transfer.active_ns + transfer.idle_ns)
    return turns * within(transfer.active_ns) + within(min(rest_ns, transfer.active_ns))
