"""Findings on a host, one after the other: each passed, or with what would be right."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypedDict

from .landspeed_host import Unavailable


class Finding(TypedDict):
    """One thing that was looked at."""

    check: str
    state: str  # "pass", "warn", "fail"
    found: str
    wanted: str
    remedy: str


class Findings:
    """All that was found so far."""

    def __init__(self) -> None:
        """Begin without findings."""
        self.findings: list[Finding] = []

    def add(self, check: str, state: str, found: object, wanted: object = "", remedy: str = "") -> None:
        """One finding; the remedy only where something is to be done."""
        remedy = "" if state == "pass" else remedy
        self.findings.append(
            {"check": check, "state": state, "found": str(found), "wanted": str(wanted), "remedy": remedy}
        )


def group_of(pattern: str, shown: str) -> str:
    """The first group of a pattern in what a program shows.

    Raises:
        Unavailable: it shows nothing like it.
    """
    found = re.search(pattern, shown)
    if found is None:
        raise Unavailable(f"nothing like {pattern!r} in {shown[:200]!r}")
    return found[1]


def text(path: str | Path, default: str = "") -> str:
    """Content of a small file."""
    try:
        return Path(path).read_text().strip()
    except OSError:
        return default
