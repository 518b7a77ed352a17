"""A class: its secret, its grades and tables; ten cheats of different kinds, each refused."""

from __future__ import annotations

import csv
import json
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

from landspeed.cli.main import main
from landspeed.course.answer_key import answer_key
from landspeed.course.class_grades import (
    HandIn,
    canvas_csv,
    copies,
    exercise_folders,
    grade_all,
    mistakes,
    moodle_csv,
    read_grades,
    write_report,
)
from landspeed.course.class_register import ClassRegister, new_register, read_register
from landspeed.course.exercise import ABOUT, ANSWERS, SCENARIO, chance_of, exercise_of, hint, start
from landspeed.course.exercise_names import ExerciseError
from landspeed.course.grading import check
from landspeed.course.laboratory import Laboratory
from landspeed.runs.scenario import Scenario

ADA, BOB = "Ada Lovelace", "=Bob"
CLASS = ClassRegister("networks", "a secret of the lecturer", (ADA, BOB))
NONE: Laboratory = Mock()


def folder_of(place: Path, student: str = ADA, lesson: str = "window", register: ClassRegister | None = CLASS) -> Path:
    return start(lesson, student, place / f"{lesson}-{student}", NONE, register)


def answer(folder: Path, answers: dict[str, str]) -> Path:
    (folder / ANSWERS).write_text("".join(f"{key}: {value}\n" for key, value in answers.items()), encoding="utf-8")
    return folder


# --- The register ----------------------------------------------------------------------------------------------------


def test_a_class_has_a_secret_of_its_own_that_only_its_owner_reads(tmp_path: Path) -> None:
    one, two = (new_register(tmp_path / f"{name}.json") for name in ("one", "two"))
    assert len(one.secret) == 64
    assert one.secret != two.secret
    assert stat.S_IMODE((tmp_path / "one.json").stat().st_mode) == 0o600
    one.with_students([ADA, BOB, f" {ADA} "]).save(tmp_path / "one.json")
    assert read_register(tmp_path / "one.json").students == (ADA, BOB)
    with pytest.raises(ExerciseError, match="exists already"):
        new_register(tmp_path / "one.json")


@pytest.mark.parametrize("text", ["", "[]", '{"format": 1}', '{"format": 2, "secret": "x", "students": []}'])
def test_a_file_that_is_no_class(tmp_path: Path, text: str) -> None:
    (tmp_path / "class.json").write_text(text)
    with pytest.raises(ExerciseError, match="is no class"):
        read_register(tmp_path / "class.json")


def test_the_secret_draws_the_variant(tmp_path: Path) -> None:
    """Another secret is another path; the same one is the same again; the folder has neither secret nor key."""
    folder = folder_of(tmp_path)
    again = folder_of(tmp_path / "again")
    assert (folder / SCENARIO).read_text() == (again / SCENARIO).read_text()
    others = [ClassRegister("networks", f"{n}", (ADA,)).draw_key("window", ADA) for n in range(2)]
    assert len({*others, CLASS.draw_key("window", ADA), CLASS.draw_key("window", BOB)}) == 4
    assert all(CLASS.secret not in file.read_text() for file in folder.iterdir())
    assert CLASS.draw_key("window", ADA) not in (folder / ABOUT).read_text()
    with pytest.raises(ExerciseError, match="not in the class networks"):
        folder_of(tmp_path, "Eve")


def test_hints_come_in_steps(tmp_path: Path) -> None:
    for lesson in ("window", "queues", "own-window"):
        folder = folder_of(tmp_path, lesson=lesson)
        told = [hint(folder) for _ in range(3)]
        assert [each[:11] for each in told] == [f"hint {n} of 3" for n in (1, 2, 3)]
        with pytest.raises(ExerciseError, match="all 3 hints were read"):
            hint(folder)


