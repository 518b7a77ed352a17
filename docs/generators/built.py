"""What other targets of the Makefile have built, as a part of the site: copied into it, and linked only where it is."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

BUILD = Path(__file__).resolve().parent.parent.parent / "build"
BUILT = {  # folder of the site → what is there, and its target
    "course": BUILD / "course",  # make course
    "submissions": BUILD / "record-book" / "submissions",  # make record-book
}
UNBUILT = "This copy of the site has no course in it: it is built by `make course`, and `make docs` then takes it in."


def lessons() -> str:
    """A table of the lessons, each with what one can do afterwards; those that were built are links."""
    from landspeed.course.lesson import all_lessons

    rows = [
        f"| {each.order} | {_link('../', f'course/{each.name}.html', each.title)} | {each.shows} | {each.minutes} |"
        for each in all_lessons()
    ]
    return "\n".join(["| | lesson | what one can do afterwards | minutes |", "|---:|---|---|---:|", *rows])


def course_links(up: str = "") -> str:
    """The way to the course and to the explore page, from a page that is so far down (`../`)."""
    course = _link(up, "course/index.html", "The course")
    explore = _link(up, "course/explore.html", "the explore page")
    return f"Open here: {course}, and {explore}." if "<a" in course + explore else UNBUILT


def _link(up: str, target: str, text: str) -> str:
    place, _, name = target.partition("/")
    return f'<a href="{up}{target}">{text}</a>' if (BUILT[place] / name).is_file() else text


def copy_built(app: Sphinx, failed: Exception | None) -> None:
    """Called by Sphinx at the end."""
    for name, folder in BUILT.items():
        shutil.rmtree(Path(app.outdir) / name, ignore_errors=True)
        if folder.is_dir() and failed is None:
            shutil.copytree(folder, Path(app.outdir) / name, ignore=shutil.ignore_patterns(".*"))
