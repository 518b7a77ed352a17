"""Pages of the course, from a real lesson made small: what is run, what is kept, a broken promise, Jupyter."""

import base64
import csv
import json
import os
import re
import shutil
import signal
import subprocess
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect, sync_playwright

from landspeed.base.failures import RunFailed
from landspeed.course.answer_key import answer_key
from landspeed.course.exercise import start
from landspeed.course.grading import check
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson import HOME, Lesson, LessonError, all_lessons, lesson_named, read_lesson
from landspeed.course.new_lesson import new_lesson
from landspeed.course.site import Made, make_site
from landspeed.course.worksheet import Worksheet
from tests.support import browser
from tests.support.command_process import COMMAND, run
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


def opened(sealed: str) -> str:
    """What a page keeps folded."""
    return zlib.decompress(base64.b64decode(sealed)).decode()


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
    assert page.count('class="sealed"') == 3
    assert {file.name for file in (course.site / "figures").iterdir()} == {
        "delay-serialization.svg",
        "delay-distance.svg",
    }
    assert course.made.index.read_text().count("delay.html") == 1
    answer = opened(re.findall(r'<form [^>]*data-sealed="([^"]+)"', page)[0])
    assert float(answer) == pytest.approx(24.633, rel=1e-3)  # 2 × 1538 B at 1 Mbit/s, and at 1 Gbit/s
    assert opened(re.findall(r'<div class="sealed"[^>]*data-sealed="([^"]+)"', page)[0]).count("<figure>") == 1


def test_no_answer_stands_in_the_page_in_clear(course: Course) -> None:
    """Neither the measured figures nor the tables that have them: they are folded until a number is written."""
    page = course.made.pages["delay"].read_text()
    answers = [opened(each) for each in re.findall(r'<form [^>]*data-sealed="([^"]+)"', page)]
    assert len(answers) == 2
    seen = page.partition('<main id="lesson"')[2]
    assert [each for each in answers if each[:5] in seen] == []
    assert "<figure>" not in seen
    assert "<caption>" not in seen
    notebook = json.loads((course.site / "notebooks" / "delay.ipynb").read_text())
    told = "".join(
        str(each.get("outputs")) for each in notebook["cells"] if "lesson.predict(" in "".join(each["source"])
    )
    assert [each for each in answers if each[:5] in told] == []


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
    again = run([*command, "--quiet"], capture_output=True, text=True, timeout=300)
    assert again.returncode == 0, again.stderr
    assert len(list(runs.glob("outputs/*"))) == 10
    assert {file: file.stat().st_mtime_ns for file in known} == known


def test_the_page_asks_nobody_and_says_nothing_wrong(course: Course, tmp_path: Path) -> None:
    page = course.made.pages["delay"]
    for file in (page, course.made.index):
        _, console, asked = browser.visited(file, tmp_path / file.stem)
        assert (console, asked) == ("", set())


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
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    for file in (course.made.pages["delay"], course.made.index):
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
    for _ in range(120):  # the figures that are unfolded meanwhile have places of their own
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('footer') !== null"):
            break
        name, ring = page.evaluate(
            "[document.activeElement.tagName, getComputedStyle(document.activeElement).outlineStyle]"
        )
        assert name != "BODY"
        assert ring != "none", f"{name} does not show that it has the focus"
        if name == "INPUT":
            page.keyboard.type("20")
            page.keyboard.press("Enter")
            expect(page.locator("form:focus-within output")).to_contain_text("Your number is")
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


