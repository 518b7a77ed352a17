"""The course as a static site: a page for each lesson, an index, figures for slides, notebooks; all offline.

A page is made anew only when something in it is: lesson, runs, or the code that makes pages.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from landspeed.base.failures import RunFailed, RunInterrupted
from landspeed.base.files import read_object, write_atomically
from landspeed.base.places import ROOT, is_clone, runs_dir
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson import Lesson
from landspeed.course.lesson_page import TEMPLATES, LessonPage, make_page, style
from landspeed.course.worksheet import Worksheet
from landspeed.report.page_parts import TEMPLATES as REPORT_TEMPLATES
from landspeed.report.page_parts import environment
from landspeed.results.bundle import OutputError

STAMPS = ".made.json"
EXPLORE = "explore.html"  # the page of sliders, where `make course` has put it
REPORT_CSS = REPORT_TEMPLATES / "report.css"


def usual_site() -> Path:
    """Folder that the course is written to: `build/course` of a clone, else beside the user's bundles."""
    return (ROOT / "build" if is_clone() else runs_dir().parent) / "course"


@dataclass
class Made:
    """Result of making the pages.

    Attributes:
        pages: name → file.
        anew: names of those that were made now.
        failures: name → points farther from theory than promised.
        broken: name → why its page could not be made.
    """

    folder: Path
    pages: dict[str, Path] = field(default_factory=dict[str, Path])
    anew: list[str] = field(default_factory=list[str])
    failures: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    broken: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def index(self) -> Path:
        """The first page of the course."""
        return self.folder / "index.html"

    @property
    def passed(self) -> bool:
        """True if every page was made and every promise was kept."""
        return not any(self.failures.values()) and not self.broken


def make_site(
    folder: Path,
    chosen: Sequence[Lesson],
    lessons: Sequence[Lesson],
    laboratory: Laboratory,
    tell: Callable[[str], None] = lambda _: None,
) -> Made:
    """Run what is not known of the chosen lessons, and write their pages and the index.

    A lesson whose run breaks has no page; the others are made.

    Args:
        folder: of the site; made if missing.
        chosen: lessons to make.
        lessons: all of the course.

    Raises:
        RunInterrupted: what was run is kept.
        OutputError: the folder cannot be written.
    """
    try:
        laboratory.run([each for lesson in chosen for each in laboratory.wanted(lesson)])
    except RunInterrupted:
        raise
    except RunFailed as error:
        tell(f"some runs broke: {error}")  # told again, with its lesson, where its page is made
    site = _Site(Made(folder), lessons, laboratory, read_object(folder / STAMPS))
    try:
        for name in ("figures", "notebooks"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for lesson in chosen:
            site.make(lesson, tell)
        write_atomically(site.made.index, _index(lessons, folder).encode())
        write_atomically(folder / STAMPS, json.dumps(site.stamps, indent=1, sort_keys=True).encode())
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror or error}; give another folder with --out") from error
    return site.made


@dataclass
class _Site:
    """A site that is being made."""

    made: Made
    lessons: Sequence[Lesson]
    laboratory: Laboratory
    stamps: dict[str, Any]

    def make(self, lesson: Lesson, tell: Callable[[str], None]) -> None:
        """A lesson's page, if it is not there as it would be made."""
        made, page = self.made, self.made.folder / f"{lesson.name}.html"
        stamp = self._stamp(lesson)
        if self.stamps.get(lesson.name) == stamp and page.is_file():
            made.pages[lesson.name] = page
            return
        self.stamps.pop(lesson.name, None)
        tell(f"{lesson.name}: writing its page")
        try:
            done = make_page(Worksheet(lesson, self.laboratory), self.lessons)
        except RunInterrupted:
            raise
        except RunFailed as error:
            made.broken[lesson.name] = str(error)
            return
        self._write(lesson, page, done)
        made.pages[lesson.name] = page
        made.anew.append(lesson.name)
        made.failures[lesson.name] = done.failures
        if not done.failures:
            self.stamps[lesson.name] = stamp

    def _write(self, lesson: Lesson, page: Path, done: LessonPage) -> None:
        folder = self.made.folder
        write_atomically(page, done.html.encode())
        write_atomically(folder / "notebooks" / f"{lesson.name}.ipynb", done.notebook.encode())
        for key, svg in done.figures.items():
            write_atomically(folder / "figures" / f"{lesson.name}-{key}.svg", svg.encode())

    def _stamp(self, lesson: Lesson) -> str:
        """A hash of all that the page is made of."""
        digest = hashlib.sha256(lesson.content.encode())
        digest.update("\n".join(self.laboratory.keys(self.laboratory.wanted(lesson))).encode())
        digest.update("\n".join(f"{each.name} {each.title}" for each in self.lessons).encode())
        ours = [
            *sorted(Path(__file__).parent.glob("*.py")),
            *sorted(each for each in TEMPLATES.iterdir() if each.is_file()),
            REPORT_CSS,
        ]
        for file in ours:
            digest.update(file.read_bytes())
        return digest.hexdigest()


def _index(lessons: Sequence[Lesson], folder: Path) -> str:
    explore = (folder / EXPLORE).is_file()
    return environment(TEMPLATES).get_template("index.html.j2").render(lessons=lessons, style=style(), explore=explore)
