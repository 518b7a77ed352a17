"""Comparisons of a lesson: figures of real runs beside theory. `lessons/NAME/theory.py` is made of these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from landspeed.judge.certainty import certain

if TYPE_CHECKING:
    from landspeed.course.lesson_run import LessonRun


@dataclass(frozen=True)
class FigureAxis:
    """A quantity as it is shown.

    Attributes:
        name: in words.
        unit: as printed.
        per: one of that unit in the unit of the figures (bytes, seconds, bit/s).
        log: whether its axis is logarithmic.
        least, most: where its axis begins and ends, in the unit of the figures; None: where the figures do.
    """

    name: str
    unit: str = ""
    per: float = 1.0
    log: bool = False
    least: float | None = None
    most: float | None = None


TIME = FigureAxis("time", "s")
RTT = FigureAxis("round-trip time", "ms", 1e-3, log=True)
GOODPUT = FigureAxis("goodput", "Mbit/s", 1e6)
GOODPUT_LOG = replace(GOODPUT, log=True)
GOODPUT_GBPS = replace(GOODPUT, unit="Gbit/s", per=1e9)


@dataclass(frozen=True)
class FigurePoint:
    """A figure of one run, or the mean of several, beside what theory says of it.

    Attributes:
        name: of the run, for the table.
        measured, predicted: in the unit of the figures.
        x: where it is drawn; None: in the table only.
        series: points of one series have one colour.
        half: half of the 95 % confidence interval of a mean.
        note: what else is known of it.
    """

    name: str
    measured: float
    predicted: float
    x: float | None = None
    series: str = ""
    half: float | None = None
    note: str = ""

    @property
    def residual(self) -> float:
        """Relative deviation of the measured figure from the predicted one; infinite where the prediction is 0."""
        if self.predicted:
            return self.measured / self.predicted - 1
        return 0.0 if not self.measured else float("inf")

    @classmethod
    def mean(
        cls, name: str, values: Sequence[float], predicted: float, x: float | None = None, note: str = ""
    ) -> FigurePoint:
        """The mean over seeds, with half of its 95 % confidence interval (Student's t); the note begins with how many.

        Raises:
            ValueError: there is no value.
        """
        found = certain(values)
        if found.mean is None:
            raise ValueError(f"{name}: no value has no mean")
        return cls(name, found.mean, predicted, x, half=found.half, note=f"{len(values)} seeds, {note}")


@dataclass(frozen=True)
class FigureLine:
    """A line of a figure, such as a window over time.

    Attributes:
        points: (x, y) in the units of the figures.
        kind: `measured`; `theory`, a predicted curve; `limit`, a bound.
    """

    name: str
    points: Sequence[tuple[float, float]]
    kind: Literal["measured", "theory", "limit"] = "measured"


@dataclass(frozen=True)
class LessonProgram:
    """A program that is run on the path instead of a transfer; its output is what was measured.

    Attributes:
        at: the node.
        command: its words. `LESSON` in them is the lesson's folder.
        files: of the lesson's folder that it uses: when one changes, it is run again.
    """

    at: str
    command: tuple[str, ...]
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class LessonFigure:
    """One figure and table of a lesson, and how near to theory it is promised to be.

    Attributes:
        title: what is compared, in words.
        scenarios: files of the lesson's folder. Every combination of what they vary is run.
        points: the runs, in the order of the files → measured beside predicted.
        y: what is compared.
        source: of the formula.
        within: the greatest residual that is allowed; None: none is promised, and `why` says so.
        why: what explains a residual that is left.
        x: None: no point is drawn.
        lines: the runs → lines to draw beside the points.
        program: instead of a transfer.
        beside: what stands beside the measured figure; where it is no theory, no residual is shown.
    """

    title: str
    scenarios: tuple[str, ...]
    points: Callable[[Sequence[LessonRun]], Iterable[FigurePoint]]
    y: FigureAxis
    source: str
    within: float | None
    why: str = ""
    x: FigureAxis | None = None
    lines: Callable[[Sequence[LessonRun]], Iterable[FigureLine]] | None = None
    program: LessonProgram | None = None
    beside: str = "theory"

    @property
    def is_law(self) -> bool:
        """True if the comparison is with theory, not with a target or a record."""
        return self.beside == "theory"

    def failures(self, points: Iterable[FigurePoint]) -> list[str]:
        """Each point that is farther from theory than was promised, in words."""
        if self.within is None:
            return []
        return [
            f"{self.title}: {point.name}: {point.measured / self.y.per:.5g} {self.y.unit}, predicted "
            f"{point.predicted / self.y.per:.5g} ({point.residual:+.2%}, promised ± {self.within:.1%})"
            for point in points
            if not abs(point.residual) <= self.within
        ]


def unpromised(
    title: str,
    scenarios: tuple[str, ...],
    points: Callable[[Sequence[LessonRun]], Iterable[FigurePoint]],
    *,
    y: FigureAxis,
    x: FigureAxis | None = None,
    lines: Callable[[Sequence[LessonRun]], Iterable[FigureLine]] | None = None,
    beside: str,
    source: str,
    why: str,
) -> LessonFigure:
    """A comparison with what is no law, such as a target or a record: it stands beside, and no residual is promised."""
    return LessonFigure(title, scenarios, points, y, source, None, why, x, lines, beside=beside)
