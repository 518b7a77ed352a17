"""A line of tc's netem, as a direction's key `netem`: every word of tc-netem(8), read as tc reads it.

Words may be cut short as tc allows (`dist normal`), and stand in any order; of a word that stands twice tc takes the
last, which is refused here. Numbers that tc reads differently from its manual page need a unit here. What no world
does is refused with the reason (`NOT_HERE`).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError, core_schema

from landspeed.base.units import TERA, UnitError

MAX_LINE = 1000
DEFAULT_LIMIT = 1000  # packets, of tc
LONGEST_NS, LONGEST_JITTER_NS = 60 * 10**9, 2**31 - 1  # the kernel has the jitter in 31 bits
MADE = ("normal", "pareto", "paretonormal")
EXAMPLE = "netem: delay 100ms 20ms distribution normal loss 1%"
NOT_HERE = {
    "ecn": "netem marks packets then instead of losing them, and no loss is left to measure",
    "slot": "packets would be held back and sent in bunches, and no world has it",
}
_TIMES = {unit: factor for units, factor in (
    ("s sec secs", 10**9), ("ms msec msecs", 10**6), ("us usec usecs", 10**3), ("ns nsec nsecs", 1),
) for unit in units.split()}  # fmt: skip
_PREFIXES = (("", 1), *((p + i, base**n) for i, base in (("", 1000), ("i", 1024)) for n, p in enumerate("kmgt", 1)))
_RATES = {f"{prefix}{unit}": factor * bits for unit, bits in (("bit", 1), ("bps", 8)) for prefix, factor in _PREFIXES}
_AMOUNT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{0,15})?)([a-zA-Z%]*)")
_WHOLE = re.compile(r"[0-9]{1,10}")


@dataclass(frozen=True)
class NetemLine:
    """Wishes of a line of tc's netem, in the plan's units. `chances` are those of the plan's `Netem.loss_chances`."""

    text: str
    delay_ns: int = 0
    jitter_ns: int = 0
    distribution: str | None = None
    limit_packets: int = DEFAULT_LIMIT
    rate_bps: int | None = None
    overhead_bytes: int = 0
    seed: int | None = None
    gap: int = 0
    loss: float = 0.0  # of all packets, in the mean
    loss_model: Literal["random", "state", "gemodel"] = "random"
    chances: tuple[float, ...] = ()
    shares: dict[str, float] = dataclasses.field(default_factory=dict[str, float])  # corrupt, duplicate, reorder
    correlations: dict[str, float] = dataclasses.field(default_factory=dict[str, float])  # delay, loss, and these


class _Words:
    """The words that are left of a line."""

    def __init__(self, text: str) -> None:
        self.left = text.split()[::-1]

    def next(self, after: str) -> str:
        if not self.left:
            raise UnitError(f"nothing stands after '{after}'", f"write for example {EXAMPLE}")
        return self.left.pop()

    def number_follows(self) -> bool:
        """Tell whether the next word begins with a digit, as tc looks."""
        return bool(self.left) and self.left[-1][0].isdigit() and self.left[-1][0].isascii()

    def numbers(self, after: str, most: int, read: Callable[[str, str], float]) -> list[float]:
        """One number, and as many as follow."""
        found = [read(self.next(after), after)]
        while len(found) < most and self.number_follows():
            found.append(read(self.left.pop(), after))
        return found


def read_netem(text: str) -> NetemLine:
    """The line. Raises UnitError."""
    if len(text) > MAX_LINE:
        raise UnitError(f"a line of netem of {len(text)} characters", f"write at most {MAX_LINE}")
    words, made, seen = _Words(text), dict[str, Any](), set[str]()
    shares, correlations = dict[str, float](), dict[str, float]()
    if words.left and words.left[-1] == "netem":
        words.left.pop()
    if not words.left:
        raise UnitError("no word of netem", f"write for example {EXAMPLE}")
    while words.left:
        word = words.left.pop()
        name = next((each for each in _KNOWN if each.startswith(word)), None)
        if name is None:
            known = ", ".join(dict.fromkeys(_SAME.get(each, each) for each in _KNOWN))
            raise UnitError(f"'{word}' is no word of netem", f"write one of {known} (tc-netem(8))")
        name = _SAME.get(name, name)
        if name in NOT_HERE:
            raise UnitError(f"netem's '{name}' has no counterpart here: {NOT_HERE[name]}", f"leave {name} out")
        if name in seen:
            raise UnitError(f"'{name}' stands twice, and tc takes the last", "write it once")
        seen.add(name)
        _READERS[name](words, name, made, shares, correlations)
    return _checked(NetemLine(" ".join(text.split()), **made, shares=shares, correlations=correlations), seen)


