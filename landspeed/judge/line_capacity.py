"""Capacity of a line over time: what it can send, with the events, traces, buses and buckets that change its rate."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from landspeed.scenario.theory.timing import line_of

if TYPE_CHECKING:
    from landspeed.scenario.plan.direction import Direction
    from landspeed.scenario.plan.plan import Link, Plan

COUNTED_HEADER_BYTES = {"emu": 14}  # beside the IP packet; the simulator counts none


def uncounted_bytes(link: Link, world: str) -> int:
    """Bytes that a packet takes of a line beside what its counters have; of a line that pads they have all."""
    return 0 if link.pads else link.framing_bytes - COUNTED_HEADER_BYTES.get(world, 0)


class LineCapacity:
    """Capacity of a line, counted up from the transfer's start; events and traces change its rate."""

    def __init__(self, plan: Plan, link: Link, *, ahead: bool, until_s: float) -> None:
        direction = link.forward if ahead else link.reverse
        bucket_bps = direction.parameters and direction.parameters.rate_bps
        steps = list(_rates(plan, link.index, direction, "forward" if ahead else "reverse", until_s))
        self.pads = link.pads
        self.framing_bytes = line_of(plan, link, direction, forward=ahead).framing_bytes
        self._times_s = [time_s for time_s, _ in steps]
        self._rates_bps = [
            min(line_of(plan, link, replace(direction, rate_bps=rate), forward=ahead).rate_bps, bucket_bps or rate)
            for _, rate in steps
        ]
        spans = zip(itertools.pairwise(self._times_s), self._rates_bps, strict=False)
        self._sent_bits = list(itertools.accumulate(((end - at) * rate for (at, end), rate in spans), initial=0.0))

    def bits_until(self, time_s: float) -> float:
        """Bits that the line can send from the transfer's start until then."""
        here = max(bisect_right(self._times_s, time_s) - 1, 0)
        return self._sent_bits[here] + (time_s - self._times_s[here]) * self._rates_bps[here]

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
