"""Figures of a sweep's page: means for each combination, small multiples of lines with error bars, heat maps.

The axis with most values that are quantities goes along x, the next one makes the lines, and each combination of the
rest is a picture of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from landspeed.base.text import DASH, rate_text
from landspeed.base.units_text import rate_unit
from landspeed.judge.certainty import Certain, certain, most_told
from landspeed.scenario.file.ranges import magnitude

WIDTH, HEIGHT = 460.0, 280.0
LEFT, RIGHT, TOP, BOTTOM = 62.0, 12.0, 14.0, 44.0
COLOURS = ("--series-1", "--series-2", "--series-3", "--series-5", "--series-6", "--rehearsed")
DASHES = ("none", "7 4", "2 3", "7 3 2 3")
MOST_LINES = 12
LOGARITHMIC_FROM = 50.0  # the greatest value divided by the least
LETTER = 7.0  # pixels, of a tick's text


@dataclass(frozen=True)
class Mean:
    """A combination of everything but the seed: means over the seeds, and the cells of its runs.

    Attributes:
        settled: goodput of the time that is judged: from 10 s on, or of the second half.
        loaded: median round trip under load, in ms.
    """

    values: dict[str, str]
    goodput: Certain
    settled: Certain
    loaded: Certain
    retransmits: float | None
    bound_by: str
    failed: int
    cells: tuple[tuple[int, str], ...]  # seed and key


@dataclass(frozen=True)
class Measure:
    """A figure that a sweep is about."""

    title: str
    of: Callable[[Mean], Certain]
    unit: Callable[[float], tuple[float, str]]  # for the greatest value: its size and name

    def text(self, mean: Mean) -> str:
        """The mean with its interval, in words."""
        known = self.of(mean)
        if known.mean is None:
            return DASH
        size, unit = self.unit(known.mean)
        shown = rate_text(known.mean) if unit != "ms" else f"{known.mean / size:.4g} ms"
        if known.half is None:
            return shown
        spread = 100 * (known.relative or 0.0)
        return f"{shown} ± {spread:.0f} %" if spread >= 10 else f"{shown} ± {spread:.2g} %"


@dataclass(frozen=True)
class Bar:
    """A point with its error bar, in pixels; the bar is a point when there is one seed."""

    x: float
    y: float
    low: float
    high: float
    text: str


@dataclass(frozen=True)
class SweepLine:
    """One line of a picture."""

    name: str
    colour: str
    dash: str
    bars: list[Bar]

    @property
    def points(self) -> str:
        """Points of the line, for SVG."""
        return " ".join(f"{bar.x:.1f},{bar.y:.1f}" for bar in self.bars)


@dataclass(frozen=True)
class SweepPicture:
    """One of the small multiples; ticks are (pixels, text)."""

    title: str
    x_name: str
    line_name: str  # the key of which each line has a value
    unit: str
    lines: list[SweepLine]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]


@dataclass(frozen=True)
class HeatMap:
    """Mean goodput over two axes; a cell is (text, shade 0…1), or None where nothing is known."""

    title: str
    x_name: str
    y_name: str
    columns: list[str]
    rows: list[tuple[str, list[tuple[str, float] | None]]]


MEASURES = (
    Measure("Goodput", lambda mean: mean.goodput, rate_unit),
    Measure("Settled goodput", lambda mean: mean.settled, rate_unit),
    Measure("Round trip under load", lambda mean: mean.loaded, lambda _: (1.0, "ms")),
)


def means(keys: Sequence[str], rows: Sequence[dict[str, Any]]) -> list[Mean]:
    """Each combination with the mean of its seeds, in the order of the rows."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    found: list[Mean] = []
    for values, group in groups.items():
        done = [row for row in group if row["state"] == "done"]
        resent = [int(row["retransmits"]) for row in done if row["retransmits"] is not None]
        told = most_told(row["limited_by"] for row in done if row["limited_by"])
        mean = sum(resent) / len(resent) if resent else None
        named = dict(zip(keys, values, strict=True))
        goodput, settled, loaded = (
            certain([float(row[name]) for row in done if row.get(name) is not None])
            for name in ("goodput_bps", "settled_goodput_bps", "rtt_loaded_median_ms")
        )
        cells = tuple((row["seed"], row["cell"]) for row in done if "cell" in row)
        failed = len(group) - len(done)
        found.append(Mean(named, goodput, settled, loaded, mean, told, failed, cells))
    return found


def axes(keys: Sequence[str], found: Sequence[Mean]) -> dict[str, list[str]]:
    """Key → its values in the order of the file, keys with most values first, and quantities before names."""
    values = {key: list(dict.fromkeys(mean.values[key] for mean in found)) for key in keys}
    return dict(sorted(values.items(), key=lambda item: (not _is_quantity(item[1]), -len(item[1]))))


