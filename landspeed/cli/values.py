"""Values of arguments: text to value, with a message that says what would be right."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from landspeed.worlds.options import parse_seconds

LEAST_INTERVAL_NS = 10_000


def argument(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """A parser that raises ValueError as a type of argparse, which shows the message."""

    def parsed(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parsed


seconds = argument(parse_seconds)


def seed(text: str) -> int:
    """A seed."""
    if not (text.isascii() and text.isdigit()) or int(text) >= 1 << 63:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 0 to 2^63 - 1")
    return int(text)


def share(text: str) -> float:
    """A share with its unit: `2 %`."""
    from landspeed.base.units import PROBABILITY, UnitError, parse_exact

    try:
        return float(parse_exact(PROBABILITY, text))
    except UnitError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def count(text: str) -> int:
    """Parse a positive integer."""
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive integer")
    return int(text)


def size(text: str, word: str) -> int:
    """A size with its unit, above 0: `100TB`. Raises UsageError."""
    from landspeed.base.units import SIZE

    return _quantity(SIZE, text, word)


def rate(text: str, word: str) -> int:
    """A rate with its unit, above 0: `38Gbit/s`. Raises UsageError."""
    from landspeed.base.units import RATE

    return _quantity(RATE, text, word)


def _quantity(kind: Any, text: str, word: str) -> int:
    from landspeed.base.units import UnitError, parse
    from landspeed.cli.errors import UsageError

    try:
        found = parse(kind, text)
    except UnitError as error:
        raise UsageError(f"{word} {text}: {error}") from error
    if not found:
        raise UsageError(f"{word} {text}: write more than zero, such as {kind.example}")
    return found


def sample_interval(text: str) -> int:
    """An interval of virtual time with its unit, in ns: `10 ms`."""
    from landspeed.base.units import SECOND, TIME, UnitError, parse

    try:
        value = parse(TIME, text)
    except UnitError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if not LEAST_INTERVAL_NS <= value <= 3600 * SECOND:
        raise argparse.ArgumentTypeError(f"'{text}' is not an interval between two samples; write 10 us to 1 h")
    return value
