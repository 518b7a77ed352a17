"""A figure of a lesson as SVG: measured points over the predicted curve, and the residual below.

Colours are the page's CSS variables, so that a figure follows light, dark and print; in a notebook and in a file of its
own the light ones stand in for them. There is a wide form and a narrow one, for a telephone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import escape

from landspeed.course.comparison import FigureAxis, FigureLine, FigurePoint, LessonFigure
from landspeed.course.scales import Scale, make_scale, tick_text
from landspeed.report.chart_parts import thin
from landspeed.report.page_parts import environment

TEMPLATES = Path(__file__).resolve().parent / "templates"
COLOURS = (
    ("--rehearsed", "#0b5ea8"), ("--recorded", "#b4500a"), ("--series-2", "#117733"), ("--series-5", "#882255"),
    ("--series-3", "#b8860b"), ("--series-6", "#44aa99"), ("--series-1", "#cc6677"), ("--series-7", "#777777"),
)  # fmt: skip
THEORY = ("--recorded", "#b4500a")
LIMIT = ("--limit", "#6b7280")
DASHES = {"measured": "none", "theory": "6 3", "limit": "2 4"}
MARKS = ("circle", "square", "triangle", "diamond")
WIDE, NARROW = 720.0, 370.0
LINE_POINTS = 700


@dataclass(frozen=True)
class FigureLayout:
    """A figure's parts in pixels, for the template."""

    width: float
    height: float
    plot: tuple[float, float, float, float]  # left, top, right, bottom
    rest: tuple[float, float] | None  # top and bottom of the residuals
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    rest_ticks: list[tuple[float, str]]
    band: tuple[float, float] | None  # of the promised residual
    zero: float
    x_text: str
    y_text: str
    lines: list[dict[str, Any]]
    marks: list[dict[str, Any]]
    legend: list[dict[str, Any]]
    alternative: str


def draw(
    comparison: LessonFigure, points: Sequence[FigurePoint], lines: Sequence[FigureLine], width: float = WIDE
) -> str:
    """The figure as one SVG element.

    Args:
        points, lines: in the unit of the figures.
        width: of its view box; WIDE or NARROW.
    """
    return environment(TEMPLATES).get_template("figure.svg.j2").render(d=_lay_out(comparison, points, lines, width))


def alternative(comparison: LessonFigure, points: Sequence[FigurePoint]) -> str:
    """Describe the figure in words for readers who cannot see it."""
    x = comparison.x
    over = f" over {x.name}" if x else ""
    worst = max((abs(point.residual) for point in points if point.x is not None), default=None)
    if not comparison.is_law:
        return f"{comparison.title}: {comparison.y.name}{over}, measured. The table has the figures."
    rest = "" if worst is None else f" The greatest residual is {100 * worst:.2g} %."
    return f"{comparison.title}: {comparison.y.name}{over}, measured and predicted.{rest} The table has the figures."


def _text(axis: FigureAxis) -> str:
    return f"{axis.name} ({axis.unit})" if axis.unit else axis.name


@dataclass(frozen=True)
class _Frame:
    """Layout of a figure: its scales, and the colour of each series."""

    comparison: LessonFigure
    x_axis: FigureAxis
    x: Scale
    y: Scale
    rest: Scale
    series: list[str]
    colours: dict[str, tuple[str, str]]


def _lay_out(
    comparison: LessonFigure, points: Sequence[FigurePoint], lines: Sequence[FigureLine], width: float
) -> FigureLayout:
    assert comparison.x is not None
    x_axis, y_axis = comparison.x, comparison.y
    shown = [point for point in points if point.x is not None]
    curves = [*_theory(comparison, shown, lines), *lines]
    names = list(dict.fromkeys([line.name for line in lines if line.kind == "measured"]))
    series = list(dict.fromkeys(point.series for point in shown))
    colours = {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(dict.fromkeys([*series, *names]))}
    legend = _placed(_legend(curves, series, colours), width)
    rows = len({entry["y"] for entry in legend})
    left, right, top = 62.0, width - 14, 10 + 19.0 * rows
    bottom = top + (300 if width == WIDE else 250)
    rest = (bottom + 16, bottom + 92) if shown and comparison.within is not None else None
    xs = [(point.x or 0.0) / x_axis.per for point in shown]
    xs += [x / x_axis.per for line in curves for x, _ in line.points]
    ys = [each / y_axis.per for point in shown for each in (point.measured, point.predicted)]
    ys += [y / y_axis.per for line in curves for _, y in line.points]
    greatest = max([abs(point.residual) for point in shown if abs(point.residual) < 10], default=0.0)
    half = 100 * max(1.3 * (comparison.within or 0.0), 1.15 * greatest, 1e-4)
    frame = _Frame(
        comparison,
        x_axis,
        make_scale(x_axis, xs, left, right),
        make_scale(y_axis, ys, bottom, top),
        Scale(-half, half, False, *((rest[1], rest[0]) if rest else (0.0, 1.0))),
        series,
        colours,
    )
    promise = comparison.within
    return FigureLayout(
        width=width,
        height=(rest[1] if rest else bottom) + 46,
        plot=(left, top, right, bottom),
        rest=rest,
        x_ticks=frame.x.ticks(7 if width == WIDE else 4),
        y_ticks=frame.y.ticks(),
        rest_ticks=frame.rest.ticks(4),
        band=(frame.rest(100 * promise), frame.rest(-100 * promise)) if promise else None,
        zero=frame.rest(0),
        x_text=_text(x_axis),
        y_text=_text(y_axis),
        lines=[_drawn_line(line, frame) for line in curves],
        marks=[_mark(point, frame) for point in shown],
        legend=legend,
        alternative=alternative(comparison, points),
    )


