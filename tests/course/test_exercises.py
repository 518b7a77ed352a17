"""Exercises: what an id draws, what is bad input, and grades against theory and a fresh run."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from landspeed.course.exercise import ANSWERS, SCENARIO, chance_of, exercise_of, read_about, read_answers, start
from landspeed.course.exercise_names import ExerciseError, folder_name, student_id
from landspeed.course.grading import AnswerMark, ExerciseGrade, check, write_gradescope, write_junit
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson import all_lessons, lesson_named
from landspeed.runs.scenario import Scenario
from tests.support.lessons import LESSONS

EXERCISES = [lesson.name for lesson in LESSONS.values() if lesson.has_exercise]
QUICK = [name for name in EXERCISES if name != "fairness"]  # that one hands out the samples of a run
ADA = "Ada 1815"


@pytest.fixture
def window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ada's exercise of the window."""
    return start("window", ADA, tmp_path / "hers", laboratory=_none())


def _none() -> Laboratory:
    """Nothing is run to draw these exercises."""
    return Laboratory.__new__(Laboratory)


def answer(folder: Path, **answers: str) -> Path:
    (folder / ANSWERS).write_text("".join(f"{key}: {value}\n" for key, value in answers.items()), encoding="utf-8")
    return folder


def least_window(folder: Path) -> int:
    """97 % of what the line leaves, each round trip: the theory, from the student's own scenario."""
    physics = Scenario.load(folder / SCENARIO).plan().physics
    return round(0.97 * physics.line_rate_limit_bps * physics.rtt_ns / 8e9)


# --- What is drawn ---------------------------------------------------------------------------------------------------


def test_every_lesson_has_one() -> None:
    assert [lesson.name for lesson in all_lessons()] == EXERCISES


@pytest.mark.parametrize("name", QUICK)
def test_an_id_always_draws_the_same_and_another_one_something_else(name: str) -> None:
    exercise = exercise_of(name).exercise
    assert exercise is not None
    drawn = [exercise.draw(chance_of(name, student), None) for student in ("ada", "ada", "grace", "阿達")]
    assert drawn[0] == drawn[1]
    assert len({each.scenario for each in drawn}) >= 2


@pytest.mark.parametrize("name", QUICK)
def test_what_every_id_draws_is_a_scenario(name: str, tmp_path: Path) -> None:
    exercise = exercise_of(name).exercise
    assert exercise is not None
    for number in range(4):
        file = tmp_path / f"{number}.yaml"
        file.write_text(exercise.draw(chance_of(name, str(number)), None).scenario)
        assert Scenario.load(file).plan().physics.rtt_ns > 0


def test_what_fairness_draws_hides_one_bbr() -> None:
    exercise = exercise_of("fairness").exercise
    assert exercise is not None
    places = {exercise.order(chance_of("fairness", str(number)))["place"] for number in range(40)}
    assert places == {0, 1, 2, 3}
    assert exercise.order(chance_of("fairness", "x"))["controls"].count("bbr") == 1


@pytest.mark.parametrize(
    ("written", "read", "folder"),
    [
        ("ada", "ada", "window-ada"),
        ("  Ada   Lovelace ", "Ada Lovelace", r"window-Ada-Lovelace-[0-9a-f]{6}"),
        ("Zoe\u0308", "Zoë", r"window-Zo-[0-9a-f]{6}"),
        ("阿達", "阿達", r"window-[0-9a-f]{6}"),
        ("../../etc", "../../etc", r"window-etc-[0-9a-f]{6}"),
    ],
)
def test_an_id_may_have_spaces_and_any_letters(written: str, read: str, folder: str) -> None:
    """Two ways of writing one letter are one student; a folder's name is plain and never leaves its place."""
    assert student_id(written) == read
    assert re.fullmatch(folder, folder_name("window", read))


def test_two_ids_never_share_a_folder() -> None:
    assert folder_name("window", "a b") != folder_name("window", "a-b") != folder_name("window", "a/b")


@pytest.mark.parametrize("written", ["", "   ", "a\x00b", "\x1b[2J", "x" * 101])
def test_an_id_that_cannot_be(written: str) -> None:
    with pytest.raises(ExerciseError, match="--student"):
        student_id(written)


# --- Bad input -------------------------------------------------------------------------------------------------------


def test_the_folder_says_what_is_asked(window: Path) -> None:
    task = (window / "task.md").read_text()
    assert "exercise of Ada 1815" in task
    assert "| `window` |" in task
    assert (window / ANSWERS).read_text().count(":\n") == 2
    assert read_about(window).student == ADA


def test_a_folder_with_something_in_it_is_left_alone(window: Path) -> None:
    with pytest.raises(ExerciseError, match="exists already"):
        start("window", ADA, window, laboratory=_none())


def test_a_lesson_without_exercise(tmp_path: Path) -> None:
    mine = shutil.copytree(lesson_named("delay").folder, tmp_path / "mine")
    (mine / "exercise.py").unlink()
    with pytest.raises(ExerciseError, match="has no exercise; these have: delay, window"):
        exercise_of(str(mine))


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (
            {"bdp": "5 MB", "window": "4000000"},
            ":2: window: a size needs a unit, and '4000000' has none; write 4000000 B",
        ),
        ({"bdp": "5 MB"}, "window: there is no answer; write a size with its unit, such as 64 MB"),
        ({"bdp": "5 MB", "window": ""}, "window: there is no answer"),
        ({"bdp": "5 Mbit/s", "window": "4 MB"}, ":1: bdp: 'Mbit/s' is not a unit of a size"),
        ({"bdp": "5 MB", "window": "-4 MB"}, "is negative"),
        ({"bdp": "5 MB", "window": "4 MB", "rtt": "9 ms"}, "'rtt' is not a question; the questions are bdp, window"),
        ({"bdp": "[1, 2]", "window": "4 MB"}, "bdp:"),
    ],
)
def test_answers_that_cannot_be_read(window: Path, answers: dict[str, str], said: str) -> None:
    exercise = exercise_of("window").exercise
    assert exercise is not None
    with pytest.raises(ExerciseError, match=re.escape(said)):
        read_answers(answer(window, **answers), exercise.ASKED)