def _checked(line: NetemLine, seen: set[str]) -> NetemLine:
    """The line, if its words agree, as tc sees to it."""
    if line.shares.get("reorder") and not line.delay_ns:
        raise UnitError("netem reorders by skipping the delay, and there is none", "add delay 10ms, or remove reorder")
    if "gap" in seen and not line.shares.get("reorder"):
        raise UnitError("netem's gap without reorder", "add reorder 25%, or remove gap")
    if line.distribution and not (line.delay_ns and line.jitter_ns):
        what = "a distribution without a delay and a jitter"
        raise UnitError(what, "write delay 100ms 20ms distribution normal, or remove it")
    return line


def _time_ns(word: str, after: str) -> int:
    match = _AMOUNT.fullmatch(word)
    if not match or match[2].lower() not in _TIMES:
        reason = ""
        if match and not match[2] and Fraction(match[1]):
            reason = ": old tc takes bare numbers for microseconds, new tc for nanoseconds"
        elif match and not match[2]:
            return 0
        raise UnitError(f"'{word}' after '{after}' is no time{reason}", "write for example 100ms (s, ms, us, ns)")
    return int(Fraction(match[1]) * _TIMES[match[2].lower()])


def _share(word: str, after: str) -> float:
    match = _AMOUNT.fullmatch(word)
    if not match or match[2] not in ("", "%") or Fraction(match[1]) > 100:
        raise UnitError(f"'{word}' after '{after}' is no percentage", "write for example 1%, at most 100%")
    return float(Fraction(match[1]) / 100)


def _whole(word: str, after: str, most: int = 2**32 - 1, least: int = 0) -> int:
    if not _WHOLE.fullmatch(word) or not least <= int(word) <= most:
        raise UnitError(f"'{word}' after '{after}' is no whole number", f"write {least} to {most}")
    return int(word)


def _delay(words: _Words, name: str, made: dict[str, Any], _: dict[str, float], correlations: dict[str, float]) -> None:
    made["delay_ns"] = _bounded(_time_ns(words.next(name), name), LONGEST_NS, name)
    if words.number_follows():
        made["jitter_ns"] = _bounded(_time_ns(words.left.pop(), name), LONGEST_JITTER_NS, "the jitter")
        if words.number_follows():
            correlations["delay"] = _share(words.left.pop(), name)


def _bounded(time_ns: int, most_ns: int, name: str) -> int:
    if time_ns > most_ns:
        raise UnitError(f"{name} of {time_ns} ns is too long", f"write at most {most_ns} ns")
    return time_ns


def _distribution(words: _Words, name: str, made: dict[str, Any], *_: object) -> None:
    made["distribution"] = checked_distribution(words.next(name))
    if made["distribution"] == "uniform":
        del made["distribution"]


def checked_distribution(name: str) -> str:
    """The name of a distribution, or of a file with its table. Raises UnitError."""
    if name not in (*MADE, "uniform") and not re.search(r"[./]", name):
        right = (
            f"write {', '.join(MADE)}, or a file with its table: copy tc's {name}.dist here, and write ./{name}.dist"
        )
        raise UnitError(f"'{name}' is no distribution that is made here", right)
    return name


def _loss(words: _Words, name: str, made: dict[str, Any], _: dict[str, float], correlations: dict[str, float]) -> None:
    kind = words.left[-1] if words.left else ""
    if kind in ("state", "gemodel"):
        words.left.pop()
        made["loss_model"] = kind
        model = _state if kind == "state" else _gemodel
        made["chances"], made["loss"] = model(words.numbers(kind, 5 if kind == "state" else 4, _share))
        return
    if kind == "random":
        words.left.pop()
    found = words.numbers(name, 2, _share)
    made["loss"] = found[0]
    correlations |= {"loss": found[1]} if len(found) > 1 else {}


