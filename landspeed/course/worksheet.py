"""A lesson under way: what its cells call. In a notebook and on a page they show the same."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from markupsafe import escape

from landspeed.base.failures import NotPossible
from landspeed.course.comparison import FigureLine, FigurePoint, LessonFigure
from landspeed.course.figure import NARROW, WIDE, draw, standalone
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson import Lesson, lesson_named
from landspeed.course.lesson_run import LessonRun
from landspeed.course.scales import tick_text
from landspeed.course.stated_numbers import unmade_told
from landspeed.scenario.plan.duration import expected_duration_s

NARROW_CSS = (
    "<style>svg.tall{display:none}@media(max-width:640px){svg.wide{display:none}svg.tall{display:block}}</style>"
)


NAMES = {"cubic": "CUBIC", "reno": "Reno", "bbr": "BBR", "dctcp": "DCTCP", "htcp": "HTCP", "scalable": "Scalable TCP"}


@dataclass(frozen=True)
class CellOutput:
    """Output of a cell: HTML for notebooks, plain text for print, and what a page has instead of the HTML.

    Attributes:
        page: on a page; "": as in a notebook.
        key: the comparison that it shows, which a page keeps folded until a number is written; "": nothing measured.
    """

    html: str
    text: str
    page: str = ""
    key: str = ""

    def _repr_html_(self) -> str:
        return self.html

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


class Worksheet:
    """A lesson with its runs. `landspeed.lesson("window")` gives it."""

    def __init__(self, lesson: Lesson, laboratory: Laboratory) -> None:
        """Prepare the worksheet; run nothing yet."""
        self.lesson, self.laboratory = lesson, laboratory
        self._runs: dict[str, list[LessonRun]] = {}
        self._points: dict[str, list[FigurePoint]] = {}

    # --- what is known -----------------------------------------------------------------------------------------------

    def comparison(self, key: str) -> LessonFigure:
        """One of its comparisons.

        Raises:
            NotPossible: the lesson has none of that name.
        """
        known = self.lesson.comparisons
        if key not in known:
            raise NotPossible(f"the lesson {self.lesson.name} compares no '{key}'; it has {', '.join(known)}")
        return known[key]

    def runs(self, key: str) -> list[LessonRun]:
        """The runs of a comparison; those not known are run first."""
        if key not in self._runs:
            self._runs[key] = self.laboratory.measured(self.lesson, self.comparison(key))
        return self._runs[key]

    def points(self, key: str) -> list[FigurePoint]:
        """Measured beside predicted, one by one."""
        if key not in self._points:
            self._points[key] = list(self.comparison(key).points(self.runs(key)))
        return self._points[key]

    def lines(self, key: str) -> list[FigureLine]:
        """The lines of a comparison's figure."""
        found = self.comparison(key).lines
        return list(found(self.runs(key))) if found else []

    def failures(self) -> list[str]:
        """Every point farther from theory than the lesson promises; every wrong or unmade figure of its text."""
        far = [each for key, one in self.lesson.comparisons.items() for each in one.failures(self.points(key))]
        text, stated = self.lesson.text, self.lesson.stated
        wrong = [each.failure(text, self.points(each.key) if each.key else ()) for each in stated]
        return [*far, *(each for each in wrong if each), *unmade_told(text, stated, self.lesson.folder)]

    @cached_property
    def figures(self) -> dict[str, str]:
        """Name → SVG as a file of its own, for slides: one for each comparison that is drawn."""
        return {
            key: standalone(draw(one, self.points(key), self.lines(key)), one.title)
            for key, one in self.lesson.comparisons.items()
            if one.x is not None
        }

    # --- what cells call ---------------------------------------------------------------------------------------------

    def run(self) -> CellOutput:
        """Run what is not known yet, and say what that was."""
        self.laboratory.run(self.laboratory.wanted(self.lesson))
        every = [run for key in self.lesson.comparisons for run in self.runs(key)]
        transfers = {(str(run.bundle)): run for run in every if run.bundle is not None}
        virtual_s = sum(expected_duration_s(run.plan) for run in transfers.values())
        programs = len({run.output for run in every if run.bundle is None})
        parts = [f"{len(transfers)} transfers, {_time_text(virtual_s)} of virtual time"] if transfers else []
        parts += [f"{programs} run{'s' * (programs > 1)} of a program"] if programs else []
        text = "; ".join(parts) + f", on Linux {self._kernel()}" if self._kernel() else "; ".join(parts)
        return CellOutput(f'<p class="ran">Measured: {escape(text)}.</p>', text)

    def plot(self, key: str) -> CellOutput:
        """The figure of a comparison: measured points over the predicted curve, and the residual."""
        one, points, lines = self.comparison(key), self.points(key), self.lines(key)
        if one.x is None:
            raise NotPossible(f"'{key}' has no x axis, so it is no figure; show it with table('{key}')")
        forms = draw(one, points, lines, WIDE) + draw(one, points, lines, NARROW)
        source = f"{'Theory' if one.is_law else 'Sources'}: {one.source}"
        html = f"<figure>{NARROW_CSS}{forms}<figcaption>{escape(one.title)}. {escape(source)}.</figcaption></figure>"
        return CellOutput(html, self.table(key).text, key=key)

    def table(self, key: str) -> CellOutput:
        """Measured, predicted and residual of each point, and what the lesson promises of them."""
        one, points = self.comparison(key), self.points(key)
        noted = any(point.note for point in points)
        heads = ["run", f"measured ({one.y.unit})" if one.y.unit else "measured", one.beside]
        heads += [*(["residual"] if one.is_law else []), *(["note"] if noted else [])]
        rows = [_row(point, one, noted) for point in points]
        promise = " ".join(filter(None, [controls_text(self.runs(key)), promise_text(one)]))
        head = "".join(f'<th scope="col"{_word(name)}>{escape(name)}</th>' for name in heads)
        body = "".join(
            f"<tr{' class=bad' if one.failures([point]) else ''}>"
            + f'<th scope="row" class="word">{escape(row[0])}</th>'
            + "".join(f"<td{_word(name)}>{escape(cell)}</td>" for name, cell in zip(heads[1:], row[1:], strict=True))
            + "</tr>"
            for row, point in zip(rows, points, strict=True)
        )
        html = (
            f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(one.title)}"><table>'
            f"<caption>{escape(one.title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
            f'<p class="note">{escape(promise)}</p>'
        )
        text = "\n".join("  ".join(row) for row in [heads, *rows])
        return CellOutput(html, f"{text}\n{promise}", key=key)

    def predict(self, question: str, key: str, name: str, mine: float | None = None) -> CellOutput:
        """A question that is answered by a number, before anything is measured.

        Args:
            question: in words.
            key, name: the comparison and the point that answer it.
            mine: your number, in the unit of the comparison; None: not written yet.
        """
        one = self.comparison(key)
        unit = one.y.unit
        if mine is None:
            place = f"{self.lesson.name}-{key}-{name}".replace(" ", "-")
            answer = f"{self._point(key, name).measured / one.y.per:.6g}"
            again = f"Write your number, in {unit}, as mine=… and run the cell again."
            form = (
                f'<form class="predict" id="{escape(place)}" data-key="{escape(key)}" data-unit="{escape(unit)}" '
                f'data-sealed="{seal(answer)}"><label for="{escape(place)}-number">{escape(question)}</label>'
                f'<span class="entry"><input id="{escape(place)}-number" autocomplete="off" size="10" '
                f'aria-describedby="{escape(place)}-said"> {escape(unit)} '
                f'<button type="submit">Compare</button></span>'
                f'<output id="{escape(place)}-said" for="{escape(place)}-number"></output></form>'
            )
            html = f"<p><strong>{escape(question)}</strong> {escape(again)}</p>"
            return CellOutput(html, f"{question} {again}", form)
        said = told(mine, self._point(key, name).measured / one.y.per, unit)
        return CellOutput(f"<p><strong>{escape(question)}</strong> {escape(said)}</p>", f"{question} {said}")

    def _point(self, key: str, name: str) -> FigurePoint:
        found = next((point for point in self.points(key) if point.name == name), None)
        if found is None:
            names = ", ".join(point.name for point in self.points(key))
            raise NotPossible(f"'{key}' of the lesson {self.lesson.name} has no point '{name}'; it has {names}")
        return found

    def _kernel(self) -> str:
        runs = [run for each in self._runs.values() for run in each if run.bundle is not None]
        return runs[0].record.versions.get("linux", runs[0].record.versions.get("kernel", "")) if runs else ""

    def __str__(self) -> str:
        return f"{self.lesson.title}: {self.lesson.shows}"

    def _repr_html_(self) -> str:
        return f"<p><strong>{escape(self.lesson.title)}.</strong> {escape(self.lesson.shows)}</p>"


