"""Axes of a figure: figures to pixels, and where the ticks stand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from landspeed.course.comparison import FigureAxis

DECADES_FOR_ONES = 3.2  # a longer logarithmic axis has ticks at powers of ten only
STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True)
class Scale:
    """A figure's value (in the unit shown) to pixels."""

    low: float
    high: float
    log: bool
    begin: float
    end: float

    def __call__(self, value: float) -> float:
        """Map a value to its position; a value outside the scale goes to the nearer end."""
        if self.log:
            value = max(value, self.low * 1e-9)
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.begin + min(max(share, 0.0), 1.0) * (self.end - self.begin)

    def ticks(self, most: int = 6) -> list[tuple[float, str]]:
        """(pixels, text) of each tick."""
        return [(self(value), tick_text(value)) for value in self._values(most)]

    def _values(self, most: int) -> list[float]:
        if not self.log:
            step = _step(self.high - self.low, most)
            first = math.ceil(self.low / step - 1e-9)
            return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]
        decades = math.log10(self.high / self.low)
        ones = (1, 2, 5) if decades <= DECADES_FOR_ONES / (1 if most > 4 else 2) else (1,)
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        return [
            one * 10.0**power
            for power in powers
            for one in ones
            if self.low * 0.999 <= one * 10.0**power <= self.high * 1.001
        ]


def make_scale(axis: FigureAxis, values: Sequence[float], begin: float, end: float) -> Scale:
    """The scale that holds all values, with room at its ends; a linear one begins at 0 if the axis says nothing."""
    known = [value for value in values if math.isfinite(value)] or [1.0]
    if axis.log:
        known = [value for value in known if value > 0] or [1.0]
        low = min(known) / 1.35 if axis.least is None else axis.least / axis.per
        high = max(known) * 1.35 if axis.most is None else axis.most / axis.per
        return Scale(low, max(high, low * 1.01), True, begin, end)
    low = min(0.0, *known) if axis.least is None else axis.least / axis.per
    high = (max(known) * 1.06 if max(known) > 0 else 1.0) if axis.most is None else axis.most / axis.per
    return Scale(low, high if high > low else low + 1, False, begin, end)


def _step(span: float, most: int) -> float:
    """A round step with which there are at most `most` ticks."""
    size = 10.0 ** math.floor(math.log10(span / most))
    return next(size * part for part in (*STEPS, 20) if span / (size * part) <= most)


def tick_text(value: float) -> str:
    """A number on an axis: no needless digits, a thin space between thousands, powers of ten where it is tiny."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", "\u202f").replace("-", "\u2212")
    if abs(value) < 0.001:
        exponent = math.floor(math.log10(abs(value)) + 1e-9)
        part = value / 10.0**exponent
        raised = f"10{str(exponent).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
        return raised if abs(part - 1) < 1e-6 else f"{part:g}·{raised}"
    return f"{value:.6g}".replace("-", "\u2212")