def _no_file(folder: Path) -> None:
    (folder / ANSWERS).unlink()


def _no_yaml(folder: Path) -> None:
    (folder / ANSWERS).write_text("bdp: [1\n")


def _bytes(folder: Path) -> None:
    (folder / ANSWERS).write_bytes(b"bdp: \xff\xfe")


def _list(folder: Path) -> None:
    (folder / ANSWERS).write_text("- 1\n")


def _no_colon(folder: Path) -> None:
    (folder / ANSWERS).write_text("bdp: 4 MB\nwindow 3 MB\n")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_no_file, ": No such file or directory; write the answers there, one `key: answer` a line"),
        (_no_yaml, ":1: expected ',' or ']'"),
        (_no_colon, ":2: could not find expected ':'; write one `key: answer` a line"),
        (_bytes, ": this is no text in UTF-8"),
        (_list, ": bdp: there is no answer"),
    ],
)
def test_a_file_of_answers_that_is_none(window: Path, damage: Callable[[Path], None], said: str) -> None:
    exercise = exercise_of("window").exercise
    assert exercise is not None
    damage(window)
    with pytest.raises(ExerciseError, match=re.escape(f"{window / ANSWERS}{said}")):
        read_answers(window, exercise.ASKED)


@pytest.mark.parametrize("text", ["", "[]", '{"format": 1}', '{"format": 9, "lesson": "window", "student": "a"}'])
def test_a_folder_that_is_no_exercise(window: Path, text: str) -> None:
    (window / "exercise.json").write_text(text)
    with pytest.raises(ExerciseError, match=r"exercise\.json"):
        read_about(window)


# --- Grades ----------------------------------------------------------------------------------------------------------

GRADED = ExerciseGrade(
    "window",
    ADA,
    [AnswerMark("test_a", "The first", 1, 1, ""), AnswerMark("test_b", 'The "second" & more', 2, 0, "it gets 42.0 %")],
    ["scenario.yaml was changed; graded against the original one"],
)


def test_grades_as_text() -> None:
    assert str(GRADED).splitlines() == [
        "window, Ada 1815: 1 of 3 points",
        "note: scenario.yaml was changed; graded against the original one",
        "ok: The first (1 of 1)",
        'NOT YET: The "second" & more (0 of 2)',
        "    it gets 42.0 %",
    ]


def test_grades_as_junit_and_for_gradescope(tmp_path: Path) -> None:
    """Both have what is needed and nothing of time or machine."""
    write_junit(GRADED, tmp_path / "grades.xml")
    suite = ElementTree.parse(tmp_path / "grades.xml").getroot()
    assert suite.attrib == {"name": "window: Ada 1815", "tests": "2", "failures": "1"}
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.attrib == {"message": "it gets 42.0 %"}
    write_gradescope(GRADED, tmp_path / "results.json")
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["score"] == 1
    assert [(each["score"], each["max_score"]) for each in results["tests"]] == [(1, 1), (0, 2)]
    assert "was changed" in results["output"]


@pytest.mark.guest
def test_right_answers_have_all_points_twice_the_same(window: Path, tmp_path: Path) -> None:
    """The answers that theory gives pass; a changed scenario is named and does not count; bytes are the same again."""
    physics = Scenario.load(window / SCENARIO).plan().physics
    answer(window, bdp=f"{physics.bdp_bytes} B", window=f"{round(1.03 * least_window(window))} B")
    (window / SCENARIO).write_text("format: 1\n")
    laboratory = Laboratory(tmp_path / "unused", jobs=1)
    written = []
    for name in ("one", "two"):
        graded = check(window, laboratory)
        assert graded.passed, str(graded)
        assert graded.score == (5, 5)
        assert graded.notes == ["scenario.yaml was changed; graded against the original one"]
        write_junit(graded, tmp_path / f"{name}.xml")
        write_gradescope(graded, tmp_path / f"{name}.json")
        written.append([(tmp_path / f"{name}.{kind}").read_bytes() for kind in ("xml", "json")])
    assert written[0] == written[1]
    assert not (tmp_path / "unused").exists(), "a fresh run leaves nothing behind"


@pytest.mark.guest
def test_wrong_answers_miss_their_points(window: Path, tmp_path: Path) -> None:
    """Bits taken for bytes; a window of half of what is needed is too small, and small enough."""
    physics = Scenario.load(window / SCENARIO).plan().physics
    answer(window, bdp=f"{8 * physics.bdp_bytes} B", window=f"{least_window(window) // 2} B")
    graded = check(window, Laboratory(tmp_path / "unused", jobs=1))
    assert [mark.got for mark in graded.marks] == [0, 0, 2]
    assert "a byte has eight bits" in graded.marks[0].why
    assert re.fullmatch(r"it gets 4\d\.\d %", graded.marks[1].why)
