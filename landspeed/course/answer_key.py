"""The key of an exercise, for the lecturer: answers that have all points."""

from __future__ import annotations

import tempfile
from pathlib import Path

from landspeed.course.class_register import ClassRegister
from landspeed.course.exercise import SCENARIO, chance_of, draw, read_about
from landspeed.course.exercise_names import ExerciseError
from landspeed.course.laboratory import Laboratory
from landspeed.runs.scenario import Scenario


def answer_key(folder: Path, laboratory: Laboratory, register: ClassRegister | None = None) -> dict[str, str]:
    """Right answers of a student's exercise, as they would be written.

    Raises:
        ExerciseError: the folder is none, its key needs the class, or its lesson has no key.
    """
    owner = read_about(folder, register)
    exercise = owner.lesson.exercise
    if owner.class_name and register is None:
        raise ExerciseError(f"{folder} is of the class {owner.class_name}: give its file with --class")
    if not hasattr(exercise, "key"):
        raise ExerciseError(
            f"the exercise of {owner.lesson.name} has no key; write `key(chance, plan, laboratory)` in it"
        )
    assert exercise is not None
    drawn = draw(owner.lesson, chance_of(owner.lesson.name, owner.student, register), laboratory)
    with tempfile.TemporaryDirectory(prefix="landspeed-key-") as place:
        file = Path(place) / SCENARIO
        file.write_text(drawn.scenario, encoding="utf-8")
        plan = Scenario.load(file).plan()
    return exercise.key(chance_of(owner.lesson.name, owner.student, register), plan, laboratory)
