"""Conditions that can be waited for at a node: a listening socket, a line of output, a command that succeeds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from landspeed.programs.errors import PathError


@dataclass(frozen=True)
class ListeningCondition:
    """See `listening`."""

    port: int
    protocol: Literal["tcp", "udp"]

    def question(self) -> tuple[str, dict[str, Any]]:
        """Question for the guest."""
        return "wait_listening", {"protocol": self.protocol, "port": self.port}

    def __str__(self) -> str:
        return f"somebody listens on {self.protocol} port {self.port}"


@dataclass(frozen=True)
class LineCondition:
    """See `line`."""

    pattern: str

    def question(self) -> tuple[str, dict[str, Any]]:
        """Question for the guest."""
        return "wait_line", {"pattern": self.pattern}

    def __str__(self) -> str:
        return f"its output has a line like {self.pattern!r}"


@dataclass(frozen=True)
class SuccessCondition:
    """See `succeeds`."""

    words: tuple[str, ...]

    def question(self) -> tuple[str, dict[str, Any]]:
        """Question for the guest."""
        return "wait_success", {"words": list(self.words)}

    def __str__(self) -> str:
        return f"`{' '.join(self.words)}` succeeds"


Condition: TypeAlias = ListeningCondition | LineCondition | SuccessCondition


def listening(port: int, protocol: Literal["tcp", "udp"] = "tcp") -> ListeningCondition:
    """A program at the node listens on a port; for UDP: has a socket there that is not connected."""
    if not 0 < port < 1 << 16:
        raise PathError(f"{port} is not a port: write one from 1 to 65535")
    return ListeningCondition(port, protocol)


def line(pattern: str) -> LineCondition:
    """The program has written a line in which this regular expression is found; `^` and `$` are a line's ends.

    The last 64 KiB of each output are looked at.
    """
    try:
        re.compile(pattern.encode())
    except re.error as error:
        raise PathError(f"{pattern!r} is not a regular expression: {error}") from error
    return LineCondition(pattern)


def succeeds(words: Sequence[str]) -> SuccessCondition:
    """A command at the program's node exits with status 0. It is tried repeatedly, and may take long."""
    if isinstance(words, str) or not words:
        raise PathError(f"{words!r} is not a command: write its words as a list, such as ['curl', '-s', 'b']")
    return SuccessCondition(tuple(map(str, words)))
