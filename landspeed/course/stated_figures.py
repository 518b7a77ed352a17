"""Figures in a lesson's running text, each beside the formula or the runs that give it.

`STATED` in `lessons/NAME/theory.py` lists them. What is computed is compared with the text by a test; what is measured,
when the lesson is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter

from landspeed.course.comparison import FigurePoint

Figure = float | str
Points = Mapping[str, FigurePoint]
NUMBER = r"[−+-]?\d+(?:[\u202f ,]\d{3}(?!\d))*(?:\.\d+)?(?:⁻?[⁰¹²³⁴-⁹]+)?"


@dataclass(frozen=True)
class StatedText:
    """A piece of a lesson's text with its figures.

    Attributes:
        sentence: as in the text, with a format field for each figure.
        figures: the points of `key`, by their names → what the fields hold.
        key: the comparison that measured them; "": they are computed.
    """

    sentence: str
    figures: Callable[[Points], Iterable[Figure]]
    key: str = ""

    def right(self, points: Sequence[FigurePoint] = ()) -> str:
        """Format the sentence that the text must contain."""
        return self.sentence.format(*self.figures({point.name: point for point in points}))

    def spans(self, said: str) -> list[tuple[int, int]]:
        """Find where the figures of this sentence stand in a text on one line, whatever they are."""
        return [found.span(n) for found in self._form.finditer(said) for n in range(1, self._form.groups + 1)]

    @property
    def _form(self) -> re.Pattern[str]:
        parts = Formatter().parse(on_one_line(self.sentence))
        return re.compile(
            "".join(re.escape(before) + (f"({NUMBER})" if name is not None else "") for before, name, *_ in parts)
        )

    def failure(self, text: str, points: Sequence[FigurePoint] = ()) -> str | None:
        """Describe the mistake in a lesson's text; None if it has the right sentence."""
        right, said = on_one_line(self.right(points)), on_one_line(text)
        if right in said:
            return None
        near = self._form.search(said)
        return f"the text should say '{right}'; it says " + (f"'{near[0]}'" if near else "nothing of that form")


def computed(sentence: str, *figures: Figure) -> StatedText:
    """A piece of text whose figures a formula gives."""
    return StatedText(sentence, lambda _: figures)


def measured(sentence: str, key: str, figures: Callable[[Points], Iterable[Figure]]) -> StatedText:
    """A piece of text whose figures are those of a comparison's points."""
    return StatedText(sentence, figures, key)


def thousands(value: float) -> str:
    """A whole number as running text has it: 15 766."""
    return f"{value:,.0f}".replace(",", " ")


def on_one_line(text: str) -> str:
    """A text without its line ends."""
    return " ".join(text.split())
