"""The course: lessons are found and whole, theory is what its papers say, pages are right; no run is made here."""

import json
import math
import re
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from landspeed.course.comparison import TIME, FigureAxis, FigureLine, FigurePoint, LessonFigure, unpromised
from landspeed.course.execute import CellFailed, Cells
from landspeed.course.figure import NARROW, WIDE, draw, standalone
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson import HOME, Lesson, LessonError, all_lessons, lesson_named, read_lesson
from landspeed.course.lesson_page import markdown
from landspeed.course.lesson_run import LessonRun, first_at, percentile
from landspeed.course.scales import make_scale, tick_text
from landspeed.course.worksheet import controls_text, promise_text, told
from landspeed.scenario.file.vary import load_variants
from landspeed.worlds.registry import plan_for
from tests.support.lessons import LESSONS

ROOT = Path(__file__).resolve().parents[2]
SECTIONS = ["What you will see", "Predict first", "Run", "Why", "Questions", "Change something", "By hand"]
PROMISED = {  # the greatest residual that a lesson may allow itself: what the course promises
    ("window", "goodput"): 0.02,
    ("random-loss", "square-root"): 0.15,
    ("one-loss", "recovery"): 0.05,
    ("fairness", "unequal"): 0.15,
    ("delay", "serialization"): 0.001,
}


def theory(name: str) -> ModuleType:
    return LESSONS[name].theory


# --- Lessons ---------------------------------------------------------------------------------------------------------


def test_there_are_seventeen_or_more_in_one_order() -> None:
    assert [lesson.order for lesson in LESSONS.values()] == list(range(1, len(LESSONS) + 1))
    assert len(LESSONS) >= 17
    for lesson in LESSONS.values():
        assert {LESSONS[name].order < lesson.order for name in lesson.needs} <= {True}, lesson.name


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_whole(name: str) -> None:
    """Every part is there, cells name what is compared, predictions have an answer, and theory has its source."""
    lesson = LESSONS[name]
    found = [heading.split(":")[0] for heading in re.findall(r"^## (.*)$", lesson.text, re.MULTILINE)]
    assert [heading for heading in SECTIONS if heading not in found] == []
    assert "Measured" in found
    questions = lesson.text.count('<details class="question"><summary>Answer</summary>')
    assert questions >= 3
    assert questions == lesson.text.count("</details>")
    cells = [cell.source for cell in lesson.notebook.cells if cell.cell_type == "code"]
    keys = re.findall(r'lesson\.(?:plot|table)\("([^"]+)"\)', "\n".join(cells))
    assert set(keys) == set(lesson.comparisons)
    assert sum("lesson.predict(" in cell for cell in cells) >= 2
    for cell in cells:
        compile(cell, name, "exec")
    for key, comparison in lesson.comparisons.items():
        assert comparison.source, key
        assert comparison.within is not None or comparison.why, key
    for function in vars(lesson.theory).values():
        if callable(function) and getattr(function, "__module__", "") == lesson.theory.__name__:
            assert function.__doc__, function


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_takes_a_student_25_minutes_at_most(name: str) -> None:
    """130 words a minute, two minutes for a prediction or a question, one for a figure or a command."""
    assert 10 <= LESSONS[name].minutes_alone <= 25


def test_minutes_are_counted() -> None:
    text = "---\nlesson: {}\n---\n" + "word " * 260 + '\nlesson.predict(\nlesson.plot("a")\n```console\n$ ls\n```\n'
    one = Lesson(Path(), "", 1, 1, "", (), text + '<details class="question">')
    assert one.minutes_alone == pytest.approx(2 + 2 + 1 + 1 + 2, abs=0.1)


@pytest.mark.parametrize(("name", "key"), PROMISED)
def test_a_lesson_promises_what_the_course_does(name: str, key: str) -> None:
    within = LESSONS[name].comparisons[key].within
    assert within is not None
    assert within <= PROMISED[name, key]


@pytest.mark.parametrize("name", LESSONS)
def test_every_scenario_of_a_lesson_is_right(name: str) -> None:
    """Each combination has a plan; what is not used by a comparison is a mistake."""
    lesson = LESSONS[name]
    used = {file for comparison in lesson.comparisons.values() for file in comparison.scenarios}
    assert used == {file.name for file in lesson.folder.glob("*.yaml")}
    for file in used:
        assert all(plan_for(loaded, "emu", None).flows for _, loaded in load_variants(lesson.folder / file))
    files = {each for one in lesson.comparisons.values() if one.program for each in one.program.files}
    assert all((lesson.folder / each).is_file() for each in files)


def test_links_between_lessons_lead_somewhere() -> None:
    for lesson in LESSONS.values():
        for target in re.findall(r"\]\(([\w-]+)\.html\)", lesson.text):
            assert target in LESSONS, (lesson.name, target)


