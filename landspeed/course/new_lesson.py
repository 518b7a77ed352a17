"""A lesson of one's own: a folder that runs at once, to be changed."""

from __future__ import annotations

import re
from pathlib import Path

from landspeed.base.files import write_atomically
from landspeed.course.lesson import LessonError
from landspeed.results.bundle import OutputError

SKELETON = Path(__file__).resolve().parent / "templates" / "new_lesson"
NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")


def new_lesson(name: str, folder: Path | None = None) -> Path:
    """Write the folder of a new lesson: text, theory, scenario, exercise and its grading.

    Args:
        folder: of the lesson; None: one of its name in the present folder.

    Raises:
        LessonError: the name cannot be one, or the folder is there already.
        OutputError: it cannot be written.
    """
    if not NAME.fullmatch(name):
        raise LessonError(f"'{name}' is no name of a lesson; write lower-case letters, digits and '-', a letter first")
    made = folder or Path(name)
    if made.exists() and (not made.is_dir() or any(made.iterdir())):
        raise LessonError(f"{made} exists already; remove it, or give another folder with --out")
    try:
        made.mkdir(parents=True, exist_ok=True)
        for file in sorted(SKELETON.glob("*.txt")):
            text = file.read_text(encoding="utf-8").replace("NAME", name)
            write_atomically(made / file.name.removesuffix(".txt"), text.encode())
    except OSError as error:
        raise OutputError(f"{made}: {error.strerror or error}; give another folder with --out") from error
    return made
