"""The first screen of every lesson's page at 1366 × 768: the question, its box, and the place of the figure.

The pages have their real text and questions; what is sealed in them is made up, so that nothing is run.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from landspeed.course.comparison import FigurePoint
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson import Lesson
from landspeed.course.lesson_page import make_page
from landspeed.course.worksheet import CellOutput, Worksheet
from tests.support import lessons

LESSONS = [*lessons.LESSONS.values()]


class UnmeasuredWorksheet(Worksheet):
    """A worksheet that runs nothing: what it shows has the right form and no right figure."""

    def run(self) -> CellOutput:
        """Nothing was run."""
        return CellOutput("<p>Measured: nothing.</p>", "")

    def plot(self, key: str) -> CellOutput:
        """A figure of some height."""
        return CellOutput('<svg width="600" height="400"></svg>', "", key=key)

    def table(self, key: str) -> CellOutput:
        """A table of one cell."""
        return CellOutput("<table><tr><td>1</td></tr></table>", "", key=key)

    def points(self, key: str) -> list[FigurePoint]:
        """One of no run."""
        return [FigurePoint(key, 1.0, 1.0)]

    def failures(self) -> list[str]:
        """None is known."""
        return []

    @property
    def figures(self) -> dict[str, str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """None."""
        return {}

    def _point(self, key: str, name: str) -> FigurePoint:
        return FigurePoint(name, 1.0, 1.0, note=key)


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with sync_playwright() as playwright:
        switches = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=switches)
        yield chromium.new_page(viewport={"width": 1366, "height": 768})
        chromium.close()


@pytest.mark.slow
@pytest.mark.parametrize("lesson", LESSONS, ids=[lesson.name for lesson in LESSONS])
def test_it_has_the_question_its_box_and_the_place_of_the_figure(page: Page, tmp_path: Path, lesson: Lesson) -> None:
    made = make_page(UnmeasuredWorksheet(lesson, Laboratory(tmp_path)), LESSONS)
    (tmp_path / "page.html").write_text(made.html, encoding="utf-8")
    page.goto((tmp_path / "page.html").as_uri())
    for what in ("form.predict label", "form.predict input", ".sealed"):
        box = page.locator(what).first.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 768, what
        assert box["x"] + box["width"] <= 1366, what
    assert page.locator("details.cell[open]").count() == 0
    assert page.locator("pre.code").evaluate_all("all => all.filter(e => e.scrollWidth > e.clientWidth).length") == 0
