"""What random loss leaves of the rate: the square-root law."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from landspeed.course.comparison import GOODPUT_LOG, Axis, Comparison, Line, Point
from landspeed.course.measured import Measured, by
from landspeed.scenarios.physics import square_root_law_bps

LEFT_OUT = 0.2  # of the time: slow start, and the three losses (of 14 or more) until the window is what losses allow


def goodput_bps(run: Measured, loss: float) -> float:
    """MSS / RTT × sqrt(3/2) / sqrt(p) (Mathis, Semke, Mahdavi and Ott 1997)."""
    return square_root_law_bps(run.mss_bytes, round(run.rtt_s * 1e9), loss)


def points(runs: Sequence[Measured]) -> Iterator[Point]:
    """Mean over the seeds for each probability."""
    for (loss, _), group in by(runs, "path.1.loss", "transfer.bytes").items():
        share = group[0].number("path.1.loss")
        rates = [run.goodput_bps(LEFT_OUT * (run.record.duration_s or 0.0)) for run in group]
        resent = sum(run.record.retransmits or 0 for run in group) / len(group)
        yield Point.mean(loss, rates, goodput_bps(group[0], share), share, f"{resent:.0f} losses each")


def lines(runs: Sequence[Measured]) -> Iterator[Line]:
    """The law over all decades."""
    shares = [10 ** (-5 + 3 * n / 60) for n in range(61)]
    yield Line("theory", [(share, goodput_bps(runs[0], share)) for share in shares], "theory")


COMPARISONS = {
    "square-root": Comparison(
        title="Goodput of Reno over the probability of loss, 40 ms, packets of 1500 B",
        scenarios=("losses.yaml",),
        points=points,
        lines=lines,
        x=Axis("probability of loss", "", log=True),
        y=GOODPUT_LOG,
        source="MSS / RTT × √(3/2) / √p, Mathis et al. 1997",
        within=0.15,
        why="bars are 95 % confidence intervals of the mean over six seeds (Student's t). Losses at random give "
        "1.31 / √p, seven per cent more than even ones (the same paper); at 1 % some end in a timeout",
    )
}