def test_a_lesson_of_somebody_else_is_found_by_its_folder(tmp_path: Path) -> None:
    """Nothing else has to be edited; a file that changes makes it another one."""
    shutil.copytree(LESSONS["framing"].folder, tmp_path / "mine")
    (mine,) = all_lessons(tmp_path)
    assert (mine.name, mine.title) == ("mine", LESSONS["framing"].title)
    assert mine.content == LESSONS["framing"].content
    (tmp_path / "mine" / "theory.py").write_text("COMPARISONS = {}\n")
    assert read_lesson(tmp_path / "mine").content != mine.content


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no head", "write them under `lesson:`"),
        ("---\nlesson: {title: x, order: 1}\n---\n", "no minutes, shows, needs"),
        ("---\nlesson: [\n---\n", "is not YAML"),
    ],
)
def test_a_folder_that_is_no_lesson(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "lesson.md").write_text(text)
    with pytest.raises(LessonError, match=re.escape(said)):
        read_lesson(tmp_path)


def test_a_name_that_is_no_lesson() -> None:
    with pytest.raises(LessonError, match="did you mean queues"):
        lesson_named("queue")
    with pytest.raises(LessonError, match=r"a lesson is a folder with lesson\.md"):
        lesson_named("../lessons/no-such")
    assert lesson_named(f"{HOME}/queues").title == LESSONS["queues"].title


def test_theory_that_cannot_be_imported_is_named_and_one_with_a_dataclass_can(tmp_path: Path) -> None:
    (tmp_path / "theory.py").write_text("1 / 0\n")
    lesson = Lesson(tmp_path, "x", 1, 1, "x", (), "")
    with pytest.raises(LessonError, match="ZeroDivisionError"):
        _ = lesson.comparisons
    # a dataclass looks the names of its annotations up in its module
    lines = ["from __future__ import annotations", "from dataclasses import dataclass", "@dataclass", "class A: x: int"]
    (tmp_path / "theory.py").write_text("\n".join([*lines, "COMPARISONS = {'a': A(1).x}"]))
    assert Lesson(tmp_path, "x", 1, 1, "x", (), "").comparisons == {"a": 1}


# --- Theory ----------------------------------------------------------------------------------------------------------


def test_window() -> None:
    """1 MiB in each 119 ms is 70.5 Mbit/s; beyond the line it is the line."""
    limit = theory("window").goodput_bps
    assert limit(2**20, 0.119, 941e6) == pytest.approx(70.49e6, rel=1e-4)
    assert limit(64e6, 0.119, 941e6) == 941e6


def test_slow_start_is_forgotten_by_a_rule_of_theory() -> None:
    """W² to W²/4 + 2/p, loss after loss: settled to 1 % after as many as the rule says, and not before."""
    lesson = theory("random-loss")
    for loss, losses in ((1e-5, 6), (1e-4, 7), (1e-3, 9), (1e-2, 7)):
        assert lesson.losses_to_forget(loss, 1381) == losses
        settled, window = math.sqrt(8 / (3 * loss)), min(1 / loss, 1381)
        windows = [window]
        for _ in range(losses):
            windows.append(math.sqrt(windows[-1] ** 2 / 4 + 2 / loss))
        assert windows[losses - 1] <= 1.01 * settled < windows[losses - 2]
        assert 1.5 * windows[-1] / 2 == pytest.approx(math.sqrt(1.5 / loss), rel=0.01)  # of which the law is the mean
    assert lesson.losses_to_forget(0.5, 1) == 1


def test_recovery() -> None:
    """21 027 packets: 46 minutes for Reno; CUBIC's K is 25.1 s, and 99 % are back after 17.0."""
    one = theory("one-loss")
    assert one.reno_back_s(21_027, 0.264) == pytest.approx(2775.6, abs=0.1)
    assert one.cubic_back_s(21_027, 1.0) == pytest.approx(25.08, abs=0.01)
    assert one.cubic_back_s(21_027) == pytest.approx(25.08 - (210.27 / 0.4) ** (1 / 3), abs=0.01)


def test_a_queue_of_one_bdp_fills_the_line_and_none_three_quarters() -> None:
    share = theory("queues").utilization
    assert (share(0.0), share(1.0), share(4.0)) == (0.75, 1.0, 1.0)
    assert share(0.5) == pytest.approx(0.75 * 2.25 / 1.75)


def test_jain() -> None:
    jain = theory("fairness").jain
    assert jain([60, 30, 10]) == pytest.approx(10_000 / (3 * 4600))
    assert jain([5, 5, 5, 5]) == 1
    assert jain([1, 0, 0, 0]) == 0.25


def test_an_even_spread() -> None:
    assert theory("jitter").deviation_s(0.005) == pytest.approx(0.005 / math.sqrt(3))


