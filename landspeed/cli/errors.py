"""Exit statuses, and errors of the command line itself."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable

from landspeed.base.errors import LandspeedError

FAILED, BAD_INPUT = 1, 2


class UsageError(LandspeedError):
    """Bad input that is not in a scenario; the message says what would be right."""


DOCTOR = "`landspeed doctor` says more"


def warn(warnings: Iterable[str]) -> None:
    """Print each warning once, beside what is printed for programs."""
    for warning in dict.fromkeys(warnings):
        print(f"Warning: {warning}", file=sys.stderr)


def say(error: object, status: int) -> int:
    """Print an error, and who knows more if it is about this machine; returns the exit status that goes with it."""
    with contextlib.suppress(OSError):  # nobody listens any more
        print(f"Error: {error}", file=sys.stderr)
        if isinstance(error, MemoryError) or getattr(error, "about_machine", False):
            print(DOCTOR, file=sys.stderr)
    return status
