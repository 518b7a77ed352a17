"""Windows fixed and found: min(window / RTT, framing), and no window at all where the system finds it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from landspeed.course.comparison import GOODPUT_LOG, RTT, TIME, Axis, Comparison, Line, Point, unpromised
from landspeed.course.measured import Measured

LATE = 0.6  # of the time: CUBIC has filled the path by then


def goodput_bps(run: Measured) -> float:
    """A fixed window in each round trip (RFC 7323 section 1.1); the line where it is autotuned."""
    limit = run.plan.physics.framing_limit_bps
    window = run.plan.transfer.window_bytes
    return limit if window is None else min(window * 8 / run.rtt_s, limit)


def points(runs: Sequence[Measured]) -> Iterator[Point]:
    """Over the round trip, one series for each kind of window."""
    for run in runs:
        kind = run.values["case"]
        note = f"window of {run.window_bytes / 1e6:.3g} MB"
        yield Point(
            f"{kind}, {run.rtt_s * 1e3:.0f} ms",
            run.goodput_bps(LATE * (run.record.duration_s or 0.0)),
            goodput_bps(run),
            x=run.rtt_s,
            series=kind,
            note=note,
        )


def growth(runs: Sequence[Measured]) -> Iterator[Line]:
    """The window on offer over time, autotuned, over the longest distance."""
    for run in runs:
        if run.values["case"] == "autotuned":
            yield Line(f"{run.rtt_s * 1e3:.0f} ms", run.series("snd_wnd_bytes"))


def found(runs: Sequence[Measured]) -> Iterator[Point]:
    """The window that was found, beside the BDP."""
    for run in runs:
        if run.values["case"] == "autotuned":
            yield Point(f"{run.rtt_s * 1e3:.0f} ms", run.window_bytes, run.plan.physics.bdp_bytes)


COMPARISONS = {
    "goodput": Comparison(
        title="Goodput over the round trip, 1 Gbit/s",
        scenarios=("buffers.yaml",),
        points=points,
        x=RTT,
        y=GOODPUT_LOG,
        source="min(window / RTT, framing)",
        within=0.02,
    ),
    "growth": unpromised(
        title="The window that Linux offers by itself",
        scenarios=("buffers.yaml",),
        points=found,
        lines=growth,
        x=TIME,
        y=Axis("window", "MB", 1e6),
        source="the BDP is what is needed",
        beside="BDP",
        why="autotuning gives at least what the application reads in a round trip, twice, and does not aim at the BDP",
    ),
}
