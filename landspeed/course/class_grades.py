"""Grades of a class: every folder checked on all cores, copies found, tables for Moodle and Canvas, an overview."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import multiprocessing
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from landspeed.base.errors import LandspeedError
from landspeed.base.files import read_object, write_atomically
from landspeed.base.json_form import object_of
from landspeed.course.class_register import ClassRegister
from landspeed.course.exercise import ABOUT, ANSWERS, SCENARIO, TASK, exercise_of, read_about
from landspeed.course.exercise_names import ExerciseError
from landspeed.course.grading import check
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson_page import TEMPLATES, style
from landspeed.report.page_parts import environment
from landspeed.results.bundle import OutputError
from landspeed.runs.sweeps.store import Store
from landspeed.runs.sweeps.workers import usual_jobs

GRADES, RUNS = "grades.json", "runs"  # in the folder of a class's grades
PLAIN = r"\d+|\s+|#[^\n]*"  # of a program: what differs between variants, or not at all in what it does
WORK_SUFFIXES = (".py", ".sh", ".c", ".txt", ".md")
OWN_FILES = (ABOUT, ANSWERS, SCENARIO, TASK)


@dataclass(frozen=True)
class HandIn:
    """A folder that was handed in, and its grade.

    Attributes:
        error: why it could not be graded; "": it was.
        marks: name, what was asked, points, points that it got, and why not all.
        work: hashes of the answers and of the student's own files, to find copies; a variant's figures do not count.
    """

    folder: str
    lesson: str
    student: str
    got: float = 0.0
    points: float = 0.0
    marks: Sequence[Mapping[str, Any]] = ()
    notes: Sequence[str] = ()
    error: str = ""
    work: Mapping[str, str] = field(default_factory=dict[str, str])


def exercise_folders(places: Iterable[Path]) -> list[Path]:
    """The exercises in some folders, each folder itself or anywhere below.

    Raises:
        ExerciseError: a place has none.
    """
    found: dict[Path, None] = {}
    for place in places:
        here = sorted(each.parent for each in place.rglob(ABOUT)) if place.is_dir() else []
        if not here:
            raise ExerciseError(f"{place}: there is no {ABOUT} in it or below; give folders that students handed in")
        found |= dict.fromkeys(here)
    return list(found)


def grade_all(
    register: ClassRegister,
    folders: Sequence[Path],
    jobs: int | None = None,
    tell: Callable[[int, int], None] = lambda _, __: None,
    runs: Path | None = None,
) -> list[HandIn]:
    """Grade folders, as many at once as there are cores. One that cannot be graded says why; the others are graded.

    Args:
        runs: the lecturer's folder of runs, which only its owner reads; students with one path and one answer share a
            run. None: none is kept.
    """
    if runs is not None:
        Store(runs).make()
        runs.chmod(0o700)
    found: dict[int, HandIn] = {}
    with ProcessPoolExecutor(jobs or usual_jobs(), mp_context=multiprocessing.get_context("spawn")) as pool:
        going = {pool.submit(graded_folder, register, each, runs): number for number, each in enumerate(folders)}
        for each in as_completed(going):
            found[going[each]] = each.result()
            tell(len(found), len(folders))
    return [found[number] for number in sorted(found)]


def graded_folder(register: ClassRegister, folder: Path, runs: Path | None = None) -> HandIn:
    """A folder's grade; if it cannot be graded, why."""
    lesson = student = ""
    work: dict[str, str] = {}
    try:
        owner = read_about(folder, register)
        lesson, student = owner.lesson.name, owner.student
        work = _work(folder)
        told = check(folder, Laboratory(jobs=1), register, runs).as_json()
    except LandspeedError as error:
        return HandIn(str(folder), lesson, student, error=str(error), work=work)
    return HandIn(
        str(folder), lesson, student, told["got"], told["points"], told["marks"], told["notes"], work=work
    )  # fmt: skip


def _work(folder: Path) -> dict[str, str]:
    """Hashes of what the student wrote. In programs, figures and spaces are left out: variants differ in them."""
    found: dict[str, str] = {}
    for file in sorted(each for each in folder.rglob("*") if each.is_file()):
        if file.name == ANSWERS or (file.name not in OWN_FILES and file.suffix in WORK_SUFFIXES):
            found[file.name] = _mark(file)
    return found


def _mark(file: Path) -> str:
    text = file.read_bytes().decode(errors="replace")
    if file.name == ANSWERS:
        text = "\n".join(re.sub(r"\s*#.*", "", line).strip() for line in text.splitlines())
    return _hash(re.sub(PLAIN, "", text) if file.suffix == ".py" else text)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def copies(
    register: ClassRegister, graded: Sequence[HandIn], handed_out: Mapping[str, Mapping[str, str]] | None = None
) -> list[str]:
    """Say what looks copied: one student's folder twice, or the same work of two.

    Args:
        handed_out: hashes of files as lessons hand them out, which prove nothing.
    """
    told: list[str] = []
    owners = Counter((each.lesson, each.student) for each in graded if each.student)
    for (lesson, student), times in owners.items():
        if times > 1:
            where = ", ".join(each.folder for each in graded if (each.lesson, each.student) == (lesson, student))
            told.append(f"{lesson}: the folder of {student} was handed in {times} times: {where}")
    same: dict[tuple[str, str, str], list[HandIn]] = defaultdict(list)
    for each in graded:
        for name, mark in each.work.items():
            if mark != (handed_out or {}).get(each.lesson, {}).get(name):
                same[each.lesson, name, mark].append(each)
    for (lesson, name, _), those in same.items():
        if name == ANSWERS and all(each.got == each.points and not each.error for each in those):
            continue  # right for both: their variants have the same answers
        if len(who := sorted({each.student for each in those})) > 1:
            paths = len({register.draw_key(lesson, each) for each in who})
            where = "though their paths differ" if paths > 1 else "for the same path"
            told.append(f"{lesson}: {' and '.join(who)} handed in the same {name}, {where}")
    return told


