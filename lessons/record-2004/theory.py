"""What bound the record of 25 June 2004, and what each of its settings gave."""

import math
from collections.abc import Iterator, Sequence

from landspeed.course.comparison import GOODPUT_GBPS, TIME, FigureLine, FigurePoint, LessonFigure, unpromised
from landspeed.course.lesson_run import LessonRun
from landspeed.course.stated_figures import computed, measured, thousands
from landspeed.scenario.theory.physics import CUBIC_BETA, cubic_k_s, linux_usable_window_bytes

FROM_S = 40.0
RECORDED_BPS, RTT_S, MSS_BYTES = 6_626_513_000, 0.264, 8948


def window_bytes(rate_bps: float) -> float:
    """What must be in flight for a rate: rate × RTT (RFC 7323 section 1.1)."""
    return rate_bps * RTT_S / 8


def reno_back_s(window_bytes: float) -> float:
    """Half the window is gone after a loss, and each round trip gives a packet back (RFC 5681): W/2 round trips."""
    return window_bytes / MSS_BYTES / 2 * RTT_S


def cubic_back_s(window_bytes: float) -> float:
    """CUBIC's K: from 0.7 of the window to the whole (RFC 9438 section 4.2)."""
    window = window_bytes / MSS_BYTES
    return cubic_k_s(window, CUBIC_BETA * window)


def square_root_bps(loss: float) -> float:
    """A Reno stream in the long run: MSS / RTT × √(3/2p) (Mathis et al. 1997)."""
    return MSS_BYTES * 8 / RTT_S * math.sqrt(1.5 / loss)


def goodput_bps(run: LessonRun) -> float:
    """The least of what windows, bus and lines let through; windows as Linux offered them, in whole packets."""
    physics, streams = run.plan.physics, run.plan.transfer.streams
    window = run.window_bytes // streams // run.mss_bytes * run.mss_bytes * streams
    limits = [window * 8 / run.rtt_s, float(physics.line_rate_limit_bps)]
    return min([*limits, float(physics.bus_limit_bps)] if physics.bus_limit_bps else limits)


def points(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Each setting; random loss has no place in the formula and is shown below."""
    for run in runs:
        if not run.plan.links[0].forward.loss:
            note = f"{run.window_bytes / 1e6:.3g} MB of windows, bound by {run.record.limited_by}"
            yield FigurePoint(run.name, run.goodput_bps(FROM_S), goodput_bps(run), note=note)


def every(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """All of them, beside the record."""
    for run in runs:
        yield FigurePoint(run.name, run.goodput_bps(FROM_S), RECORDED_BPS, note=f"{run.record.retransmits} sent again")


def lines(runs: Sequence[LessonRun]) -> Iterator[FigureLine]:
    """Goodput over time."""
    for run in runs:
        yield FigureLine(run.name, run.goodput_series(1.0))
    yield FigureLine("recorded", [(0, RECORDED_BPS), (60, RECORDED_BPS)], "limit")


STATED = (
    computed(
        "859 GB from Geneva to Pasadena in {:.0f} minutes: {:.2f} Gbit/s",
        859.053e9 * 8 / RECORDED_BPS / 60,
        RECORDED_BPS / 1e9,
    ),
    computed(
        "eight of {} MB are {:.0f} MB, more than the {:.0f} MB that the path holds",
        46.6,
        8 * 46.6,
        window_bytes(10e9) / 1e6,
    ),
    computed("eleven retransmissions in {:.0f} million packets", 859.053e9 / MSS_BYTES / 1e6),
    computed(
        "leaves each Reno stream {:.0f} Mbit/s in the long run, and all eight {:.2f} Gbit/s",
        square_root_bps(1e-5) / 1e6,
        8 * square_root_bps(1e-5) / 1e9,
    ),
    computed(
        "A window of {:.0f} MB or more for {:.2f} Gbit/s, and no loss at all in {:.0f} minutes: "
        "after one, Reno needs {:.0f} minutes to be back.",
        window_bytes(RECORDED_BPS) / 1e6,
        RECORDED_BPS / 1e9,
        859.053e9 * 8 / RECORDED_BPS / 60,
        reno_back_s(window_bytes(RECORDED_BPS)) / 60,
    ),
    computed("half a window of {} packets", thousands(window_bytes(RECORDED_BPS) / MSS_BYTES)),
    computed("After a loss CUBIC is back in {:.0f} s", cubic_back_s(window_bytes(RECORDED_BPS))),
    computed("at most {} GiB, which is {:.1f} Gbit/s", 1, 2**30 * 8 / RTT_S / 1e9),
    computed("Gbit/s over {} km", thousands(15_766)),
    computed("had windows of {} MB each", 46.6),
    computed("One stream of {} MB instead", 46.6),
    computed("You rehearse it for {} seconds", 60),
    computed("here {:.1f} MB of each", linux_usable_window_bytes(46_600_000, MSS_BYTES, "packets") / 1e6),
    measured(
        "it is {:.1f} MB asked, and {:.1f} MB on offer",
        "settings",
        lambda points: (8 * 2**16 / 1e6, float(points["a system's own windows of 64 KB"].note.split()[0])),
    ),
    computed("{:.1f} Gbit/s would be left of the line at MTU {}", 10 * MSS_BYTES / 9038, 9000),
    computed("a PCI-X bus moved {:.2f} Gbit/s of packets", RECORDED_BPS * 9000 / MSS_BYTES / 1e9),
    computed("Today's hosts move {} Gbit/s", 100),
    computed("MTU {}, as everybody else had", 1500),
)
COMPARISONS = {
    "settings": LessonFigure(
        title="What windows, bus and line let through",
        scenarios=("settings.yaml",),
        points=points,
        y=GOODPUT_GBPS,
        source="min(windows / RTT, bus, line rate after headers)",
        within=0.03,
        why="the limit of the bus is fitted to the recorded rate; everything else is predicted",
    ),
    "record": unpromised(
        title="Goodput over time beside the recorded 6.63 Gbit/s",
        scenarios=("settings.yaml",),
        points=every,
        lines=lines,
        x=TIME,
        y=GOODPUT_GBPS,
        source="the submission of the record, 28 June 2004",
        beside="recorded",
        why="the recorded rate stands beside settings that nobody used on that day",
    ),
}
