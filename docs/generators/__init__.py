"""Parts of the site that are made from the program itself. A page names the maker, and the words that go to it:

<!-- on the site: module landspeed.base.units -->
What stands here instead where the page is read in the repository.
<!-- elsewhere -->
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import built, bundle, commands, library, limits, record_book, root_page, scenario_keys

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PART = re.compile(r"^<!-- on the site: ([^\n]+) -->$.*?^<!-- elsewhere -->$", re.MULTILINE | re.DOTALL)
MAKERS: dict[str, Callable[..., str]] = {
    "scenario-keys": scenario_keys.scenario_keys,
    "congestion-controls": scenario_keys.congestion_controls,
    "commands": commands.commands,
    "library": library.library,
    "failures": library.failures,
    "library-names": library.library_names,
    "failure-names": library.failure_names,
    "module": library.module,
    "result-fields": bundle.result_fields,
    "series-columns": bundle.series_columns,
    "limit-words": limits.limit_words,
    "limit-thresholds": limits.limit_thresholds,
    "lessons": built.lessons,
    "course-links": built.course_links,
    "record-book": record_book.record_book,
    "root-page": root_page.root_page,
}


def made(words: str) -> str:
    """The Markdown of a part.

    Raises:
        ValueError: there is no such maker.
    """
    name, *rest = words.split()
    if name not in MAKERS:
        raise ValueError(f"there is no maker {name}; there are {', '.join(MAKERS)}")
    return MAKERS[name](*rest)


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx: parts are made as a page is read, so that their headings are the page's."""

    def expand(app: Sphinx, _page: str, text: list[str]) -> None:
        if PART.search(text[0]):
            app.env.note_reread()  # what it is made from is no file that Sphinx knows
            text[0] = PART.sub(lambda part: made(part[1]), text[0])

    app.connect("source-read", expand)
    app.connect("build-finished", built.copy_built)
    app.connect("autodoc-process-docstring", library.as_rst, priority=400)  # before napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}
