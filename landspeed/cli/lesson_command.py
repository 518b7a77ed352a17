"""The command `lesson`, of the course. It lists lessons, makes their pages, and starts and checks exercises."""

from __future__ import annotations

import argparse
import json
import os
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from landspeed.base.extras import require_extra
from landspeed.cli.errors import FAILED, UsageError
from landspeed.cli.sweep_command import SweepReporter

if TYPE_CHECKING:
    from landspeed.course.class_register import ClassRegister
    from landspeed.course.laboratory import Laboratory
    from landspeed.course.lesson import Lesson

START, CHECK, HINT, KEY, NEW, SERVE = "start", "check", "hint", "key", "new", "serve"


def add_lesson(made: argparse.ArgumentParser) -> None:
    """Arguments of `lesson`."""
    made.usage = (
        "landspeed lesson [NAME… | --all] [options]\n"
        "       landspeed lesson start NAME --student ID [--class FILE] [--out DIR]\n"
        "       landspeed lesson check FOLDER [--class FILE] [--junit FILE] [--gradescope FILE]\n"
        "       landspeed lesson hint FOLDER\n"
        "       landspeed lesson key FOLDER [--class FILE]\n"
        "       landspeed lesson new NAME [--out DIR]\n"
        "       landspeed lesson serve DIR [--class FILE] [--host ADDRESS] [--port N]"
    )
    made.add_argument(
        "words", nargs="*", metavar="NAME", help="lessons to make, or their folders (./NAME); none: list them"
    )
    made.add_argument("--all", action="store_true", help="every lesson")
    made.add_argument("--open", action="store_true", help="open the page in the browser")
    made.add_argument("--out", type=Path, metavar="DIR", help="folder for the pages, or for the exercise")
    made.add_argument("--runs", type=Path, metavar="DIR", help="folder where runs are kept")
    made.add_argument("--jobs", type=int, metavar="N", help="runs at once (default: as many as there are cores)")
    made.add_argument("--student", metavar="ID", help="start: the student's id, which decides path and figures")
    made.add_argument(
        "--class",
        dest="class_file",
        type=Path,
        metavar="FILE",
        help="start, check, key: file of the class",
    )
    made.add_argument("--junit", type=Path, metavar="FILE", help="check: the grades as JUnit's XML, too")
    made.add_argument("--gradescope", type=Path, metavar="FILE", help="check: the grades as Gradescope's results.json")
    made.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="serve: address (default: 127.0.0.1)")
    made.add_argument("--port", type=int, default=8038, metavar="N", help="serve: port (default: 8038)")
    made.add_argument("--json", action="store_true", help="one JSON object on standard output")
    made.add_argument("--quiet", action="store_true", help="no progress")


def do_lesson(parsed: argparse.Namespace) -> int:
    """Lists lessons, makes pages, or deals with an exercise."""
    if parsed.words[:1] == [START]:
        return _start(parsed)
    if parsed.words[:1] == [CHECK]:
        return _check(parsed)
    for word, do in ((HINT, _hint), (KEY, _key), (NEW, _new), (SERVE, _serve)):
        if parsed.words[:1] == [word]:
            return do(parsed)
    for name in ("student", "class_file", "junit", "gradescope"):
        if getattr(parsed, name) is not None:
            word = CHECK if name in ("junit", "gradescope") else START
            option = f"--{name.removesuffix('_file')}"
            raise UsageError(f"{option} belongs to `landspeed lesson {word}`; leave it out, or write {word} first")
    if parsed.all or parsed.words:
        return _pages(parsed)
    if parsed.open:
        raise UsageError("--open needs a lesson: write its name, or --all")
    return _list(parsed)


def _laboratory(parsed: argparse.Namespace) -> Laboratory:
    from landspeed.course.laboratory import Laboratory

    if parsed.jobs is not None and parsed.jobs < 1:
        raise UsageError(f"--jobs {parsed.jobs}: write a positive integer")
    if parsed.quiet:
        return Laboratory(parsed.runs, jobs=parsed.jobs)
    return Laboratory(parsed.runs, jobs=parsed.jobs, tell=SweepReporter())


def _list(parsed: argparse.Namespace) -> int:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from landspeed.course.lesson import all_lessons

    lessons = all_lessons()
    if parsed.json:
        told = [{"name": each.name, "title": each.title, "minutes": each.minutes} for each in lessons]
        print(json.dumps(told, indent=1, ensure_ascii=False))
        return 0
    table = Table(box=box.SIMPLE_HEAD, header_style="bold")
    for name in ("", "name", "lesson", "exercise"):
        table.add_column(name)
    for each in lessons:
        table.add_row(str(each.order), each.name, each.title, "yes" if each.has_exercise else "")
    console = Console() if sys.stdout.isatty() else Console(width=110)
    console.print(table)
    print("landspeed lesson NAME --open runs one and shows its page; landspeed lesson --all makes the course.")
    return 0