def mistakes(graded: Sequence[HandIn]) -> list[tuple[str, str, str, int]]:
    """(Lesson, what was asked, why it has not all points, how many), the most frequent first."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for each in graded:
        for mark in each.marks:
            if mark["got"] < mark["points"]:
                seen[each.lesson, mark["asked"], re.sub(r"[\d.,]*\d", "…", mark["why"])] += 1
    return [(*what, times) for what, times in sorted(seen.items(), key=lambda pair: (-pair[1], pair[0]))]


def best(graded: Sequence[HandIn]) -> dict[tuple[str, str], HandIn]:
    """(Student, lesson) → the hand-in with the most points."""
    found: dict[tuple[str, str], HandIn] = {}
    for each in graded:
        key = (each.student, each.lesson)
        if each.student and (key not in found or each.got > found[key].got):
            found[key] = each
    return found


def open_steps(graded: Sequence[HandIn]) -> list[tuple[str, str, list[str]]]:
    """(Lesson, what was asked, the students whose best hand-in lacks it), lesson by lesson."""
    found: dict[tuple[str, str], list[str]] = {}
    for (student, lesson), one in best(graded).items():
        for mark in one.marks:
            if mark["got"] < mark["points"]:
                found.setdefault((lesson, mark["asked"]), []).append(student)
    order = {lesson: place for place, lesson in enumerate(_lessons(graded))}
    return [(*what, sorted(who)) for what, who in sorted(found.items(), key=lambda pair: order[pair[0][0]])]


def moodle_csv(register: ClassRegister, graded: Sequence[HandIn]) -> str:
    """A table for Moodle's import of grades: a row for each student, a column for each exercise."""
    lessons, grades = _lessons(graded), best(graded)
    rows = [["ID number", *lessons]]
    for student in register.students:
        each = [grades.get((student, lesson)) for lesson in lessons]
        rows.append([student, *("" if one is None or one.error else f"{one.got:g}" for one in each)])
    return _csv(rows)


def canvas_csv(register: ClassRegister, graded: Sequence[HandIn]) -> str:
    """A table for Canvas's import of grades, with its row of possible points."""
    lessons, grades = _lessons(graded), best(graded)
    most = {lesson: max((e.points for e in graded if e.lesson == lesson), default=0.0) for lesson in lessons}
    rows = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *lessons]]
    rows.append(["Points Possible", "", "", "", "", *(f"{most[lesson]:g}" for lesson in lessons)])
    for student in register.students:
        each = [grades.get((student, lesson)) for lesson in lessons]
        points = ["" if one is None or one.error else f"{one.got:g}" for one in each]
        rows.append([student, "", student, "", register.name, *points])
    return _csv(rows)


def overview(register: ClassRegister, graded: Sequence[HandIn], copied: Sequence[str]) -> str:
    """A page: who is at which step, typical mistakes, copies, what could not be graded."""
    page = environment(TEMPLATES).get_template("class.html.j2")
    return page.render(
        register=register,
        lessons=_lessons(graded),
        grades=best(graded),
        steps=open_steps(graded),
        mistakes=mistakes(graded),
        copies=copied,
        broken=[each for each in graded if each.error],
        style=style(),
    )


def write_report(folder: Path, register: ClassRegister, graded: Sequence[HandIn]) -> list[Path]:
    """Write grades, both tables and the overview into a folder.

    Raises:
        OutputError: it cannot be written.
    """
    copied = copies(register, graded, handed_out(graded))
    files = {
        GRADES: json.dumps(
            {"class": register.name, "graded": [asdict(e) for e in graded]}, indent=1, ensure_ascii=False
        ),
        "moodle.csv": moodle_csv(register, graded),
        "canvas.csv": canvas_csv(register, graded),
        "overview.html": overview(register, graded, copied),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            write_atomically(folder / name, text.encode())
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror or error}; give another folder with --out") from error
    return [folder / name for name in files]


def handed_out(graded: Sequence[HandIn]) -> dict[str, dict[str, str]]:
    """Lesson → hashes of its programs and scripts as they are handed out. One that nobody changed is no copy."""
    found: dict[str, dict[str, str]] = {}
    for name in _lessons(graded):
        lesson = exercise_of(name)
        program: str = getattr(lesson.exercise, "PROGRAM", "")
        mark = _hash(re.sub(PLAIN, "", re.sub(r"\{\w+\}", "", program)))
        found[name] = {file: mark for each in graded for file in each.work if file.endswith(".py")}
        found[name] |= {file.name: _mark(file) for file in lesson.folder.iterdir() if file.suffix in WORK_SUFFIXES}
    return found


def read_grades(folder: Path) -> list[HandIn]:
    """The grades that `write_report` wrote.

    Raises:
        ExerciseError: there are none.
    """
    found: Any = read_object(folder / GRADES).get("graded")
    if found is None:
        raise ExerciseError(
            f"{folder / GRADES}: no grades; `landspeed class grade FILE FOLDER… --out {folder}` writes them"
        )
    return [HandIn(**object_of(each)) for each in found]


def _lessons(graded: Sequence[HandIn]) -> list[str]:
    return list(dict.fromkeys(each.lesson for each in graded if each.lesson))


def _csv(rows: Iterable[Sequence[str]]) -> str:
    """Rows as CSV; what a spreadsheet would take for a formula is text."""
    said = io.StringIO()
    plain = ([f"'{cell}" if cell[:1] in ("=", "+", "-", "@", "\t") else cell for cell in row] for row in rows)
    csv.writer(said).writerows(plain)
    return said.getvalue()
