"""A lesson's folder, read: text, theory, scenarios. Lessons are found by themselves, by their folders."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from landspeed.base.failures import NotPossible, NotReady
from landspeed.base.json_form import object_of
from landspeed.base.near import meant_or_all
from landspeed.base.places import ROOT
from landspeed.course.comparison import LessonFigure
from landspeed.course.stated_figures import StatedText

if TYPE_CHECKING:
    from nbformat import NotebookNode

HOME = ROOT / "lessons"
"""Where the lessons are that come with landspeed."""

GROUP = "landspeed.lessons"
TEXT, THEORY, EXERCISE = "lesson.md", "theory.py", "exercise.py"
CODE = re.compile(r"\A---\n.*?\n---\n|^```.*?^```$|<[^>\n]+>", re.DOTALL | re.MULTILINE)
WORDS_A_MINUTE = 130  # of a technical text in a foreign language
MINUTES = {  # that a student needs for each
    r"lesson\.predict\(": 2,
    r"lesson\.(?:plot|table)\(": 1,
    r'class="question"': 2,
    r"^```console$": 1,
}
NEEDED = ("title", "order", "minutes", "shows", "needs")


class LessonError(NotPossible):
    """A lesson's folder lacks something; the message says what."""


@dataclass(frozen=True)
class Lesson:
    """One lesson.

    Attributes:
        name: of its folder.
        order: its place in the course.
        minutes: that a class needs for it.
        shows: what one can do afterwards, in a line.
        needs: names of the lessons that come before it.
    """

    folder: Path
    title: str
    order: int
    minutes: int
    shows: str
    needs: tuple[str, ...]
    text: str = field(repr=False)

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @cached_property
    def theory(self) -> ModuleType:
        """Module of the lesson's predicted curves.

        Raises:
            LessonError: it has none, or it cannot be imported.
        """
        return _module(self.folder / THEORY)

    @cached_property
    def exercise(self) -> ModuleType | None:
        """Module of the lesson's exercise; None if it has none."""
        return _module(self.folder / EXERCISE) if self.has_exercise else None

    @property
    def has_exercise(self) -> bool:
        """True if there is an exercise to hand in."""
        return (self.folder / EXERCISE).is_file()

    @property
    def comparisons(self) -> dict[str, LessonFigure]:
        """Comparisons of the lesson, by the key that its text uses."""
        return self.theory.COMPARISONS

    @property
    def stated(self) -> tuple[StatedText, ...]:
        """Figures of its running text, with what gives them."""
        return getattr(self.theory, "STATED", ())

    @property
    def minutes_alone(self) -> float:
        """Minutes that a student needs for it alone: reading, predicting, looking, answering, typing."""
        reading = len(CODE.sub(" ", self.text).split()) / WORDS_A_MINUTE
        return reading + sum(each * len(re.findall(what, self.text, re.MULTILINE)) for what, each in MINUTES.items())

    @property
    def notebook(self) -> NotebookNode:
        """The text as a Jupyter notebook, not executed.

        Raises:
            NotReady: Jupytext is not installed.
        """
        return read_notebook(self.text)

    @cached_property
    def content(self) -> str:
        """A hash of everything in its folder: another one is another lesson."""
        digest = hashlib.sha256()
        for file in sorted(each for each in self.folder.rglob("*") if each.is_file()):
            if "__pycache__" not in file.parts:
                digest.update(f"{file.relative_to(self.folder)}\0".encode() + file.read_bytes() + b"\0")
        return digest.hexdigest()


def read_notebook(text: str) -> NotebookNode:
    """A text in MyST as a notebook.

    Raises:
        NotReady: Jupytext is not installed.
    """
    try:
        import jupytext
    except ImportError as error:
        raise NotReady("a lesson needs Jupytext, which is not installed: pip install 'landspeed[course]'") from error
    notebook = jupytext.reads(text, fmt="md:myst")
    for number, cell in enumerate(notebook.cells, 1):  # else they are drawn at random
        cell["id"] = f"cell-{number}"
    return notebook


def read_lesson(folder: Path) -> Lesson:
    """The lesson of a folder.

    Raises:
        LessonError: it is none; the message says what it lacks.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    source = folder / TEXT
    try:
        text = source.read_text(encoding="utf-8")
    except OSError as error:
        raise LessonError(f"{source}: {error.strerror or error}; a lesson is a folder with {TEXT}") from error
    try:
        load: Any = YAML(typ="safe").load
        head = load(text.split("---\n")[1]) if text.startswith("---\n") else None
    except (YAMLError, IndexError) as error:
        raise LessonError(f"{source}: its first part is not YAML between two lines '---': {error}") from error
    found = object_of(object_of(head).get("lesson"))
    if missing := [name for name in NEEDED if name not in found]:
        raise LessonError(f"{source}: no {', '.join(missing)}; write them under `lesson:` between the lines '---'")
    return Lesson(
        folder,
        str(found["title"]),
        int(found["order"]),
        int(found["minutes"]),
        str(found["shows"]),
        tuple(found["needs"]),
        text,
    )


def all_lessons(home: Path | None = None) -> list[Lesson]:
    """Every lesson of a folder, in the order of the course; None: those of landspeed and of installed packages.

    Raises:
        LessonError: one of the folders lacks something.
    """
    homes = [home] if home else [HOME, *_homes_of_packages()]
    found = [read_lesson(each.parent) for place in homes for each in place.glob(f"*/{TEXT}")]
    return sorted(found, key=lambda each: (each.order, each.name))


def _homes_of_packages() -> list[Path]:
    """Folders of lessons that installed packages bring: the entry points of the group `landspeed.lessons`."""
    found: list[Path] = []
    for each in entry_points(group=GROUP):
        spec = importlib.util.find_spec(each.value)
        places = spec.submodule_search_locations if spec else None
        if not places:
            raise LessonError(f"{each.value}: the entry point {each.name} of {GROUP} is no package with lessons")
        homes = [Path(place) for place in places]
        if not any(True for home in homes for _ in home.glob(f"*/{TEXT}")):
            data = f'[tool.setuptools.package-data] {each.value} = ["*/*"]'
            raise LessonError(
                f"{homes[0]}: no folder with {TEXT} was installed there; {data} in pyproject.toml brings it"
            )
        found += homes
    return found


def lesson_named(name: str) -> Lesson:
    """A lesson by its name, or by its folder: a path with a slash.

    Raises:
        LessonError: there is none; the message has those that there are.
    """
    if os.sep in name:
        return read_lesson(Path(name))
    if (HOME / name / TEXT).is_file():
        return read_lesson(HOME / name)
    every = {lesson.name: lesson for lesson in all_lessons()}
    if name in every:
        return every[name]
    here = f"; for the folder here, write ./{name}" if Path(name, TEXT).is_file() else ""
    raise LessonError(f"no lesson '{name}'; {meant_or_all(name, list(every))}{here}")


def _module(file: Path) -> ModuleType:
    name = f"lessons.{file.parent.name.replace('-', '_')}_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise LessonError(f"{file}: there is no such file")
    module = importlib.util.module_from_spec(spec)
    try:
        sys.modules[name] = module  # a dataclass of it looks its annotations up there
        spec.loader.exec_module(module)
    except Exception as error:
        raise LessonError(f"{file}: {type(error).__name__}: {error}") from error
    return module
