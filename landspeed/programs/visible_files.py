"""Files of this computer that the programs of a path see, and advice where one is hidden or is no program."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path
from typing import Any

GUESTS_OWN = ("/tmp", "/run", "/var/tmp", "/dev/shm")  # worlds/emu/guest/files.py
RUN = "/run/landspeed"
SHARED = f"{RUN}/shared"
ADVICE = (
    f"The guest has a {', '.join(GUESTS_OWN[:-1])} and {GUESTS_OWN[-1]} of its own. Put the file elsewhere, such as "
    f"below your home folder; a test may put it into path.shared, where programs find it as {SHARED}, or name its "
    "folder in `visible`"
)


class Visible:
    """The folders of this computer that a guest sees behind its own."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """`folders`: beside all that is not behind `GUESTS_OWN`."""
        self._folders = [str(each) for each in folders]

    def hides(self, name: str) -> bool:
        """Return whether a file is behind a folder that the guest has of its own."""
        return _within(name, GUESTS_OWN) and not _within(name, [*self._folders, RUN])

    def hidden_words(self, words: Sequence[str]) -> list[str]:
        """Arguments that are files of this computer, and are not what they seem to be."""
        return [word for word in words if word not in GUESTS_OWN and self.hides(word) and Path(word).exists()]

    def refusal(self, answer: dict[str, Any], words: Sequence[str], folder: str) -> str:
        """Say why a program cannot be started, and what would help."""
        what, number = str(answer["what"]), answer["refused"]
        if self.hides(what):
            return f"{what}: {answer['why']}. {ADVICE}"
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
