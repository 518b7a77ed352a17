"""How flows share a line: Reno as 1/RTT, Jain's index, and CUBIC against BBR."""

from collections.abc import Iterator, Sequence

from landspeed.course.comparison import FigureAxis, FigureLine, FigurePoint, LessonFigure, unpromised
from landspeed.course.lesson_run import LessonRun, between, mean
from landspeed.course.stated_figures import computed

FROM_S = 60.0
BBR_FROM_S = 20.0


def share_ratio(near_rtt_s: float, far_rtt_s: float) -> float:
    """Shares of two Reno flows that lose alike: as 1/RTT, the queue's delay included (Mathis et al. 1997)."""
    return far_rtt_s / near_rtt_s


def jain(rates: Sequence[float]) -> float:
    """(Σ x)² / (n Σ x²): 1 where all get the same, 1/n where one gets everything (Jain, Chiu and Hawe 1984)."""
    return sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))


def rtt_s(flow: LessonRun) -> float:
    """Mean round trip as the sender saw it, with the time in the queue."""
    return mean(between(flow.series("srtt_us"), FROM_S)) / 1e6


def unequal(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Ratio of the shares, beside the ratio of the round trips."""
    for run in runs:
        near, far = run.flow("near"), run.flow("far")
        rates = [each.goodput_bps(FROM_S) for each in (near, far)]
        predicted = share_ratio(rtt_s(near), rtt_s(far))
        name = f"{near.rtt_s * 1e3:.0f} and {far.rtt_s * 1e3:.0f} ms"
        note = f"{rates[0] / 1e6:.1f} and {rates[1] / 1e6:.1f} Mbit/s, Jain's index {jain(rates):.3f}"
        yield FigurePoint(name, rates[0] / rates[1], predicted, x=predicted, note=note)


def bbr(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """BBR's part of what both get; half would be fair."""
    for run in runs:
        rates = [run.flow(name).goodput_bps(BBR_FROM_S) for name in ("cubic", "bbr")]
        queue = run.plan.links[2].forward.queue_bytes
        bdp = run.plan.links[2].forward.rate_bps * 0.04 / 8
        note = f"{rates[1] / 1e6:.1f} of {sum(rates) / 1e6:.1f} Mbit/s, Jain's index {jain(rates):.3f}"
        yield FigurePoint(f"{queue / bdp:.2g} BDP", rates[1] / sum(rates), 0.5, x=queue / bdp, note=note)


def fair(_: Sequence[LessonRun]) -> Iterator[FigureLine]:
    """Half for each."""
    yield FigureLine("equal shares", [(0.4, 0.5), (9.0, 0.5)], "limit")


THREE = (60, 30, 10)  # Mbit/s, of question 1
STATED = (
    computed("Three flows get {}, {} and {} Mbit/s", *THREE),
    computed(
        "{}² / ({} × ({} + {} + {})) = {:.2f}", sum(THREE), len(THREE), *(each * each for each in THREE), jain(THREE)
    ),
)
COMPARISONS = {
    "unequal": LessonFigure(
        title="Two Reno flows of unequal round trips: the ratio of their shares",
        scenarios=("reno.yaml",),
        points=unequal,
        x=FigureAxis("ratio of the round trips, queue included", "", log=True),
        y=FigureAxis("ratio of the shares", "", log=True),
        source="1/RTT each, Mathis et al. 1997",
        within=0.15,
    ),
    "bbr": unpromised(
        title="BBR beside CUBIC: its part of the line over the size of the queue",
        scenarios=("bbr.yaml",),
        points=bbr,
        lines=fair,
        x=FigureAxis("queue", "BDP", log=True),
        y=FigureAxis("BBR's part", "%", 0.01, least=0, most=1.0),
        source="equal shares; what happens instead: Ware et al. 2019",
        beside="equal",
        why="equal shares are what one would wish, not what theory predicts",
    ),
}
