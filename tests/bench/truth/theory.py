"""What theory says, as pure functions with their sources: written apart from the package, which has its own.

Seconds, bits per second and bytes; a packet's size is that of the IP packet.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

ETHERNET = 38  # IEEE 802.3: preamble and start 8, header 14, FCS 4, gap 12
IP = {4: 20, 6: 40}  # RFC 791, RFC 8200
ICMP, TCP, TIMESTAMPS, FRAGMENT = 8, 20, 12, {4: 0, 6: 8}  # RFC 792, 9293, 7323; the header of RFC 8200 section 4.5
SYN_OPTIONS = 20  # MSS 4, SACK permitted 2, timestamps 10, window scale 3, one of padding
TRACEROUTE = {4: 60, 6: 80}  # traceroute(8)'s default packet
SIGMAS = 5


@dataclass(frozen=True)
class Lane:
    """One direction of a link."""

    delay_s: float
    rate_bps: float
    framing: int = ETHERNET

    def takes_s(self, size: int) -> float:
        """Time on the line: (bytes + framing) × 8 / rate."""
        return (size + self.framing) * 8 / self.rate_bps


# --- The wire --------------------------------------------------------------------------------------------------------


def arrivals_s(sizes: Sequence[int], lanes: Sequence[Lane]) -> list[float]:
    """When each of some packets, sent at once, is at the far end: store and forward, first in first out."""
    times = [0.0] * len(sizes)
    for lane in lanes:
        free = 0.0
        for place, size in enumerate(sizes):
            free = max(free, times[place]) + lane.takes_s(size)
            times[place] = free + lane.delay_s
    return times


def one_way_s(size: int, lanes: Sequence[Lane]) -> float:
    """Propagation, and a lone packet's time on each line."""
    return arrivals_s([size], lanes)[0]


def echo_sizes(payload: int, ip: int, mtu: int) -> list[int]:
    """The packets of an ICMP echo: one, or its fragments, of which all but the last carry a multiple of 8 bytes."""
    whole = payload + ICMP
    if IP[ip] + whole <= mtu:
        return [IP[ip] + whole]
    header = IP[ip] + FRAGMENT[ip]
    room = (mtu - header) // 8 * 8
    count = math.ceil(whole / room)
    return [header + min(room, whole - place * room) for place in range(count)]


def ping_s(payload: int, ip: int, mtu: int, there: Sequence[Lane], back: Sequence[Lane]) -> float:
    """Round trip of `ping -s PAYLOAD`: the last fragment there, and the answer's last one back (RFC 792)."""
    sizes = echo_sizes(payload, ip, mtu)
    return arrivals_s(sizes, there)[-1] + arrivals_s(sizes, back)[-1]


def hop_s(ip: int, there: Sequence[Lane], back: Sequence[Lane]) -> float:
    """Round trip of a traceroute's packet to a hop: its answer quotes all of it (RFC 1812 section 4.3.2.3, 4443)."""
    size = TRACEROUTE[ip]
    return one_way_s(size, there) + one_way_s(size + IP[ip] + ICMP, back)


def held_packets(queue_bytes: int, size: int, counted: int = 0, most: int = 0) -> int:
    """Packets of a burst that pass a queue: those that fit into it, and the one on the line.

    Args:
        queue_bytes: the queue.
        size: of a packet.
        counted: bytes that the queue counts beside each IP packet.
        most: the largest packet, for which the queue has room beside its own; 0: one of `size`.
    """
    return (queue_bytes + (most or size) + counted) // (size + counted)


def burst_passes(count: int, size: int, gap_s: float, takes_s: float, queue_bytes: int) -> int:
    """Packets of a train that pass a line with a queue: each waits whole, or is dropped where it finds no room."""
    free, waiting, passed = 0.0, list[float](), 0
    for place in range(count):
        now = place * gap_s
        waiting = [start for start in waiting if start > now]
        if free > now and (len(waiting) + 1) * size > queue_bytes:
            continue
        start = max(free, now)
        waiting.append(start)
        free = start + takes_s
        passed += 1
    return passed


def binomial(tries: int, probability: float) -> tuple[float, float]:
    """Mean, and five standard deviations: of a million counts one is further off."""
    return tries * probability, SIGMAS * math.sqrt(tries * probability * (1 - probability))