def test_a_prediction_is_held_against_what_was_measured(course: Course, chromium: Browser) -> None:
    """As a student uses it: words are no number; thousands and units are understood; the first number is kept."""
    # Waiting for a condition evaluates text, which the page's own policy does not let a script do.
    context = chromium.new_context(viewport={"width": 1366, "height": 768}, bypass_csp=True)
    page = context.new_page()
    page.goto(course.made.pages["delay"].as_uri())
    form = page.locator("form.predict").first
    folded = page.locator(".sealed").count()

    def said(mine: str) -> str:
        before = form.locator("output").inner_text()
        form.locator("input").fill("" if mine == before else mine)
        form.locator("output").evaluate("each => { each.textContent = ''; }")
        form.locator("button").click()
        page.wait_for_function("document.querySelector('form.predict output').textContent !== ''")
        return form.locator("output").inner_text()

    assert [said(each) for each in ("many", "", "20 Mbit/s", "3 ms 4")] == ["Write a number, in ms."] * 4
    assert page.locator(".sealed").count() == folded
    assert said("20") == "You wrote 20 ms; measured: 24.63 ms. Your number is 19 % too low."
    page.locator("figure").first.wait_for()
    assert page.locator(".sealed").count() == folded - 1, "the figure of the first question"
    for mine in ("24,633", "24.633 ms", "0.024633 s", "24 633 µs", "24'633us", "2.4633e1"):
        assert said(mine).startswith("You wrote 24.633 ms; measured: 24.63 ms. Your number is right. Your first"), mine
    kept = "Your number is 19 % too low."
    assert kept in page.locator("#seen-serialization").inner_text()
    page.reload()
    page.locator("figure").first.wait_for()
    assert form.locator("input").input_value() == "20"
    assert kept in page.locator("#seen-serialization").inner_text()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    rows = list(csv.DictReader(download.value.path().read_text().splitlines()))
    assert [(each["lesson"], each["wrote"], each["unit"]) for each in rows] == [("delay", "20", "ms")]
    assert float(rows[0]["measured"]) == pytest.approx(24.633, rel=1e-3)
    page.get_by_role("button", name="Forget").click()
    page.wait_for_function(f"document.querySelectorAll('.sealed').length === {folded}")
    page.locator(".sealed button").first.click()
    page.locator("figure").first.wait_for()
    assert page.locator("section.mine").is_hidden()
    context.close()


UNDERSTOOD: list[tuple[str, str, float, float | None]] = [  # what is written, the unit asked, the answer, what is meant
    ("2,773", "s", 2773, 2773), ("2,773", "s", 2.9, 2.773), ("2 773", "s", 2773, 2773), ("46 min", "s", 2773, 2760),
    ("1.234.567,5", "B", 1e6, 1234567.5), ("0,5 Gbit/s", "Mbit/s", 480, 500), ("500 Mbps", "Mbit/s", 480, 500),
    ("60 MB/s", "Mbit/s", 480, 480), ("2.3 MB", "kB", 2000, 2300), ("1 MiB", "MB", 1, 1.048576),
    ("95 %", "%", 90, 95), ("95", "%", 90, 95), ("3300 packets", "packets", 3300, 3300), ("5 s", "Mbit/s", 1, None),
    ("1,2,3", "s", 1, None), ("−4", "s", 4, -4),
]  # fmt: skip


def test_thousands_separators_and_units_are_understood(course: Course, chromium: Browser) -> None:
    page = chromium.new_page()
    page.goto(course.made.pages["delay"].as_uri())
    found = [page.evaluate("([w, u, a]) => read(w, u, a)", [w, u, a]) for w, u, a, _ in UNDERSTOOD]
    page.close()
    assert found == [None if meant is None else pytest.approx(meant) for *_, meant in UNDERSTOOD]


def test_a_new_lesson_runs_at_once_from_its_folder(tmp_path: Path) -> None:
    """Page and exercise of the skeleton; what cannot be a lesson's name is refused."""
    folder = new_lesson("mine", tmp_path / "mine")
    mine = lesson_named(str(folder))
    made = make_site(tmp_path / "site", [mine], [mine], Laboratory(tmp_path / "runs", jobs=2))
    assert made.failures == {"mine": []}, made
    hers = start(str(folder), "Ada", tmp_path / "hers")
    (hers / "answers.yaml").write_text(f"bdp: {answer_key(hers, Laboratory(tmp_path / 'runs'))['bdp']}\n")
    assert check(hers, Laboratory(tmp_path / "runs", jobs=1)).passed
    for name in ("Mine", "a/b", ""):
        with pytest.raises(LessonError, match="is no name of a lesson"):
            new_lesson(name)
    with pytest.raises(LessonError, match="exists already"):
        new_lesson("mine", folder)


def test_a_package_brings_lessons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By an entry point of the group `landspeed.lessons`, which names a package with folders of lessons."""
    new_lesson("mine", tmp_path / "lessons_of_mine" / "mine")
    (tmp_path / "lessons_of_mine" / "__init__.py").touch()
    about = tmp_path / "lessons_of_mine-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: lessons-of-mine\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[landspeed.lessons]\nmine = lessons_of_mine\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert lesson_named("mine").order == 100
    assert all_lessons()[-1].name == "mine"
    shutil.rmtree(tmp_path / "lessons_of_mine" / "mine")  # as installed without its data
    with pytest.raises(LessonError, match=r"no folder with lesson.md was installed there; .* lessons_of_mine = \["):
        all_lessons()


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
