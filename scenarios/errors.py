"""Errors that point at a place in a file: file:line:column, the line, a caret, what is wrong, what would be right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

SHOWN_COLUMNS = 100
MAX_SHOWN = 50


@dataclass(frozen=True)
class Source:
    """A text that was read, for quoting its lines. An override is a source of one line, named `--set`."""

    name: str
    lines: Sequence[str] = field(default=(), repr=False)


@dataclass(frozen=True)
class Mark:
    """A place: line and column count from 0; `length` is how much the carets underline."""

    source: Source
    line: int = 0
    column: int = 0
    length: int = 1


@dataclass(frozen=True)
class Problem:
    """One thing wrong, where, and what would be right."""

    what: str
    right: str
    mark: Mark | None = None
    file: str = ""  # used when there is no mark

    @property
    def place(self) -> str:
        """`file:line:column`, counted from 1; only `file` when there is no line to show."""
        if self.mark is None:
            return self.file
        return f"{self.mark.source.name}:{self.mark.line + 1}:{self.mark.column + 1}"

    def __str__(self) -> str:
        parts = [f"{self.place}: {printable(self.what)}"]
        if self.mark and self.mark.line < len(self.mark.source.lines):
            number = f"{self.mark.line + 1:5d} | "
            line, column = _window(self.mark.source.lines[self.mark.line], self.mark.column)
            carets = "^" * max(1, min(self.mark.length, len(line) - column))
            parts += [number + line, " " * (len(number) - 2) + "| " + " " * column + carets]
        parts.append(f"      = {printable(self.right)}")
        return "\n".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        where = {"line": self.mark.line + 1, "column": self.mark.column + 1} if self.mark else {}
        name = self.mark.source.name if self.mark else self.file
        return {"file": name, **where, "what": self.what, "right": self.right}


class ScenarioError(Exception):
    """A scenario that cannot be used. Holds every problem found; the command ends with exit status 2."""

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
