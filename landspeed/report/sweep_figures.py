"""Figures of a sweep's page: a mean for each combination, small multiples of lines with error bars, heat maps.

The axis with most values that are quantities goes along x, the next one makes the lines, and each combination of the
rest is a picture of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from landspeed.judge.certainty import Certain, certain, most_told
from landspeed.scenario.file.ranges import magnitude

WIDTH, HEIGHT = 460.0, 280.0
LEFT, RIGHT, TOP, BOTTOM = 62.0, 12.0, 14.0, 44.0
COLOURS = ("--series-1", "--series-2", "--series-3", "--series-5", "--series-6", "--rehearsed")
DASHES = ("none", "7 4", "2 3", "7 3 2 3")
MOST_LINES = 12
LOGARITHMIC_FROM = 50.0  # the last value divided by the first


@dataclass(frozen=True)
class Mean:
    """A combination of everything but the seed."""

    values: dict[str, str]
    goodput: Certain
    retransmits: float | None
    bound_by: str
    failed: int


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


def means(keys: Sequence[str], rows: Sequence[dict[str, Any]]) -> list[Mean]:
    """Each combination with the mean of its seeds, in the order of the rows."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    found: list[Mean] = []
    for values, group in groups.items():
        done = [row for row in group if row["state"] == "done"]
        goodputs = [float(row["goodput_bps"]) for row in done if row["goodput_bps"] is not None]
        resent = [int(row["retransmits"]) for row in done if row["retransmits"] is not None]
        told = most_told(row["limited_by"] for row in done if row["limited_by"])
        mean = sum(resent) / len(resent) if resent else None
        named = dict(zip(keys, values, strict=True))
        found.append(Mean(named, certain(goodputs), mean, told, len(group) - len(done)))
    return found


def axes(keys: Sequence[str], found: Sequence[Mean]) -> dict[str, list[str]]:
    """Key → its values in the order of the file, keys with most values first, and quantities before names."""
    values = {key: list(dict.fromkeys(mean.values[key] for mean in found)) for key in keys}
    return dict(sorted(values.items(), key=lambda item: (not _is_quantity(item[1]), -len(item[1]))))


def pictures(keys: Sequence[str], found: Sequence[Mean]) -> list[SweepPicture]:
    """Lines of goodput over the first axis; none when it has no two quantities."""
    order = axes(keys, found)
    if not order or not _is_quantity(next(iter(order.values()))):
        return []
    x_key, *others = order
    if len(order[x_key]) < 2:
        return []
    line_key = next((key for key in others if 1 < len(order[key]) <= MOST_LINES), None)
    apart = [key for key in others if key != line_key and len(order[key]) > 1]
    most = max((mean.goodput.mean or 0.0) + (mean.goodput.half or 0.0) for mean in found) or 1.0
    scale, unit = _rate_unit(most)
    ticks = _round_ticks(most / scale)
    top = ticks[-1] * scale
    along = _placing(order[x_key])
    made: list[SweepPicture] = []
    for chosen in itertools.product(*(order[key] for key in apart)):
        here = dict(zip(apart, chosen, strict=True))
        lines: list[SweepLine] = []
        for number, name in enumerate(order[line_key] if line_key else [""]):
            fixed = here | ({line_key: name} if line_key else {})
            bars = [
                _bar(mean, along[mean.values[x_key]], top, scale, unit)
                for mean in found
                if all(mean.values[key] == value for key, value in fixed.items()) and mean.goodput.mean is not None
            ]
            colour, dash = COLOURS[number % len(COLOURS)], DASHES[number // len(COLOURS) % len(DASHES)]
            lines.append(
                SweepLine(f"{line_key} {name}" if line_key else "", colour, dash, sorted(bars, key=lambda bar: bar.x))
            )
        title = ", ".join(f"{key} {value}" for key, value in here.items())
        x_ticks = [(along[text], text) for text in _few(order[x_key])]
        y_ticks = [(_upright(tick * scale, top), f"{tick:g}") for tick in ticks]
        made.append(SweepPicture(title, x_key, unit, lines, x_ticks, y_ticks))
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
    scale, unit = _rate_unit(most)
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


def _rate_unit(top_bps: float) -> tuple[float, str]:
    """The unit in which the greatest rate has one to three digits before the point."""
    units = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"))
    return next(((scale, unit) for scale, unit in units if top_bps >= scale), (1.0, "bit/s"))


def _round_ticks(most: float) -> list[float]:
    """Ticks from 0 to the first round number that is not below `most`, four to six of them."""
    size = 10.0 ** math.floor(math.log10(most / 4))
    step = next(size * part for part in (1, 2, 2.5, 5, 10) if size * part * 5 >= most)
    return [step * number for number in range(math.ceil(most / step - 1e-9) + 1)]


def _placing(texts: Sequence[str]) -> dict[str, float]:
    """Value as written → pixels along x, logarithmic where the values span much."""
    xs = {text: magnitude(text) or 0.0 for text in texts}
    low, high = min(xs.values()), max(xs.values())
    logarithmic = low > 0 and high / low >= LOGARITHMIC_FROM

    def share(value: float) -> float:
        if high == low:
            return 0.5
        return math.log(value / low) / math.log(high / low) if logarithmic else (value - low) / (high - low)

    return {text: LEFT + 14 + share(value) * (WIDTH - LEFT - RIGHT - 28) for text, value in xs.items()}


def _upright(value: float, top: float) -> float:
    """A goodput → pixels from above."""
    return TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM)


def _bar(mean: Mean, x: float, top: float, scale: float, unit: str) -> Bar:
    value, half = mean.goodput.mean or 0.0, mean.goodput.half or 0.0
    spread = f" ± {half / scale:.2g}" if half else ""
    low, high = _upright(max(0.0, value - half), top), _upright(value + half, top)
    return Bar(
        x, _upright(value, top), low, high, f"{', '.join(mean.values.values())}: {value / scale:.4g}{spread} {unit}"
    )


def _few(texts: Sequence[str]) -> list[str]:
    """Choose at most six of the values, both ends among them."""
    if len(texts) <= 6:
        return list(texts)
    return [texts[round(number * (len(texts) - 1) / 5)] for number in range(6)]