_CURRENT: ContextVar[Worksheet | None] = ContextVar("current", default=None)


@contextmanager
def current(sheet: Worksheet) -> Generator[None]:
    """Make `lesson` give this worksheet within the block: the cells of a page use the page's laboratory."""
    token = _CURRENT.set(sheet)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def lesson(name: str | Path, folder: str | Path | None = None) -> Worksheet:
    """A lesson of the course: its runs, figures and tables.

    Args:
        name: of a lesson that comes with landspeed, or the folder of one of yours.
        folder: where its runs are kept; None takes the usual one.

    Raises:
        LessonError: there is no such lesson.
    """
    if (going := _CURRENT.get()) is not None and going.lesson.name == Path(name).name:
        return going
    return Worksheet(lesson_named(str(name)), Laboratory(None if folder is None else Path(folder)))


def seal(text: str) -> str:
    """Fold a text so that no reader of a page's source meets an answer: deflate, in Base64. It is no secret."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def told(mine: float, measured: float, unit: str) -> str:
    """Say in words how far a student's number is from the measured one."""
    if f"{mine:.4g}" == f"{measured:.4g}":
        return f"You wrote {mine:g} {unit}; measured: {measured:.4g} {unit}. Your number is right."
    off = 100 * (mine / measured - 1) if measured else 0.0
    word = "high" if off > 0 else "low"
    far = f"{abs(off):.0f}" if abs(off) >= 10 else f"{abs(off):.2g}"
    return f"You wrote {mine:g} {unit}; measured: {measured:.4g} {unit}. Your number is {far} % too {word}."


