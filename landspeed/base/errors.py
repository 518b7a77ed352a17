"""Errors that point at a place in a file: file:line:column, the line, a caret, what is wrong, what would be right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

SHOWN_COLUMNS = 100
MAX_SHOWN = 50


@dataclass(frozen=True)
class Source:
    """A text that was read, for quoting its lines. An override is a source of one line, named `--set`."""

    name: str
    lines: Sequence[str] = field(default=(), repr=False)


@dataclass(frozen=True)
class TextPosition:
    """A place: line and column count from 0; `length` is how much the carets underline.

    `key_path` stands for line and column where there is no text: in a scenario that was built in Python.
    """

    source: Source
    line: int = 0
    column: int = 0
    length: int = 1
    key_path: str = ""


@dataclass(frozen=True)
class Problem:
    """One thing wrong, where, and what would be right."""

    what: str
    right: str
    mark: TextPosition | None = None
    file: str = ""  # used when there is no mark

    @property
    def place(self) -> str:
        """`file:line:column`, counted from 1; only `file` when there is no line to show."""
        if self.mark is None:
            return printable(self.file)
        if not self.mark.source.lines and self.mark.key_path:
            return printable(f"{self.mark.source.name}, at {self.mark.key_path}")
        return printable(f"{self.mark.source.name}:{self.mark.line + 1}:{self.mark.column + 1}")

    def __str__(self) -> str:
        parts = [f"{self.place}: {printable(self.what)}"]
        if self.mark and self.mark.line < len(self.mark.source.lines):
            number = f"{self.mark.line + 1:5d} | "
            line, column = _window(self.mark.source.lines[self.mark.line], self.mark.column)
            carets = "^" * max(1, min(self.mark.length, len(line) - column))
            parts += [number + line, " " * (len(number) - 2) + "| " + " " * column + carets]
        parts.append(f"      = {printable(self.right)}")
        return "\n".join(parts)


class LandspeedError(Exception):
    """Every failure that landspeed names. Its text is what the command prints after `Error: `.

    Attributes:
        exit_status: of the command: 2 for bad input and a host that lacks something, 1 for a run that failed.
        about_machine: whether `landspeed doctor` may say more.
    """

    exit_status = 2
    about_machine = False


class ScenarioError(LandspeedError):
    """A scenario that cannot be used. Holds every problem found."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(problems)
        self.problems = list(problems)

    def __str__(self) -> str:
        shown = [str(problem) for problem in self.problems[:MAX_SHOWN]]
        if len(self.problems) > MAX_SHOWN:
            shown.append(f"… and {len(self.problems) - MAX_SHOWN} more problems")
        return "\n".join(shown)


def printable(text: str) -> str:
    """`text` without characters that would move the cursor or change colours; tabs become one space."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _window(line: str, column: int) -> tuple[str, int]:
    """The part of a long line around the column, and the column within it."""
    start = max(0, column - SHOWN_COLUMNS // 2) if len(line) > SHOWN_COLUMNS else 0
    return printable(line[start : start + SHOWN_COLUMNS]), column - start
