"""An exercise: a folder with a path of the student's own, a task, and a file for answers.

`lessons/NAME/exercise.py` says what is drawn from the student's id, what is asked, and what the folder has; its
functions `test_…` grade the answers (course/grading.py). Everything follows from the lesson's name and the id, the same
on every machine.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from landspeed.base.files import write_atomically
from landspeed.base.json_form import object_of
from landspeed.base.units import PROBABILITY, RATE, SIZE, TIME, Kind, UnitError, parse_exact
from landspeed.course.class_register import ClassRegister
from landspeed.course.exercise_names import ExerciseError, folder_name, student_id
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson import Lesson, all_lessons, lesson_named
from landspeed.results.bundle import OutputError

FORMAT = 1
ABOUT, TASK, SCENARIO, ANSWERS = "exercise.json", "task.md", "scenario.yaml", "answers.yaml"
HINTS_READ = "hints.txt"
Graded = TypeVar("Graded", bound=Any)
KINDS: dict[str, Kind] = {"size": SIZE, "rate": RATE, "time": TIME, "share": PROBABILITY}


@dataclass(frozen=True)
class AnswerSpec:
    """An answer that is asked for.

    Attributes:
        what: in words, for the file of answers.
        kind: `size`, `rate`, `time` or `share`, which need a unit; `number`; `word`.
        words: of `word`: those that are allowed.
    """

    what: str
    kind: str
    words: tuple[str, ...] = ()

    @property
    def hint(self) -> str:
        """Hint at the form in which the answer is written."""
        if self.kind in KINDS:
            return f"a {self.kind} with its unit, such as {KINDS[self.kind].example}"
        return f"one of {', '.join(self.words)}" if self.kind == "word" else "a whole number"

    def read(self, written: Any) -> float | str:
        """The answer in base units.

        Raises:
            ExerciseError: it is missing, has no unit, or is no such thing.
        """
        if written is None or str(written).strip() == "":
            raise ExerciseError(f"there is no answer; write {self.hint}")
        text = str(written).strip()
        if self.kind in KINDS:
            try:
                return float(parse_exact(KINDS[self.kind], text))
            except UnitError as error:
                raise ExerciseError(str(error)) from error
        if self.kind == "word":
            if text not in self.words:
                raise ExerciseError(f"'{text}' is none of the answers; write {self.hint}")
            return text
        if not re.fullmatch(r"[0-9]{1,9}", text):
            raise ExerciseError(f"'{text}' is not a whole number")
        return float(text)


@dataclass(frozen=True)
class StudentDraw:
    """An exercise drawn for a student's id: the same id gives the same exercise.

    Attributes:
        scenario: the text of the student's scenario file.
        task: what is asked, in MyST.
        files: more files of the folder, by name; the student may change them.
    """

    scenario: str
    task: str
    files: Mapping[str, str]

    @classmethod
    def of(cls, scenario: str, task: str, **values: object) -> StudentDraw:
        """Fill the same values into the text of a scenario and into its task."""
        return cls(scenario.format(**values), task.format(**values), {})


def points(count: int) -> Callable[[Graded], Graded]:
    """Mark a test of answers with the points that it counts."""

    def marked(test: Graded) -> Graded:
        test.points = count
        return test

    return marked


@dataclass(frozen=True)
class ExerciseOwner:
    """Student whose an exercise's folder is, as the folder says.

    Attributes:
        class_name, seal, scenario: of a folder that belongs to a class; "": of none.
    """

    lesson: Lesson
    student: str
    class_name: str = ""
    seal: str = ""
    scenario: str = ""


def chance_of(lesson: str, student: str, register: ClassRegister | None = None) -> random.Random:
    """The dice of a student for a lesson; in a class, nobody can throw them without its secret."""
    if register is not None:
        return random.Random(register.draw_key(lesson, student))
    return random.Random(hashlib.sha256(f"landspeed exercise {FORMAT}\0{lesson}\0{student}".encode()).hexdigest())


def exercise_of(name: str) -> Lesson:
    """A lesson that has an exercise.

    Raises:
        ExerciseError: it has none.
    """
    lesson = lesson_named(name)
    if lesson.exercise is None:
        able = ", ".join(each.name for each in all_lessons() if each.has_exercise)
        raise ExerciseError(f"the lesson {name} has no exercise; these have: {able}")
    return lesson


def draw(lesson: Lesson, chance: random.Random, laboratory: Laboratory | None = None) -> StudentDraw:
    """Draw a student's exercise. Some exercises hand out the samples of a run; the laboratory makes it."""
    assert lesson.exercise is not None
    return lesson.exercise.draw(chance, laboratory)