def _pages(parsed: argparse.Namespace) -> int:
    from landspeed.course.lesson import all_lessons, lesson_named
    from landspeed.course.site import make_site, usual_site

    if parsed.all and parsed.words:
        raise UsageError(f"--all is every lesson; leave out {' '.join(parsed.words)}, or --all")
    require_extra("course")
    lessons = all_lessons()
    chosen: list[Lesson] = lessons if parsed.all else [lesson_named(name) for name in parsed.words]
    if doubles := {each.name for each in chosen} & {each.name for each in lessons if each not in chosen}:
        raise UsageError(f"{', '.join(doubles)}: the course has a lesson of this name; give the folder another one")
    lessons += [each for each in chosen if each not in lessons]

    def tell(text: str) -> None:
        if not parsed.quiet:
            print(f"landspeed: {text}", file=sys.stderr, flush=True)

    made = make_site(parsed.out or usual_site(), chosen, lessons, _laboratory(parsed), tell)
    if parsed.json:
        told = {"folder": str(made.folder), "anew": made.anew, "failures": made.failures, "broken": made.broken}
        print(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        print("\n".join([str(made.index)] if parsed.all else [str(page) for page in made.pages.values()]))
    for name, failures in made.failures.items():
        for each in failures:
            print(f"FAILED: {name}: {each}", file=sys.stderr)
    for name, error in made.broken.items():
        print(f"Error: {name}: {error}", file=sys.stderr)
    if parsed.open and made.pages:
        page = made.index if parsed.all else next(iter(made.pages.values()))
        webbrowser.open(page.resolve().as_uri())
    return 0 if made.passed else FAILED


def _start(parsed: argparse.Namespace) -> int:
    from landspeed.course.exercise import start

    if len(parsed.words) != 2 or parsed.student is None:
        raise UsageError("write: landspeed lesson start NAME --student ID")
    made = start(parsed.words[1], parsed.student, parsed.out, register=_register(parsed))
    print(f"{made}: read task.md, then write answers.yaml; landspeed lesson check {made} grades it")
    return 0


def _check(parsed: argparse.Namespace) -> int:
    from landspeed.course.grading import check, write_gradescope, write_junit

    if len(parsed.words) != 2:
        raise UsageError("write: landspeed lesson check FOLDER")
    graded = check(Path(parsed.words[1]), _laboratory(parsed), _register(parsed))
    if parsed.junit is not None:
        write_junit(graded, parsed.junit)
    if parsed.gradescope is not None:
        write_gradescope(graded, parsed.gradescope)
    print(json.dumps(graded.as_json(), indent=1, ensure_ascii=False) if parsed.json else graded)
    return 0 if graded.passed else FAILED


def _register(parsed: argparse.Namespace) -> ClassRegister | None:
    from landspeed.course.class_register import read_register

    return None if parsed.class_file is None else read_register(parsed.class_file)


def _hint(parsed: argparse.Namespace) -> int:
    from landspeed.course.exercise import hint

    if len(parsed.words) != 2:
        raise UsageError("write: landspeed lesson hint FOLDER")
    print(hint(Path(parsed.words[1])))
    return 0


def _key(parsed: argparse.Namespace) -> int:
    from landspeed.course.answer_key import answer_key

    if len(parsed.words) != 2:
        raise UsageError("write: landspeed lesson key FOLDER [--class FILE]")
    for name, answer in answer_key(Path(parsed.words[1]), _laboratory(parsed), _register(parsed)).items():
        print(f"{name}: {answer}")
    return 0


def _new(parsed: argparse.Namespace) -> int:
    from landspeed.course.new_lesson import new_lesson

    if len(parsed.words) != 2:
        raise UsageError("write: landspeed lesson new NAME")
    made = new_lesson(parsed.words[1], parsed.out)
    page = made if made.is_absolute() or len(made.parts) > 1 else f"./{made}"
    print(f"{made}: a lesson that runs; landspeed lesson {page} --open makes its page")
    return 0


def _serve(parsed: argparse.Namespace) -> int:
    from concurrent.futures import ProcessPoolExecutor
    from functools import partial
    from multiprocessing import get_context

    from landspeed.course.fair_queue import FairQueue
    from landspeed.course.room import Room, RoomServer
    from landspeed.course.site import usual_site
    from landspeed.runs.sweeps.workers import usual_jobs

    require_extra("course")
    if len(parsed.words) != 2:
        raise UsageError("write: landspeed lesson serve DIR, the folder for the students' exercises")
    site = parsed.out or usual_site()
    if not (site / "index.html").is_file():
        raise UsageError(f"{site}: there is no course; `landspeed lesson --all --out {site}` makes it")
    jobs = parsed.jobs or usual_jobs()
    # Runs take the time that answers leave: each is begun at a lower priority.
    pool = partial(ProcessPoolExecutor, jobs, mp_context=get_context("spawn"), initializer=os.nice, initargs=(10,))
    queue = FairQueue(pool, jobs)
    room = Room(site, Path(parsed.words[1]), queue, _register(parsed))
    try:
        server = RoomServer((parsed.host, parsed.port), room)
    except (OSError, OverflowError) as error:
        raise UsageError(f"{parsed.host}:{parsed.port}: {getattr(error, 'strerror', None) or error}") from error
    print(f"http://{parsed.host}:{server.server_port}/ has the course; Ctrl-C ends it", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        queue.close()
        server.server_close()
    return 0
