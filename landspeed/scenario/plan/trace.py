"""A trace as the plan has it. The file it comes from is read by trace_file.py; the guest imports only this."""

# The guest imports this: dataclasses and typing are guest/stdlib_stand_ins there.
from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Changes of a direction over time, since the transfer's start. A list that is None leaves its figure as it is.

    The values of place i hold from `at_ns[i]` on; at `lasts_ns` the trace begins again if it `loops`, and if not, its
    last values hold for good.
    """

    file: str  # as the scenario names it
    at_ns: list[int]  # rising, the first is 0
    lasts_ns: int
    loops: bool
    rate_bps: list[int] | None = None  # framing included; 0: nothing leaves
    delay_ns: list[int] | None = None
    loss: list[float] | None = None  # 0…1

    def steps(self) -> Iterator[tuple[int, int]]:
        """Time and place of one step after the other; without end if it loops."""
        for turn in itertools.count() if self.loops else range(1):
            for place, at_ns in enumerate(self.at_ns):
                yield turn * self.lasts_ns + at_ns, place

    def mean(self, values: list[int] | list[float], until_ns: int) -> float:
        """The mean over the time from the start to `until_ns`, of one of its lists."""
        whole, rest_ns = divmod(until_ns, self.lasts_ns) if self.loops else (0, until_ns)
        total = whole * self._sum(values, self.lasts_ns) if whole else 0.0
        return (total + self._sum(values, rest_ns)) / until_ns

    def _sum(self, values: list[int] | list[float], until_ns: int) -> float:
        """Value × time of one turn, up to a time."""
        ends = [*self.at_ns[1:], max(until_ns, self.lasts_ns)]
        spans = zip(values, self.at_ns, ends, strict=True)
        return float(sum(value * (min(end, until_ns) - at) for value, at, end in spans if at < until_ns))