def start(
    name: str,
    student: str,
    out: Path | None = None,
    laboratory: Laboratory | None = None,
    register: ClassRegister | None = None,
) -> Path:
    """Make an exercise's folder.

    Args:
        name: of the lesson.
        student: whose it is.
        out: the folder; None: one in the present folder, named after lesson and student.
        register: the class of the student, whose secret draws the variant; None: the name alone does.

    Raises:
        ExerciseError: the lesson has no exercise, the id cannot be used, or the folder is there already.
        OutputError: it cannot be written.
    """
    who = student_id(student)
    lesson = exercise_of(name)
    assert lesson.exercise is not None
    folder = out or Path(folder_name(lesson.name, who))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ExerciseError(f"{folder} exists already; remove it, or give another folder with --out")
    if register is not None and who not in register.students:
        raise ExerciseError(
            f"'{who}' is not in the class {register.name}; `landspeed class add FILE NAME` adds a student"
        )
    drawn = draw(lesson, chance_of(lesson.name, who, register), laboratory or Laboratory())
    asked: dict[str, AnswerSpec] = lesson.exercise.ASKED
    about = {"format": FORMAT, "lesson": name if os.sep not in name else str(lesson.folder.resolve()), "student": who}
    if register is not None:
        seal = register.seal(str(about["lesson"]), who, drawn.scenario)
        about |= {"class": register.name, "seal": seal, "scenario": drawn.scenario}
    task = f"# {lesson.title}: exercise of {who}\n\n{drawn.task.strip()}\n\n{_how(asked, folder)}"
    files = {
        TASK: task,
        SCENARIO: drawn.scenario,
        ANSWERS: "".join(f"# {each.what}: {each.hint}\n{key}:\n\n" for key, each in asked.items()),
        **drawn.files,
        ABOUT: json.dumps(about, indent=1, ensure_ascii=False) + "\n",  # the last: what has it is whole
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            write_atomically(folder / file, text.encode())
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror or error}; give another folder with --out") from error
    return folder


def _how(asked: Mapping[str, AnswerSpec], folder: Path) -> str:
    rows = "\n".join(f"| `{key}` | {each.what} | {each.hint} |" for key, each in asked.items())
    return (
        f"## Hand in\n\nWrite your answers into `{ANSWERS}`:\n\n| key | what | how |\n|---|---|---|\n{rows}\n\n"
        f"`landspeed lesson hint {folder.name}` tells a hint, step by step.\n"
        f"`landspeed lesson check {folder.name}` grades them, as often as you like. It grades against the scenario\n"
        f"that belongs to your id: changes in `{SCENARIO}` are for your own trials.\n"
    )


def read_about(folder: Path, register: ClassRegister | None = None) -> ExerciseOwner:
    """Student whose an exercise's folder is.

    Args:
        register: the class that has made it; its seal is looked at before any code of the lesson is loaded.

    Raises:
        ExerciseError: it is none, or was not made for this student, in this class.
    """
    try:
        about = object_of(json.loads((folder / ABOUT).read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        right = "`landspeed lesson start NAME --student ID` makes one"
        raise ExerciseError(f"{folder} is not the folder of an exercise: {ABOUT}: {_told(error)}; {right}") from error
    if about.get("format") != FORMAT or not {"lesson", "student"} <= about.keys():
        raise ExerciseError(f"{folder / ABOUT}: this landspeed reads format {FORMAT} with lesson and student")
    lesson, student = str(about["lesson"]), student_id(str(about["student"]))
    class_name, seal, scenario = (str(about.get(name, "")) for name in ("class", "seal", "scenario"))
    if register is not None:
        if class_name != register.name or student not in register.students:
            whose = f"{student} of " + (f"the class {class_name}" if class_name else "no class")
            raise ExerciseError(
                f"{folder} is of {whose}; this is the class {register.name}, with {len(register.students)} students"
            )
        if not register.has_sealed(seal, lesson, student, scenario):
            raise ExerciseError(
                f"{folder} was not made for {student}: its {ABOUT} was changed, or is another's; "
                f"`landspeed lesson start {Path(lesson).name} --student NAME --class FILE` makes the right one"
            )
    return ExerciseOwner(exercise_of(lesson), student, class_name, seal, scenario)


def hint(folder: Path) -> str:
    """The next hint of an exercise, and that it was read.

    Raises:
        ExerciseError: the folder is no exercise, or there is no further hint.
        OutputError: the folder cannot be written.
    """
    exercise = read_about(folder).lesson.exercise
    hints: tuple[str, ...] = getattr(exercise, "HINTS", ())
    read = hints_read(folder)
    if read >= len(hints):
        raise ExerciseError(f"{folder}: all {len(hints)} hints were read; they stand in {folder / HINTS_READ}")
    lines = [f"{number}. {text}\n" for number, text in enumerate(hints[: read + 1], 1)]
    try:
        write_atomically(folder / HINTS_READ, "".join(lines).encode())
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror or error}") from error
    return f"hint {read + 1} of {len(hints)}: {hints[read]}"


def hints_read(folder: Path) -> int:
    """Number of hints that its student has read."""
    try:
        return len((folder / HINTS_READ).read_text(encoding="utf-8").splitlines())
    except (OSError, UnicodeDecodeError):
        return 0


def read_answers(folder: Path, asked: Mapping[str, AnswerSpec]) -> dict[str, float | str]:
    """The answers, in base units.

    Raises:
        ExerciseError: with every answer that is missing or wrong, each with its line.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    file, form = folder / ANSWERS, "one `key: answer` a line"
    try:
        load: Any = YAML(typ="rt").load
        found = load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ExerciseError(f"{file}: {_told(error)}; write the answers there, {form}") from error
    except YAMLError as error:
        mark = getattr(error, "context_mark", None) or getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise ExerciseError(f"{file}{line}: {getattr(error, 'problem', error)}; write {form}") from error
    given = object_of(found)
    problems = [
        f"{file}: '{key}' is not a question; the questions are {', '.join(asked)}" for key in given if key not in asked
    ]
    answers: dict[str, float | str] = {}
    for key, each in asked.items():
        try:
            answers[key] = each.read(given.get(key))
        except ExerciseError as error:
            line = f":{found.lc.key(key)[0] + 1}" if key in given else ""
            problems.append(f"{file}{line}: {key}: {error}")
    if problems:
        raise ExerciseError("\n".join(problems))
    return answers


def _told(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "this is no text in UTF-8"
    return (isinstance(error, OSError) and error.strerror) or str(error)
