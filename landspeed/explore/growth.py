"""Growth of a stream's window after a loss, for each congestion control: pure functions of time, in packets.

A path is seen by one of its streams: it has its share of the pipe and of the queue.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from landspeed.scenario.theory.physics import CUBIC_BETA, cubic_k_s, cubic_packets

HTCP_BETA = (0.5, 0.8)  # Leith and Shorten 2004; tcp_htcp.c
HTCP_LINEAR_S = 1.0  # for so long after a loss it grows as Reno does
HTCP_SCALE = (0.5, 10.0)  # tcp_htcp.c: the growth is scaled by 100 ms / RTT within these
HTCP_SHORT_S = 0.01  # … and below this RTT half of the window is given up, whatever the queue
CUBIC_FRIENDLY = 3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA)  # packets in each RTT, RFC 9438 section 4.3


@dataclass(frozen=True, slots=True)
class Share:
    """A stream's share of the path.

    Attributes:
        rtt_s: with an empty queue.
        pipe: packets that are on the way when the line is full and the queue empty: the BDP.
        brim: packets on the way at which the queue drops: the pipe and what the discipline lets stand in the queue.
        cap: packets of the receiver's window.
        spacing: packets from one random loss to the next; infinite without.
    """

    rtt_s: float
    pipe: float
    brim: float
    cap: float
    spacing: float


def additive(share: Share, floor: float, slope: float, since_s: float) -> float:
    """`slope` packets more in each round trip (RFC 5681 section 3.1), which is longer while a queue stands.

    Above the pipe the round trip is RTT × w / pipe, so w² grows evenly.
    """
    if floor >= share.pipe:
        return math.sqrt(floor * floor + 2 * slope * share.pipe * since_s / share.rtt_s)
    full_s = (share.pipe - floor) * share.rtt_s / slope
    if since_s <= full_s:
        return floor + slope * since_s / share.rtt_s
    return math.sqrt(share.pipe**2 + 2 * slope * share.pipe * (since_s - full_s) / share.rtt_s)


def reno(share: Share, floor: float, _peak: float, since_s: float) -> float:
    """A packet more in each round trip (RFC 5681)."""
    return additive(share, floor, 1.0, since_s)


def cubic(share: Share, floor: float, peak: float, since_s: float) -> float:
    """C (t − K)³ + peak, never less than the window of its Reno-friendly region (RFC 9438 section 4.2, 4.3).

    Before the first loss, where the floor is the peak, by a twentieth in each round trip at least (tcp_cubic.c).
    """
    if floor >= peak and floor >= share.pipe:
        twentieths = share.pipe / 20 * since_s / share.rtt_s  # the round trip is RTT × w / pipe
        return max(floor + twentieths, cubic_packets(floor, 0.0, since_s))
    origin = max(peak, floor)
    growth = cubic_packets(origin, cubic_k_s(origin, floor), since_s)
    return max(growth, additive(share, floor, CUBIC_FRIENDLY, since_s))


def htcp(share: Share, floor: float, peak: float, since_s: float) -> float:
    """∫ α / RTT with α = 2 (1 − β) (1 + 10 (t − 1) + ((t − 1) / 2)²) after the first second (Leith and Shorten 2004).

    Linux divides what is above by 100 ms / RTT, between 0.5 and 10, but never grows less than Reno (tcp_htcp.c).
    """
    beta = min(max(floor / peak, HTCP_BETA[0]), HTCP_BETA[1]) if peak else HTCP_BETA[0]
    scale = min(max(0.1 / share.rtt_s, HTCP_SCALE[0]), HTCP_SCALE[1])
    # As long as the scaled growth is below that of Reno, that of Reno holds.
    late_s = HTCP_LINEAR_S + (2 * (math.sqrt(100 + scale - 1) - 10) if scale > 1 else 0.0)
    if scale <= 1:
        grown = _htcp_integral(since_s) / scale
    elif since_s <= late_s:
        grown = since_s
    else:
        grown = late_s + (_htcp_integral(since_s) - _htcp_integral(late_s)) / scale
    return floor + 2 * (1 - beta) * grown / share.rtt_s


def _htcp_integral(since_s: float) -> float:
    later = since_s - HTCP_LINEAR_S
    return since_s if later <= 0 else since_s + 5 * later**2 + later**3 / 12


GROWTHS = {"reno": reno, "cubic": cubic, "htcp": htcp}


def keeps(control: str, share: Share, before: float) -> float:
    """The part of the window that a loss leaves: β."""
    if control == "cubic":
        return CUBIC_BETA
    if control == "htcp" and share.rtt_s > HTCP_SHORT_S:
        shortest_over_longest = min(1.0, share.pipe / before)
        return min(max(shortest_over_longest, HTCP_BETA[0]), HTCP_BETA[1])
    return 0.5
