"""Pages of the course, from a real lesson made small: what is run, what is kept, a broken promise, Jupyter."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, sync_playwright

from landspeed.base.failures import RunFailed
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson import HOME, Lesson, read_lesson
from landspeed.course.site import Made, make_site
from landspeed.course.worksheet import Worksheet
from tests.support import browser
from tests.support.command import COMMAND
from tests.support.emu_fixtures import wait_until

pytestmark = [pytest.mark.guest, pytest.mark.slow]
GRAVE = ("serious", "critical")


@dataclass
class Course:
    """A course of one lesson with two runs, and its site."""

    lesson: Lesson
    runs: Path
    site: Path
    made: Made

    def again(self, lesson: Lesson | None = None) -> Made:
        """Make it anew, with a laboratory that has to look what is known."""
        mine = lesson or self.lesson
        return make_site(self.site, [mine], [mine], Laboratory(self.runs, jobs=1))


def small(folder: Path) -> Lesson:
    """The lesson on delay with one line and one distance."""
    shutil.copytree(HOME / "delay", folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name, values in (("line", "[1 Mbit/s]"), ("distance", "[131.9 ms]")):
        file = folder / f"{name}.yaml"
        file.write_text(re.sub(r"(  path\.1\.\w+: )\[.*\]", rf"\g<1>{values}", file.read_text()))
    return read_lesson(folder)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Course]:
    # The guest has a /tmp of its own, and the lesson's scripts must be seen in it.
    place = HOME.parent / "build" / "test-course" / tmp_path_factory.getbasetemp().name
    shutil.rmtree(place, ignore_errors=True)
    lesson = small(place / "delay")
    runs, site = place / "runs", place / "site"
    yield Course(lesson, runs, site, make_site(site, [lesson], [lesson], Laboratory(runs, jobs=1)))
    shutil.rmtree(place, ignore_errors=True)


def test_a_lesson_runs_and_keeps_what_it_promises(course: Course) -> None:
    assert course.made.passed
    assert course.made.anew == ["delay"]
    page = course.made.pages["delay"].read_text()
    assert "Measured: 2 runs of a program" in page
    assert page.count("<figure>") == 2
    assert {file.name for file in (course.site / "figures").iterdir()} == {
        "delay-serialization.svg",
        "delay-distance.svg",
    }
    assert course.made.index.read_text().count("delay.html") == 1
    answer = float(re.findall(r'data-answer="([\d.]+)"', page)[0])
    assert answer == pytest.approx(24.633, rel=1e-3)  # 2 × 1538 B at 1 Mbit/s, and at 1 Gbit/s


def test_a_finished_course_is_made_again_without_a_run(course: Course) -> None:
    before = course.made.pages["delay"].read_bytes()
    again = course.again()
    assert again.passed
    assert again.anew == []
    assert again.pages["delay"].read_bytes() == before


def test_a_page_that_was_removed_comes_back_the_same(course: Course) -> None:
    before = course.made.pages["delay"].read_bytes()
    course.made.pages["delay"].unlink()
    assert course.again().anew == ["delay"]
    assert course.made.pages["delay"].read_bytes() == before


def test_a_broken_promise_is_named_on_the_page_and_fails(course: Course) -> None:
    """What the lesson says of theory is changed by half; the runs are known still."""
    theory = course.lesson.folder / "theory.py"
    right = theory.read_text()
    theory.write_text(right.replace("ICMP_HEADER = 8", "ICMP_HEADER = 80"))
    try:
        made = course.again(read_lesson(course.lesson.folder))
    finally:
        theory.write_text(right)
    assert not made.passed
    assert any("promised ± 0.1%" in each for each in made.failures["delay"])
    assert "farther from theory than this lesson promises" in made.pages["delay"].read_text()
    assert course.again().passed


def test_a_program_that_breaks_is_said_and_the_rest_is_kept(course: Course) -> None:
    """A run broken in the middle: the lesson says so, and goes on when it is called again."""
    script = course.lesson.folder / "small.sh"
    right = script.read_text()
    script.write_text("exit 3\n")
    try:
        made = course.again(read_lesson(course.lesson.folder))
        with pytest.raises(RunFailed, match="ended with status 3"):
            Worksheet(replace(course.lesson), Laboratory(course.runs, jobs=1)).run()
    finally:
        script.write_text(right)
    assert "ended with status 3" in made.broken["delay"]
    assert not made.passed
    laboratory = Laboratory(course.runs, jobs=1)
    assert laboratory.known(laboratory.wanted(course.lesson)) == (2, 2)
    assert course.again().passed


def test_ctrl_c_keeps_what_was_run(tmp_path: Path) -> None:
    """It says how to go on, begins no further run, and what is called again makes the rest only."""
    runs = tmp_path / "runs"
    command = [COMMAND, "lesson", "delay", "--jobs", "1", "--runs", runs, "--out", tmp_path / "site"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as going:
        wait_until(lambda: len(list(runs.glob("outputs/*"))) >= 2, "two runs")
        os.killpg(going.pid, signal.SIGINT)  # as a terminal does
        _, said = going.communicate(timeout=60)
    assert going.returncode == 1
    assert f"Error: interrupted; what was run is kept in {runs}: call it again to go on" in said
    assert "Traceback" not in said
    known = {file: file.stat().st_mtime_ns for file in runs.glob("outputs/*")}
    assert 2 <= len(known) < 10
    again = subprocess.run([*command, "--quiet"], capture_output=True, text=True, check=False, timeout=300)
    assert again.returncode == 0, again.stderr
    assert len(list(runs.glob("outputs/*"))) == 10
    assert {file: file.stat().st_mtime_ns for file in known} == known


def test_the_page_asks_nobody_and_says_nothing_wrong(course: Course, tmp_path: Path) -> None:
    page = course.made.pages["delay"]
    for file in (page, course.made.index):
        assert browser.requests(file, tmp_path / file.stem) == set()
        _, console = browser.dump(file, tmp_path / f"{file.stem}-2")
        assert console == ""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        switches = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        found = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=switches)
        yield found
        found.close()


@pytest.mark.parametrize("width", [360, 768, 1024, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_width(course: Course, chromium: Browser, width: int, scheme: Literal["light", "dark"]) -> None:
    """Nothing is wider than the screen, and axe-core finds nothing serious, on a lesson's page and on the index."""
    for file in (course.made.pages["delay"], course.made.index):
        page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.goto(file.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for each in page.locator("details.question, details.cell").all():
            each.evaluate("each => { each.open = true; }")
        found = Axe().run(page).response["violations"]
        grave = [f"{each['id']}: {each['nodes'][0]['html']}" for each in found if each["impact"] in GRAVE]
        assert grave == []
        page.close()


def test_keyboard_alone(course: Course, chromium: Browser) -> None:
    """Every field, button, answer and table is reached, and shows that it is; a number is compared, an answer opens."""
    page = chromium.new_page(viewport={"width": 1024, "height": 900})
    page.goto(course.made.pages["delay"].as_uri())
    wanted = page.locator("a[href], input, button, summary, .scroll, pre.code:not(details *)").count()
    for _ in range(wanted):
        page.keyboard.press("Tab")
        name, ring = page.evaluate(
            "[document.activeElement.tagName, getComputedStyle(document.activeElement).outlineStyle]"
        )
        assert name != "BODY"
        assert ring != "none", f"{name} does not show that it has the focus"
        if name == "INPUT":
            page.keyboard.type("20")
            page.keyboard.press("Enter")
            assert "Your number is" in page.locator("form:focus-within output").inner_text()
        if name == "SUMMARY" and page.evaluate("document.activeElement.parentElement.className") == "question":
            page.keyboard.press("Enter")
    assert page.locator("details.question[open]").count() == page.locator("details.question").count()
    assert page.evaluate("document.activeElement.closest('footer') !== null")  # the last of them
    page.close()


def test_on_paper(course: Course, chromium: Browser) -> None:
    """Answers and code are folded even where they were open; there is a line to write a prediction on."""
    page = chromium.new_page(viewport={"width": 680, "height": 1000})
    page.goto(course.made.pages["delay"].as_uri())
    page.locator("details.question summary").first.click()
    page.emulate_media(media="print")
    assert not page.locator("details.question p").first.is_visible()
    assert not page.locator("form.predict button").first.is_visible()
    assert page.locator("form.predict input").first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 680
    page.close()


def test_a_prediction_is_held_against_what_was_measured(course: Course, tmp_path: Path) -> None:
    """The page's script, as a student uses it: a number, the button; then no number."""
    page = tmp_path / "try.html"
    script = """
      <script>const form = document.querySelector("form.predict"), said = [];
      form.dataset.answer = "24.633";
      for (const mine of ["20", "24,633", "many", ""]) {
        form.querySelector("input").value = mine;
        form.querySelector("button").click();
        said.push(form.querySelector("output").textContent);
      }
      form.dataset.answer = "2773";
      for (const mine of ["2,773", "2 773"]) {
        form.querySelector("input").value = mine;
        form.querySelector("button").click();
        said.push(form.querySelector("output").textContent);
      }
      document.title = said.join("|");</script></body>"""
    page.write_text(
        course.made.pages["delay"].read_text().replace("</body>", script).replace("form-action 'none';", "")
    )
    document, _ = browser.dump(page, tmp_path / "profile")
    title = re.search(r"<title>(.*?)</title>", document)
    assert title is not None
    low, exact, *no_numbers, grouped, spaced = title[1].split("|")
    assert "measured: 24.63 ms. Your number is 19 % too low." in low
    assert exact == "You wrote 24.633 ms; measured: 24.63 ms. Your number is right."
    assert grouped == spaced == "You wrote 2773 ms; measured: 2773 ms. Your number is right."
    assert no_numbers == ["Write a number, in ms."] * 2


def test_a_lesson_is_a_notebook_that_jupyter_runs(course: Course) -> None:
    """The same text in a kernel of Jupyter, with the runs that are known."""
    from nbclient import NotebookClient

    notebook = course.lesson.notebook
    where = f"lesson = ls.lesson({str(course.lesson.folder)!r}, {str(course.runs)!r})"
    notebook.cells[1].source = notebook.cells[1].source.replace('lesson = ls.lesson("delay")', where)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    shown = [out["data"]["text/html"] for cell in notebook.cells for out in cell.get("outputs", []) if "data" in out]
    assert any("<svg" in html for html in shown)
    assert any("Promised: every residual within 0.1 %" in html for html in shown)