def test_a_key_needs_the_class(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    with pytest.raises(ExerciseError, match="give its file with --class"):
        answer_key(folder, NONE)
    key = answer_key(folder, NONE, CLASS)
    assert key["bdp"] == f"{Scenario.load(folder / SCENARIO).plan().physics.bdp_bytes} B"


# --- Cheats: of the folder -------------------------------------------------------------------------------------------


def _renamed(folder: Path) -> None:
    """The name in another's folder is changed."""
    about = json.loads((folder / ABOUT).read_text())
    (folder / ABOUT).write_text(json.dumps(about | {"student": BOB}))


def _easier(folder: Path) -> None:
    """The path that is graded is replaced in exercise.json."""
    about = json.loads((folder / ABOUT).read_text())
    (folder / ABOUT).write_text(json.dumps(about | {"scenario": about["scenario"].replace("Mbit/s", "kbit/s")}))


def _no_class(folder: Path) -> None:
    """The folder says that it belongs to no class, whose variant anybody can compute."""
    about = json.loads((folder / ABOUT).read_text())
    (folder / ABOUT).write_text(json.dumps({key: about[key] for key in ("format", "lesson", "student")}))


def _own_class(folder: Path) -> None:
    """A student makes a class of the same name with a secret of his own."""
    shutil.rmtree(folder)
    start("window", ADA, folder, NONE, ClassRegister("networks", "mine", (ADA,)))


def _other_lesson(folder: Path) -> None:
    """An easier exercise is handed in under the name of another one."""
    about = json.loads((folder / ABOUT).read_text())
    (folder / ABOUT).write_text(json.dumps(about | {"lesson": "queues"}))


@pytest.mark.parametrize("cheat", [_renamed, _easier, _no_class, _own_class, _other_lesson])
def test_a_folder_that_is_not_the_students_is_refused(tmp_path: Path, cheat: Callable[[Path], None]) -> None:
    folder = answer(folder_of(tmp_path), {"bdp": "1 MB", "window": "1 MB"})
    cheat(folder)
    with pytest.raises(ExerciseError, match=r"was not made for|is of Ada Lovelace of no class"):
        check(folder, NONE, CLASS)


def test_the_public_dice_do_not_tell_a_key() -> None:
    """What a student computes from the package, without the secret, is another variant: no better than a guess."""
    exercise = exercise_of("fairness").exercise
    assert exercise is not None
    hits = 0
    for number in range(200):
        guess = exercise.order(chance_of("fairness", f"{number}"))["place"]
        hits += guess == exercise.order(chance_of("fairness", f"{number}", CLASS))["place"]
    assert 25 <= hits <= 75


# --- Cheats: of the work, graded by runs -----------------------------------------------------------------------------

PRINTS = "BLOCK = {block}\nprint(63000000)\n"
FORGES = PRINTS + 'open("/tmp/counted", "w").write("99999 12")\n'
POURS = """BLOCK = {block}
import socket, sys, time
sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end = time.monotonic() + 2
while time.monotonic() < end:
    sink.sendto(bytes(1400), (sys.argv[2], 5000))
"""
SHORT = """BLOCK = {block}
import socket, sys
with socket.create_connection((sys.argv[2], 5000)) as out:
    out.sendall(bytes(BLOCK) * 40)
"""


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, HandIn]:
    """Hand-ins of two students, graded together as a lecturer does."""
    place = tmp_path_factory.mktemp("class")
    key = answer_key(folder_of(place), NONE, CLASS)
    shutil.copytree(place / f"window-{ADA}", place / "once-more")
    answer(place / f"window-{ADA}", key)
    (place / f"window-{ADA}" / SCENARIO).write_text("format: 1\n")  # is not what is graded
    (place / f"window-{ADA}" / "conftest.py").write_text("raise SystemExit(0)\n")  # is not read
    (place / f"window-{ADA}" / "exercise.py").write_text("def test_all(): pass\n")  # is not read
    answer(folder_of(place, BOB), key)  # Ada's figures, on Bob's path
    for name, program in (("prints", PRINTS), ("forges", FORGES), ("pours", POURS), ("short", SHORT)):
        folder = start("own-window", ADA, place / name, NONE, CLASS)
        block = (folder / "store.py").read_text().partition("BLOCK = ")[2].split()[0]
        (folder / "store.py").write_text(program.replace("{block}", block))
        answer(folder, {"own_window": "1 B"})
    folder = start("own-window", BOB, place / "unchanged", NONE, CLASS)
    answer(folder, answer_key(folder, NONE, CLASS))
    found = grade_all(CLASS, exercise_folders([place]), jobs=2)
    write_report(place / "grades", CLASS, found)
    assert read_grades(place / "grades")[0].student == found[0].student
    (place / "grades" / "overview.html").rename(place / "overview.html")
    return {Path(each.folder).name: each for each in found} | {"": HandIn(str(place), "", "")}


