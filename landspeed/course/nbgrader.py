"""An exercise as an assignment of nbgrader: a notebook whose locked cells grade, and every student's sealed folder.

nbgrader gives the same files to everybody, so the folders of all students lie beside the notebook; each has a path and
a seal, and no secret. The notebook writes the answers into its student's folder and checks it as `landspeed lesson
check` does; for the lecturer, whose environment names the class, it checks with the class's secret.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from landspeed.base.files import write_atomically
from landspeed.course.class_register import ClassRegister, read_register
from landspeed.course.exercise import ANSWERS, TASK, AnswerSpec, exercise_of, read_about, start
from landspeed.course.exercise_names import ExerciseError, folder_name, student_id
from landspeed.course.grading import ExerciseGrade, check
from landspeed.course.laboratory import Laboratory
from landspeed.results.bundle import OutputError

CLASS = "LANDSPEED_CLASS"
"""Variable with the file of the class, in the lecturer's environment only."""
FOLDERS = "students"
EXECUTION = "NBGRADER_EXECUTION"  # nbgrader sets it: autograde, validate
SETUP = """\
from landspeed.course.nbgrader import NotebookExercise

exercise = NotebookExercise({lesson!r}, student)
exercise"""


class NotebookExercise:
    """A student's exercise in a notebook: shows its task, and grades answers cell by cell."""

    def __init__(self, lesson: str, student: str, folders: Path = Path(FOLDERS)) -> None:
        """Find the student's folder.

        Raises:
            ExerciseError: there is none, or another student hands this notebook in.
        """
        who = student_id(student)
        self.folder = folders / folder_name(lesson, who)
        if not self.folder.is_dir():
            raise ExerciseError(f"no folder of '{who}' in {folders}; write your name as the class has it")
        if os.environ.get(EXECUTION) == "autograde" and Path.cwd().parent.name != who:
            raise ExerciseError(f"handed in by {Path.cwd().parent.name}; the notebook says that it is of {who}")
        file = os.environ.get(CLASS)
        self._register = read_register(Path(file)) if file else None
        self._grades: dict[str, ExerciseGrade] = {}
        read_about(self.folder, self._register)

    def _repr_markdown_(self) -> str:
        return (self.folder / TASK).read_text(encoding="utf-8").split("## Hand in")[0]

    def grade(self, answers: Mapping[str, str], test: str) -> None:
        """Grade one of the tests of the exercise; the runs of all tests are made once.

        Raises:
            AssertionError: the answer is wrong, and why that may be.
            ExerciseError: an answer is missing or cannot be read.
        """
        text = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in answers.items())
        if text not in self._grades:
            write_atomically(self.folder / ANSWERS, text.encode())
            self._grades[text] = check(self.folder, Laboratory(jobs=1), self._register)
        (mark,) = [each for each in self._grades[text].marks if each.name == test]
        if not mark.passed:
            raise AssertionError(mark.why)


def write_assignment(name: str, register: ClassRegister, source: Path, laboratory: Laboratory) -> Path:
    """Write an assignment into nbgrader's folder `source`: its notebook, and a folder for each student of the class.

    Raises:
        ExerciseError: the lesson has no exercise, or the assignment is there already.
        OutputError: it cannot be written.
    """
    lesson = exercise_of(name)
    assert lesson.exercise is not None
    folder = source / lesson.name
    if folder.exists():
        raise ExerciseError(f"{folder} exists already; remove it, or give another folder with --out")
    for student in register.students:
        start(name, student, folder / FOLDERS / folder_name(lesson.name, student), laboratory, register)
    tests = {word: test for word, test in vars(lesson.exercise).items() if word.startswith("test_")}
    notebook = folder / f"{lesson.name}.ipynb"
    try:
        write_atomically(notebook, _notebook(lesson.name, lesson.title, lesson.exercise.ASKED, tests).encode())
    except OSError as error:
        raise OutputError(f"{notebook}: {error.strerror or error}; give another folder with --out") from error
    return notebook


def _notebook(name: str, title: str, asked: Mapping[str, AnswerSpec], tests: Mapping[str, Any]) -> str:
    answers = "".join(f"    {key!r}: '',  # {each.what}: {each.hint}\n" for key, each in asked.items())
    cells = [
        _cell(f"# {title}\n\nWrite your name as your class has it, and run the cells.", "head", kind="markdown"),
        _cell("student = ''", "student", locked=False),
        _cell(SETUP.format(lesson=name), "setup"),
        _cell(f"answers = {{\n{answers}}}", "answers", locked=False),
    ]
    for word, test in tests.items():
        source = f"# {test.__doc__}\nexercise.grade(answers, {word!r})"
        cells.append(_cell(source, word, points=getattr(test, "points", 1)))
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    whole = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _cell(
    source: str, identity: str, *, kind: str = "code", locked: bool = True, points: int | None = None
) -> dict[str, Any]:
    """Make a cell as Jupyter's format has it. nbgrader keeps a locked one as it is, and grades one with points."""
    told = {"schema_version": 3, "grade_id": identity, "locked": True, "solution": False, "task": False}
    told |= {"grade": points is not None} | ({"points": points} if points is not None else {})
    made: dict[str, Any] = {"cell_type": kind, "id": identity.replace("_", "-"), "source": source}
    made["metadata"] = {"nbgrader": told} if locked else {}
    return made | ({"outputs": [], "execution_count": None} if kind == "code" else {})
