"""Jitter and reordering: what spreads, and what Linux makes of packets that overtake."""

import math
from collections.abc import Iterator, Sequence

from landspeed.course.comparison import GOODPUT, FigureAxis, FigurePoint, LessonFigure, LessonProgram, unpromised
from landspeed.course.lesson_run import LessonRun
from landspeed.course.stated_figures import measured

FROM_S = 5.0


def deviation_s(jitter_s: float) -> float:
    """Standard deviation of a delay that is even between −J and +J: J / √3."""
    return jitter_s / math.sqrt(3)


def spread(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """As ping tells it, of a thousand packets: known to √(2/5)/√1000 = 2 % (an even spread's fourth moment is 9/5)."""
    for run in runs:
        _, deviation_ms = run.output.split()
        jitter_s = run.number("path.1.jitter") / 1e9
        yield FigurePoint(f"± {run.name}", float(deviation_ms) / 1e3, deviation_s(jitter_s), x=jitter_s)


def two_lines(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Goodput where a fifth of the packets is early by 20 ms, over two round trips."""
    for run in runs:
        note = f"{run.record.retransmits} sent again, though nothing was lost"
        name = f"{run.rtt_s * 1e3:.0f} ms"
        yield FigurePoint(name, run.goodput_bps(FROM_S), run.plan.physics.line_rate_limit_bps, note=note)


def _again(point: FigurePoint) -> float:
    """Packets sent again, of its note."""
    return float(point.note.split()[0])


def reordered(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Goodput beside what it is where nothing overtakes."""
    for run in runs:
        share, delay = run.values["path.1.reorder"], run.values["path.1.one_way_delay"]
        note = f"{run.record.retransmits} sent again, though nothing was lost"
        yield FigurePoint(
            f"{share}, ahead by {delay}", run.goodput_bps(FROM_S), run.plan.physics.line_rate_limit_bps,
            x=run.number("path.1.reorder"), series=f"ahead by {delay}", note=note,
        )  # fmt: skip


STATED = (
    measured(
        "Over 40 ms Reno reaches {:.1f} of {:.1f} Mbit/s, and sends {:.0f} packets again",
        "two-lines",
        lambda points: (points["40 ms"].measured / 1e6, points["40 ms"].predicted / 1e6, _again(points["40 ms"])),
    ),
    measured(
        "over 60 ms it reaches {:.1f}, and sends {:.0f} again",
        "two-lines",
        lambda points: (points["60 ms"].measured / 1e6, _again(points["60 ms"])),
    ),
)
COMPARISONS = {
    "spread": LessonFigure(
        title="Standard deviation of the round trip over the jitter of one direction",
        scenarios=("jitter.yaml",),
        points=spread,
        x=FigureAxis("jitter, up to ±", "ms", 1e-3),
        y=FigureAxis("standard deviation", "ms", 1e-3),
        source="J / √3 for an even spread between −J and +J",
        within=0.06,
        why="a thousand packets know it to 2 %, three times that is allowed",
        program=LessonProgram("a", ("sh", "LESSON/pings.sh", "b"), ("pings.sh",)),
    ),
    "two-lines": unpromised(
        title="Goodput where every fifth packet takes a line that is shorter by 20 ms",
        scenarios=("two-lines.yaml",),
        points=two_lines,
        y=GOODPUT,
        source="the line, as if nothing overtook",
        beside="line",
        why="how much is sent again in vain is Linux's own (RACK, RFC 8985)",
    ),
    "reorder": unpromised(
        title="Goodput of Reno where packets overtake others",
        scenarios=("reorder.yaml",),
        points=reordered,
        x=FigureAxis("packets that overtake", "%", 0.01),
        y=GOODPUT,
        source="the line, as if nothing overtook",
        beside="line",
        why="how much is sent again in vain is Linux's own (RACK, RFC 8985)",
    ),
}