def test_serialization() -> None:
    """1472 B of payload are 1538 on the wire: 12.304 ms at 1 Mbit/s."""
    assert theory("delay").serialization_s(1472, 1e6) == pytest.approx(12.304e-3)


# --- Measured beside predicted ---------------------------------------------------------------------------------------


def comparison(within: float | None = 0.02, **more: object) -> LessonFigure:
    given: dict[str, object] = {"x": FigureAxis("window", "MB", 1e6, log=True)} | more
    return LessonFigure(
        title="Goodput",
        scenarios=(),
        points=lambda _: [],
        y=FigureAxis("goodput", "Mbit/s", 1e6),
        source="RFC 7323",
        within=within,
        **given,  # pyright: ignore[reportArgumentType]
    )


POINTS = [
    FigurePoint("1 MB", 70.5e6, 70.0e6, x=1e6),
    FigurePoint("4 MB", 270e6, 281e6, x=4e6),
    FigurePoint("none", 3, 0),
]


def test_what_is_farther_than_promised_fails() -> None:
    failed = comparison().failures(POINTS)
    assert [each.split(":")[1] for each in failed] == [" 4 MB", " none"]
    assert "-3.91%" in failed[0]
    assert comparison(within=None).failures(POINTS) == []
    assert comparison().failures([FigurePoint("lost", float("nan"), 1.0)]), "a figure that is none is no figure"


@pytest.mark.slow
def test_a_mean_over_seeds_has_its_interval() -> None:
    """Student's t of three values: 4.303 × s / √3."""
    point = FigurePoint.mean("a", [9.0, 10.0, 11.0], 8.0, 1.0, "a note")
    assert (point.measured, point.residual, point.note) == (10.0, 0.25, "3 seeds, a note")
    assert point.half == pytest.approx(4.3027 / math.sqrt(3), rel=1e-4)
    with pytest.raises(ValueError, match="no mean"):
        FigurePoint.mean("a", [], 8.0)


def test_what_is_no_law_promises_nothing() -> None:
    one = unpromised("Delay", (), lambda _: [], y=TIME, beside="target", source="RFC 8289", why="it is steered to")
    assert one.failures([FigurePoint("far", 9.0, 1.0)]) == []
    assert promise_text(one) == "Nothing is promised here: it is steered to."


@pytest.mark.parametrize(
    ("name", "file", "said"),
    [("window", "windows.yaml", "Reno"), ("fairness", "bbr.yaml", "CUBIC, BBR"), ("parallel", "lossy.yaml", "Reno")],
)
def test_a_table_names_its_congestion_controls(name: str, file: str, said: str) -> None:
    (_, loaded), *_ = load_variants(LESSONS[name].folder / file)
    plan = plan_for(loaded, "emu", None)
    assert controls_text([LessonRun(file, {}, 1, plan, Path())]) == f"Congestion control: {said}."
    assert controls_text([LessonRun(file, {}, 1, plan)]) == "", "a program's own"


def test_what_is_no_law_is_not_drawn_as_theory() -> None:
    """Its figure names what stands beside, once, and tells of no residual."""
    given = comparison(within=None, beside="recorded")
    svg = draw(given, POINTS[:2], [], WIDE)
    assert (svg.count(">recorded<"), svg.count(">theory<")) == (1, 0)
    assert "residual" not in svg
    own = draw(given, POINTS[:2], [FigureLine("equal shares", [(1e6, 5e7), (4e6, 5e7)], "limit")], WIDE)
    assert (own.count(">equal shares<"), own.count(">recorded<")) == (1, 0)
    assert own.count("<polyline") == 1


