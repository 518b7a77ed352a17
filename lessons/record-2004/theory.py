"""What bound the record of 25 June 2004, and what each of its settings gave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from landspeed.course.comparison import GOODPUT_GBPS, TIME, Comparison, Line, Point, unpromised
from landspeed.course.measured import Measured

FROM_S = 40.0


def goodput_bps(run: Measured) -> float:
    """The least of what windows, bus and lines let through; windows as Linux offered them, in whole packets."""
    physics, streams = run.plan.physics, run.plan.transfer.streams
    window = run.window_bytes // streams // run.mss_bytes * run.mss_bytes * streams
    limits = [window * 8 / run.rtt_s, float(physics.framing_limit_bps)]
    return min([*limits, float(physics.bus_limit_bps)] if physics.bus_limit_bps else limits)


def points(runs: Sequence[Measured]) -> Iterator[Point]:
    """Each setting; random loss has no place in the formula and is shown below."""
    for run in runs:
        if not run.plan.links[0].forward.loss:
            note = f"{run.window_bytes / 1e6:.3g} MB of windows, bound by {run.record.limited_by}"
            yield Point(run.name, run.goodput_bps(FROM_S), goodput_bps(run), note=note)


def every(runs: Sequence[Measured]) -> Iterator[Point]:
    """All of them, beside the record."""
    for run in runs:
        yield Point(run.name, run.goodput_bps(FROM_S), 6_626_513_000, note=f"{run.record.retransmits} sent again")


def lines(runs: Sequence[Measured]) -> Iterator[Line]:
    """Goodput over time."""
    for run in runs:
        yield Line(run.name, run.goodput_series(1.0))
    yield Line("recorded", [(0, 6_626_513_000), (60, 6_626_513_000)], "limit")


COMPARISONS = {
    "settings": Comparison(
        title="What windows, bus and line let through",
        scenarios=("settings.yaml",),
        points=points,
        y=GOODPUT_GBPS,
        source="min(windows / RTT, bus, framing)",
        within=0.03,
        why="the limit of the bus is fitted to the recorded rate; everything else is predicted",
    ),
    "record": unpromised(
        title="Goodput over time beside the recorded 6.63 Gbit/s",
        scenarios=("settings.yaml",),
        points=every,
        lines=lines,
        x=TIME,
        y=GOODPUT_GBPS,
        source="the submission of the record, 28 June 2004",
        beside="recorded",
        why="the recorded rate stands beside settings that nobody used on that day",
    ),
}
