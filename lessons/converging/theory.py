"""How two windows become equal: what one packet more and half the window do to sum, difference and ratio."""

import math
from collections.abc import Iterator, Sequence

from landspeed.course.comparison import FigureAxis, FigureLine, FigurePoint, LessonFigure, unpromised
from landspeed.course.lesson_run import LessonRun
from landspeed.course.stated_figures import computed, measured, thousands
from landspeed.scenario.theory.physics import FRAMING_BYTES

Windows = tuple[float, float]
FRAME_BYTES = 1500 + FRAMING_BYTES["ethernet"]


def difference_after(first: float, losses: int) -> float:
    """Growth adds the same to both windows, and each common loss halves both: half the difference (Chiu, Jain 1989)."""
    return first / 2**losses


def losses_until(first: float, least: float) -> int:
    """Common losses until the difference is below a number of packets."""
    return math.ceil(math.log2(first / least))


def common_loss_every_s(held_packets: float, rtt_s: float) -> float:
    """Half of what the path holds is given back at a loss, and two flows regain two packets in each round trip."""
    return held_packets / 4 * rtt_s


def held_packets(rate_bps: float, rtt_s: float) -> float:
    """Full packets that a path holds."""
    return rate_bps * rtt_s / 8 / FRAME_BYTES


def windows_at(run: LessonRun) -> list[tuple[float, Windows]]:
    """Both windows in packets, once in a round trip, from the second's slow start on."""
    both: list[dict[int, float]] = []
    for flow in run.plan.flows:
        series = run.flow(flow.name).series("cwnd_packets")
        both.append({round((time_s + flow.start_ns / 1e9) / run.rtt_s): value for time_s, value in series})
    ends = run.plan.events[1].at_ns / 1e9 + 3 * run.rtt_s
    return [
        (step * run.rtt_s, (both[0][step], both[1][step]))
        for step in sorted(both[0].keys() & both[1].keys())
        if step * run.rtt_s >= ends
    ]


def before_losses(run: LessonRun) -> list[Windows]:
    """The windows just before each loss that both have at once."""
    times_s = [event.at_ns / 1e9 for event in run.plan.events]
    common = sorted({time_s for time_s in times_s if times_s.count(time_s) == 2})
    seen = windows_at(run)
    return [[pair for time_s, pair in seen if time_s <= loss_s + 1e-6][-1] for loss_s in common]


def differences(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """The difference of two Reno windows after each common loss, beside half of that before."""
    start, *others = before_losses(runs[0])
    for losses, (one, two) in enumerate(others, 1):
        predicted = difference_after(start[0] - start[1], losses)
        yield FigurePoint(_name(losses), one - two, predicted, x=losses, note=f"{one:.0f} and {two:.0f} packets")


def ratios(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """The ratio of two windows of Scalable TCP, which growth by a share and a loss of a share leave as it is."""
    start, *others = before_losses(runs[0])
    for losses, (one, two) in enumerate(others, 1):
        note = f"{one:.0f} and {two:.0f} packets"
        yield FigurePoint(_name(losses), one / two, start[0] / start[1], x=losses, note=note)


def _name(losses: int) -> str:
    """Name of a point."""
    return f"{losses} loss{'es' if losses > 1 else ''}"


def no_points(_: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """The tables of the other figures have them."""
    return iter(())


def plane(runs: Sequence[LessonRun]) -> Iterator[FigureLine]:
    """One window over the other, as Chiu and Jain drew them."""
    for run, name in zip(runs, ("Reno", "Scalable TCP"), strict=True):
        yield FigureLine(name, [pair for _, pair in windows_at(run)])
    held = held_packets(runs[0].plan.links[2].forward.rate_bps, runs[0].rtt_s)
    yield FigureLine("equal windows", [(0, 0), (held, held)], "limit")
    yield FigureLine("the line is full", [(0, held), (held, 0)], "limit")


LONG = held_packets(10e9, 0.100)
LONG_EVERY_S = common_loss_every_s(LONG, 0.100)
STATED = (
    computed("keeps {}/{} at a loss", 7, 8),
    computed("differ by {} packets. After how many", 400),
    computed("differ by less than {}?", 10),
    computed("{}: {} / {} is {:.2f}, and", losses_until(400, 10), 400, 2**6, 400 / 2**6),
    computed("one less leaves {:.1f}", 400 / 2**5),
    computed("fill {} Gbit/s over {} ms. How long", 10, 100),
    computed("The path holds {} packets of {} B on the line", thousands(LONG), FRAME_BYTES),
    computed("{} / {} = {} round trips, or {:.0f} minutes", thousands(LONG), 4, thousands(LONG / 4), LONG_EVERY_S / 60),
    computed("Six losses take {:.1f} hours", 6 * LONG_EVERY_S / 3600),
    computed("One window is {} times the other", 3),
    computed("one window is {} times the other. What", 3),
    computed("How much do they differ after {} common losses?", 4),
    computed("What is the ratio after {} common losses?", 4),
    measured("windows differ by {:.0f} packets. How", "difference", lambda points: (2 * points["1 loss"].predicted,)),
    measured(
        "it was {:.0f} packets after the first common loss and {:.0f} after four",
        "difference",
        lambda points: (points["1 loss"].measured, points["4 losses"].measured),
    ),
    measured("a ratio of {:.2f} became {:.2f}", "ratio", lambda p: (p["4 losses"].predicted, p["4 losses"].measured)),
)
COMPARISONS = {
    "difference": LessonFigure(
        title="Two Reno flows: the difference of their windows after common losses",
        scenarios=("reno.yaml",),
        points=differences,
        x=FigureAxis("common losses", ""),
        y=FigureAxis("difference of the windows", "packets", log=True),
        source="half of the difference at each common loss, Chiu and Jain 1989",
        within=0.03,
    ),
    "ratio": LessonFigure(
        title="Two flows of Scalable TCP: the ratio of their windows after common losses",
        scenarios=("scalable.yaml",),
        points=ratios,
        x=FigureAxis("common losses", ""),
        y=FigureAxis("ratio of the windows", "", least=0, most=4),
        source="the ratio stays, Chiu and Jain 1989",
        within=0.03,
        why="a window grows by whole packets, and the smaller one is rounded more",
    ),
    "plane": unpromised(
        title="The window of the second flow over that of the first",
        scenarios=("reno.yaml", "scalable.yaml"),
        points=no_points,
        lines=plane,
        x=FigureAxis("window of the first flow", "packets", least=0, most=450),
        y=FigureAxis("window of the second", "packets", least=0, most=330),
        beside="equal",
        source="the plane of Chiu and Jain 1989",
        why="the two other figures have the laws",
    ),
}
