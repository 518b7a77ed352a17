"""A class: its students, and the lecturer's secret that draws their variants and seals their folders."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from landspeed.base.files import write_atomically
from landspeed.base.json_form import object_of
from landspeed.course.exercise_names import ExerciseError, student_id
from landspeed.results.bundle import OutputError

FORMAT = 1
VARIANTS = 16  # of a new class: a neighbour has another path, and two hundred grades share most of their runs


@dataclass(frozen=True)
class ClassRegister:
    """Students of a class.

    Attributes:
        secret: known to the lecturer only. Without it nobody can compute another's variant, a key, or a seal.
        students: their names, each in one form.
        variants: paths of each lesson that the students of the class share; 0: each student has one of her own.
    """

    name: str
    secret: str
    students: tuple[str, ...] = ()
    variants: int = 0

    def draw_key(self, lesson: str, student: str) -> str:
        """Seed of the dice of a student for a lesson."""
        if not self.variants:
            return self._digest("draw", lesson, student)
        variant = int(self._digest("variant", lesson, student), 16) % self.variants
        return self._digest("draw", lesson, f"variant {variant}")

    def seal(self, lesson: str, student: str, scenario: str) -> str:
        """Seal that says that a folder was made for this student, with this scenario."""
        return self._digest("seal", lesson, student, scenario)

    def has_sealed(self, seal: str, lesson: str, student: str, scenario: str) -> bool:
        """True if the folder of that seal was made for this student, with this scenario."""
        return hmac.compare_digest(seal.encode(), self.seal(lesson, student, scenario).encode())

    def with_students(self, names: Iterable[str]) -> ClassRegister:
        """Return this class with more students; who is in it already stays.

        Raises:
            ExerciseError: a name cannot be used.
        """
        return replace(self, students=tuple(dict.fromkeys([*self.students, *map(student_id, names)])))

    def save(self, file: Path) -> None:
        """Write it to a file that only its owner can read.

        Raises:
            OutputError: it cannot be written.
        """
        content = {"format": FORMAT, "class": self.name, "secret": self.secret, "students": list(self.students)}
        content |= {"variants": self.variants} if self.variants else {}
        try:
            write_atomically(file, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
            file.chmod(0o600)
        except OSError as error:
            raise OutputError(f"{file}: {error.strerror or error}") from error

    def _digest(self, *words: str) -> str:
        return hmac.new(self.secret.encode(), "\0".join(words).encode(), hashlib.sha256).hexdigest()


def new_register(file: Path, name: str = "", variants: int = VARIANTS) -> ClassRegister:
    """A class without students, with a new secret, in a new file.

    Raises:
        ExerciseError: the file is there already: a new secret would draw other variants.
        OutputError: it cannot be written.
    """
    if file.exists():
        raise ExerciseError(f"{file} exists already; its secret draws the variants of its class, so give another file")
    made = ClassRegister(student_id(name or file.stem), secrets.token_hex(32), variants=variants)
    made.save(file)
    return made


def read_register(file: Path) -> ClassRegister:
    """The class of a file.

    Raises:
        ExerciseError: it is none.
    """
    try:
        found = object_of(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        right = "`landspeed class new FILE` makes one"
        raise ExerciseError(f"{file} is no class: {getattr(error, 'strerror', None) or error}; {right}") from error
    students: Any = found.get("students")
    variants = found.get("variants", 0)
    known = found.get("format") == FORMAT and isinstance(variants, int)
    if not known or not found.get("secret") or not isinstance(students, list):
        raise ExerciseError(f"{file} is no class: this landspeed reads format {FORMAT} with secret and students")
    return ClassRegister(str(found.get("class")), str(found["secret"]), _texts(students), variants)


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(str(each) for each in values)
