"""What the settings of a data transfer node allow, one after the other (fasterdata.es.net, Linux tuning)."""

from collections.abc import Iterator, Sequence

from landspeed.course.comparison import GOODPUT, TIME, FigureLine, FigurePoint, LessonFigure, unpromised
from landspeed.course.lesson_run import LessonRun
from landspeed.course.stated_figures import computed, measured
from landspeed.scenario.theory.physics import line_rate_limit_bps

FROM_S = 5.0
RATE_BPS, RTT_S, LOSS = 1e9, 0.1, 1e-5
FIRST, LAST = "as it comes", "BBR"
FRAMING_BYTES = 38


def limit_bps(run: LessonRun) -> float:
    """The least of what window, pacing and line allow."""
    paced = run.plan.transfer.pacing_rate_bps or float("inf")
    return min(8 * run.window_bytes / run.rtt_s, paced, run.plan.physics.line_rate_limit_bps)


def steps(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Goodput from the fifth second on."""
    for run in runs:
        again = run.record.retransmits
        note = f"{again} packet{'s' * (again != 1)} sent again"
        yield FigurePoint(run.name, run.goodput_bps(FROM_S), limit_bps(run), note=note)


def lines(runs: Sequence[LessonRun]) -> Iterator[FigureLine]:
    """Goodput of each second."""
    for run in runs:
        yield FigureLine(run.name, run.goodput_series(1.0))


def bound(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """The first step, which its window limits, and the last one, which its pacing limits."""
    for point in steps(runs):
        if point.name in (FIRST, LAST):
            yield point


def packets_between_losses_s(mtu: int) -> float:
    """Time from one lost packet to the next, on the full line."""
    return 8 * (mtu + FRAMING_BYTES) / LOSS / RATE_BPS


BDP = RATE_BPS * RTT_S / 8
STATED = (
    computed("a window of {} MiB", 3),
    computed("{:.1f} MB on the way", BDP / 1e6),
    computed("at least {:.1f} MB", BDP / 1e6),
    computed(
        "each {:.1f} s with packets of {} B, and each {:.1f} s with {} B",
        packets_between_losses_s(1500),
        1500,
        packets_between_losses_s(9000),
        9000,
    ),
    computed(
        "from {:.1f} % to {:.1f} %",
        line_rate_limit_bps(10**9, 1500, 38, 4) / 1e7,
        line_rate_limit_bps(10**9, 9000, 38, 4) / 1e7,
    ),
    computed("{} Gbit/s over {} ms need {:.0f} MB", 100, 100, 100e9 * 0.1 / 8e6),
    computed("one in {} packets", "100 000"),
    computed("{} streams of {} Gbit/s", 8, 1),
    measured(
        "from {:.0f} to {:.0f} Mbit/s",
        "steps",
        lambda p: (p[FIRST].measured / 1e6, p["buffers"].measured / 1e6),
    ),
    measured("Now it is {:.0f} Mbit/s", "steps", lambda p: (p["packets of 9000 B"].measured / 1e6,)),
    measured("Paced it is {:.0f} Mbit/s", "steps", lambda p: (p["pacing"].measured / 1e6,)),
    measured("again fall from {} to", "steps", lambda p: (p["packets of 9000 B"].note.split()[0],)),
)
COMPARISONS = {
    "steps": unpromised(
        title="One more setting at each step, 1 Gbit/s over 100 ms",
        scenarios=("steps.yaml",),
        points=steps,
        lines=lines,
        x=TIME,
        y=GOODPUT,
        beside="what window, pacing and line allow",
        source="window / RTT; the pacing rate; the line after headers",
        why="losses at random instants cost what they cost; which step repairs them is what the table shows",
    ),
    "bound": LessonFigure(
        title="The first step and the last one",
        scenarios=("steps.yaml",),
        points=bound,
        y=GOODPUT,
        source="window / RTT (RFC 7323 section 1.1), and the pacing rate",
        within=0.03,
        why="BBR rests for 200 ms in each 10 s, to see the empty path",
    ),
}
