"""Quantities over time: a series of one quantity, several streams together, and bytes counted up. Plain numbers."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

Series: TypeAlias = list[tuple[float, float]]
"""(time since the transfer's start in s, value), in the order of time."""


@dataclass
class ByteCurves:
    """Cumulative bytes over time of every stream, as the receiving application read them.

    Attributes:
        streams: for each stream the times in s and the bytes, both rising, beginning at (0, 0).
    """

    streams: dict[int, tuple[list[float], list[int]]] = field(default_factory=dict[int, tuple[list[float], list[int]]])

    def add(self, stream: int, time_s: float, count: int) -> None:
        """A stream's next sample; at a time that is known already, the larger count holds."""
        times, counts = self.streams.setdefault(stream, ([0.0], [0]))
        if time_s > times[-1]:
            times.append(time_s)
            counts.append(count)
        elif count >= counts[-1]:
            counts[-1] = count

    @property
    def end_s(self) -> float:
        """Time when the last byte had been read, in s: the first sample that shows the final count."""
        ends = [times[bisect_left(counts, counts[-1])] for times, counts in self.streams.values()]
        return max(ends, default=0.0)

    def stopped_s(self, clock_s: float | None) -> float:
        """End of the measured time, in s: the last byte, or, if the clock ended the transfer, that time.

        Args:
            clock_s: how long a transfer lasted that was to last so long; None: of one that ended with its data.
        """
        last_s = max((times[-1] for times, _ in self.streams.values()), default=0.0)
        return self.end_s if clock_s is None else max(self.end_s, min(last_s, clock_s))

    def bytes_at(self, time_s: float) -> float:
        """Bytes of all streams at a time, between samples by interpolation."""
        return sum(_interpolate(times, counts, time_s) for times, counts in self.streams.values())

    def until(self, time_s: float) -> ByteCurves:
        """The curves as they were at a time, as if the transfer had ended there."""
        made = ByteCurves()
        for stream, (times, counts) in self.streams.items():
            for time, count in zip(times, counts, strict=True):
                if time < time_s:
                    made.add(stream, time, count)
            made.add(stream, time_s, int(_interpolate(times, counts, time_s)))
        return made

    def goodput_bps(self, from_s: float, to_s: float | None = None) -> float | None:
        """Mean goodput between two times in bit/s; None if nothing lies between them."""
        end = self.end_s if to_s is None else to_s
        if end <= from_s:
            return None
        return (self.bytes_at(end) - self.bytes_at(from_s)) * 8 / (end - from_s)


def rounds_of(streams: dict[int, Series]) -> Iterator[tuple[float, list[float]]]:
    """The streams' values, whenever each of those under way has a new row: at one time, or each at its own.

    A stream is under way from its first row to its last.
    """
    rows = sorted((time_s, stream, value) for stream, series in streams.items() for time_s, value in series)
    span = {stream: (series[0][0], series[-1][0]) for stream, series in streams.items() if series}
    latest: dict[int, float] = {}
    fresh: set[int] = set()
    for time_s, together in itertools.groupby(rows, key=lambda row: row[0]):
        for _, stream, value in together:
            latest[stream] = value
            fresh.add(stream)
        if not any(span[stream][0] <= time_s <= span[stream][1] for stream in span.keys() - fresh):
            yield time_s, [latest[each] for each in span if span[each][0] <= time_s <= span[each][1]]
            fresh = set()


def total_of(streams: dict[int, Series]) -> Series:
    """The streams' total over time."""
    return [(time_s, sum(values)) for time_s, values in rounds_of(streams)]


def _interpolate(times: list[float], counts: list[int], time_s: float) -> float:
    after = bisect_left(times, time_s)
    if after == 0:
        return counts[0]
    if after == len(times):
        return counts[-1]
    t0, t1, n0, n1 = times[after - 1], times[after], counts[after - 1], counts[after]
    return n0 + (n1 - n0) * (time_s - t0) / (t1 - t0)
