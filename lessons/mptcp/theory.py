"""What two routes give one transfer together, what a window allows over both, and what is left when one is cut."""

from collections.abc import Iterator, Sequence

from landspeed.course.comparison import GOODPUT, TIME, FigureAxis, FigureLine, FigurePoint, LessonFigure, unpromised
from landspeed.course.lesson_run import LessonRun, first_at
from landspeed.course.stated_figures import computed, measured
from landspeed.scenario.theory.physics import FRAMING_BYTES, mss_bytes

FRAME_BYTES = 1500 + FRAMING_BYTES["ethernet"]
FIBRE_BPS, RADIO_BPS, RADIO_RTT_S = 40e6, 20e6, 0.08
FROM_S, RESTING_S, BACK_S = 3.0, 10.5, 12.0


def payload_bps(*rates_bps: float, mptcp: bool) -> float:
    """What lines give after headers: MPTCP's own option takes 28 B of each packet (RFC 8684 section 3.3)."""
    return sum(rates_bps) * mss_bytes(1500, 4, mptcp=mptcp) / FRAME_BYTES


def routes(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """One route, or both, with a window that is no limit."""
    rates = {"TCP": (FIBRE_BPS,), "MPTCP": (FIBRE_BPS, RADIO_BPS)}
    for run in runs:
        if run.name in rates:
            theory = payload_bps(*rates[run.name], mptcp=run.name == "MPTCP")
            yield FigurePoint(run.name, run.goodput_bps(FROM_S), theory)


def windows(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Windows, beside what they allow if all goes over the longer route."""
    for run in runs:
        if "kB" in run.name:
            yield FigurePoint(run.name, run.goodput_bps(FROM_S), 8 * run.window_bytes / RADIO_RTT_S)


def cut(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """At the end of the cut: the radio for MPTCP, nothing for TCP."""
    for run in runs:
        left = payload_bps(RADIO_BPS, mptcp=True) if run.name == "MPTCP" else 0.0
        note = f"the fibre is full again {back_s(run):.1f} s after its return"
        yield FigurePoint(run.name, run.goodput_bps(RESTING_S, BACK_S), left, note=note)


def back_s(run: LessonRun) -> float:
    """From the fibre's return until nine tenths of what it gives are there, in means of a tenth of a second."""
    wanted = 0.9 * payload_bps(FIBRE_BPS, *([RADIO_BPS] * (run.name == "MPTCP")), mptcp=run.name == "MPTCP")
    return first_at([each for each in run.goodput_series(0.1) if each[0] > BACK_S], wanted) - BACK_S


def lines(runs: Sequence[LessonRun]) -> Iterator[FigureLine]:
    """Goodput of each half second."""
    for run in runs:
        yield FigureLine(run.name, run.goodput_series(0.5))


SUM = payload_bps(FIBRE_BPS, RADIO_BPS, mptcp=True)
STATED = (
    computed("{} of {} B", mss_bytes(1500, 4, mptcp=True), FRAME_BYTES),
    computed("{} Mbit/s together, less headers: {:.1f} Mbit/s", 60, SUM / 1e6),
    computed("{:.1f} MB for both: {} Mbit/s × {} ms", 60e6 * RADIO_RTT_S / 8e6, 60, 80),
    computed("a radio of {} Mbit/s over {} ms", 20, 80),
    computed("the radio's {:.1f} Mbit/s", payload_bps(RADIO_BPS, mptcp=True) / 1e6),
    computed("{} Mbit/s over {} ms and {} Mbit/s over {} ms", 100, 10, 10, 600),
    computed("{:.2f} MB", 110e6 * 0.6 / 8e6),
    measured(
        "after {:.1f} s for TCP, after {:.1f} s for MPTCP",
        "cut",
        lambda p: tuple(float(p[name].note.split()[-5]) for name in ("TCP", "MPTCP")),
    ),
    measured(
        "{:.0f} Mbit/s with a window of {} kB",
        "windows",
        lambda p: (p["MPTCP, 128 kB"].measured / 1e6, 128),
    ),
)
COMPARISONS = {
    "routes": LessonFigure(
        title="One route, and two",
        scenarios=("routes.yaml",),
        points=routes,
        y=GOODPUT,
        source="the lines after headers, RFC 8684 section 3.3",
        within=0.02,
    ),
    "windows": unpromised(
        title="Two routes with a window that is too small",
        scenarios=("routes.yaml",),
        points=windows,
        y=GOODPUT,
        beside="window / longer round trip",
        source="all that is on the way is one window",
        why="the scheduler decides which packet takes which route, and the shorter one needs less of the window",
    ),
    "cut": LessonFigure(
        title="The first route is cut for 6 s: what is left",
        scenarios=("cut.yaml",),
        points=cut,
        lines=lines,
        x=TIME,
        y=FigureAxis("goodput", "Mbit/s", 1e6),
        source="the other line after headers; nothing",
        within=0.02,
    ),
}
