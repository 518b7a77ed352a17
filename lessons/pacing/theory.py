"""What pacing gives: its rate to the byte, and no burst for a queue to lose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from landspeed.course.comparison import GOODPUT, GOODPUT_LOG, TIME, Axis, Comparison, Line, Point, unpromised
from landspeed.course.measured import Measured
from landspeed.scenarios.physics import pacing_limit_bps

FROM_S = 1.5


def points(runs: Sequence[Measured]) -> Iterator[Point]:
    """Linux spaces packets by their payload, so the goodput is the pacing rate (tcp_update_skb_after_send)."""
    for run in runs:
        rate = run.plan.transfer.pacing_rate_bps or 0
        yield Point(run.name, run.goodput_bps(FROM_S), pacing_limit_bps(rate, 1), x=rate)


def bursts(runs: Sequence[Measured]) -> Iterator[Point]:
    """Packets sent again: none by theory where what comes in is paced below the line's rate."""
    for run in runs:
        rate = run.plan.transfer.pacing_rate_bps
        below = rate is not None and rate <= run.plan.physics.framing_limit_bps
        if below:
            yield Point(run.name, run.record.retransmits or 0, 0, note=f"{run.goodput_bps(FROM_S) / 1e6:.1f} Mbit/s")


def goodput(runs: Sequence[Measured]) -> Iterator[Point]:
    """What each way of sending gets, beside the less of line and pacing."""
    for run in runs:
        rate = run.plan.transfer.pacing_rate_bps
        best = min(rate or 10**18, run.plan.physics.framing_limit_bps)
        yield Point(run.name, run.goodput_bps(FROM_S), best, note=f"{run.record.retransmits} sent again")


def lines(runs: Sequence[Measured]) -> Iterator[Line]:
    """Goodput over time."""
    for run in runs:
        yield Line(run.name, run.goodput_series(0.5))


COMPARISONS = {
    "rate": Comparison(
        title="Goodput of a paced stream",
        scenarios=("paced.yaml",),
        points=points,
        x=Axis("pacing rate", "Mbit/s", 1e6, log=True),
        y=GOODPUT_LOG,
        source="the pacing rate: Linux spaces packets by their payload",
        within=0.005,
    ),
    "losses": Comparison(
        title="Packets sent again below the line's rate",
        scenarios=("bursts.yaml",),
        points=bursts,
        y=Axis("packets", ""),
        source="no queue forms where packets come no faster than they leave",
        within=0.0,
    ),
    "bursts": unpromised(
        title="A window of one BDP into a queue of 90 kB",
        scenarios=("bursts.yaml",),
        points=goodput,
        lines=lines,
        x=TIME,
        y=GOODPUT,
        source="the less of pacing rate and line",
        beside="pacing or line",
        why="what is lost in bursts depends on how the sender happens to send",
    ),
}
