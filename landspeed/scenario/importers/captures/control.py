"""Congestion control of a sender, guessed from what it kept in flight; only a capture near the sender shows that.

CUBIC goes back to 0.7 of the window after a loss (RFC 9438), Reno to half (RFC 5681). BBR keeps four packets in flight
for 200 ms every ten seconds, to measure the round trip (draft-cardwell-iccrg-bbr-congestion-control-00), and loses
packets without going back for long.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import pairwise

from landspeed.scenario.importers.captures.connection import SLICE_NS, ConnectionHalf, LossEpisode
from landspeed.scenario.importers.infer_form import Sure

FACTORS = {"cubic": 0.7, "reno": 0.5}
NEAR = 0.06  # of a factor, so that the two do not touch; a window is counted in whole packets
FEWEST_PACKETS = 12  # in flight: of fewer, one packet is as much as the difference
PROBE_PACKETS, PROBE_NS, PERIOD_S = 5, 150_000_000, 10.0
FULL = 4  # times more in flight before and after a probe


def guess_control(ways: Sequence[ConnectionHalf], rtt_ns: int) -> tuple[str, Sure, str] | None:
    """The control, how sure that is, and why; None where nothing tells it.

    Args:
        ways: of the transfer's data, each a connection.
        rtt_ns: of the path without a queue.
    """
    probes = [probe for way in ways for probe in _probes_s(way)]
    if probes:
        gaps = [b - a for way in ways for a, b in pairwise(_probes_s(way))]
        steady = bool(gaps) and all(abs(gap / PERIOD_S - 1) < 0.1 for gap in gaps)
        often = f"{len(probes)} times" if len(probes) > 1 else "once"
        why = f"{often} it kept no more than {PROBE_PACKETS} packets in flight for 0.2 s, as BBR does every 10 s"
        return "bbr", "certain" if steady else "likely", why
    factors = [factor for way in ways for factor in _factors(way, rtt_ns)]
    if not factors:
        return None
    middle = statistics.median(factors)
    word = next((each for each, factor in FACTORS.items() if abs(middle - factor) <= NEAR), None)
    if word is None:
        return None
    near = sum(abs(each - FACTORS[word]) <= NEAR for each in factors)
    count = f"{len(factors)} loss{'es' * (len(factors) > 1)}"
    why = f"after {count} it had {middle:.2f} of the bytes in flight; {word} goes back to {FACTORS[word]:g}"
    return word, "likely" if near >= 3 and near > len(factors) / 2 else "possible", why


def _factors(way: ConnectionHalf, rtt_ns: int) -> list[float]:
    """Data in flight in half a round trip after each loss was mended, by what it was when the loss was seen."""
    found: list[float] = []
    for number, each in enumerate(way.episodes):
        if each.timed_out or not each.end_ns or each.flight < FEWEST_PACKETS * (way.mss or way.largest):
            continue
        begin = each.end_ns // SLICE_NS + 1
        end = begin + max(rtt_ns // 2, SLICE_NS) // SLICE_NS
        following = way.episodes[number + 1] if number + 1 < len(way.episodes) else None
        if following and following.start_ns // SLICE_NS <= end:
            continue
        seen = [way.flights[place] for place in range(begin, end + 1) if place in way.flights]
        if seen:
            found.append(statistics.median(seen) / each.flight)
    return found


def _probes_s(way: ConnectionHalf) -> list[float]:
    """Times at which next to nothing was in flight for a while, although much was before and after."""
    least = PROBE_PACKETS * (way.mss or way.largest)
    slices = sorted(way.flights.items())
    found: list[float] = []
    begin = None
    for number, (place, flight) in enumerate(slices):
        if flight <= least:
            begin = number if begin is None else begin
            continue
        if begin:  # not the start of the transfer
            lasted_ns = (slices[number - 1][0] - slices[begin][0]) * SLICE_NS
            around = slices[max(0, begin - 100) : begin], slices[number : number + 100]
            full = all(max(flight for _, flight in side) >= FULL * least for side in around)
            at_ns = slices[begin][0] * SLICE_NS
            if lasted_ns >= PROBE_NS and full and not _mending(way.episodes, at_ns, place * SLICE_NS):
                found.append(at_ns / 1e9)
        begin = None
    return found


def _mending(episodes: Sequence[LossEpisode], begin_ns: int, end_ns: int) -> bool:
    """Return whether TCP waited for its timer meanwhile."""
    return any(each.timed_out and begin_ns <= each.start_ns <= end_ns for each in episodes)
