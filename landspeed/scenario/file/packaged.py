"""The scenarios that come with landspeed, by name: `first` stands for examples/first.yaml."""

from __future__ import annotations

import difflib
from pathlib import Path

from landspeed.base.places import ROOT

HOME = ROOT / "scenarios"
FOLDERS = ("examples", "presets", "records")


def packaged_names() -> list[str]:
    """Names of all of them, examples first: in the order of `FOLDERS`."""
    return [file.stem for folder in FOLDERS for file in sorted((HOME / folder).glob("*.yaml"))]


def packaged_file(name: Path) -> Path | None:
    """The file of a name; None for what is a path of the user's, or no such name."""
    if not is_name(name) or name.is_file():
        return None
    files = [HOME / folder / f"{name}.yaml" for folder in FOLDERS]
    return next((file for file in files if file.is_file()), None)


def is_name(path: Path) -> bool:
    """Return whether it may be the name of a packaged scenario: it has neither a folder nor an ending."""
    return len(path.parts) == 1 and path.suffix == ""


def near_name(name: Path) -> str:
    """The packaged scenario that may have been meant; empty when none is like it."""
    return next(iter(difflib.get_close_matches(str(name), packaged_names(), 1)), "")
