"""A world's options as one dataclass: the command's arguments and the words that repeat a run are made from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any


@dataclasses.dataclass(frozen=True)
class Option:
    """Description of an option's field for the command line.

    Attributes:
        help: one line for `--help`.
        choices: the values it may have; empty for any.
        parse: text to value; raises ValueError with what would be right. None: the text itself.
        text: value to text that `parse` reads.
        metavar: what stands for the value in `--help`.
        repeated: the option changes what is measured, so the words that repeat a run name it.
        words: further commands that take it, beside `run` and `compare`.
    """

    help: str
    choices: tuple[str, ...] = ()
    parse: Callable[[str], Any] | None = None
    metavar: str | None = None
    repeated: bool = True
    words: tuple[str, ...] = ()
    text: Callable[[Any], str] = str


def option(
    default: Any,
    help: str,
    *,
    choices: Sequence[str] = (),
    parse: Callable[[str], Any] | None = None,
    metavar: str | None = None,
    repeated: bool = True,
    words: Sequence[str] = (),
    text: Callable[[Any], str] = str,
) -> Any:
    """A field of an options dataclass with what the command line must know of it. A default of False makes a switch."""
    known = Option(help, tuple(choices), parse, metavar, repeated, tuple(words), text)
    return dataclasses.field(default=default, metadata={"option": known})


def options_of(kind: type[Any]) -> dict[str, tuple[Option, Any]]:
    """Field name → (what the command line must know, default) of the options that the command line has."""
    return {
        each.name: (each.metadata["option"], each.default)
        for each in dataclasses.fields(kind)
        if "option" in each.metadata
    }


def parse_seconds(text: str) -> float:
    """A number of seconds above 0. Raises ValueError."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ValueError(f"'{text}' is not a number of seconds above 0")
    return seconds


def option_word(name: str) -> str:
    """A field's name as it is typed: `exact_timers` is `--exact-timers`."""
    return "--" + name.replace("_", "-")


def repeating_words(options: Any) -> list[str]:
    """Words of the command line that set these options again, as far as they change what is measured."""
    words: list[str] = []
    for name, (known, default) in options_of(options.__class__).items():
        value = getattr(options, name)
        if known.repeated and value != default:
            words += [option_word(name)] if value is True else [option_word(name), known.text(value)]
    return words