def test_nothing_measured_where_nothing_is_predicted_is_right() -> None:
    assert comparison(within=0.0).failures([FigurePoint("resent", 0, 0)]) == []
    assert comparison(within=0.0).failures([FigurePoint("resent", 1, 0)])


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_figure_has_its_points_where_their_figures_are(width: float) -> None:
    """Two measured points of a known place, the curve through what is predicted, and words for who does not see it."""
    svg = draw(comparison(), POINTS[:2], [], width)
    circles = [(float(x), float(y)) for x, y in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="4"', svg)]
    marks = circles[-2:]
    assert marks[0][0] < marks[1][0]
    assert marks[0][1] > marks[1][1], "more is higher"
    assert svg.count("<polyline") == 1
    assert "The greatest residual is 3.9 %" in svg
    assert "--bad" in svg, "a point that breaks its promise is marked"
    assert re.search(rf'viewBox="0 0 {width:.0f} \d+"', svg)


def test_a_picture_for_a_slide_stands_alone() -> None:
    from xml.etree import ElementTree

    svg = standalone(draw(comparison(), POINTS[:2], [FigureLine("a < b", [(1e6, 1e6), (4e6, 2e8)])]), "A & B")
    root = ElementTree.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "http://" not in svg.replace("http://www.w3.org/2000/svg", "")


def test_ticks() -> None:
    scale = make_scale(FigureAxis("x", log=True), [64e3, 64e6], 0, 100)
    assert [text for _, text in scale.ticks()] == ["100\u202f000", "1\u202f000\u202f000", "10\u202f000\u202f000"]
    assert [tick_text(value) for value in (0, 0.25, 1234.0, 1e-5, 3.2e-4, -2.0)] == [
        "0", "0.25", "1\u202f234", "10⁻⁵", "3.2·10⁻⁴", "\u22122",
    ]  # fmt: skip
    linear = make_scale(FigureAxis("x"), [3, 97], 0, 100)
    assert [text for _, text in linear.ticks()] == ["0", "20", "40", "60", "80", "100"]


def test_series() -> None:
    series = [(1.0, 10.0), (2.0, 20.0), (3.0, 40.0)]
    assert first_at(series, 30) == pytest.approx(2.5)
    assert first_at(series, 50) == math.inf
    assert first_at(series, 5) == 1.0
    assert percentile(series, 0.5) == 20


def test_words() -> None:
    assert told(500, 552, "Mbit/s") == ("You wrote 500 Mbit/s; measured: 552 Mbit/s. Your number is 9.4 % too low.")
    assert told(552, 552.01, "Mbit/s").endswith("Your number is right.")
    assert promise_text(comparison(within=0.001)) == "Promised: every residual within 0.1 %."


# --- Cells and pages -------------------------------------------------------------------------------------------------


def test_cells_share_names_and_show_their_last_line() -> None:
    cells = Cells({"given": 2})
    assert cells.run("a = given + 1\nprint('said')\na * 2", "<here>") == ("said\n", 6)
    assert cells.run("b = a", "<here>") == ("", None)
    assert cells.run("", "<here>") == ("", None)
    with pytest.raises(CellFailed, match="lesson x, cell 3: NameError: name 'c' is not defined"):
        cells.run("c", "lesson x, cell 3")


def test_text_of_a_page() -> None:
    """Formulas are MathML, markers are gone, tables can be scrolled, and code is coloured without a script."""
    html = markdown(
        "# Title\n\nA $\\frac{1}{2}$.\n\n$$a \\le b$$\n\n<!-- run: keep x -->\n```sh\nping a\n```\n\n"
        "| a |\n|---|\n| 1 |\n"
    )
    assert "<h1" not in html
    assert html.count("<math") == 2
    assert "<mfrac>" in html
    assert "keep x" not in html
    assert 'role="region"' in html
    assert "<script" not in html


@pytest.mark.guest
def test_a_laboratory_knows_a_run_by_its_content(tmp_path: Path) -> None:
    """Another seed, or another file that a program reads, is another run; nothing is known of an empty folder."""
    shutil.copytree(LESSONS["delay"].folder, tmp_path / "delay")
    mine, laboratory = read_lesson(tmp_path / "delay"), Laboratory(tmp_path / "runs")
    wanted = laboratory.wanted(mine)
    assert laboratory.known(wanted) == (0, 10)
    keys = laboratory.keys(wanted)
    assert len(set(keys)) == 10
    assert keys == Laboratory(tmp_path / "runs").keys(laboratory.wanted(LESSONS["delay"]))
    (tmp_path / "delay" / "sizes.sh").write_text("echo 1 2\n")
    again = Laboratory(tmp_path / "runs").keys(wanted)
    assert [one == two for one, two in zip(keys, again, strict=True)] == [False] * 4 + [True] * 6


def test_what_a_program_printed_is_measured() -> None:
    """It becomes points beside theory."""
    lesson = LESSONS["delay"]
    one = lesson.comparisons["serialization"]
    values, loaded = load_variants(lesson.folder / "line.yaml")[0]
    runs = [LessonRun("line.yaml", values, 1, plan_for(loaded, "emu", None), None, "1472 44.633\n")]
    (point,) = one.points(runs)
    assert point.name == "1 Mbit/s, 1472 B"
    assert point.predicted == pytest.approx(2 * (1538 * 8 / 1e6 + 1538 * 8 / 1e9))
    assert abs(point.residual) < 0.001


def test_notebooks_are_json_and_whole() -> None:
    """What is written for Jupyter is what the text says."""
    import nbformat

    for lesson in LESSONS.values():
        book = json.loads(nbformat.writes(lesson.notebook))
        assert book["metadata"]["kernelspec"]["name"] == "python3"
        assert [cell["cell_type"] for cell in book["cells"]].count("code") >= 5


def test_the_wheel_has_every_file_of_a_lesson() -> None:
    assert '"$tree/lessons"' in (ROOT / "setup" / "wheel.sh").read_text()
    files = [file.relative_to(HOME) for file in HOME.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    assert {len(file.parts) for file in files} == {2}
