"""A trace: a file that says what a direction of a link is over time. Its key, its two formats, the plan's form of it.

CSV has a header with units and a row for each instant from which its values hold. The other format is Mahimahi's
(Netravali et al., Mahimahi: Accurate Record-and-Replay for HTTP, USENIX ATC 2015): each line is a time in whole
milliseconds at which one packet of 1500 bytes may leave.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, model_validator
from pydantic_core import core_schema

from landspeed.base.errors import Problem, ScenarioError, Source, TextPosition
from landspeed.base.units import (
    HOUR,
    MILLISECOND,
    MINUTE,
    PROBABILITY,
    RATE,
    TERA,
    TIME,
    Kind,
    UnitError,
    format_exact,
    parse_exact,
)
from landspeed.scenario.plan.trace import Trace

MAX_BYTES = 20_000_000
MAX_STEPS = 100_000
LEAST_STEP_NS = MILLISECOND
LONGEST_NS = 7 * 24 * HOUR
MAHIMAHI_PACKET_BYTES = 1500
MAHIMAHI_STEP_NS = 100 * MILLISECOND
NO_TRACE = "none"
EXAMPLE = "time [s],rate [Mbit/s],delay [ms],loss [%]"
COLUMNS: dict[str, tuple[Kind, int]] = {  # kind and greatest value in its base unit
    "time": (TIME, LONGEST_NS),
    "rate": (RATE, TERA),
    "delay": (TIME, MINUTE),
    "loss": (PROBABILITY, 1),
}
_HEADER = re.compile(r"\s*(?P<name>[A-Za-z_]+)\s*(?:\[(?P<unit>[^\]]*)\]|\((?P<round>[^)]*)\))?\s*")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,2})?")


class TraceSource(BaseModel):
    """A trace of a direction: the file alone, or with what follows its end."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    file: str = Field(
        min_length=1, max_length=4000, description="CSV or Mahimahi's format, relative to this file; none: no trace"
    )
    loop: bool = Field(
        True, description="true: it begins again when it has ended; false: its last row holds then; default true"
    )

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        """`orbit.csv` is `{file: orbit.csv}`."""
        return {"file": value} if isinstance(value, str) else value

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"anyOf": [{"type": "string", "minLength": 1, "maxLength": 4000}, handler(core)]}