def _state(told: list[float]) -> tuple[tuple[float, ...], float]:
    """p13, p31, p32, p23, p14 as tc has them; the kernel's order, and the share that is lost.

    That is of the time in states 3 and 4. In balance as often from 1 to 3 as from 3 to 1, and from 3 to 2 as back; from
    4 always to 1.
    """
    usual = [0.0, 1 - told[0], 0.0, 1.0, 0.0]
    p13, p31, p32, p23, p14 = [*told, *usual[len(told) :]]
    if p13 + p14 > 1 or p31 + p32 > 1:
        raise UnitError(
            "the ways out of a state of losses are likelier than 100 %", "lower p13 and p14, or p31 and p32"
        )
    ones = 1.0 if p31 or not p13 else 0.0
    bursts = (ones * p13 / p31 if p13 else 0.0) if ones else 1.0
    if p13 and p32 and not p23:  # it stays in state 2
        return (p13, p31, p32, p14, p23), 0.0
    between, isolated = (bursts * p32 / p23 if bursts and p32 else 0.0), ones * p14
    return (p13, p31, p32, p14, p23), (bursts + isolated) / (ones + bursts + between + isolated)


def _gemodel(told: list[float]) -> tuple[tuple[float, ...], float]:
    """p, r, 1-h, 1-k as tc has them; the kernel's, with h, and the share that is lost (Gilbert–Elliott)."""
    usual = [0.0, 1 - told[0], 1.0, 0.0]
    p, r, bad, good = [*told, *usual[len(told) :]]
    share = p / (p + r) if p else 0.0
    return (p, r, 1 - bad, good), share * bad + (1 - share) * good


def _chance(words: _Words, name: str, _: dict[str, Any], shares: dict[str, float], both: dict[str, float]) -> None:
    found = words.numbers(name, 2, _share)
    shares[name] = found[0]
    both |= {name: found[1]} if len(found) > 1 else {}


def _limit(words: _Words, name: str, made: dict[str, Any], *_: object) -> None:
    made["limit_packets"] = _whole(words.next(name), name, least=1)


def _gap(words: _Words, name: str, made: dict[str, Any], *_: object) -> None:
    made["gap"] = _whole(words.next(name), name)


def _seed(words: _Words, name: str, made: dict[str, Any], *_: object) -> None:
    made["seed"] = _whole(words.next(name), name)


def _rate(words: _Words, name: str, made: dict[str, Any], *_: object) -> None:
    word = words.next(name)
    match = _AMOUNT.fullmatch(word)
    unit = match[2].lower() if match else "?"
    if not match or (unit and unit not in _RATES):
        raise UnitError(f"'{word}' after '{name}' is no rate", "write for example 10mbit")
    made["rate_bps"] = round(Fraction(match[1]) * _RATES[unit or "bit"])
    if not 1000 <= made["rate_bps"] <= TERA:
        raise UnitError(f"'{word}' after '{name}' is no rate of a line", "write 1kbit to 1tbit")
    if words.number_follows():
        made["overhead_bytes"] = _whole(words.left.pop(), name, most=900)
        if words.number_follows() and _whole(words.left.pop(), name):
            raise UnitError("netem's cells have no counterpart here", "leave the size of the cells out, or write 0")
        if words.number_follows():
            words.left.pop()


_Reader: TypeAlias = Callable[[_Words, str, dict[str, Any], dict[str, float], dict[str, float]], None]
_READERS: dict[str, _Reader] = {
    "limit": _limit, "delay": _delay, "loss": _loss, "reorder": _chance, "corrupt": _chance, "gap": _gap,
    "duplicate": _chance, "distribution": _distribution, "rate": _rate, "seed": _seed,
}  # fmt: skip
# In tc's order, which decides what a word that is cut short means.
_KNOWN = (
    "limit", "latency", "delay", "loss", "drop", "ecn", "reorder", "corrupt", "gap", "duplicate", "distribution",
    "rate", "slot", "seed",
)  # fmt: skip
_SAME = {"latency": "delay", "drop": "loss"}


class NetemText:
    """Pydantic annotation: a NetemLine, written as a text."""

    def validate(self, value: Any) -> NetemLine:
        """The line; raises PydanticCustomError whose context has `right`, the advice."""
        try:
            return read_netem(value if isinstance(value, str) else "")
        except UnitError as error:
            raise PydanticCustomError("quantity", "{what}", {"what": error.what, "right": error.right}) from None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self.validate)

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "minLength": 1, "maxLength": MAX_LINE}


def _distribution_key(value: str) -> str:
    try:
        return checked_distribution(value)
    except UnitError as error:
        raise PydanticCustomError("quantity", "{what}", {"what": error.what, "right": error.right}) from None


Distribution: TypeAlias = Annotated[str, Field(min_length=1, max_length=4000), AfterValidator(_distribution_key)]
NetemWords: TypeAlias = Annotated[NetemLine, NetemText()]