def controls_text(runs: Sequence[LessonRun]) -> str:
    """Name the congestion controls of transfers; "" for programs, which choose their own."""
    transfers = [flow.transfer for run in runs if run.bundle is not None for flow in run.plan.flows]
    named = (name for each in transfers for name in each.congestion_controls or [each.congestion_control])
    found = list(dict.fromkeys(NAMES.get(name, name) for name in named))
    return f"Congestion control: {', '.join(found)}." if found else ""


def promise_text(one: LessonFigure) -> str:
    """Say in a sentence what a comparison promises."""
    if one.within is None:
        return f"Nothing is promised here: {one.why}." if one.why else "Nothing is promised here."
    more = f" {one.why[0].upper()}{one.why[1:]}." if one.why else ""
    return f"Promised: every residual within {tick_text(float(f'{100 * one.within:.3g}'))} %.{more}"


def _row(point: FigurePoint, one: LessonFigure, noted: bool) -> list[str]:
    def figure(value: float) -> str:
        return tick_text(float(f"{value / one.y.per:.6g}"))

    spread = f" ± {tick_text(float(f'{point.half / one.y.per:.2g}'))}" if point.half else ""
    residual = [f"{100 * point.residual:+.2f} %".replace("-", "\u2212")] if one.is_law else []
    name = f"{point.series}: {point.name}" if point.series and point.series not in point.name else point.name
    return [name, figure(point.measured) + spread, figure(point.predicted), *residual, *([point.note] if noted else [])]


def _word(head: str) -> str:
    return ' class="word"' if head in ("run", "note") else ""


def _time_text(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
