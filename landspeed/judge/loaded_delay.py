"""Delay under load: the round trip that TCP measured while it filled the path, and the wait in each queue.

Both are of the settled part of a transfer: from its tenth second on, in a shorter one of its second half. A sample
holds until the next one, so each counts by the time that it held, however often anybody looked.

The round trip is that of the streams' samples, which TCP smooths (RFC 6298, `srtt_us`). The wait in a queue is the time
that its line takes to send what stood before it: what a packet that came then waited in a FIFO. A discipline that
serves flows in turn lets a packet of a short flow pass earlier.
"""

from __future__ import annotations

import itertools
import math
import operator
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from landspeed.judge.ack_path import COUNTED_HEADER_BYTES
from landspeed.results.record import QueueDelay
from landspeed.scenario.theory.timing import line_of, packet_mtu

if TYPE_CHECKING:
    from landspeed.results.samples_reader import Samples
    from landspeed.results.series import Series
    from landspeed.scenario.plan.plan import Direction, Link, Plan

STEADY_FROM_S = 10.0
STEADY_LEAST_S = 1.0  # a shorter steady part says nothing
SHARES = (0.5, 0.95, 0.99)
DIGITS = 6  # of ms: beyond a nanosecond there are errors of floating point only


@dataclass(frozen=True)
class Spread:
    """Percentiles of a delay over time, in ms."""

    median_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float


class QueueSample(NamedTuple):
    """Backlog before a line, as one sample has it."""

    time_s: float
    counted_bytes: int  # with the header that the world counts
    packets: int


def settled_s(end_s: float) -> tuple[float, float]:
    """Begin and end of the settled part of a transfer that ended at `end_s`, in s."""
    return STEADY_FROM_S if end_s >= STEADY_FROM_S + STEADY_LEAST_S else end_s / 2, end_s


def loaded_rtt(samples: Samples, span_s: tuple[float, float]) -> Spread | None:
    """The round-trip time of all streams together; None where TCP told none."""
    streams = samples.by_stream("sender", "srtt_us", per=1e3).values()
    told = [[point for point in series if point[1] > 0] for series in streams]
    return _spread([each for series in told for each in _held(series, span_s)])


def queue_delays(plan: Plan, world: str, samples: Samples, span_s: tuple[float, float]) -> list[QueueDelay]:
    """The wait in each queue in which anything stood, in the order of the plan's links, forward first."""
    found: list[QueueDelay] = []
    for (index, way), rows in _waiting(samples).items():
        link, ahead = plan.links[index], way == "forward"
        line = _Capacity(plan, link, ahead=ahead, until_s=span_s[1])
        header = COUNTED_HEADER_BYTES.get(world, 0)
        full = packet_mtu(plan, link) + header
        waits: Series = []
        for time_s, counted, packets in rows:
            each = max(packets, counted / full)  # a super-packet is several on the line
            wait_s = line.takes_s(time_s, 8 * (counted + each * (line.framing_bytes - header)))
            waits += [(time_s, 1e3 * wait_s)] if math.isfinite(wait_s) else []
        spread = _spread(list(_held(waits, span_s)))
        if spread is not None and spread.max_ms > 0:
            source, target = (link.a, link.b) if ahead else (link.b, link.a)
            found.append(QueueDelay(link=index, direction=way, source=source, target=target, **asdict(spread)))
    return found


def _spread(held: Sequence[tuple[float, float]]) -> Spread | None:
    """Percentiles of values, each for the time that it held: the least that is not exceeded for so much of it."""
    ordered = sorted(held)
    until_s = list(itertools.accumulate(for_s for _, for_s in ordered))
    if not ordered:
        return None
    places = (bisect_right(until_s, share * until_s[-1]) for share in SHARES)
    found = [ordered[min(place, len(ordered) - 1)][0] for place in places]
    return Spread(*(round(value, DIGITS) for value in (*found, ordered[-1][0])))


def _held(series: Series, span_s: tuple[float, float]) -> Iterator[tuple[float, float]]:
    """Each value, and for how long of the span it held."""
    begin_s, end_s = span_s
    for (at_s, value), (next_s, _) in itertools.pairwise([*series, (math.inf, 0.0)]):
        for_s = min(next_s, end_s) - max(at_s, begin_s)
        if for_s > 0:
            yield value, for_s


def _waiting(samples: Samples) -> dict[tuple[int, str], list[QueueSample]]:
    """Samples of the queues that were not always empty."""
    columns = ("link", "direction", "time_ns", "backlog_bytes", "backlog_packets")
    rows = samples.rows("links", *columns)
    found: dict[tuple[int, str], list[QueueSample]] = {}
    for key, group in itertools.groupby(rows, operator.itemgetter(0, 1)):
        known = [QueueSample(row[2] / 1e9, row[3], row[4] or 0) for row in group if row[2] >= 0 and row[3] is not None]
        if any(row.counted_bytes for row in known):
            found[key] = known
    return found


class _Capacity:
    """Capacity of a line, counted up from the transfer's start; events and traces change its rate."""

    def __init__(self, plan: Plan, link: Link, *, ahead: bool, until_s: float) -> None:
        direction = link.forward if ahead else link.reverse
        bucket_bps = direction.parameters and direction.parameters.rate_bps
        steps = list(_rates(plan, link.index, direction, "forward" if ahead else "reverse", until_s))
        self.framing_bytes = line_of(plan, link, direction, forward=ahead).framing_bytes
        self._times_s = [time_s for time_s, _ in steps]
        self._rates_bps = [
            min(line_of(plan, link, replace(direction, rate_bps=rate), forward=ahead).rate_bps, bucket_bps or rate)
            for _, rate in steps
        ]
        spans = zip(itertools.pairwise(self._times_s), self._rates_bps, strict=False)
        self._sent_bits = list(itertools.accumulate(((end - at) * rate for (at, end), rate in spans), initial=0.0))

    def takes_s(self, time_s: float, bits: float) -> float:
        """Time to send so many bits, begun at `time_s`; infinite if the line sends no more."""
        here = bisect_right(self._times_s, time_s) - 1
        target = self._sent_bits[here] + (time_s - self._times_s[here]) * self._rates_bps[here] + bits
        there = max(bisect_left(self._sent_bits, target) - 1, here)
        rate, left = self._rates_bps[there], target - self._sent_bits[there]
        if left <= 0:
            return 0.0
        return self._times_s[there] + left / rate - time_s if rate else math.inf


def _rates(plan: Plan, link: int, direction: Direction, way: str, until_s: float) -> Iterator[tuple[float, int]]:
    """List the changes of a line's rate, in s and bit/s: by its trace, and by events, which override it."""
    events = [each for each in plan.events if each.kind == "rate" and each.link == link and way in each.directions]
    traced = [(0, direction.rate_bps)]
    if (trace := direction.trace) is not None and trace.rate_bps is not None:
        passed = itertools.takewhile(lambda step: step[0] < until_s * 1e9, trace.steps())
        traced = [(at_ns, trace.rate_bps[place]) for at_ns, place in passed]
    begins = [at_ns for at_ns, _ in traced]
    changes = {*begins, *(event.at_ns for event in events)}
    changes |= {event.at_ns + event.duration_ns for event in events if event.duration_ns}
    for now_ns in sorted(changes):
        rate = traced[bisect_right(begins, now_ns) - 1][1]
        for event in events:
            if event.at_ns <= now_ns and (event.duration_ns is None or now_ns < event.at_ns + event.duration_ns):
                rate = event.rate_bps or rate
        yield now_ns / 1e9, rate
