"""Paths of the folders beside the package that are not Python, and of those that runs are kept in."""

from __future__ import annotations

import os
from pathlib import Path

from landspeed.base.config import read_config

PACKAGE = Path(__file__).resolve().parent.parent
ROOT = PACKAGE.parent if (PACKAGE.parent / "pyproject.toml").is_file() else PACKAGE / "data"
"""Folder of `scenarios/`, `engine/`, `emu/` …: the clone, or `data/` of an installed package, laid out alike."""


def is_clone() -> bool:
    """Return whether the package runs from a clone, which its users may write to."""
    return PACKAGE.parent == ROOT


def runs_dir() -> Path:
    """Folder of bundles: that of the user's file of defaults, else `results/runs` of a clone, else as XDG has it."""
    if chosen := read_config().get("runs"):
        return Path(str(chosen)).expanduser()
    if is_clone():
        return ROOT / "results" / "runs"
    data = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(data) / "landspeed" / "runs"


def book_dir() -> Path:
    """Folder of the record book that the user makes: beside what is built in a clone, else beside the bundles."""
    return (ROOT / "build" if is_clone() else runs_dir().parent) / "record-book"


def sweeps_dir() -> Path:
    """Folder of sweeps: beside the bundles."""
    return runs_dir().parent / "sweeps"


def probes_dir() -> Path:
    """Folder of probes: beside the bundles."""
    return runs_dir().parent / "probes"
