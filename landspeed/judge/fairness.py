"""Fairness of flows: Jain's index, in total and over time.

(Σx)² / (n Σx²): 1 where all have the same, 1/n where one has everything (Jain, Chiu, Hawe: A Quantitative Measure of
Fairness and Discrimination, DEC TR-301, 1984).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from landspeed.results.series import Series, rounds_of, total_of

if TYPE_CHECKING:
    from landspeed.results.record import RunRecord
    from landspeed.results.samples_reader import Samples


def jain_index(values: Sequence[float]) -> float | None:
    """Compute Jain's index of figures that are not negative; None if there are none, or all are 0."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares > 0 else None


def contenders(record: RunRecord) -> list[str]:
    """Names of the flows that take what they get; datagrams go at a rate of their own, however much is left."""
    return [flow.name for flow in record.flows if flow.udp_sent is None]


class FlowShares:
    """Goodput of each flow while certain flows ran together."""

    def __init__(self, record: RunRecord, samples: Mapping[str, Samples]) -> None:
        """Keep when each flow ran.

        Args:
            record: what was measured.
            samples: of each flow, by its name, as far as there are any; read when they are needed.
        """
        self._samples = samples
        self._spans = {
            flow.name: (flow.begins_s, flow.begins_s + flow.duration_s)
            for flow in record.flows
            if flow.begins_s is not None and flow.duration_s is not None
        }

    def together_s(self, names: Collection[str]) -> tuple[float, float] | None:
        """Begin and end of the time when all these flows ran, in s since the run's start; None if they never did."""
        if not names or not all(name in self._spans for name in names):
            return None
        spans = [self._spans[name] for name in names]
        begin, end = max(begin for begin, _ in spans), min(end for _, end in spans)
        return (begin, end) if end > begin else None

    def goodput_bps(self, names: Collection[str]) -> dict[str, float]:
        """Goodput of each flow while all of them ran; empty if they never did, or one was not sampled."""
        span, found = self.together_s(names), dict[str, float]()
        if span is None:
            return {}
        for name in names:
            begins_s, curves = self._spans[name][0], self._samples[name].curves if name in self._samples else None
            goodput = curves.goodput_bps(span[0] - begins_s, span[1] - begins_s) if curves is not None else None
            if goodput is None:
                return {}
            found[name] = goodput
        return found


def flows_goodput(record: RunRecord, samples: Samples) -> dict[str, Series]:
    """Goodput over time of each flow in bit/s, times since the run's start."""
    return {flow.name: samples.of_flow(flow.name).goodput() for flow in record.flows}


def jain_series(goodput: dict[str, Series]) -> Series:
    """Jain's index over time, of the flows that are under way; from two on."""
    numbered = dict(enumerate(goodput.values()))
    found: Series = []
    for time_s, values in rounds_of(numbered):
        index = jain_index(values) if len(values) > 1 else None
        if index is not None:
            found.append((time_s, index))
    return found


def total_goodput(goodput: dict[str, Series]) -> Series:
    """All flows together over time."""
    return total_of(dict(enumerate(goodput.values())))
