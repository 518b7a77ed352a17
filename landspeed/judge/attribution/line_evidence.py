"""Evidence from the lines of a flow's path, over time: which was full, what was dropped and marked, when it was cut."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from landspeed.base.limits import FULL_LINE_SHARE, OWN_LINE_SHARE, QUEUED_SHARE
from landspeed.judge.line_capacity import LineCapacity, uncounted_bytes
from landspeed.scenario.theory.timing import line_of, node_of, path_mtu

if TYPE_CHECKING:
    from landspeed.results.samples_reader import Samples
    from landspeed.scenario.plan.plan import Plan

COLUMNS = ("bytes", "packets", "drops", "marks", "backlog_bytes")


@dataclass
class _Line:
    """A direction of a link: its counters over time, and what it can send."""

    capacity: LineCapacity
    times_s: list[float]
    bits: list[float]
    drops: list[int]
    marks: list[int]
    backlog: list[int]
    _until: tuple[float, float, float] = field(
        default=(math.nan, 0.0, 0.0), init=False
    )  # the last answer of `_bits_until`

    def __post_init__(self) -> None:
        self.most_waiting = max(self.backlog, default=0)

    def at(self, values: list[float] | list[int], time_s: float) -> float:
        """A counter at a time, between samples by interpolation."""
        after = bisect_right(self.times_s, time_s)
        if after == 0:
            return values[0] if values else 0.0
        if after == len(values):
            return values[-1]
        t0, t1 = self.times_s[after - 1], self.times_s[after]
        return values[after - 1] + (values[after] - values[after - 1]) * (time_s - t0) / (t1 - t0)

    def used(self, begin_s: float, end_s: float) -> float:
        """Share of what the line could send in a time that it sent."""
        _, could_before, sent_before = self._bits_until(begin_s)  # mostly the end of the time before
        _, could_then, sent_then = self._bits_until(end_s)
        could = could_then - could_before
        return (sent_then - sent_before) / could if could > 0 else 0.0

    def _bits_until(self, time_s: float) -> tuple[float, float, float]:
        """The time, and bits until then: what the line could send, and what it sent."""
        if self._until[0] != time_s:
            self._until = time_s, self.capacity.bits_until(time_s), self.at(self.bits, time_s)
        return self._until

    def waiting(self, begin_s: float, end_s: float) -> float:
        """Bytes that waited, mean of the samples of a time, or at the last one before its end."""
        first, after = (bisect_right(self.times_s, at + 1e-9) for at in (begin_s, end_s))
        seen = self.backlog[first:after] or self.backlog[max(after - 1, 0) : after]
        return sum(seen) / len(seen) if seen else 0.0


class LineEvidence:
    """The lines of the path of one flow."""

    def __init__(self, plan: Plan, world: str, samples: Samples) -> None:
        """Read the samples of the links.

        Args:
            plan: of the path: the flow's links, in order.
            world: whose counters they are.
            samples: of the flow, links numbered along its path.
        """
        self._plan = plan
        self._lines: dict[str, dict[int, _Line]] = {"forward": {}, "reverse": {}}
        lanes = list(samples.lanes(*COLUMNS))
        end_s = max((times_ns[-1] / 1e9 for _, times_ns, _ in lanes), default=0.0)
        for (index, way), times_ns, (sent, packets, *others) in lanes:
            link = plan.links[index]
            framing = uncounted_bytes(link, world)
            self._lines[way][index] = _Line(
                LineCapacity(plan, link, ahead=way == "forward", until_s=end_s),
                [time_ns / 1e9 for time_ns in times_ns],
                [8.0 * (count + each * framing) for count, each in zip(sent, packets, strict=True)],
                *([count or 0 for count in counts] for counts in others),
            )
        self.by_bus = [line_of(plan, link, link.forward, forward=True).name.startswith("bus") for link in plan.links]
        source = node_of(plan, plan.flows[0].source if plan.flows else plan.nodes[0].name)
        self._mtu_bytes = path_mtu(plan)
        self._bus_bps = source.bus_rate_bps
        self.cuts = [
            (event.at_ns / 1e9, (event.at_ns + (event.duration_ns or 0)) / 1e9)
            for event in plan.events
            if event.kind == "down" or (event.kind == "loss" and event.probability == 1.0)
        ]

    @property
    def uncounted(self) -> bool:
        """True where nobody counted what the lines sent."""
        return not any(self._lines.values())

    def full_line(
        self,
        way: str,
        begin_s: float,
        end_s: float,
        in_flight_bytes: int | None = None,
        *,
        full: float = FULL_LINE_SHARE,
        shared: Set[int] = frozenset(),
    ) -> int | None:
        """The fullest link of those that were full in a time: busy all of it, or with enough waiting.

        A slower line before one that others use, too, is seldom quite full then: it goes before, nearly full.

        Args:
            way: "forward" or "reverse".
            begin_s, end_s: the time.
            in_flight_bytes: of the stream; None: only lines that were busy all the time count.
            full: share of a line's capacity that counts as all the time.
            shared: links that others' data passed meanwhile.
        """
        lines = self._lines[way]
        used = {index: line.used(begin_s, end_s) for index, line in lines.items()}
        fullest = sorted(used, key=lambda index: -used[index])
        queued = in_flight_bytes and QUEUED_SHARE * in_flight_bytes
        for index in fullest:
            line = lines[index]
            if used[index] >= full or (queued and line.most_waiting >= queued <= line.waiting(begin_s, end_s)):
                own = (each for each in fullest if each not in shared and used[each] >= OWN_LINE_SHARE)
                return next(own, index) if index in shared else index
        return None

    def source_full(self, begin_s: float, end_s: float) -> bool:
        """Return whether the sender's bus was full in a time: of IP packets alone."""
        line = self._lines["forward"].get(0)
        if line is None or self._bus_bps is None:
            return False
        sent = line.at(line.bits, end_s) - line.at(line.bits, begin_s)
        bare = self._mtu_bytes / self._plan.links[0].line_bytes(self._mtu_bytes)
        return sent * bare >= FULL_LINE_SHARE * self._bus_bps * (end_s - begin_s)

    def grown(self, counter: str, begin_s: float, end_s: float, links: set[int] | None = None) -> float:
        """Growth of "drops" or "marks" of the way there in a time, of all links or some."""
        found = 0.0
        for index, line in self._lines["forward"].items():
            if links is None or index in links:
                values = getattr(line, counter)
                found += line.at(values, end_s) - line.at(values, begin_s)
        return found

    def cut(self, begin_s: float, end_s: float) -> bool:
        """Return whether an event cut the path for half of a time or more, there or back."""
        lost_s = sum(max(0.0, min(end, end_s) - max(begin, begin_s)) for begin, end in self.cuts)
        return lost_s >= 0.5 * (end_s - begin_s)
