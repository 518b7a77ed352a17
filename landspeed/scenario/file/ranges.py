"""Ranges in `vary:`: `{from: 64 kB, to: 64 MB, by: x2}`, `{from: 1 ms, to: 9 ms, by: 2 ms}`, `{…, points: 7}`.

Arithmetic is exact. A range of quantities is written in the unit of `from`, and each value is a whole number of the
base unit (ns, B, bit/s), as one that is typed must be.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from landspeed.base.errors import Problem, ScenarioError, Source, TextPosition
from landspeed.base.units import DISTANCE, PACKETS, PROBABILITY, RATE, SIZE, TIME, Kind
from landspeed.scenario.file.document import YamlNode

KEYS = ("from", "to", "by", "points", "scale")
SCALES = ("linear", "logarithmic")
MOST_POINTS = 10_000
LOGARITHMIC_FROM = 8  # the end of a range divided by its beginning
SIGNIFICANT = 6  # digits of a value between the ends of a logarithmic range
RIGHT = "write {from: 64 kB, to: 64 MB, by: x2}, {from: 1 ms, to: 9 ms, by: 2 ms} or {from: …, to: …, points: 7}"
_KINDS = (TIME, RATE, SIZE, PROBABILITY, DISTANCE, PACKETS)
_TEXT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*(\S.*?)?\s*")
_FACTOR = re.compile(r"\s*[x×*]\s*([0-9]+(?:\.[0-9]+)?)\s*")


@dataclass(frozen=True)
class _Unit:
    """Unit of the numbers of a range: as written, its kind if it has one, its size in base units."""

    text: str
    kind: Kind | None
    factor: Fraction

    def written(self, value: Fraction) -> Any:
        """A value in base units as a file would have it: a number, or text with this unit."""
        if self.kind is not None and self.kind is not PROBABILITY:
            value = Fraction(round(value))
        number = decimal(value / self.factor)
        if self.text:
            return f"{number} {self.text}"
        return float(number) if "." in number or "e" in number else int(number)


def decimal(value: Fraction) -> str:
    """A fraction as a decimal number, exactly where that ends, else with nine digits."""
    digits = 0
    while digits < 12 and (value * 10**digits).denominator != 1:
        digits += 1
    if (value * 10**digits).denominator == 1:
        whole = str(abs(value.numerator * 10**digits // value.denominator)).rjust(digits + 1, "0")
        return whole if not digits else f"{whole[:-digits]}.{whole[-digits:]}"
    return f"{float(value):.9g}"


def expand(node: YamlNode, key: str) -> list[YamlNode]:
    """The values of a range, each at the place of the range.

    Args:
        node: the mapping.
        key: what varies, for errors.

    Raises:
        ScenarioError: the range has no end, no step, a unit that does not fit, or too many values.
    """
    if unknown := [each for each in node.mapping if each not in KEYS]:
        raise _wrong(node, f"{key}: a range has no '{unknown[0]}'", RIGHT, at=unknown[0])
    for end in ("from", "to"):
        if end not in node.mapping:
            raise _wrong(node, f"{key}: a range without '{end}'", RIGHT)
    if ("by" in node.mapping) == ("points" in node.mapping):
        raise _wrong(node, f"{key}: a range has either 'by' or 'points'", RIGHT)
    unit = _unit(node, key)
    first, last = (_value(node, end, unit, key) for end in ("from", "to"))
    if last < first:
        raise _wrong(node, f"{key}: the range ends before it begins", "exchange from and to", at="to")
    values = _by(node, key, unit, first, last) if "by" in node.mapping else _points(node, key, first, last)
    return [YamlNode(node.mark, "scalar", unit.written(value)) for value in values]


def _by(node: YamlNode, key: str, unit: _Unit, first: Fraction, last: Fraction) -> list[Fraction]:
    """Steps of one size, or by one factor (`x2`)."""
    if "scale" in node.mapping:
        raise _wrong(node, f"{key}: 'scale' goes with 'points'", "write by: x2 for steps by a factor", at="scale")
    step = node.mapping["by"].scalar
    values: list[Fraction] = []
    if found := _FACTOR.fullmatch(str(step)):
        factor = Fraction(found[1])
        if factor <= 1 or first <= 0:
            raise _wrong(node, f"{key}: by {step} never gets from {node.mapping['from'].scalar} to the end",
                         "begin above 0, with a factor above 1", at="by")  # fmt: skip
        count = 1 + math.floor(math.log(last / first) / math.log(factor) + 1e-9)
        _few(node, key, count)
        values = [first * factor**number for number in range(count)]
    else:
        size = _value(node, "by", unit, key)
        if size <= 0:
            raise _wrong(node, f"{key}: a range by {step} has no end", "write a step above 0", at="by")
        count = 1 + (last - first) // size
        _few(node, key, count)
        values = [first + number * size for number in range(count)]
    return values


def _points(node: YamlNode, key: str, first: Fraction, last: Fraction) -> list[Fraction]:
    """List `points` values, both ends among them, at equal distances or at equal ratios."""
    points = node.mapping["points"].scalar
    if not isinstance(points, int) or isinstance(points, bool) or points < 2:
        raise _wrong(node, f"{key}: points is a whole number of 2 or more", "write points: 7", at="points")
    _few(node, key, points)
    scale = node.mapping["scale"].scalar if "scale" in node.mapping else "linear"
    if scale not in SCALES:
        raise _wrong(node, f"{key}: no scale '{scale}'", f"write {' or '.join(SCALES)}", at="scale")
    if scale == "linear":
        return [first + (last - first) * number / (points - 1) for number in range(points)]
    if first <= 0:
        raise _wrong(node, f"{key}: a logarithmic range cannot begin at 0", "begin above 0", at="from")
    ratio = float(last / first)
    between = [float(first) * ratio ** (number / (points - 1)) for number in range(1, points - 1)]
    rounded = (Fraction(f"{value:.{SIGNIFICANT - 1}e}") for value in between)
    return [first, *(min(max(value, first), last) for value in rounded), last]


def _few(node: YamlNode, key: str, count: int) -> None:
    if count > MOST_POINTS:
        raise _wrong(node, f"{key}: the range has {count} values", f"at most {MOST_POINTS}: take larger steps")


def _unit(node: YamlNode, key: str) -> _Unit:
    """The unit of `from`."""
    text = _split(node, "from", key)[1]
    kind = next((kind for kind in _KINDS if text in kind.factors), None)
    return _Unit(text, kind, Fraction(kind.factors[text]) if kind else Fraction(1))


def _value(node: YamlNode, end: str, unit: _Unit, key: str) -> Fraction:
    """A member of the range in base units."""
    number, text = _split(node, end, key)
    if unit.kind is not None and text in unit.kind.factors:
        return Fraction(number) * unit.kind.factors[text]
    if text != unit.text:
        right = f"write it in {unit.text}, as 'from' is" if unit.text else "write a number without a unit, as 'from' is"
        raise _wrong(
            node, f"{key}: '{node.mapping[end].scalar}' does not fit '{node.mapping['from'].scalar}'", right, at=end
        )
    return Fraction(number)


def _split(node: YamlNode, end: str, key: str) -> tuple[str, str]:
    scalar = node.mapping[end].scalar
    match = None if isinstance(scalar, bool) else _TEXT.fullmatch(str(scalar))
    if match is None:
        raise _wrong(node, f"{key}: '{scalar}' is not a number with a unit", RIGHT, at=end)
    return match[1], match[2] or ""


def _wrong(node: YamlNode, what: str, right: str, at: str | None = None) -> ScenarioError:
    mark = node.mark if at is None else node.mapping[at].mark
    return ScenarioError([Problem(what, right, mark)])


def magnitude(text: str) -> float | None:
    """A value as it was written, as a number of base units, to be placed on an axis; None when it is no quantity."""
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    unit = match[2] or ""
    kind = next((kind for kind in _KINDS if unit in kind.factors), None)
    return float(Fraction(match[1]) * (kind.factors[unit] if kind else 1))


@dataclass(frozen=True)
class Ends:
    """A range without steps, to be searched; values in base units."""

    unit: _Unit
    first: Fraction
    last: Fraction

    def written(self, value: Fraction) -> Any:
        """A value as a file would have it."""
        return self.unit.written(value)

    def between(self, one: Fraction, other: Fraction, within: float) -> Fraction | None:
        """A value in the middle, in ratio where the range spans much; None when they are near enough.

        Args:
            within: near is at most this share of the greater one. Counts, which have no unit, go down to neighbours.
        """
        low, high = min(one, other), max(one, other)
        if (high - low <= 1) if self.counts else (high - low <= Fraction(within) * high):
            return None
        if self.logarithmic:
            middle = Fraction(f"{math.sqrt(float(low) * float(high)):.{SIGNIFICANT - 1}e}")
        else:
            middle = (low + high) / 2
        return min(max(Fraction(round(middle)), low + 1), high - 1) if self.counts else middle

    @property
    def counts(self) -> bool:
        """True if its values are whole numbers without a unit."""
        return self.unit.kind is None and self.first.denominator == self.last.denominator == 1 and not self.unit.text

    @property
    def logarithmic(self) -> bool:
        """True if it spans so much that equal ratios are equal steps."""
        return self.first > 0 and self.last >= LOGARITHMIC_FROM * self.first

    def place(self, value: Fraction) -> float:
        """Position of a value: 0 at the first, 1 at the last."""
        if self.logarithmic:
            return math.log(value / self.first) / math.log(self.last / self.first)
        return float((value - self.first) / (self.last - self.first))

    def at(self, place: float) -> Fraction:
        """The value at a place, as it can be written: with six digits, or as a whole number."""
        if place <= 0 or place >= 1:
            return self.first if place <= 0 else self.last
        if self.logarithmic:
            value = float(self.first) * float(self.last / self.first) ** place
        else:
            value = float(self.first + (self.last - self.first) * Fraction(place))
        written = Fraction(round(value)) if self.counts else Fraction(f"{value:.{SIGNIFICANT - 1}e}")
        if self.unit.kind is not None and self.unit.kind is not PROBABILITY:
            written = Fraction(round(written))
        return min(max(written, self.first), self.last)


def read_ends(key: str, first: str, last: str, word: str = "--vary") -> Ends:
    """The range from one value to another, as written.

    Raises:
        ScenarioError: they are no quantities of one kind, or in the wrong order.
    """
    source = Source(f"{word} {key}", [f"{first}..{last}"])
    node = YamlNode(TextPosition(source), "mapping")
    for name, text, column in (("from", first, 0), ("to", last, len(first) + 2)):
        node.mapping[name] = YamlNode(TextPosition(source, 0, column, max(1, len(text))), "scalar", text.strip())
    unit = _unit(node, key)
    ends = Ends(unit, _value(node, "from", unit, key), _value(node, "to", unit, key))
    if ends.last <= ends.first:
        raise _wrong(node, f"{key}: the range ends before it begins", "exchange its ends", at="to")
    return ends
