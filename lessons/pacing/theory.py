"""What pacing gives: its rate to the byte, and no burst for a queue to lose."""

from collections.abc import Iterator, Sequence

from landspeed.course.comparison import (
    GOODPUT,
    GOODPUT_LOG,
    TIME,
    FigureAxis,
    FigureLine,
    FigurePoint,
    LessonFigure,
    LessonProgram,
)
from landspeed.course.lesson_run import LessonRun
from landspeed.course.stated_figures import computed, measured
from landspeed.scenario.theory.physics import pacing_limit_bps

FROM_S = 1.5
BURSTS_FROM_S = 2
LINE_BPS = 990e6  # what the line of bursts.yaml gives
WAYS = {  # of bursts.sh: its name here, and the pacing rate if one was set
    "nopacing": ("not paced", None),
    "pacing": ("paced by fq, at 1.2 cwnd / RTT", None),
    "900M": ("paced at 900 Mbit/s", 900e6),
    "970M": ("paced at 970 Mbit/s", 970e6),
    "1100M": ("paced at 1.1 Gbit/s, too fast", 1100e6),
}


def points(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Linux spaces packets by their payload, so the goodput is the pacing rate (tcp_update_skb_after_send)."""
    for run in runs:
        rate = run.plan.transfer.pacing_rate_bps or 0
        yield FigurePoint(run.name, run.goodput_bps(FROM_S), pacing_limit_bps(rate, 1), x=rate)


def _ways(run: LessonRun) -> Iterator[tuple[str, int, list[float]]]:
    """(Way of sending, packets sent again, bit/s in each second), as bursts.sh prints them."""
    for line in run.output.splitlines():
        way, again, *each = line.split()
        yield WAYS[way][0], int(again), [float(mbps) * 1e6 for mbps in each]


def losses(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Packets sent again: none by theory where what comes in is paced below the line's rate."""
    below = {name for name, rate_bps in WAYS.values() if rate_bps and rate_bps <= LINE_BPS}
    for name, again, each in _ways(runs[0]):
        if name in below:
            yield FigurePoint(name, again, 0, note=f"{_settled(each) / 1e6:.1f} Mbit/s")


def bursts(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """What each way of sending gets, beside the less of line and pacing."""
    limit = runs[0].plan.physics.line_rate_limit_bps
    best = {name: min(rate_bps or limit, limit) for name, rate_bps in WAYS.values()}
    for name, again, each in _ways(runs[0]):
        yield FigurePoint(name, _settled(each), best[name], note=f"{again} sent again")


def _settled(each: list[float]) -> float:
    """The mean without the first seconds."""
    return sum(each[BURSTS_FROM_S:]) / len(each[BURSTS_FROM_S:])


def lines(runs: Sequence[LessonRun]) -> Iterator[FigureLine]:
    """Goodput over time."""
    for name, _, each in _ways(runs[0]):
        yield FigureLine(name, [(second, value) for second, value in enumerate(each, 1)])


STATED = (
    measured(
        "without pacing {:.0f} Mbit/s, paced by the kernel {:.0f}",
        "bursts",
        lambda points: [points[name].measured / 1e6 for name in ("not paced", "paced by fq, at 1.2 cwnd / RTT")],
    ),
    computed("before they can leave: {:.0f} MB", 0.9 * 330),
    computed("the rate leaves ${} n$ of them", 1 - 1 / 10),
    computed("At {} Gbit/s the rate that is set never binds: the kernel's own, {} cwnd / RTT", 1.1, 1.2),
    computed("and at {} times cwnd / RTT later", 1.2),
    computed("{} Mbit/s fit a line that [gives {:.0f}", 970, LINE_BPS / 1e6),
    computed("{} Gbit/s into a line of 10 Gbit/s, a window of {} MB at once", 100, 330),
)
BURSTS = LessonProgram("a", ("sh", "LESSON/bursts.sh", "b"), ("bursts.sh",))
COMPARISONS = {
    "rate": LessonFigure(
        title="Goodput of a paced stream",
        scenarios=("paced.yaml",),
        points=points,
        x=FigureAxis("pacing rate", "Mbit/s", 1e6, log=True),
        y=GOODPUT_LOG,
        source="the pacing rate: Linux spaces packets by their payload",
        within=0.005,
    ),
    "losses": LessonFigure(
        title="Packets sent again below the line's rate",
        scenarios=("bursts.yaml",),
        points=losses,
        y=FigureAxis("packets", ""),
        source="no queue forms where packets come no faster than they leave",
        within=0.0,
        program=BURSTS,
    ),
    "bursts": LessonFigure(
        title="A window of one BDP into a queue of 90 kB",
        scenarios=("bursts.yaml",),
        points=bursts,
        lines=lines,
        x=TIME,
        y=GOODPUT,
        source="the less of pacing rate and line",
        within=None,
        beside="pacing or line",
        why="what is lost in bursts depends on how the sender happens to send",
        program=BURSTS,
    ),
}
