"""Names of students and of their folders."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from landspeed.base.failures import NotPossible

LONGEST_ID = 100


class ExerciseError(NotPossible):
    """A folder or an answer that cannot be graded; the message says what is wrong and what would be right."""


def student_id(text: str) -> str:
    """An id in one form: spaces and letters of every script are allowed.

    Raises:
        ExerciseError: it is empty, too long, or has what cannot be printed.
    """
    found = " ".join(unicodedata.normalize("NFC", text).split())
    if not found or len(found) > LONGEST_ID or not found.isprintable():
        raise ExerciseError(f"--student {text!r}: write a name or number of 1 to {LONGEST_ID} printable characters")
    return found


def folder_name(lesson: str, student: str) -> str:
    """Name an exercise's folder: plain letters, and a few digits if the id has others, so that no two ids share one."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", student).strip("-.")
    if plain == student:
        return f"{lesson}-{plain}"
    return f"{lesson}-{plain}-{hashlib.sha256(student.encode()).hexdigest()[:6]}".replace("--", "-")