@pytest.mark.guest
@pytest.mark.slow
def test_the_key_has_all_points_whatever_else_lies_in_the_folder(graded: dict[str, HandIn]) -> None:
    ada = graded[f"window-{ADA}"]
    assert (ada.got, ada.points, ada.error) == (5, 5, "")
    assert list(ada.notes) == ["scenario.yaml was changed; graded against the original one"]


@pytest.mark.guest
@pytest.mark.slow
def test_anothers_figures_are_wrong_on_ones_own_path_and_are_found(graded: dict[str, HandIn]) -> None:
    bob = graded[f"window-{BOB}"]
    assert bob.got < bob.points
    told = copies(list(graded.values())[:-1])
    assert any("=Bob and Ada Lovelace handed in the same answers.yaml" in each for each in told)
    assert any("the folder of Ada Lovelace was handed in 2 times" in each for each in told)


@pytest.mark.guest
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("prints", "our server stored nothing"),
        ("forges", "our server stored nothing"),
        ("pours", "our server stored nothing"),
        ("short", "your program sent for"),
        ("unchanged", "it reaches"),
    ],
)
def test_a_program_is_graded_by_what_the_server_has_stored(graded: dict[str, HandIn], name: str, why: str) -> None:
    """It prints a figure; writes the server's result; pours datagrams; stops early; is as it was."""
    mark = graded[name].marks[1]
    assert mark["got"] == 0
    assert why in mark["why"]


@pytest.mark.guest
@pytest.mark.slow
def test_tables_and_overview(graded: dict[str, HandIn]) -> None:
    """A student who is named as a formula is text to a spreadsheet; each has the best of his hand-ins."""
    place, found = Path(graded[""].folder), list(graded.values())[:-1]
    moodle = list(csv.DictReader(moodle_csv(CLASS, found).splitlines()))
    assert [row["ID number"] for row in moodle] == [ADA, f"'{BOB}"]
    assert moodle[0]["window"] == "5"
    canvas = list(csv.reader(canvas_csv(CLASS, found).splitlines()))
    assert canvas[1][0] == "Points Possible"
    assert sorted(canvas[1][5:]) == ["5", "5"]
    page = (place / "overview.html").read_text()
    for said in ("Ada Lovelace", ">5/5<", "The bandwidth-delay product, to 1 %", "handed in 2 times"):
        assert said in page, said
    frequent = [(lesson, times) for lesson, _, why, times in mistakes(found) if "stored nothing" in why]
    assert frequent == [("own-window", 3)]


# --- The command -----------------------------------------------------------------------------------------------------


def test_the_command_makes_a_class_and_says_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def said(status: int, *words: str) -> str:
        assert main(words) == status, words
        told = capsys.readouterr()
        return told.err if status else told.out

    Path("list.txt").write_text("Ada\n\nGrace\n")
    assert "Keep it to yourself" in said(0, "class", "new", "class.json", "--name", "networks")
    assert "networks: 3 students, 3 new" in said(0, "class", "add", "class.json", "Bob", "@list.txt")
    said(0, "lesson", "start", "window", "--student", "Ada", "--class", "class.json")
    assert said(0, "lesson", "key", "window-Ada", "--class", "class.json").startswith("bdp: ")
    assert "hint 1 of 3" in said(0, "lesson", "hint", "window-Ada")
    assert "exists already" in said(2, "class", "new", "class.json")
    assert "there is no exercise.json" in said(2, "class", "grade", "class.json", "list.txt")
    assert "no grades" in said(2, "class", "report", "class.json")
    assert "STUDENT…" in said(2, "class", "add", "class.json")
    assert "is not in the class" in said(2, "lesson", "start", "window", "--student", "Eve", "--class", "class.json")