def uniform_distance(values: Sequence[float], low: float, high: float) -> float:
    """Kolmogorov's distance of values from a uniform distribution."""
    shares = [min(max((value - low) / (high - low), 0.0), 1.0) for value in sorted(values)]
    return max(abs(share - (place + 0.5) / len(shares)) for place, share in enumerate(shares))


def distance_bound(count: int, probability: float = 1e-6) -> float:
    """Which distance is passed with this probability (Dvoretzky, Kiefer, Wolfowitz; Massart 1990)."""
    return math.sqrt(math.log(2 / probability) / 2 / count)


# --- TCP -------------------------------------------------------------------------------------------------------------


def mss(mtu: int, ip: int) -> int:
    """Payload of a full segment with timestamps."""
    return mtu - IP[ip] - TCP - TIMESTAMPS


def handshake_s(ip: int, there: Sequence[Lane], back: Sequence[Lane]) -> float:
    """From the SYN to its answer (RFC 9293 section 3.5)."""
    size = IP[ip] + TCP + SYN_OPTIONS
    return one_way_s(size, there) + one_way_s(size, back)


def slow_start_rounds(initial: int, total: int) -> list[int]:
    """Segments of each round of slow start: twice as many each time (RFC 5681 section 3.1, RFC 6928)."""
    rounds: list[int] = []
    while (left := total - sum(rounds)) > 0:
        rounds.append(min(initial << len(rounds), left))
    return rounds


def reno_growth(window: int, acked: int) -> int:
    """The window when so many segments more are acknowledged in congestion avoidance: one for each window.

    RFC 5681 section 3.1, counted in segments as its formula (2) recommends (RFC 3465: what is acknowledged counts).
    """
    while acked >= window:
        acked -= window
        window += 1
    return window


CUBIC_C, CUBIC_BETA = 0.4, 0.7  # RFC 9438 section 4.1, 4.6


def cubic_k_s(most: float) -> float:
    """Time until the window is what it was before the loss: K = ((1 - β) W_max / C)^(1/3) (RFC 9438 section 4.2)."""
    return (most * (1 - CUBIC_BETA) / CUBIC_C) ** (1 / 3)


def cubic_window(most: float, since_s: float, rtt_s: float) -> float:
    """CUBIC's window after a loss at `most` segments: the larger of its own curve and Reno's friendly one.

    RFC 9438 section 4.2, C (t - K)³ + W_max, and 4.3, β W_max + 3 (1 - β) / (1 + β) t / RTT; which Linux keeps beyond
    W_max too, where the section would have a segment each round trip.
    """
    own = CUBIC_C * (since_s - cubic_k_s(most)) ** 3 + most
    friendly = CUBIC_BETA * most + 3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA) * since_s / rtt_s
    return max(own, friendly)


RTO_FLOOR_S = 0.2  # Linux, net/tcp.h: TCP_RTO_MIN, of the variance's part (RFC 6298 would have 1 s of the whole)


def first_rto_s(rtt_s: float) -> float:
    """The timeout after one round trip: SRTT + max(4 × RTT / 2, floor) (RFC 6298 section 2.2)."""
    return rtt_s + max(2 * rtt_s, RTO_FLOOR_S)


def window_rate_bps(window_bytes: int, segment: int, rtt_s: float) -> float:
    """A window in each round trip, whole segments (RFC 7323 section 1.1)."""
    return window_bytes // segment * segment * 8 / rtt_s


def pacing_gap_s(segment: int, pacing_bps: float) -> float:
    """Between two segments: Linux spaces them by their payload (tcp_update_skb_after_send)."""
    return segment * 8 / pacing_bps


DELAYED_ACK_S = 0.04  # Linux, net/tcp.h: TCP_DELACK_MIN; RFC 1122 section 4.2.3.2: below 0.5 s


def acknowledged_singly(asked_bytes: int, offered_bytes: int, segment: int) -> int:
    """Segments that Linux acknowledges one by one: while each makes the offer grow by two, from what was asked for.

    And 15 more (net/ipv4/tcp_input.c: TCP_MAX_QUICKACKS is 16, and tcp_grow_window sets the lowest bit again).
    """
    return 15 + math.ceil((offered_bytes - asked_bytes) / (2 * segment))


def acknowledgments(segments: int, packet_s: float, singly: int = 0) -> float:
    """Of a stream: one for two segments (RFC 5681 section 4.2), or for each, where the next one comes too late.

    The first `singly` are acknowledged one by one.
    """
    alone = segments if packet_s > DELAYED_ACK_S else min(singly, segments)
    return alone + (segments - alone) / 2
