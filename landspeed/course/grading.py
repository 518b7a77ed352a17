"""Grades an exercise by pytest, against theory and a fresh run. The same folder gives the same bytes everywhere.

The tests are in the exercise itself (`lessons/NAME/exercise.py`). Each takes `work`, says in its docstring what it
asks, and counts as many points as its mark `points` says.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import random
import tempfile
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from landspeed.base.failures import RunFailed
from landspeed.base.files import write_atomically
from landspeed.course.class_register import ClassRegister
from landspeed.course.comparison import LessonProgram
from landspeed.course.exercise import (
    SCENARIO,
    StudentDraw,
    chance_of,
    draw,
    hints_read,
    read_about,
    read_answers,
)
from landspeed.course.laboratory import Laboratory, LessonFile
from landspeed.course.lesson import EXERCISE, Lesson
from landspeed.course.lesson_run import LessonRun
from landspeed.results.bundle import OutputError
from landspeed.runs.scenario import Scenario
from landspeed.scenario.plan.plan import Plan

NOT_USED = ("cacheprovider", "terminal", "xdist", "unraisableexception")
"""Plug-ins of pytest. The last one collects garbage after each exercise, which costs more than a known run."""


@dataclass(frozen=True)
class AnswerMark:
    """Points for one thing that was asked, and the reason."""

    name: str
    asked: str
    points: float
    got: float
    why: str

    @property
    def passed(self) -> bool:
        """True if it has all its points."""
        return self.got >= self.points


@dataclass(frozen=True)
class ExerciseGrade:
    """An exercise that was graded.

    Attributes:
        notes: what the lecturer should know, such as that the scenario was changed.
    """

    lesson: str
    student: str
    marks: Sequence[AnswerMark]
    notes: Sequence[str] = ()

    @property
    def passed(self) -> bool:
        """True if it has all points."""
        return all(mark.passed for mark in self.marks)

    @property
    def score(self) -> tuple[float, float]:
        """(Points that it has, points that there are.)"""
        return sum(mark.got for mark in self.marks), sum(mark.points for mark in self.marks)

    def as_json(self) -> dict[str, Any]:
        """Return the grade as one JSON object."""
        marks = [{"name": m.name, "asked": m.asked, "points": m.points, "got": m.got, "why": m.why} for m in self.marks]
        got, most = self.score
        return {
            "lesson": self.lesson, "student": self.student, "got": got, "points": most, "notes": list(self.notes),
            "marks": marks,
        }  # fmt: skip

    def __str__(self) -> str:
        got, most = self.score
        lines = [
            f"{self.lesson}, {self.student}: {got:g} of {most:g} points",
            *(f"note: {each}" for each in self.notes),
        ]
        for mark in self.marks:
            lines.append(f"{'ok' if mark.passed else 'NOT YET'}: {mark.asked} ({mark.got:g} of {mark.points:g})")
            lines += [] if mark.passed else [f"    {line}" for line in mark.why.splitlines()]
        return "\n".join(lines)


@dataclass
class GradingWork:
    """Input of a test of answers.

    Attributes:
        answers: in base units: bytes, bits per second, nanoseconds, shares; words as written.
        folder: of the student.
        drawn: the exercise as it was handed out; None: a student's own check, without the lecturer's secret.
    """

    lesson: Lesson
    student: str
    answers: dict[str, float | str]
    folder: Path
    laboratory: Laboratory
    place: Path = field(repr=False)
    register: ClassRegister | None = field(default=None, repr=False)
    drawn: StudentDraw | None = field(default=None, repr=False)

    def chance(self) -> random.Random:
        """The dice that drew the exercise.

        Raises:
            AssertionError: only the lecturer has them.
        """
        self.handed_out()
        return chance_of(self.lesson.name, self.student, self.register)

    def handed_out(self) -> StudentDraw:
        """The exercise as it was handed out.

        Raises:
            AssertionError: only the lecturer knows.
        """
        if self.drawn is None:
            raise AssertionError("your lecturer's check grades this; it needs the class")
        return self.drawn

    def number(self, key: str) -> float:
        """An answer that is a number."""
        found = self.answers[key]
        assert not isinstance(found, str)
        return found

    @cached_property
    def plan(self) -> Plan:
        """The student's path."""
        return Scenario.load(self.place / SCENARIO).plan()

    def near(self, key: str, right: float, within: float, why: str) -> None:
        """An answer is right within this share.

        Raises:
            AssertionError: it is not, and why that may be.
        """
        if abs(self.number(key) / right - 1) > within:
            raise AssertionError(why)

    def run(self, *overrides: str) -> LessonRun:
        """A fresh run of the student's scenario, with values laid over it."""
        (run,) = self._runs(overrides, None)
        return run

    def program(self, at: str, *command: str, overrides: tuple[str, ...] = ()) -> LessonRun:
        """The output of a program on the student's path, with values laid over it."""
        (run,) = self._runs(overrides, LessonProgram(at, command))
        return run

    def file(self, name: str) -> str:
        """A file of the student's.

        Raises:
            AssertionError: it is not there, or no text.
        """
        try:
            return (self.folder / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise AssertionError(f"{name} cannot be read: {error}") from error

    def _runs(self, overrides: tuple[str, ...], program: LessonProgram | None) -> list[LessonRun]:
        here = replace(self.lesson, folder=self.place)
        return self.laboratory.one(LessonFile(here, SCENARIO, program, overrides))


class _Grader:
    """A plug-in of pytest for one exercise: the fixture `work`, and marks instead of a report."""

    def __init__(self, work: GradingWork) -> None:
        self._work = work
        self.marks: list[AnswerMark] = []
        self.broken: list[str] = []

    @pytest.fixture
    def work(self) -> GradingWork:
        """The student's answers, and what can be run."""
        return self._work

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "call":
            test = getattr(item, "function", None)
            points = float(getattr(test, "points", 1))
            asked = inspect.getdoc(test) or item.name
            error = call.excinfo.value if call.excinfo else None
            if error is not None and not isinstance(error, AssertionError):  # no fault of the student's
                self.broken.append(f"{type(error).__name__}: {error}")
            why = "" if error is None else (str(error).split("\nassert")[0] or type(error).__name__)
            self.marks.append(AnswerMark(item.name, asked, points, 0.0 if error else points, why))
        elif call.excinfo is not None:
            self.broken.append(str(call.excinfo.value))
        return report


def check(
    folder: Path, laboratory: Laboratory, register: ClassRegister | None = None, runs: Path | None = None
) -> ExerciseGrade:
    """Grade an exercise's folder.

    Args:
        folder: of the student.
        laboratory: for the choice of cores.
        register: the class; without it, what only the lecturer knows of a class's folder has no points.
        runs: the lecturer's folder of runs: one that is known there, by path, answers and program to the byte, is not
            made again; None: all are made anew.

    Raises:
        ExerciseError: the folder is none, was not made for this student, or an answer cannot be read.
        RunFailed: a run broke; nothing is said of the answers.
    """
    owner = read_about(folder, register)
    lesson = owner.lesson
    assert lesson.exercise is not None
    answers = read_answers(folder, lesson.exercise.ASKED)
    tests = lesson.folder / EXERCISE
    with tempfile.TemporaryDirectory(prefix="landspeed-check-") as place:
        fresh = laboratory.elsewhere(runs or Path(place) / "runs")
        known = register is not None or not owner.class_name
        drawn = draw(lesson, chance_of(lesson.name, owner.student, register), fresh) if known else None
        scenario = owner.scenario if drawn is None else drawn.scenario
        (Path(place) / SCENARIO).write_text(scenario, encoding="utf-8")
        notes = _notes(folder, scenario)
        work = GradingWork(lesson, owner.student, answers, folder, fresh, Path(place), register, drawn)
        grader = _Grader(work)
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            words = [word for name in NOT_USED for word in ("-p", f"no:{name}")]
            pytest.main(
                [*words, "--rootdir", place, "-c", "/dev/null", "--import-mode=importlib", str(tests)], [grader]
            )
    if grader.broken or not grader.marks:
        raise RunFailed("; ".join(grader.broken) or f"{tests}: no test ran: {said.getvalue()[-500:]}")
    return ExerciseGrade(lesson.name, owner.student, grader.marks, notes)


def _notes(folder: Path, scenario: str) -> list[str]:
    read = [f"hints read: {count}"] if (count := hints_read(folder)) else []
    try:
        theirs = (folder / SCENARIO).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return [f"{SCENARIO} is missing or no text; graded against the original one", *read]
    return read if theirs == scenario else [f"{SCENARIO} was changed; graded against the original one", *read]


def write_junit(graded: ExerciseGrade, target: Path) -> None:
    """The grades as JUnit's XML, without times and names of machines.

    Raises:
        OutputError: it cannot be written.
    """
    failed = sum(not mark.passed for mark in graded.marks)
    suite = ElementTree.Element(
        "testsuite", name=f"{graded.lesson}: {graded.student}", tests=str(len(graded.marks)), failures=str(failed)
    )
    for mark in graded.marks:
        case = ElementTree.SubElement(suite, "testcase", classname=f"landspeed.{graded.lesson}", name=mark.asked)
        if not mark.passed:
            ElementTree.SubElement(case, "failure", message=mark.why)
    if graded.notes:
        ElementTree.SubElement(suite, "system-out").text = "\n".join(graded.notes)
    ElementTree.indent(suite)
    _write(target, ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True) + b"\n")


def write_gradescope(graded: ExerciseGrade, target: Path) -> None:
    """The grades as Gradescope's results.json (gradescope-autograders.readthedocs.io, "Output format").

    Raises:
        OutputError: it cannot be written.
    """
    tests = [
        {
            "name": mark.asked,
            "score": mark.got,
            "max_score": mark.points,
            "status": "passed" if mark.passed else "failed",
        }
        | ({} if mark.passed else {"output": mark.why})
        for mark in graded.marks
    ]
    whole = {"score": graded.score[0], "output": "\n".join(graded.notes), "visibility": "visible", "tests": tests}
    _write(target, (json.dumps(whole, indent=1, ensure_ascii=False) + "\n").encode())


def _write(target: Path, content: bytes) -> None:
    try:
        write_atomically(target, content)
    except OSError as error:
        raise OutputError(f"{target}: {error.strerror or error}") from error
