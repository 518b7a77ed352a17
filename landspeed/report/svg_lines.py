"""Lines and points as SVG needs them: scales, ticks, pixels. Nothing is loaded and no script runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

WIDTH, HEIGHT = 460.0, 280.0
LEFT, RIGHT, TOP, BOTTOM = 62.0, 12.0, 14.0, 44.0
MOST_POINTS = 400
SCALES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"))


@dataclass(frozen=True)
class PlottedLine:
    """One line, or points without one.

    Attributes:
        name: for the legend.
        colour: a variable of the page's style, such as "--series-1".
        points: (x, y) in the axes' base units.
        dash: of the line; None draws points only.
        step: a value holds until the next point.
    """

    name: str
    colour: str
    points: Sequence[tuple[float, float]]
    dash: str | None = "none"
    step: bool = False


@dataclass(frozen=True)
class Axis:
    """One axis: what it is, its unit, and whether it is logarithmic."""

    name: str
    unit: str
    logarithmic: bool = False


@dataclass(frozen=True)
class Shape:
    """Picture of one line, in pixels."""

    name: str
    colour: str
    dash: str | None
    path: str
    dots: list[tuple[float, float]]


@dataclass(frozen=True)
class LinePicture:
    """A picture; ticks are (pixels, text)."""

    title: str
    x_name: str
    y_name: str
    shapes: list[Shape]
    x_ticks: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    y_ticks: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])


def draw(title: str, x: Axis, y: Axis, lines: Sequence[PlottedLine]) -> LinePicture | None:
    """The picture; None where there is nothing to draw. Of many points every so-manieth is drawn, and the last."""
    xs = [at for line in lines for at, _ in line.points]
    ys = [value for line in lines for _, value in line.points]
    if not xs:
        return None
    across, x_ticks, x_unit = _scale(x, xs, LEFT, WIDTH - RIGHT)
    upwards, y_ticks, y_unit = _scale(y, ys, HEIGHT - BOTTOM, TOP)
    shapes: list[Shape] = []
    for line in lines:
        pixels = [(across(at), upwards(value)) for at, value in _thinned(line.points)]
        dots = pixels if line.dash is None else []
        shapes.append(Shape(line.name, line.colour, line.dash, "" if dots else _path(pixels, step=line.step), dots))
    return LinePicture(title, f"{x.name} in {x_unit}", f"{y.name} in {y_unit}", shapes, x_ticks, y_ticks)


def _thinned(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    stride = math.ceil(len(points) / MOST_POINTS)
    return points if stride <= 1 else [*points[:-1:stride], points[-1]]


def _path(pixels: Sequence[tuple[float, float]], *, step: bool) -> str:
    parts: list[str] = []
    for number, (x, y) in enumerate(pixels):
        if number == 0:
            parts.append(f"M{x:.1f} {y:.1f}")
        elif step:
            parts.append(f"H{x:.1f}V{y:.1f}")
        else:
            parts.append(f"L{x:.1f} {y:.1f}")
    return "".join(parts)


def _scale(
    axis: Axis, values: Sequence[float], begin: float, end: float
) -> tuple[Callable[[float], float], list[tuple[float, str]], str]:
    """(value → pixel, ticks, unit with its prefix)."""
    low, high = min(values), max(values)
    if axis.logarithmic:
        low, high = max(low, high * 1e-9), high or 1.0
        if high == low:
            low, high = low / 2, high * 2
        span = math.log(high / low)

        def logarithmic(value: float) -> float:
            return begin + (end - begin) * (0.04 + 0.92 * math.log(max(value, low) / low) / span)

        ticks = _logarithmic_ticks(low, high)
        factor, prefix = _prefix(high)
        return logarithmic, [(logarithmic(each), f"{each / factor:g}") for each in ticks], prefix + axis.unit
    high = high if high > 0 else 1.0
    steps = _round_ticks(high)
    top = steps[-1]
    factor, prefix = _prefix(top)

    def linear(value: float) -> float:
        return begin + (end - begin) * value / top

    return linear, [(linear(each), f"{each / factor:g}") for each in steps], prefix + axis.unit


def _prefix(most: float) -> tuple[float, str]:
    return next(((size, prefix) for size, prefix in SCALES if most >= size), SCALES[-1])


def _round_ticks(most: float) -> list[float]:
    """Ticks from 0 to the first round number that is not below `most`, four to six of them."""
    size = 10.0 ** math.floor(math.log10(most / 4))
    step = next(size * part for part in (1, 2, 2.5, 5, 10) if size * part * 5 >= most)
    return [step * number for number in range(math.ceil(most / step - 1e-9) + 1)]


def _logarithmic_ticks(low: float, high: float) -> list[float]:
    """Powers of ten within the range; with 2 and 5 between where there are few; round numbers in a short one."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    parts = (1,) if len(powers) > 4 else (1, 2, 5) if len(powers) < 4 else (1, 3)
    found = [part * 10.0**power for power in powers for part in parts if low <= part * 10.0**power <= high * 1.0001]
    return found if len(found) > 1 else _ticks_between(low, high)


def _ticks_between(low: float, high: float) -> list[float]:
    """Multiples of the largest round number of which the range has at least two."""
    size = 10.0 ** math.floor(math.log10((high - low) / 2))
    step = max(size * part for part in (1, 2, 2.5, 5) if size * part * 2 <= high - low)
    return [step * number for number in range(math.ceil(low / step), math.floor(high / step) + 1)]
