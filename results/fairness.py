"""How equally flows share: Jain's index, in total and over time.

(Σx)² / (n Σx²): 1 where all have the same, 1/n where one has everything (Jain, Chiu, Hawe: A Quantitative Measure of
Fairness and Discrimination, DEC TR-301, 1984).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .series import Series, rounds_of, total_of

if TYPE_CHECKING:
    from .record import RunRecord
    from .samples import Samples


def jain_index(values: Sequence[float]) -> float | None:
    """Of figures that are not negative; None if there are none, or all are 0."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares > 0 else None


def together_s(record: RunRecord) -> tuple[float, float] | None:
    """From when to when all flows ran, in s since the run's start; None if at no time."""
    spans = [
        (flow.begins_s, flow.begins_s + flow.duration_s)
        for flow in record.flows
        if flow.begins_s is not None and flow.duration_s is not None
    ]
    if not spans or len(spans) < len(record.flows):
        return None
    begin, end = max(begin for begin, _ in spans), min(end for _, end in spans)
    return (begin, end) if end > begin else None


def shares_bps(record: RunRecord, samples: Samples) -> dict[str, float]:
    """Each flow's goodput while all of them ran; empty if they never did."""
    if (span := together_s(record)) is None:
        return {}
    found: dict[str, float] = {}
    for flow in record.flows:
        begins_s = flow.begins_s or 0.0
        curves = samples.of_flow(flow.name, begins_s).curves
        goodput = curves.goodput_bps(span[0] - begins_s, span[1] - begins_s) if curves is not None else None
        if goodput is not None:
            found[flow.name] = goodput
    return found if len(found) == len(record.flows) else {}


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
