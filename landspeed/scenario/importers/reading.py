"""Helpers of the readers: JSON that may be cut off, members that may be missing, durations as ISO 8601 has them."""

from __future__ import annotations

import codecs
import json
import re
from pathlib import Path
from typing import Any

from landspeed.scenario.importers.path_evidence import MeasuredTransfer, MeasurementError

_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)S)?)?")
_OBJECT = re.compile(r"^\s*(\{)", re.MULTILINE)
_NO_NUMBER = re.compile(r"[-+]?(?:nan|inf(?:inity)?)\b", re.IGNORECASE)
_PLAIN = re.compile(r"\d{1,15}(?:\.\d{0,15})?|\.\d{1,15}")
LONGEST_S = 1e9
MOST_BYTES = 256 * 2**20


def read_text(file: Path, code_page: str = "") -> str:
    """The file, in UTF-8, or in UTF-16 with its mark (what PowerShell writes).

    Args:
        code_page: of a system that has its own, for what is no UTF-8.

    Raises:
        MeasurementError: it cannot be read, is empty, too large or no text.
    """
    try:
        if file.stat().st_size > MOST_BYTES:
            raise MeasurementError(f"{file}: larger than {MOST_BYTES // 2**20} MiB; give the result of one measurement")
        content = file.read_bytes()
        marked = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        text = _decoded(content, "utf-16" if marked else "utf-8-sig", "" if marked else code_page)
    except OSError as error:
        raise MeasurementError(f"{file}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise MeasurementError(
            f"{file}: not text (byte {error.start} is not {error.encoding.upper()}); give what the program printed"
        ) from error
    if "\0" in text:
        raise MeasurementError(f"{file}: not text (it has a NUL byte); give what the program printed")
    if not text.strip():
        raise MeasurementError(f"{file}: empty; give what the program printed")
    return text


def _decoded(content: bytes, encoding: str, code_page: str) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        if not code_page:
            raise
    return content.decode(code_page, errors="replace")


def read_json(file: Path, what: str) -> Any:
    """The JSON of a file.

    Args:
        what: the file should be, for the error.

    Raises:
        MeasurementError: it is none, or cut off.
    """
    return parse_json(file, read_text(file), what)


def parse_json(file: Path, text: str, what: str) -> Any:
    """The JSON of a file's text."""
    data, end = _json_at(file, text, len(text) - len(text.lstrip()), what)
    if rest := text[end:].strip():
        line = text.count("\n", 0, len(text) - len(text[end:].lstrip())) + 1
        raise MeasurementError(f"{file}:{line}: not JSON (more behind its end: {rest[:30]!r}); give {what}")
    return data


def read_json_documents(file: Path, what: str) -> list[tuple[int, Any]]:
    """Each JSON object of a file with its line: of runs one after another, and with warnings before and behind them.

    Raises:
        MeasurementError: there is none, or one is cut off.
    """
    text, at = read_text(file), 0
    found: list[tuple[int, Any]] = []
    while begin := _OBJECT.search(text, at):
        line = text.count("\n", 0, begin.start(1)) + 1
        data, at = _json_at(file, text, begin.start(1), what)
        found.append((line, data))
    return found or [(1, read_json(file, what))]


def read_json_list(file: Path, what: str) -> list[Any]:
    """The members of a JSON list, or the objects of a file one after another.

    Raises:
        MeasurementError: there is none, or one is cut off.
    """
    if read_text(file).lstrip().startswith("["):
        return items({"all": read_json(file, what)}, "all")
    return [data for _, data in read_json_documents(file, what)]


def _json_at(file: Path, text: str, begin: int, what: str) -> tuple[Any, int]:
    """The JSON value at a place, and where it ends."""
    try:
        return json.JSONDecoder().raw_decode(text, begin)
    except json.JSONDecodeError as error:
        place = f"{file}:{error.lineno}:{error.colno}"
        if unknown := _NO_NUMBER.match(text, error.pos):
            raise MeasurementError(
                f"{place}: {unknown[0]} is no number: the program divided 0 by 0; import a run in which packets arrived"
            ) from error
        if error.pos >= len(text.rstrip()) - 1 or "Unterminated" in error.msg:
            raise MeasurementError(f"{file}: cut off in line {error.lineno}; give the whole of {what}") from error
        raise MeasurementError(f"{place}: not JSON ({error.msg}); give {what}") from error
    except RecursionError as error:
        raise MeasurementError(f"{file}: no JSON that {what} would be, nested too deeply; give {what}") from error
    except ValueError as error:  # a number of thousands of digits
        raise MeasurementError(f"{file}: not JSON that a program wrote ({error}); give {what}") from error


def member(data: Any, *names: str) -> Any:
    """A member of members; None where one is missing or null."""
    for name in names:
        data = data.get(name) if isinstance(data, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return data  # pyright: ignore[reportUnknownVariableType]


def items(data: Any, *names: str) -> list[Any]:
    """Return the list at these names; an empty one if there is none."""
    found = member(data, *names)
    return found if isinstance(found, list) else []  # pyright: ignore[reportUnknownVariableType]


def number(data: Any, *names: str) -> float | None:
    """Return the finite number at these names; None if there is none."""
    found = member(data, *names)
    if isinstance(found, bool) or not isinstance(found, int | float) or not abs(found) < 1e300:
        return None
    return float(found)


def whole(data: Any, *names: str) -> int | None:
    """Return the number at these names, rounded; None if there is none."""
    found = number(data, *names)
    return None if found is None else round(found)


def positive(data: Any, *names: str) -> float | None:
    """Return the positive number at these names; None for zero, which programs write for unknown."""
    found = number(data, *names)
    return found if found and found > 0 else None


def text_of(data: Any, *names: str) -> str:
    """Return the text at these names; "" if there is none."""
    found = member(data, *names)
    return found if isinstance(found, str) else ""


def seconds_of(value: Any) -> float | None:
    """`PT0.0012S`, or a number of seconds; None for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if abs(value) < LONGEST_S else None
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None or not any(match.groups()):
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    found = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    return found if found < LONGEST_S else None


def total(values: list[int | None]) -> int | None:
    """The sum; None where one is not known."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def mean(values: list[float | None]) -> float | None:
    """The mean of those that are known."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def usable(transfer: MeasuredTransfer) -> MeasuredTransfer:
    """The transfer, whose figures can be one's.

    Raises:
        MeasurementError: nothing moved, it took no time, or a figure is none of a network.
    """
    for what, value, least, most in (
        ("rate", transfer.goodput_bps, 1.0, 1e13),
        ("duration", transfer.duration_s, 1e-3, 1e7),
        ("number of streams", transfer.streams, 1, 1000),
        ("packet", transfer.packet_bytes or 1, 1, 65_535),
        ("MSS", transfer.mss_bytes or 536, 64, 65_535),
        *(("rate of an interval", each.rate_bps, 0.0, 1e13) for each in transfer.intervals),
        *(("round trip", each.rtt_s or 0.0, 0.0, 1e4) for each in transfer.intervals),
    ):
        if not least <= value <= most:
            raise MeasurementError(
                f"{transfer.source}: {value:g} is no {what} of a transfer; give the whole, unchanged output of one "
                "that moved data"
            )
    return transfer


def plain_number(text: str) -> float:
    """A decimal number of at most 15 digits, as programs print it; 0 for anything else."""
    return float(text) if _PLAIN.fullmatch(text) else 0.0