def _theory(comparison: LessonFigure, shown: Sequence[FigurePoint], lines: Sequence[FigureLine]) -> list[FigureLine]:
    """A curve through the predicted values of each series, where the lesson draws none of its own.

    What is no theory, such as a target, is drawn as a limit and named as it is.
    """
    kind = "theory" if comparison.is_law else "limit"
    if any(line.kind == kind for line in lines) or (comparison.within is None and not shown):
        return []
    found: list[FigureLine] = []
    for name in dict.fromkeys(point.series for point in shown):
        curve = sorted((point.x or 0.0, point.predicted) for point in shown if point.series == name)
        if len(curve) > 1:
            found.append(FigureLine(f"{name}, {comparison.beside}" if name else comparison.beside, curve, kind))
    return found


def _legend(
    curves: Sequence[FigureLine], series: list[str], colours: dict[str, tuple[str, str]]
) -> list[dict[str, Any]]:
    """Series, then lines; where several series have a curve of their own, "theory" stands once."""
    found: list[dict[str, Any]] = [
        {"name": name or "measured", "mark": MARKS[number % len(MARKS)], "colour": colours[name]}
        for number, name in enumerate(series)
    ]
    theories = [line for line in curves if line.kind == "theory"]
    together = len(theories) > 1 and len(series) > 1
    found += [
        {"name": line.name, "colour": _colour(line, colours, len(series)), "dash": DASHES[line.kind]}
        for line in curves
        if not (together and line.kind == "theory")
    ]
    return [*found, {"name": "theory", "colour": LIMIT, "dash": DASHES["theory"]}] if together else found


def _colour(line: FigureLine, colours: dict[str, tuple[str, str]], series: int) -> tuple[str, str]:
    if line.kind == "limit":
        return LIMIT
    if line.kind == "measured":
        return colours[line.name]
    own = line.name.removesuffix(", theory")
    return colours[own] if own in colours and (series > 1 or own) else THEORY


def _entry_width(entry: dict[str, Any]) -> float:
    return 52 + 7.2 * len(entry["name"])


def _placed(legend: list[dict[str, Any]], width: float) -> list[dict[str, Any]]:
    placed: list[dict[str, Any]] = []
    x, y = 62.0, 12.0
    for entry in legend:
        if x > 62 and x + _entry_width(entry) > width:
            x, y = 62.0, y + 19
        placed.append(entry | {"x": x, "y": y})
        x += _entry_width(entry)
    return placed


def _drawn_line(line: FigureLine, frame: _Frame) -> dict[str, Any]:
    inside = [
        (x / frame.x_axis.per, y / frame.comparison.y.per)
        for x, y in line.points
        if frame.x.low * (1 - 1e-9) <= x / frame.x_axis.per <= frame.x.high * (1 + 1e-9) and (y > 0 or not frame.y.log)
    ]
    path = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in thin(inside, LINE_POINTS))
    colour = _colour(line, frame.colours, len(frame.series))
    return {"path": path, "colour": colour, "dash": DASHES[line.kind], "name": line.name, "kind": line.kind}


def _mark(point: FigurePoint, frame: _Frame) -> dict[str, Any]:
    axis, promise = frame.comparison.y, frame.comparison.within
    y, half = point.measured / axis.per, (point.half or 0.0) / axis.per
    spread = 100 * half / (point.predicted / axis.per or 1.0)
    return {
        "x": frame.x((point.x or 0.0) / frame.x_axis.per),
        "y": frame.y(y),
        "low": frame.y(max(y - half, y * 1e-3)),
        "high": frame.y(y + half),
        "rest": frame.rest(100 * point.residual),
        "rest_low": frame.rest(100 * point.residual - spread),
        "rest_high": frame.rest(100 * point.residual + spread),
        "mark": MARKS[frame.series.index(point.series) % len(MARKS)],
        "colour": frame.colours[point.series],
        "wrong": promise is not None and abs(point.residual) > promise,
        "text": f"{point.name}: {tick_text(float(f'{y:.5g}'))} {axis.unit}, {100 * point.residual:+.2f} %",
    }


def standalone(svg: str, title: str) -> str:
    """An SVG as a file of its own, for a slide: the light colours, on white."""
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    style = (
        "<style>text{font-family:'Liberation Sans',Arial,sans-serif}</style>"
        '<rect width="100%" height="100%" fill="#ffffff"/>'
    )
    begin, _, rest = svg.strip().partition(">")
    return f'{head}{begin} xmlns="http://www.w3.org/2000/svg"><title>{escape(title)}</title>{style}{rest}\n'
