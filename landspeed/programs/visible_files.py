"""Files of this computer that the programs of a path see although the guest has folders of its own there."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

GUESTS_OWN = ("/tmp", "/run", "/var/tmp", "/dev/shm")  # worlds/emu/guest/files.py
RUN = "/run/landspeed"
SHARED = f"{RUN}/shared"


def named_files(words: Sequence[str], folder: Path) -> list[Path]:
    """Files and folders of this computer that a command names, and its folder, where the guest has folders of its own.

    A word is a name, or has one behind `=` (`--config=/tmp/a.json`).
    """
    named = {folder, *(folder / each for word in words for each in (word, word.rpartition("=")[2]) if each)}
    return sorted({place for each in named for place in _places(each)})


def _places(path: Path) -> Iterator[Path]:
    """Places of a file, by its name and by what it links to, as far as they are where the guest has its own."""
    try:
        for place in (path.absolute(), path.resolve(strict=True)):
            if _within(str(place), GUESTS_OWN) and not _within(str(place), [RUN]):
                yield place
    except (OSError, ValueError):  # no file
        return


def is_guests_own(folder: Path) -> bool:
    """Return whether the guest has this very folder of its own, so that it cannot be this computer's there."""
    return str(folder) in GUESTS_OWN


def refusal(answer: dict[str, Any], words: Sequence[str], folder: str) -> str:
    """Say why a program cannot be started, and what would help."""
    what, number = str(answer["what"]), answer["refused"]
    advice = ""
    if number == errno.ENOENT and what == folder:
        advice = "; there is no such folder (cwd)"
    elif number == errno.ENOENT:
        advice = "; write its path, or install it where PATH finds it"
    elif number == errno.EACCES:
        advice = f"; make it executable: chmod +x {words[0]}"
    elif number == errno.ENOEXEC:
        advice = "; it is for another machine, or a script without #! in its first line"
    return f"{what}: {answer['why']}{advice}"


def _within(name: str, folders: Sequence[str]) -> bool:
    return any(f"{name}/".startswith(f"{each}/") for each in folders)
