"""A lesson's page: its text with what its cells show. One file, nothing loaded from anywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from landspeed.base.failures import NotReady
from landspeed.course.execute import Cells, html_of
from landspeed.course.lesson import Lesson
from landspeed.course.worksheet import CellOutput, Worksheet, current, seal
from landspeed.report.page_parts import environment, template_text

PREDICT = "## Predict first"
TEMPLATES = Path(__file__).resolve().parent / "templates"
MARKER = re.compile(r"^<!-- (?:run|not run|file)\b[^\n]*-->\n", re.MULTILINE)


@dataclass(frozen=True)
class LessonPage:
    """A lesson's page, made.

    Attributes:
        html: the page.
        failures: points farther from theory than promised, in words.
        figures: name → SVG as a file of its own.
        notebook: the text as an executed notebook, JSON.
    """

    html: str
    failures: list[str]
    figures: dict[str, str]
    notebook: str


def make_page(sheet: Worksheet, lessons: Sequence[Lesson] = ()) -> LessonPage:
    """Run a lesson's cells and lay out its page.

    Args:
        sheet: the lesson.
        lessons: of the course that the page is in, for the links at its ends; none: a page alone.

    Raises:
        CellFailed: a cell raised an error.
        RunFailed: a run failed.
    """
    lesson = sheet.lesson
    notebook = lesson.notebook
    cells = Cells({})
    body = _Body()
    with current(sheet):
        for number, cell in enumerate(notebook.cells, 1):
            if cell.cell_type != "code":
                body.text(cell.source, lesson.name)
                continue
            said, value = cells.run(cell.source, f"lesson {lesson.name}, cell {number}")
            cell.outputs = _outputs(said, html_of(value))
            body.cell(cell.source, said, value)
    names = [each.name for each in lessons]
    place = names.index(lesson.name) if lesson.name in names else None
    failures = sheet.failures()
    html = (
        environment(TEMPLATES)
        .get_template("lesson.html.j2")
        .render(
            lesson=lesson,
            start=Markup(body.start),
            body=Markup("\n".join(body.rest)),
            style=style(),
            script=Markup((TEMPLATES / "predict.js").read_text(encoding="utf-8")),
            failures=failures,
            in_course=place is not None,
            before=lessons[place - 1] if place else None,
            after=lessons[place + 1] if place is not None and place + 1 < len(lessons) else None,
            needs=[each for each in lessons if each.name in lesson.needs],
        )
    )
    import nbformat

    return LessonPage(html, failures, sheet.figures, nbformat.writes(notebook))


class _Body:
    """A page's body: the scene beside the questions and the place of their first figure; then the rest.

    Whatever was measured is sealed until a number is written (predict.js).
    """

    def __init__(self) -> None:
        self._scene: list[str] = []
        self._asked: list[str] = []
        self.rest: list[str] = []
        self._going = self._scene
        self._key = ""  # of the first question
        self._place = ""  # of what answers it

    @property
    def start(self) -> str:
        """The first screen."""
        scene, asked = "\n".join(self._scene), "\n".join(self._asked)
        if not asked:
            return scene
        return f'<div class="start"><div>{scene}</div><div class="ask">{asked}{self._place}</div></div>'

    def text(self, source: str, name: str) -> None:
        """A piece of the text; its headings say which part of the page goes on."""
        for part in re.split(r"^(?=## )", source, flags=re.MULTILINE):
            if part.startswith(PREDICT):
                self._going = self._asked
            elif part.startswith("## ") and self._going is self._asked:
                self._going = self.rest
            if part.strip():
                self._going.append(markdown(part, name))

    def cell(self, source: str, said: str, value: Any) -> None:
        """A cell with what it shows; the code of a question is not shown."""
        output = value if isinstance(value, CellOutput) else CellOutput(html_of(value), "")
        if output.page:
            self._key = self._key or re.findall(r'data-key="([^"]*)"', output.page)[0]
            self._going.append(output.page)
            return
        shown = _sealed(output) if output.key else output.html
        if output.key and output.key == self._key and not self._place:
            place = f'<a href="#seen-{escape(output.key)}">beside your prediction</a>'
            self._place, shown = shown, f'<p class="note">It stands {place}.</p>'
        self._going.append(_code(source) + (f"<pre>{escape(said)}</pre>" if said else "") + shown)


def _sealed(output: CellOutput) -> str:
    key = escape(output.key)
    return (
        f'<div class="sealed" id="seen-{key}" data-key="{key}" data-sealed="{seal(output.html)}">'
        "<p>What was measured stands here when you have written your number.</p>"
        '<button type="button">Show it without a prediction</button></div>'
    )


@cache
def style() -> Markup:
    """The style sheet of every page of the course: the reports' own, what a lesson has more, and colours of code."""
    from pygments.formatters import HtmlFormatter

    light, dark = (HtmlFormatter(style=name).get_style_defs(".code") for name in ("default", "monokai"))
    own = (TEMPLATES / "course.css").read_text(encoding="utf-8")
    dark = f"@media (prefers-color-scheme: dark) {{ @media screen {{ {dark} }} }}"
    return Markup(f"{template_text('report.css')}\n{light}\n{dark}\n{own}")


def markdown(text: str, name: str = "") -> str:
    """MyST as HTML: CommonMark, tables, formulas as MathML.

    Raises:
        NotReady: a library is missing.
    """
    try:
        from markdown_it import MarkdownIt
        from mdit_py_plugins.anchors import anchors_plugin
        from mdit_py_plugins.dollarmath import dollarmath_plugin
    except ImportError as error:
        raise NotReady(f"a lesson's page needs {error.name}: pip install 'landspeed[course]'") from error
    made = MarkdownIt("commonmark", {"html": True, "highlight": _highlight, "typographer": False}).enable("table")
    made.use(dollarmath_plugin, renderer=_math, double_inline=True).use(anchors_plugin, max_level=3)
    html: str = made.render(MARKER.sub("", text))
    html = re.sub(r"<h1[^>]*>.*?</h1>\n?", "", html)  # the page has its own
    html = html.replace("<table>", '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>')
    return html.replace("</table>", "</table></div>").replace("../figures/", f"figures/{name}-")


def _math(text: str, options: dict[str, Any]) -> str:
    from latex2mathml.converter import convert

    return convert(text, display="block" if options.get("display_mode") else "inline")


def _highlight(text: str, language: str, _: str) -> str:
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(language or "text")
    except ClassNotFound:
        lexer = get_lexer_by_name("text")
    inside = highlight(text, lexer, HtmlFormatter(nowrap=True))
    return f'<pre class="code" tabindex="0"><code>{inside}</code></pre>'


def _code(source: str) -> str:
    return f'<details class="cell"><summary>Code</summary>{_highlight(source, "python", "")}</details>'


def _outputs(said: str, shown: str) -> list[Any]:
    from nbformat import v4

    found: list[Any] = [v4.new_output("stream", name="stdout", text=said)] if said else []
    return [*found, v4.new_output("display_data", {"text/html": shown})] if shown else found
