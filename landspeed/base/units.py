"""Quantities with units: exact parsing, formatting, and the pydantic types made from them.

A quantity is text, a number and a unit: `264 ms`, `10 Gbit/s`, `9000 B`, `0.5 BDP`. Parsed values are whole numbers of
the base unit (ns, bit/s, B, m, bit·m/s) or, for probabilities, a float 0…1. Arithmetic is exact (fractions), so
`format_*` and `parse` invert each other.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, TypeAlias

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError, core_schema

from landspeed.base.foreign_units import BYTE_RATES, MTU_BYTES, PACKETS_AND_BITS, Converted

KILO, MEGA, GIGA, TERA, PETA = 10**3, 10**6, 10**9, 10**12, 10**15
MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR = 10**3, 10**6, 10**9, 60 * 10**9, 3600 * 10**9  # in ns
MIB, GIB = 2**20, 2**30
MAX_TEXT = 64

_NUMBER = r"[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?"
_QUANTITY = re.compile(rf"(?P<sign>[+-]?)(?P<number>{_NUMBER})\s*(?P<unit>[^\s0-9.+-].*)?")
_COMMA = re.compile(r"^[+-]?[0-9]+,[0-9]+")


class UnitError(ValueError):
    """A quantity that cannot be read: what is wrong, and what would be right."""

    def __init__(self, what: str, right: str) -> None:
        super().__init__(f"{what}; {right}")
        self.what, self.right = what, right


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of quantity: its units as multiples of the base unit, and the habits of other tools, translated."""

    name: str  # "a rate", as in a sentence
    base: str
    factors: dict[str, Fraction | int]
    example: str
    shown: tuple[str, ...]  # units used when formatting, largest first; the last is the base
    bare: tuple[tuple[float, str], ...]  # a bare number below the bound was probably meant in this unit
    foreign: dict[str, str]  # lower case → the unit to write
    converted: Converted | None = None  # units of other kinds
    rounds: bool = False  # a fraction of the base unit is rounded rather than refused

    def right(self, number: str, unit: str) -> str:
        """The advice for text whose unit is wrong or missing."""
        return f"write {number} {unit} (units: {', '.join(self.factors)})"


def _si(unit: str, prefixes: str) -> dict[str, Fraction | int]:
    return {("" if p == "1" else p) + unit: 1000 ** "1kMGTPE".index(p) for p in prefixes}


