"""Findings of `landspeed doctor`: the thing looked at, its state, its remedy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """One thing looked at.

    Attributes:
        state: "fail" stops every run, "warn" some part.
        remedy: what to do about it; empty when nothing is wrong.
    """

    name: str
    state: Literal["ok", "warn", "fail"]
    text: str
    remedy: str = ""
