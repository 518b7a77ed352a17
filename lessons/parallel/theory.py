"""What n streams get where one is held back: n times as much, until the line is full."""

from collections.abc import Iterator, Sequence

from landspeed.course.comparison import FigureAxis, FigurePoint, LessonFigure
from landspeed.course.lesson_run import LessonRun, by
from landspeed.course.stated_figures import computed
from landspeed.scenario.theory.physics import square_root_law_bps

FROM_S = 3.0
LOSSY_FROM_S = 10.0  # slow start goes twenty times too far before its first loss, and four halvings more take seconds


def lossy_bps(run: LessonRun, streams: int) -> float:
    """n times the square-root law (Mathis et al. 1997), at most the line; n losses halve one n-th each."""
    loss = run.plan.links[1].forward.loss
    one = square_root_law_bps(run.mss_bytes, round(run.rtt_s * 1e9), loss)
    return min(streams * one, run.plan.physics.line_rate_limit_bps)


def windows_bps(run: LessonRun, streams: int) -> float:
    """n windows of whole packets in each round trip (RFC 7323 section 1.1), at most the line."""
    window = run.window_bytes // streams // run.mss_bytes * run.mss_bytes
    return min(streams * window * 8 / run.rtt_s, run.plan.physics.line_rate_limit_bps)


def lossy(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Mean over the seeds."""
    for (streams, duration), group in by(runs, "transfer.streams", "transfer.duration").items():
        rates = [run.goodput_bps(LOSSY_FROM_S) for run in group]
        name = f"{streams} stream{'s' if streams != '1' else ''}"
        yield FigurePoint.mean(name, rates, lossy_bps(group[0], int(streams)), int(streams), duration)


def windows(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """One run each."""
    for run in runs:
        streams = int(run.values["transfer.streams"])
        name = f"{streams} stream{'s' if streams > 1 else ''}"
        yield FigurePoint(
            name, run.goodput_bps(FROM_S), windows_bps(run, streams), x=streams, note=run.record.limited_by or ""
        )


STREAMS = FigureAxis("streams", "", log=True)
GOODPUT = FigureAxis("goodput of all together", "Mbit/s", 1e6, log=True)
LINE_BPS, ONE_BPS = 941e6, square_root_law_bps(1448, 80_000_000, 0.0005)  # of question 1
STATED = (
    computed(
        "One gets {} × {} / {:.3f} × {:.2f} / √{} = {:.1f} Mbit/s", 1448, 8, 0.08, 1.5**0.5, 0.0005, ONE_BPS / 1e6
    ),
    computed("{:.0f} / {:.1f} = {:.0f} streams", LINE_BPS / 1e6, ONE_BPS / 1e6, LINE_BPS / ONE_BPS),
    computed("About {} of {}: more", 8, 7 + 8),
    computed("{} Reno streams over a line that loses", 8),
)
COMPARISONS = {
    "windows": LessonFigure(
        title="Streams with a window of 1 MB each, 80 ms",
        scenarios=("windows.yaml",),
        points=windows,
        x=STREAMS,
        y=GOODPUT,
        source="n × window / RTT, at most the line",
        within=0.02,
    ),
    "lossy": LessonFigure(
        title="Reno streams over a line that loses 0.05 %, 80 ms",
        scenarios=("lossy.yaml",),
        points=lossy,
        x=STREAMS,
        y=GOODPUT,
        source="n × MSS / RTT × √(3/2) / √p, Mathis et al. 1997",
        within=0.15,
        why="bars are 95 % confidence intervals of the mean over four seeds; losses at random give seven per cent "
        "more than even ones (lesson random-loss)",
    ),
}
