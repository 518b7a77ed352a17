"""What a window lets through: min(window / RTT, line rate after headers)."""

from collections.abc import Iterator, Sequence

from landspeed.course.comparison import GOODPUT_LOG, FigureAxis, FigureLine, FigurePoint, LessonFigure
from landspeed.course.lesson_run import LessonRun
from landspeed.course.stated_figures import computed, thousands

FROM_S = 2.2  # slow start is over: log2(14.9 MB / 14.5 kB) is ten round trips, 1.2 s


def goodput_bps(window_bytes: int, rtt_s: float, framing_bps: float) -> float:
    """The less of a window in each round trip (RFC 7323 section 1.1, formerly RFC 1323) and of what the line leaves."""
    return min(window_bytes * 8 / rtt_s, framing_bps)


def points(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """One for each window; along x what Linux made of it."""
    for run in runs:
        predicted = goodput_bps(run.window_bytes, run.rtt_s, run.plan.physics.line_rate_limit_bps)
        note = f"{run.window_bytes / 1e6:.3g} MB on offer, bound by {run.record.limited_by}"
        yield FigurePoint(run.name, run.goodput_bps(FROM_S), predicted, x=run.window_bytes, note=note)


def lines(runs: Sequence[LessonRun]) -> Iterator[FigureLine]:
    """window / RTT up to the line, then the line."""
    run = runs[0]
    framing_bps, rtt_s = run.plan.physics.line_rate_limit_bps, run.rtt_s
    bdp = framing_bps * rtt_s / 8
    least, most = (pick(each.window_bytes for each in runs) for pick in (min, max))
    yield FigureLine("theory", [(least, least * 8 / rtt_s), (bdp, framing_bps), (most, framing_bps)], "theory")
    yield FigureLine("BDP", [(bdp, least * 8 / rtt_s), (bdp, framing_bps)], "limit")


STATED = (
    computed(r"= {}^9\ \text{{bit/s}} \times {}\ \text{{s}} / 8 = {:.1f}\ \text{{MB}}", 10, 0.119, 1e9 * 0.119 / 8e6),
    computed("A path of {} Gbit/s and {} ms", 10, 264),
    computed("{} bit/s × {} s / {} = {:.0f} MB", "10¹⁰", 0.264, 8, 10e9 * 0.264 / 8e6),
    computed("{} GiB (RFC 7323): enough for one stream up to {:.1f} Gbit/s", 1, 2**30 * 8 / 0.264 / 1e9),
    computed("a window is at most {} KB", 2**16 // 1024),
    computed("{} B × {} / {} s = {:.1f} Mbit/s", thousands(2**16), 8, 0.119, 2**16 * 8 / 0.119 / 1e6),
    computed("Your transfer gets {} Mbit/s", 200),
    computed("{} Mbit/s × {} s / {} = {:.3f} MB are in flight", 200, 0.119, 8, 200 * 0.119 / 8),
)
COMPARISONS = {
    "goodput": LessonFigure(
        title="Goodput of twelve windows, 1 Gbit/s over 119 ms",
        scenarios=("windows.yaml",),
        points=points,
        lines=lines,
        x=FigureAxis("window on offer", "MB", 1e6, log=True),
        y=GOODPUT_LOG,
        source="min(window / RTT, line rate after headers), RFC 7323 section 1.1",
        within=0.02,
    )
}