TIME = Kind(
    "a time", "ns",
    {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": MINUTE, "h": HOUR},
    "264 ms", ("s", "ms", "µs", "ns"), ((float("inf"), "ms"),),
    {"μs": "µs", "sec": "s", "secs": "s", "second": "s", "seconds": "s", "m": "min", "minutes": "min", "hours": "h",
     "msec": "ms", "usec": "us", "hr": "h"},
)  # fmt: skip
RATE = Kind(
    "a rate", "bit/s", _si("bit/s", "1kMGT"),
    "10 Gbit/s", ("Tbit/s", "Gbit/s", "Mbit/s", "kbit/s", "bit/s"),
    ((1000, "Gbit/s"), (10**6, "Mbit/s"), (float("inf"), "bit/s")),
    {f"{p}{u}": f"{s}bit/s" for p, s in (("", ""), ("k", "k"), ("m", "M"), ("g", "G"), ("t", "T"))
     for u in ("bps", "b/s", "bits/s", "bits/sec", "bit", "bits", "bitps", "bit/sec")},
    BYTE_RATES,
)  # fmt: skip
SIZE = Kind(
    "a size", "B", {**_si("B", "1kMGT"), "KiB": 2**10, "MiB": MIB, "GiB": GIB, "TiB": 2**40},
    "64 MB", ("TB", "GB", "MB", "kB", "B"), ((float("inf"), "B"),),
    {"bytes": "B", "byte": "B", "kbyte": "kB", "mbyte": "MB", "gbyte": "GB", "kbytes": "kB", "mbytes": "MB",
     "gbytes": "GB", "k": "kB", "m": "MB", "g": "GB", "ki": "KiB", "mi": "MiB", "gi": "GiB"},
    PACKETS_AND_BITS,
)  # fmt: skip
DISTANCE = Kind(
    "a distance", "m", {"m": 1, "km": 1000, "mi": Fraction(1609344, 1000)},
    "7067 km", ("km", "m"), ((float("inf"), "km"),), {"miles": "mi", "mile": "mi"}, rounds=True,
)  # fmt: skip
PROBABILITY = Kind(
    "a probability", "1", {"%": Fraction(1, 100), "ppm": Fraction(1, 10**6)},
    "0.1 %", ("%",), ((float("inf"), "%"),), {"percent": "%", "pct": "%"},
)  # fmt: skip
PACKETS = Kind(
    "a loss", "packets", {"packet": 1, "packets": 1},
    "1 packet", ("packets",), ((float("inf"), "packets"),), {"pkt": "packet", "pkts": "packets", "p": "packets"},
)  # fmt: skip
SCORE = Kind(
    "a score", "bit·m/s",
    {**_si("bit·m/s", "1kMGTPE"), **_si("bit*m/s", "1kMGTPE")},
    "104.52858 Pbit·m/s", ("Pbit·m/s", "Tbit·m/s", "bit·m/s"), ((float("inf"), "bit·m/s"),),
    {"bit-meter/sec": "bit·m/s", "pbm/s": "Pbit·m/s", "tbm/s": "Tbit·m/s"},
)  # fmt: skip
KINDS = (TIME, RATE, SIZE, DISTANCE, PROBABILITY, PACKETS, SCORE)


def parse_exact(kind: Kind, text: str, bare: str = "") -> Fraction:
    """The value of `text` in the base unit, exactly. Raises UnitError; for a bare number it advises the unit `bare`."""
    if len(text) > MAX_TEXT:
        raise UnitError(f"{kind.name} of {len(text)} characters", f"write for example {kind.example}")
    stripped = text.strip()
    if _COMMA.match(stripped):
        raise UnitError(f"'{stripped}' has a comma", f"write {stripped.replace(',', '.', 1)}")
    match = _QUANTITY.fullmatch(stripped)
    if not match:
        raise UnitError(f"'{stripped}' is not {kind.name}", f"write for example {kind.example}")
    number, unit = match["number"], (match["unit"] or "").strip()
    if not unit:
        advice = kind.right(*_bare(kind, number, bare))
        if kind is PROBABILITY and 0 < Fraction(number) <= 1:
            advice += f"; {number} % if you meant per cent"
        raise UnitError(f"{kind.name} needs a unit, and '{stripped}' has none", advice)
    if unit not in kind.factors:
        raise UnitError(*_wrong_unit(kind, number, unit))
    if match["sign"] == "-":
        raise UnitError(f"'{stripped}' is negative", f"{kind.name} is zero or more: write {number} {unit}")
    return Fraction(number) * kind.factors[unit]


def parse(kind: Kind, text: str, bare: str = "") -> int:
    """The value of `text` in whole base units. Raises UnitError, also for what is finer than the base unit."""
    exact = parse_exact(kind, text, bare)
    if exact.denominator != 1 and not kind.rounds:
        raise UnitError(f"'{text.strip()}' is finer than 1 {kind.base}", f"write a whole number of {kind.base}")
    return round(exact)


def parse_size(text: str) -> int:
    """`4 GiB` in bytes. Raises UnitError."""
    return parse(SIZE, text)


def _bare(kind: Kind, number: str, unit: str) -> tuple[str, str]:
    """Guess the number and the unit that were meant by a number without a unit."""
    value = Fraction(number)
    if kind is PROBABILITY and value <= 1:  # a fraction, as most programs want it
        return f"{float(value * 100):g}", "%"
    return number, unit or next(unit for bound, unit in kind.bare if value < bound)


def _wrong_unit(kind: Kind, number: str, unit: str) -> tuple[str, str]:
    """Words of what is wrong, with advice, for a unit that the kind does not have; one that can be converted is."""
    what, by_case = f"'{unit}' is not a unit of {kind.name}", _by_case(kind)
    if found := (kind.converted or {}).get(unit):
        factor, why = found
        if factor is None:
            factor, why = MTU_BYTES.get(), f"packets of {MTU_BYTES.get()} B"
        return what, f"write {format_exact(kind, round(Fraction(number) * factor))} ({why})"
    if meant := by_case.get(unit.lower()) or kind.foreign.get(unit.lower()):
        return what, kind.right(number, meant)
    if other := kind_of(unit):
        return f"{what}, but of {other.name}", f"write for example {kind.example} (units: {', '.join(kind.factors)})"
    near = difflib.get_close_matches(unit.lower(), by_case, 1)
    return what, kind.right(number, by_case[near[0]] if near else kind.example.split()[-1])


def kind_of(unit: str) -> Kind | None:
    """The kind that has a unit, whether or not its letters are capital."""
    return next((kind for kind in KINDS if unit.lower() in _by_case(kind)), None)


def _by_case(kind: Kind) -> dict[str, str]:
    return {known.lower(): known for known in reversed(kind.factors)}


def format_exact(kind: Kind, value: int) -> str:
    """`value` base units as text that `parse` turns into the same value: the largest unit with few decimals."""
    for unit in kind.shown:
        factor = int(kind.factors[unit])
        if value >= factor and value * 1000 % factor == 0:
            return f"{_decimal(value, factor)} {unit}"
    return f"{value} {kind.base}"


def _decimal(value: int, factor: int) -> str:
    """value / factor, exactly; factor is a power of ten."""
    whole, rest = divmod(value, factor)
    return f"{whole}.{str(rest).rjust(len(str(factor)) - 1, '0').rstrip('0')}" if rest else str(whole)


def format_round(kind: Kind, value: float, digits: int = 4) -> str:
    """`value` base units for people: about `digits` significant digits, in the unit that suits its size."""
    for unit in kind.shown:
        factor = int(kind.factors[unit])
        if abs(value) >= factor:
            scaled = value / factor
            return f"{scaled:.{max(0, digits - len(str(int(abs(scaled)))))}f} {unit}"
    return f"{value:.{digits - 1}g} {kind.base}"


def format_probability(value: float) -> str:
    """0.001 as `0.1 %`."""
    return f"{value * 100:.6g} %"


@dataclass(frozen=True)
class QueueSize:
    """A queue: bytes, or a multiple of the path's bandwidth-delay product at the link's rate."""

    bytes: int | None = None
    bdp: Fraction | None = None

    def resolve(self, bdp_bytes: int) -> int:
        """The size in bytes, given the BDP."""
        return self.bytes if self.bytes is not None else round((self.bdp or 0) * bdp_bytes)

    def __str__(self) -> str:
        return format_exact(SIZE, self.bytes) if self.bytes is not None else f"{float(self.bdp or 0):g} BDP"


def parse_queue(text: str) -> QueueSize:
    """`64 MB` or `0.5 BDP`. Raises UnitError."""
    match = re.fullmatch(rf"({_NUMBER})\s*BDP", text.strip()) if len(text) <= MAX_TEXT else None
    if match:
        factor = Fraction(match[1])
        if factor > 100:
            raise UnitError(f"a queue of {text.strip()} is more than 100 BDP", "write at most 100 BDP")
        return QueueSize(bdp=factor)
    if len(text) <= MAX_TEXT and re.fullmatch(_NUMBER, text.strip()):
        raise UnitError(f"a queue needs a unit, and '{text.strip()}' has none", _bare_queue(text.strip()))
    try:
        return QueueSize(bytes=parse(SIZE, text))
    except UnitError as error:
        raise UnitError(error.what, error.right + ", or a multiple of the path's BDP, e.g. 0.5 BDP") from None


def _bare_queue(number: str) -> str:
    """The advice for a queue without a unit: other programs count packets, papers BDPs, and sizes are large."""
    value = Fraction(number)
    if value < 1:
        return f"write {number} BDP (the path's bandwidth-delay product), or a size, e.g. 64 MB"
    if value < 10 * MTU_BYTES.get():
        size = format_exact(SIZE, round(value * MTU_BYTES.get()))
        return f"write {size} ({number} packets of {MTU_BYTES.get()} B), or a multiple of the path's BDP, e.g. 0.5 BDP"
    return f"write {format_exact(SIZE, round(value))}, or a multiple of the path's BDP, e.g. 0.5 BDP"


@dataclass(frozen=True)
class Quantity:
    """Pydantic annotation: a value of `kind` within bounds (in base units, both included)."""

    kind: Kind
    low: int = 0
    high: int | None = None
    why: str = ""  # why the bounds are where they are
    bare: str = ""  # the unit to advise for a number without one

    def validate(self, value: Any) -> Any:
        """The value in base units; raises PydanticCustomError whose context has `right`, the advice."""
        try:
            return self._checked(value)
        except UnitError as error:
            raise PydanticCustomError("quantity", "{what}", {"what": error.what, "right": error.right}) from None

    def _checked(self, value: Any) -> Any:
        text = as_text(value, self.kind)
        read = parse_exact if self.kind is PROBABILITY else parse
        parsed = read(self.kind, text, self._bare_unit(text))
        reason = f" ({self.why})" if self.why else ""
        if parsed < self.low:
            raise UnitError(f"'{text}' is too small{reason}", f"write at least {self._bound(self.low)}")
        if self.high is not None and parsed > self.high:
            raise UnitError(f"'{text}' is too large{reason}", f"write at most {self._bound(self.high)}")
        return float(parsed) if self.kind is PROBABILITY else parsed

    def _bare_unit(self, text: str) -> str:
        """The unit to advise for a number without one: the usual one, else the first that brings it within bounds."""
        if not (len(text) <= MAX_TEXT and re.fullmatch(_NUMBER, text.strip())):
            return self.bare
        number, usual = _bare(self.kind, text.strip(), self.bare)
        high = float("inf") if self.high is None else self.high
        values = {unit: Fraction(number) * self.kind.factors[unit] for unit in (usual, *self.kind.factors)}
        if fitting := [unit for unit, value in values.items() if self.low <= value <= high]:
            return fitting[0]
        bound = self._bound(self.low) if values[usual] < self.low else self._bound(round(high))
        raise UnitError(f"{self.kind.name} needs a unit, and '{number}' has none", f"write for example {bound}")

    def _bound(self, value: int) -> str:
        if self.kind is PROBABILITY:
            return format_probability(value)
        if self.kind is SIZE and value and value % MIB == 0:
            return f"{value // GIB} GiB" if value % GIB == 0 else f"{value // MIB} MiB"
        return format_exact(self.kind, value)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self.validate)

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return quantity_schema(self.kind)


