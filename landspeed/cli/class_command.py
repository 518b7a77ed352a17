"""The command `class`: a class's register, grades of its folders, tables for Moodle and Canvas, overview, exam."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from landspeed.base.extras import require_extra
from landspeed.cli.errors import FAILED, UsageError

WORDS = ("new", "add", "grade", "report", "exam", "nbgrader")


def add_class(made: argparse.ArgumentParser) -> None:
    """Arguments of `class`."""
    made.usage = (
        "landspeed class new FILE [--name NAME] [--variants N]\n"
        "       landspeed class add FILE STUDENT…\n"
        "       landspeed class grade FILE FOLDER… [--out DIR] [--jobs N]\n"
        "       landspeed class report FILE [--out DIR]\n"
        "       landspeed class exam FILE [LESSON…] [--variants N] [--out DIR]\n"
        "       landspeed class nbgrader FILE LESSON… [--out DIR]"
    )
    made.add_argument("word", metavar="new|add|grade|report|exam|nbgrader", choices=WORDS, help="what to do")
    made.add_argument("file", type=Path, metavar="FILE", help="the class: its students, and the secret of the lecturer")
    made.add_argument(
        "more",
        nargs="*",
        metavar="STUDENT|FOLDER|LESSON",
        help="students to add (@LIST: a file, one a line); folders; lessons",
    )
    made.add_argument("--name", metavar="NAME", help="new: the name of the class (default: of its file)")
    made.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder of what is made (default: beside FILE; nbgrader: its folder `source`)",
    )
    made.add_argument(
        "--jobs", type=int, metavar="N", help="grade: folders at once (default: as many as there are cores)"
    )
    made.add_argument(
        "--variants",
        type=int,
        metavar="N",
        help="new: paths of each lesson, shared (default: 16; 0: one a student); exam: variants (default: 2)",
    )
    made.add_argument("--quiet", action="store_true", help="no progress")


def do_class(parsed: argparse.Namespace) -> int:
    """Makes a class, adds students, grades folders, writes the report again."""
    if parsed.jobs is not None and parsed.jobs < 1:
        raise UsageError(f"--jobs {parsed.jobs}: write a positive integer")
    needed = {"add": "STUDENT…", "grade": "FOLDER…", "nbgrader": "LESSON…"}
    if parsed.word in needed and not parsed.more:
        what = needed[parsed.word]
        raise UsageError(f"write: landspeed class {parsed.word} FILE {what}")
    if parsed.word in ("new", "report") and parsed.more:
        raise UsageError(f"`class {parsed.word}` takes one file; leave out {' '.join(parsed.more)}")
    does = {"new": _new, "add": _add, "grade": _grade, "report": _report, "exam": _exam, "nbgrader": _nbgrader}
    return does[parsed.word](parsed)


def _new(parsed: argparse.Namespace) -> int:
    from landspeed.course.class_register import VARIANTS, new_register

    variants = VARIANTS if parsed.variants is None else parsed.variants
    if variants < 0:
        raise UsageError(f"--variants {variants}: write 0 or more")
    made = new_register(parsed.file, parsed.name or "", variants)
    print(f"{parsed.file}: the class {made.name}. Keep it to yourself: its secret draws the variants and the key.")
    return 0


def _add(parsed: argparse.Namespace) -> int:
    from landspeed.course.class_register import read_register

    names: list[str] = []
    for each in parsed.more:
        names += _listed(Path(each[1:])) if each.startswith("@") else [each]
    before = read_register(parsed.file)
    after = before.with_students(names)
    after.save(parsed.file)
    print(f"{after.name}: {len(after.students)} students, {len(after.students) - len(before.students)} new")
    return 0


def _listed(file: Path) -> list[str]:
    try:
        return [line for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{file}: {getattr(error, 'strerror', None) or error}; write a text file, a student a line"
        ) from error


def _grade(parsed: argparse.Namespace) -> int:
    require_extra("course")
    from landspeed.course.class_grades import RUNS, exercise_folders, grade_all, write_report
    from landspeed.course.class_register import read_register

    def tell(done: int, every: int) -> None:
        if not parsed.quiet:
            print(f"landspeed: {done} of {every} graded", file=sys.stderr, flush=True)

    register = read_register(parsed.file)
    folders = exercise_folders(map(Path, parsed.more))
    graded = grade_all(register, folders, parsed.jobs, tell, _out(parsed) / RUNS)
    print("\n".join(map(str, write_report(_out(parsed), register, graded))))
    for each in graded:
        if each.error:
            print(f"NOT GRADED: {each.folder}: {each.error}", file=sys.stderr)
    return FAILED if any(each.error for each in graded) else 0


def _report(parsed: argparse.Namespace) -> int:
    require_extra("course")
    from landspeed.course.class_grades import read_grades, write_report
    from landspeed.course.class_register import read_register

    register = read_register(parsed.file)
    print("\n".join(map(str, write_report(_out(parsed), register, read_grades(_out(parsed))))))
    return 0


def _exam(parsed: argparse.Namespace) -> int:
    from landspeed.course.class_register import read_register
    from landspeed.course.exam import write_papers

    variants = 2 if parsed.variants is None else parsed.variants
    if not 1 <= variants <= 26:
        raise UsageError(f"--variants {variants}: write 1 to 26")
    folder = parsed.out or parsed.file.with_name(f"{parsed.file.stem}-exam")
    print("\n".join(map(str, write_papers(folder, read_register(parsed.file), variants, parsed.more))))
    return 0


def _nbgrader(parsed: argparse.Namespace) -> int:
    require_extra("course")
    from landspeed.course.class_register import read_register
    from landspeed.course.laboratory import Laboratory
    from landspeed.course.nbgrader import write_assignment

    register = read_register(parsed.file)
    for lesson in parsed.more:
        made = write_assignment(lesson, register, parsed.out or Path("source"), Laboratory())
        print(f"{made}: {len(register.students)} students; nbgrader generate_assignment {made.parent.name} releases it")
    return 0


def _out(parsed: argparse.Namespace) -> Path:
    return parsed.out or parsed.file.with_name(f"{parsed.file.stem}-grades")