def read_trace(asked: TraceSource, named_in: Path, where: TextPosition, framing_bytes: int) -> Trace:
    """The trace of a file.

    Args:
        asked: the key's value; not `none`.
        named_in: the scenario file that has the key: its folder is where the search begins.
        where: the key's place, for what is wrong with the file as a whole.
        framing_bytes: of the link; an opportunity of Mahimahi's carries a packet of 1500 bytes with its framing.

    Raises:
        ScenarioError: the file is not there, too large or no trace; with the line and column where it is not.
    """
    path = named_in.parent / asked.file
    text = _read(path, asked.file, where)
    source = Source(str(path), text.split("\n"))
    lines = [
        (number, line.rstrip("\r"))
        for number, line in enumerate(source.lines)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not lines:
        raise _wrong("the trace is empty", f"begin with a header: {EXAMPLE}", TextPosition(source))
    if _NUMBER.fullmatch(lines[0][1].strip()):
        return _mahimahi(asked, source, lines, framing_bytes)
    return _csv(asked, source, lines)


def _wrong(what: str, right: str, mark: TextPosition) -> ScenarioError:
    return ScenarioError([Problem(what, right, mark)])


def _read(path: Path, name: str, where: TextPosition) -> str:
    """The text, if it is the text of a file that is not too large."""
    try:
        if not path.is_file():
            from landspeed.scenario.traces.made_traces import make_trace  # random: saves 3 ms of each start

            make_trace(path)
        if not path.is_file():
            what = "is a folder" if path.is_dir() else "is not a file"
            right = f"write the path of a trace relative to {path.parent if '/' in name else path.parent or '.'}"
            raise _wrong(f"the trace '{name}' {what}", right, where)
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
            size = path.stat().st_size
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or error
        raise _wrong(f"the trace '{name}' cannot be read: {said}", "name a file that you may read", where) from None
    if len(raw) > MAX_BYTES:
        what = f"the trace '{name}' has {max(size, len(raw)) / 1e6:.0f} MB"
        right = f"write at most {MAX_BYTES // 10**6} MB and {MAX_STEPS} rows: values over longer times, or a part of it"
        raise _wrong(what, right, where)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        lines = raw.decode("utf-8", "replace").split("\n")
        column = len(before.rpartition(b"\n")[2].decode("utf-8", "replace"))
        mark = TextPosition(Source(str(path), lines), before.count(b"\n"), column)
        what = f"byte 0x{raw[error.start]:02x} is not UTF-8"
        raise _wrong(what, "save the trace as UTF-8 text", mark) from None


# --- CSV -------------------------------------------------------------------------------------------------------------


def _cells(line: str) -> Iterator[tuple[int, str]]:
    """Column and text of each cell, without the spaces round it."""
    at = 0
    for cell in line.split(","):
        yield at + len(cell) - len(cell.lstrip()), cell.strip()
        at += len(cell) + 1


def _csv(asked: TraceSource, source: Source, lines: list[tuple[int, str]]) -> Trace:
    columns = _header(source, *lines[0])
    rows: dict[str, list[Fraction | int]] = {name: [] for name, _ in columns}
    for number, line in lines[1:]:
        if len(rows["time"]) >= MAX_STEPS:
            right = "write values over longer times, or a part of the trace"
            raise _wrong(f"a trace has at most {MAX_STEPS} rows", right, TextPosition(source, number))
        cells = line.split(",")
        if len(cells) != len(columns):
            what = f"{len(cells)} values, and the header has {len(columns)} columns"
            mark = TextPosition(source, number, list(_cells(line))[min(len(cells), len(columns)) - 1][0])
            raise _wrong(what, f"write one value for each of: {', '.join(name for name, _ in columns)}", mark)
        for at, (name, unit) in enumerate(columns):
            try:
                rows[name].append(_value(name, unit, cells[at].strip()))
                if name == "time":
                    _check_time(rows["time"], unit)
            except UnitError as error:
                column, cell = list(_cells(line))[at]
                mark = TextPosition(source, number, column, max(len(cell), 1))
                raise _wrong(error.what, error.right, mark) from None
    if len(rows["time"]) < 2:
        what = "a trace of fewer than two rows says nothing of its length"
        raise _wrong(what, "end it with a row that has the time of its end", TextPosition(source, lines[-1][0]))
    times = [round(each) for each in rows["time"]]
    if times[0] != 0:
        what, right = f"the trace begins at {format_exact(TIME, times[0])}", "let its first row be of time 0"
        raise _wrong(what, right, TextPosition(source, lines[1][0]))
    last = slice(None, -1) if asked.loop else slice(None)  # of a loop, the last row says only when it ends
    found = {name: values[last] for name, values in rows.items()}
    if "rate" in found:
        _check_rates(asked, found["rate"], TextPosition(source, lines[-1][0]))
    return Trace(
        file=asked.file,
        at_ns=times[last],
        lasts_ns=times[-1],
        loops=asked.loop,
        rate_bps=[round(each) for each in found["rate"]] if "rate" in found else None,
        delay_ns=[round(each) for each in found["delay"]] if "delay" in found else None,
        loss=[float(each) for each in found["loss"]] if "loss" in found else None,
    )


def _header(source: Source, number: int, line: str) -> list[tuple[str, str]]:
    """Name and unit of each column."""
    columns: list[tuple[str, str]] = []
    for column, cell in _cells(line):
        mark = TextPosition(source, number, column, max(len(cell), 1))
        match = _HEADER.fullmatch(cell)
        name = match["name"].lower() if match else ""
        if match is None or name not in COLUMNS:
            known = ", ".join(COLUMNS)
            raise _wrong(f"'{cell}' is no column of a trace ({known})", f"write a header such as {EXAMPLE}", mark)
        unit = (match["unit"] or match["round"] or "").strip()
        kind, _ = COLUMNS[name]
        if not unit:
            right = f"write {name} [{kind.example.split()[-1]}] (units: {', '.join(kind.factors)})"
            raise _wrong(f"the column '{name}' has no unit", right, mark)
        try:
            parse_exact(kind, f"1 {unit}")
        except UnitError as error:
            raise _wrong(error.what, error.right.replace("write 1 ", f"write {name} in "), mark) from None
        if name in (each for each, _ in columns):
            raise _wrong(f"the column '{name}' a second time", "keep one", mark)
        columns.append((name, unit))
    names = [name for name, _ in columns]
    if "time" not in names or len(names) < 2:
        what = "the trace has no column 'time'" if "time" not in names else "the trace has a time and nothing else"
        raise _wrong(what, f"write a header such as {EXAMPLE}", TextPosition(source, number))
    return columns


def _value(name: str, unit: str, cell: str) -> Fraction | int:
    """A cell in base units; what is whole there becomes no fraction, which takes ten times as long."""
    kind, most = COLUMNS[name]
    if not _NUMBER.fullmatch(cell):
        said = f"'{cell}' is not a number" if cell else f"no {name} here"
        raise UnitError(said, f"write a number; its unit, {unit}, stands in the header")
    whole, _, decimals = cell.partition(".")
    if (digits := whole + decimals).isdigit():
        parts, one = int(digits) * kind.factors[unit], 10 ** len(decimals)
        value = Fraction(parts, one) if parts % one else int(parts // one)
    else:
        value = Fraction(cell) * kind.factors[unit]
    if value < 0:
        raise UnitError(f"a {name} of {cell} {unit} is negative", f"{kind.name} is zero or more")
    if value > most:
        bound = "100 %" if kind is PROBABILITY else format_exact(kind, most)
        raise UnitError(f"a {name} of {cell} {unit} is too large", f"write at most {bound}")
    return value


def _check_time(times: list[Fraction | int], unit: str) -> None:
    if len(times) > 1 and round(times[-1]) <= round(times[-2]):
        backwards = "goes backwards" if times[-1] < times[-2] else "stands still"
        before = format_exact(TIME, round(times[-2]))
        raise UnitError(f"time {backwards}: the row before is of {before}", f"write a later time, in {unit}")
    if len(times) > 1 and times[-1] - times[-2] < LEAST_STEP_NS:
        apart = format_exact(TIME, round(times[-1] - times[-2]))
        raise UnitError(f"{apart} after the row before", "let rows be 1 ms or more apart: each is a change of the link")


def _check_rates(asked: TraceSource, rates: Sequence[Fraction | int], mark: TextPosition) -> None:
    if not any(round(each) for each in rates):
        raise _wrong("a rate of 0 from the beginning to the end", "write a rate above 0 somewhere", mark)
    if not asked.loop and round(rates[-1]) == 0:
        what = "the trace ends with a rate of 0, which would hold for good"
        raise _wrong(what, "write a rate above 0 in the last row, or loop: true", mark)


# --- Mahimahi --------------------------------------------------------------------------------------------------------


def _mahimahi(asked: TraceSource, source: Source, lines: list[tuple[int, str]], framing_bytes: int) -> Trace:
    """Opportunities as rates: of each step of 100 ms, what its opportunities carry; one counts where it ends."""
    times: list[int] = []
    for number, line in lines:
        word = line.strip()
        mark = TextPosition(source, number, line.index(word), len(word))
        if not word.isascii() or not word.isdigit() or len(word) > 12:
            negative = word.startswith("-")
            said = f"a time of {word} ms is negative" if negative else f"'{word}' is not a time in whole milliseconds"
            raise _wrong(said, "write for each packet the millisecond at which it may leave: 0 or more", mark)
        if times and int(word) < times[-1]:
            raise _wrong(f"time goes backwards: the line before is of {times[-1]} ms", "write the times in order", mark)
        times.append(int(word))
        if times[-1] * MILLISECOND > min(LONGEST_NS, MAX_STEPS * MAHIMAHI_STEP_NS):
            most = min(LONGEST_NS, MAX_STEPS * MAHIMAHI_STEP_NS)
            raise _wrong(f"a trace of {word} ms is too long", f"write at most {format_exact(TIME, most)}", mark)
    lasts_ns = times[-1] * MILLISECOND
    if lasts_ns == 0:
        what = "all packets leave at 0 ms, so the trace has no length"
        raise _wrong(
            what, "write later times: the last one says when the trace ends", TextPosition(source, lines[-1][0])
        )
    starts = list(range(0, lasts_ns, MAHIMAHI_STEP_NS))
    packets = [0] * len(starts)
    for time in times:
        packets[max(0, bisect_right(starts, time * MILLISECOND - 1) - 1)] += 1
    ends = [*starts[1:], lasts_ns]
    bits = (MAHIMAHI_PACKET_BYTES + framing_bytes) * 8
    rates = [
        Fraction(count * bits * 10**9, end - start) for count, start, end in zip(packets, starts, ends, strict=True)
    ]
    _check_rates(asked, rates, TextPosition(source, lines[-1][0]))
    return Trace(
        file=asked.file, at_ns=starts, lasts_ns=lasts_ns, loops=asked.loop, rate_bps=[round(each) for each in rates]
    )