class QueueQuantity:
    """Pydantic annotation: a QueueSize."""

    def validate(self, value: Any) -> QueueSize:
        """The queue; raises PydanticCustomError whose context has `right`, the advice."""
        try:
            return parse_queue(as_text(value, SIZE))
        except UnitError as error:
            raise PydanticCustomError("quantity", "{what}", {"what": error.what, "right": error.right}) from None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self.validate)

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return quantity_schema(SIZE, "BDP")


def as_text(value: Any, kind: Kind) -> str:
    """A YAML scalar as the text to parse; a number keeps its digits, so that the advice can repeat them."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UnitError(f"expected {kind.name}, not {type_word(value)}", f"write for example {kind.example}")
    return value if isinstance(value, str) else str(value)


def type_word(value: Any) -> str:
    """Name the type of a YAML value in words."""
    words: dict[Any, str] = {
        bool: "true or false",
        type(None): "nothing",
        dict: "a mapping",
        list: "a list",
        str: "text",
    }
    return words.get(type(value), "a number")


def quantity_schema(kind: Kind, *more_units: str) -> dict[str, Any]:
    """The JSON Schema of a quantity: text with a unit."""
    units = "|".join(re.escape(unit).replace("/", "/") for unit in (*kind.factors, *more_units))
    return {"type": "string", "pattern": rf"^\s*{_NUMBER}\s*({units})\s*$", "examples": [kind.example]}


MAX_WINDOW = GIB  # RFC 7323 section 2.3: window scale at most 14, 65 535 × 2^14, just under 1 GiB

Delay: TypeAlias = Annotated[int, Quantity(TIME, high=MINUTE, why="one way; a minute is beyond the Moon")]
Duration: TypeAlias = Annotated[int, Quantity(TIME, low=MILLISECOND, high=7 * 24 * HOUR, bare="s")]
Stagger: TypeAlias = Annotated[int, Quantity(TIME, high=HOUR, bare="s")]
Interval: TypeAlias = Annotated[int, Quantity(TIME, low=10 * MILLISECOND, high=HOUR, why="samples cost wall time")]
Rate: TypeAlias = Annotated[int, Quantity(RATE, low=1000, high=TERA)]
Goodput: TypeAlias = Annotated[int, Quantity(RATE, low=1, high=TERA)]
Amount: TypeAlias = Annotated[int, Quantity(SIZE, low=1, high=10**18)]
Window: TypeAlias = Annotated[
    int, Quantity(SIZE, low=4096, high=MAX_WINDOW, why="a TCP window ends at 1 GiB, RFC 7323; more streams have more")
]
Mtu: TypeAlias = Annotated[int, Quantity(SIZE, low=576, high=65535, why="MTU of an IP link: 576 B to 65535 B")]
Distance: TypeAlias = Annotated[int, Quantity(DISTANCE, high=10**9)]
SojournTime: TypeAlias = Annotated[int, Quantity(TIME, low=MICROSECOND, high=MINUTE)]
Perturbation: TypeAlias = Annotated[int, Quantity(TIME, high=HOUR, bare="s")]
BucketSize: TypeAlias = Annotated[int, Quantity(SIZE, low=256, high=2**31 - 1)]
Probability: TypeAlias = Annotated[float, Quantity(PROBABILITY, high=1)]
Ratio: TypeAlias = Annotated[float, Quantity(PROBABILITY, high=1000)]
Score: TypeAlias = Annotated[int, Quantity(SCORE, low=1)]
FlowStart: TypeAlias = Annotated[int, Quantity(TIME, high=24 * HOUR, bare="s")]
EventTime: TypeAlias = Annotated[int, Quantity(TIME, high=7 * 24 * HOUR, bare="s")]
PacketSize: TypeAlias = Annotated[
    int, Quantity(SIZE, low=68, high=65535, why="an IP packet with a datagram of 40 B or more")
]
Spell: TypeAlias = Annotated[int, Quantity(TIME, low=MILLISECOND, high=24 * HOUR, bare="s")]
Stall: TypeAlias = Annotated[int, Quantity(TIME, low=100 * MILLISECOND, high=24 * HOUR, bare="s")]
EventSpan: TypeAlias = Annotated[int, Quantity(TIME, low=MICROSECOND, high=7 * 24 * HOUR, bare="s")]
Queue: TypeAlias = Annotated[QueueSize, QueueQuantity()]
