"""Windows fixed and found: min(window / RTT, line rate after headers), and none where the system finds it."""

from collections.abc import Iterator, Sequence

from landspeed.course.comparison import (
    GOODPUT,
    GOODPUT_LOG,
    RTT,
    TIME,
    FigureAxis,
    FigureLine,
    FigurePoint,
    LessonFigure,
    LessonProgram,
    unpromised,
)
from landspeed.course.lesson_run import LessonRun
from landspeed.course.stated_figures import computed, measured

LATE = 0.6  # of the time: CUBIC has filled the path by then


def goodput_bps(run: LessonRun) -> float:
    """A fixed window in each round trip (RFC 7323 section 1.1); the line where it is autotuned."""
    limit = run.plan.physics.line_rate_limit_bps
    window = run.plan.transfer.window_bytes
    return limit if window is None else min(window * 8 / run.rtt_s, limit)


def points(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Over the round trip, one series for each kind of window."""
    for run in runs:
        kind = run.values["case"]
        note = f"window of {run.window_bytes / 1e6:.3g} MB"
        yield FigurePoint(
            f"{kind}, {run.rtt_s * 1e3:.0f} ms",
            run.goodput_bps(LATE * (run.record.duration_s or 0.0)),
            goodput_bps(run),
            x=run.rtt_s,
            series=kind,
            note=note,
        )


def curves(runs: Sequence[LessonRun]) -> Iterator[FigureLine]:
    """The law between the measured distances: a fixed window's curve has a kink."""
    for kind in dict.fromkeys(run.values["case"] for run in runs):
        run = next(each for each in runs if each.values["case"] == kind)
        limit, window = run.plan.physics.line_rate_limit_bps, run.plan.transfer.window_bytes
        rtts = [0.010 * (0.264 / 0.010) ** (step / 200) for step in range(201)]
        yield FigureLine(f"{kind}, theory", [(rtt, min((window or 2**40) * 8 / rtt, limit)) for rtt in rtts], "theory")


def usual(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """A usual host beside the line."""
    for run in runs:
        mbps, window = map(float, run.output.split())
        note = f"window of {window / 1e6:.2f} MB"
        yield FigurePoint(f"{run.rtt_s * 1e3:.0f} ms", mbps * 1e6, run.plan.physics.line_rate_limit_bps, note=note)


def growth(runs: Sequence[LessonRun]) -> Iterator[FigureLine]:
    """The window on offer over time, autotuned, over the longest distance."""
    for run in runs:
        if run.values["case"] == "autotuned":
            yield FigureLine(f"{run.rtt_s * 1e3:.0f} ms", run.series("snd_wnd_bytes"))


def found(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """The window that was found, beside the BDP."""
    for run in runs:
        if run.values["case"] == "autotuned":
            yield FigurePoint(f"{run.rtt_s * 1e3:.0f} ms", run.window_bytes, run.plan.physics.bdp_bytes)


STATED = (
    computed("{:.1f} Mbit/s: half an hour", 65536 * 8 / 0.119 / 1e6),
    computed("from about {:.0f} Mbit/s on", 4 * 2**20 * 8 / 0.264 / 1e6),
    measured(
        "offered is at most {:.2f} MB",
        "usual",
        lambda points: (max(float(point.note.split()[2]) for point in points.values()),),
    ),
    measured(
        "a usual host reaches {:.0f} Mbit/s over 40 ms", "usual", lambda points: (points["40 ms"].measured / 1e6,)
    ),
    measured(
        "over 264 ms, at {:.0f} times of it",
        "growth",
        lambda points: (points["264 ms"].measured / points["264 ms"].predicted,),
    ),
    computed("a window of {} to {} KB, and", 8, 32),
    computed("has {} bits for it", 16),
    computed("lets the {} bits count in larger units, up to {} GiB", 16, 2**16 * 2**14 // 2**30),
    computed("a transatlantic transfer of {} GB", 1),
    computed("({:.0f} if Linux doubles it)", 2 * 4 * 2**20 * 8 / 0.264 / 1e6),
    computed("give every connection {} GB?", 1),
    computed("ten thousand connections would promise {} TB", 10_000 // 1000),
    computed("still has the {} B with which each begins", 131072),
)
COMPARISONS = {
    "goodput": LessonFigure(
        title="Goodput over the round trip, 1 Gbit/s",
        scenarios=("buffers.yaml",),
        points=points,
        lines=curves,
        x=RTT,
        y=GOODPUT_LOG,
        source="min(window / RTT, line rate after headers)",
        within=0.02,
    ),
    "usual": LessonFigure(
        title="A usual host, which may use 6 MiB to receive and 4 MiB to send",
        scenarios=("usual.yaml",),
        points=usual,
        y=GOODPUT,
        source="line rate after headers",
        within=None,
        beside="line",
        why="how much of a buffer is payload depends on how packets come",
        program=LessonProgram("a", ("sh", "LESSON/usual.sh", "b"), ("usual.sh",)),
    ),
    "growth": unpromised(
        title="The window that Linux offers by itself",
        scenarios=("buffers.yaml",),
        points=found,
        lines=growth,
        x=TIME,
        y=FigureAxis("window", "MB", 1e6),
        source="the BDP is what is needed",
        beside="BDP",
        why="autotuning gives at least what the application reads in a round trip, twice, and does not aim at the BDP",
    ),
}
