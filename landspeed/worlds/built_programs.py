"""A program that is part of landspeed: is it there, can it be executed, and if not, what is to be done."""

from __future__ import annotations

import os
from pathlib import Path

from landspeed.base.places import is_clone

REINSTALL = "install the wheel again: pip install --force-reinstall landspeed-….whl"


def program_trouble(program: Path) -> str:
    """Say why a program of landspeed's own cannot be started, and the remedy; empty if it can."""
    if os.access(program, os.X_OK):
        return ""
    if not program.exists():
        return f"{program} is not built; run `make setup`" if is_clone() else f"{program} is missing; {REINSTALL}"
    if os.statvfs(program).f_flag & os.ST_NOEXEC:
        return (
            f"{program} is on a file system that is mounted noexec; install landspeed on another one, "
            "or let it be remounted: mount -o remount,exec …"
        )
    return f"{program} may not be executed by this user; chmod a+rx it and the folders above it"
