"""BBR's own probing: what a run near a limit lost to its looks at the round trip.

Every ten seconds BBR keeps four packets in flight for 200 ms and a round trip, to see the path without a queue
(ProbeRTT: Cardwell et al., BBR: Congestion-Based Congestion Control, ACM Queue 14, 2016; bbr_cwnd_min_target in
net/ipv4/tcp_bbr.c). Between these looks it runs at what it has found the path to carry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from landspeed.results.samples_reader import Samples

CONTROL = "bbr"
PROBE_PACKETS = 4  # the window of a look
STARTUP_GROWTH, STARTUP_ROUNDS = 1.25, 3
LEAST_SHARE = 0.5  # of the time is left between the looks, or nothing is known of it


class Startup:
    """BBR's slow start, by its own rule: it ends when three rounds in a row bring less than a quarter more.

    bbr_full_bw_thresh and bbr_full_bw_cnt in net/ipv4/tcp_bbr.c.
    """

    def __init__(self) -> None:
        """Begin with nothing delivered."""
        self._most, self._same = 0.0, 0

    def goes_on(self, rate: float) -> bool:
        """Return whether it goes on.

        Args:
            rate: at which data was acknowledged in a round trip or longer, in any unit.
        """
        grown = self._same < STARTUP_ROUNDS and rate >= STARTUP_GROWTH * self._most and rate > 0
        self._most, self._same = (rate, 0) if grown else (self._most, self._same + (self._most > 0))
        return self._same < STARTUP_ROUNDS


@dataclass(frozen=True)
class ProbePhases:
    """Bandwidth probing by BBR as the samples show it.

    Attributes:
        looks: how often a stream had the window of one.
        share: of the time that the looks took, each with the round trips before and after it (0…1).
        between_bps: goodput in the rest of the time.
    """

    looks: int
    share: float
    between_bps: float


def probing(samples: Samples, from_s: float, rtt_s: float) -> ProbePhases | None:
    """Measure BBR's probing from a time on; None if no sample shows it, or too little time is left between."""
    curves = samples.curves
    if curves is None or curves.end_s <= from_s:
        return None
    found: list[tuple[float, float]] = []
    for points in samples.by_stream("sender", "cwnd_packets").values():
        found += _looks(points, from_s, curves.end_s, rtt_s)
    spans = _merged(found)
    taken = sum(end - begin for begin, end in spans)
    left_s = curves.end_s - from_s - taken
    if not found or left_s < LEAST_SHARE * (curves.end_s - from_s):
        return None
    moved = curves.bytes_at(curves.end_s) - curves.bytes_at(from_s)
    moved -= sum(curves.bytes_at(end) - curves.bytes_at(begin) for begin, end in spans)
    return ProbePhases(len(found), taken / (curves.end_s - from_s), moved * 8 / left_s)


def _looks(
    points: Iterable[tuple[float, float]], from_s: float, end_s: float, rtt_s: float
) -> list[tuple[float, float]]:
    """Spans of time in which the receiver feels a stream's probing.

    A look at the RTT began after the sample before it, and had ended by the one after it. It takes a round trip until
    the path is as full as before, and half of one until the receiver sees it.
    """
    found: list[tuple[float, float]] = []
    before_s, begin_s = 0.0, None
    for time_s, window in points:
        looks = 0 < window <= PROBE_PACKETS
        if looks and begin_s is None:
            begin_s = before_s
        elif not looks and begin_s is not None:
            found.append((begin_s, time_s + 2 * rtt_s))
            begin_s = None
        before_s = time_s
    if begin_s is not None:
        found.append((begin_s, end_s))
    return [(max(begin, from_s), min(end, end_s)) for begin, end in found if end > from_s and begin < end_s]


def _merged(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found