def pictures(keys: Sequence[str], found: Sequence[Mean], measure: Measure) -> list[SweepPicture]:
    """Lines of a measure over the first axis; none when it has no two quantities, or nothing was measured."""
    known = [each for each in found if measure.of(each).mean is not None]
    order = axes(keys, found)
    if not known or not order or not _is_quantity(next(iter(order.values()))):
        return []
    x_key, *others = order
    if len(order[x_key]) < 2:
        return []
    line_key = next((key for key in others if 1 < len(order[key]) <= MOST_LINES), None)
    apart = [key for key in others if key != line_key and len(order[key]) > 1]
    least = min(measure.of(mean).mean or 0.0 for mean in known)
    most = max((measure.of(mean).mean or 0.0) + (measure.of(mean).half or 0.0) for mean in known) or 1.0
    scale, unit = measure.unit(most)
    upright = Upright.of(least / scale, most / scale)
    along = _placing(order[x_key])
    made: list[SweepPicture] = []
    for chosen in itertools.product(*(order[key] for key in apart)):
        here = dict(zip(apart, chosen, strict=True))
        lines: list[SweepLine] = []
        for number, name in enumerate(order[line_key] if line_key else [""]):
            fixed = here | ({line_key: name} if line_key else {})
            bars = [
                _bar(mean, measure.of(mean), along[mean.values[x_key]], upright, (scale, unit))
                for mean in known
                if all(mean.values[key] == value for key, value in fixed.items())
            ]
            colour, dash = COLOURS[number % len(COLOURS)], DASHES[number // len(COLOURS) % len(DASHES)]
            lines.append(SweepLine(name, colour, dash, sorted(bars, key=lambda bar: bar.x)))
        title = ", ".join(f"{key} {value}" for key, value in here.items())
        x_ticks = _few(along)
        y_ticks = [(upright.pixels(tick), f"{tick:g}") for tick in upright.ticks]
        made.append(SweepPicture(title, x_key, line_key or "", unit, lines, x_ticks, y_ticks))
    return made


def heat_maps(keys: Sequence[str], found: Sequence[Mean]) -> list[HeatMap]:
    """Goodput over the two axes with most values, where both have three or more."""
    order = axes(keys, found)
    wide = [key for key in order if len(order[key]) >= 3][:2]
    if len(wide) < 2:
        return []
    x_key, y_key = wide
    apart = [key for key in order if key not in wide]
    most = max(mean.goodput.mean or 0.0 for mean in found) or 1.0
    scale, unit = rate_unit(most)
    by_values = {tuple(mean.values[key] for key in (x_key, y_key, *apart)): mean for mean in found}
    made: list[HeatMap] = []
    for chosen in itertools.product(*(order[key] for key in apart)):
        rows: list[tuple[str, list[tuple[str, float] | None]]] = []
        for y in order[y_key]:
            cells: list[tuple[str, float] | None] = []
            for x in order[x_key]:
                mean = by_values.get((x, y, *chosen))
                value = None if mean is None else mean.goodput.mean
                cells.append(None if value is None else (f"{value / scale:.3g}", value / most))
            rows.append((y, cells))
        title = ", ".join(f"{key} {value}" for key, value in zip(apart, chosen, strict=True) if len(order[key]) > 1)
        made.append(
            HeatMap(
                " · ".join(part for part in (f"goodput in {unit}", title) if part), x_key, y_key, order[x_key], rows
            )
        )
    return made


def _is_quantity(values: Sequence[str]) -> bool:
    return all(magnitude(text) is not None for text in values)


def _round_ticks(most: float) -> list[float]:
    """Ticks from 0 to the first round number that is not below `most`, four to six of them."""
    size = 10.0 ** math.floor(math.log10(most / 4))
    step = next(size * part for part in (1, 2, 2.5, 5, 10) if size * part * 5 >= most)
    return [step * number for number in range(math.ceil(most / step - 1e-9) + 1)]


def _placing(texts: Sequence[str]) -> dict[str, float]:
    """Value as written → pixels along x, logarithmic where the values span much; 0 then stands a decade below them."""
    xs = {text: magnitude(text) or 0.0 for text in texts}
    low, high = min(xs.values()), max(xs.values())
    least = min((each for each in xs.values() if each > 0), default=high)
    logarithmic = low >= 0 and high >= LOGARITHMIC_FROM * least > 0
    if logarithmic:
        low = least if low else least / 10

    def share(value: float) -> float:
        if high == low:
            return 0.5
        return math.log(max(value, low) / low) / math.log(high / low) if logarithmic else (value - low) / (high - low)

    return {text: LEFT + 14 + share(value) * (WIDTH - LEFT - RIGHT - 28) for text, value in xs.items()}


@dataclass(frozen=True)
class Upright:
    """The upright axis of a picture, logarithmic where values are far apart."""

    low: float
    high: float
    logarithmic: bool
    ticks: list[float]

    @classmethod
    def of(cls, least: float, most: float) -> Upright:
        """The axis for values up to `most`: from 0, or from the decade of `least`."""
        if least > 0 and most / least >= LOGARITHMIC_FROM:
            first, last = math.floor(math.log10(least)), math.ceil(math.log10(most))
            ticks = [10.0**power for power in range(first, last + 1)]
            return cls(ticks[0], ticks[-1], logarithmic=True, ticks=ticks)
        ticks = _round_ticks(most)
        return cls(0.0, ticks[-1], logarithmic=False, ticks=ticks)

    def pixels(self, value: float) -> float:
        """A value → pixels from above."""
        value = min(max(value, self.low), self.high)
        share = math.log(value / self.low) / math.log(self.high / self.low) if self.logarithmic else value / self.high
        return TOP + (1 - share) * (HEIGHT - TOP - BOTTOM)


def _bar(mean: Mean, known: Certain, x: float, upright: Upright, unit: tuple[float, str]) -> Bar:
    scale, name = unit
    value, half = (known.mean or 0.0) / scale, (known.half or 0.0) / scale
    spread = f" ± {half:.2g}" if half else ""
    low, high = upright.pixels(value - half), upright.pixels(value + half)
    return Bar(x, upright.pixels(value), low, high, f"{', '.join(mean.values.values())}: {value:.4g}{spread} {name}")


def _few(along: Mapping[str, float]) -> list[tuple[float, str]]:
    """Choose ticks that have room: both ends, and of the others those that do not touch one before them."""
    first, *others, last = sorted((x, text) for text, x in along.items())
    found = [first]
    for each in others:
        if all(abs(each[0] - x) >= LETTER * (len(each[1]) + len(text) + 2) / 2 for x, text in (found[-1], last)):
            found.append(each)
    return [*found, last]
