"""The scenarios that come with landspeed, by name: `first` stands for examples/first.yaml."""

from __future__ import annotations

import re
from pathlib import Path

from landspeed.base.near import nearest
from landspeed.base.places import ROOT

HOME = ROOT / "scenarios"
FOLDERS = ("examples", "presets", "records")


def packaged_names() -> list[str]:
    """Names of all of them, examples first: in the order of `FOLDERS`."""
    return [file.stem for folder in FOLDERS for file in sorted((HOME / folder).glob("*.yaml"))]


def packaged_file(name: Path, folder: Path = Path()) -> Path | None:
    """The file of a name; None for what is a file of the user's in that folder, or no such name."""
    if not is_name(name) or (folder / name).is_file():
        return None
    return file_named(str(name))


def file_named(name: str) -> Path | None:
    """The packaged file of exactly this name, whatever lies in the present folder; None if there is none."""
    return next(
        (HOME / folder / f"{name}.yaml" for folder in FOLDERS if (HOME / folder / f"{name}.yaml").is_file()), None
    )


def is_name(path: Path) -> bool:
    """Return whether it may be the name of a packaged scenario: it has neither a folder nor an ending."""
    return len(path.parts) == 1 and path.suffix == ""


def near_name(path: Path) -> str:
    """The packaged scenario that may have been meant, by its name or by its file's; empty when none is like it."""
    if not is_name(path):
        return path.stem if path.suffix == ".yaml" and path.stem in packaged_names() else ""
    return nearest(str(path), packaged_names())


def copied_files(file: Path) -> dict[str, str]:
    """File name → contents of a packaged scenario for another folder: it extends by name, its traces lie beside it."""
    from landspeed.scenario.traces.made_traces import TRACES  # random: saves 3 ms of each start

    text = re.sub(r"^extends: .*?([^/\s]+)\.yaml$", r"extends: \1", file.read_text("utf-8"), flags=re.MULTILINE)
    traces = {name: "\n".join(made()) + "\n" for name, made in TRACES.items() if f"../traces/{name}" in text}
    return {file.name: text.replace("../traces/", ""), **traces}
