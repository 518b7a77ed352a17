"""A class: its secret, its grades and tables; ten cheats of different kinds, each refused."""

import csv
import json
import shutil
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from landspeed.cli.main import main
from landspeed.course.answer_key import answer_key
from landspeed.course.class_grades import (
    RUNS,
    HandIn,
    canvas_csv,
    copies,
    exercise_folders,
    grade_all,
    graded_folder,
    handed_out,
    mistakes,
    moodle_csv,
    read_grades,
    write_report,
)
from landspeed.course.class_register import ClassRegister, new_register, read_register
from landspeed.course.exercise import ABOUT, ANSWERS, SCENARIO, chance_of, exercise_of, hint, start
from landspeed.course.exercise_names import ExerciseError
from landspeed.course.laboratory import Laboratory, LessonFile
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


def test_a_class_shares_its_variants(tmp_path: Path) -> None:
    """Four hundred students have 16 paths, which another secret draws anew; a class of before keeps one for each."""
    shared = new_register(tmp_path / "one.json")
    students = [f"{number}" for number in range(400)]
    assert read_register(tmp_path / "one.json").variants == 16
    assert {len({shared.draw_key(lesson, each) for each in students}) for lesson in ("window", "queues")} == {16}
    assert len({CLASS.draw_key("window", each) for each in students}) == 400
    told = [replace(shared, secret=secret).draw_key("window", "1") for secret in "ab"]
    assert len({*told, shared.draw_key("window", "1")}) == 3


def test_a_copy_says_whether_the_paths_differ() -> None:
    both = [HandIn(who, "window", who, 1, 5, work={ANSWERS: "same"}) for who in (ADA, BOB)]
    for register, where in ((CLASS, "though their paths differ"), (replace(CLASS, variants=1), "for the same path")):
        assert copies(register, both) == [f"window: =Bob and Ada Lovelace handed in the same {ANSWERS}, {where}"]


def test_what_is_handed_out_is_no_copy(tmp_path: Path) -> None:
    """Two unchanged scripts prove nothing; two that were changed alike do."""
    folders = [folder_of(tmp_path, who, lesson) for lesson in ("quic", "offload") for who in (ADA, BOB)]
    both = [graded_folder(CLASS, each) for each in folders]  # without answers: nothing runs
    assert (
        copies(CLASS, [replace(each, work={**each.work, ANSWERS: each.student}) for each in both], handed_out(both))
        == []
    )
    for folder in folders[2:]:
        (folder / "capture.sh").write_text("true\n")
    told = copies(CLASS, [graded_folder(CLASS, each) for each in folders[2:]], handed_out(both))
    assert [each for each in told if "capture.sh" in each] == [
        "offload: =Bob and Ada Lovelace handed in the same capture.sh, though their paths differ"
    ]


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


# --- Cheats ----------------------------------------------------------------------------------------------------------


def _about(folder: Path, **changed: str) -> None:
    (folder / ABOUT).write_text(json.dumps(json.loads((folder / ABOUT).read_text()) | changed))


def another_name(folder: Path) -> None:
    """Another's folder, copied, with his own name in it."""
    _about(folder, student=BOB)


def easier_path(folder: Path) -> None:
    """The path that is graded is replaced in exercise.json."""
    scenario = json.loads((folder / ABOUT).read_text())["scenario"]
    _about(folder, scenario=scenario.replace("Mbit/s", "kbit/s"))


def no_class(folder: Path) -> None:
    """The folder says that it belongs to no class, whose variant anybody can compute."""
    about = json.loads((folder / ABOUT).read_text())
    (folder / ABOUT).write_text(json.dumps({key: about[key] for key in ("format", "lesson", "student")}))


def class_of_his_own(folder: Path) -> None:
    """A class of the same name with a secret of his own."""
    shutil.rmtree(folder)
    start("window", ADA, folder, NONE, ClassRegister("networks", "mine", (ADA,)))


def other_lesson(folder: Path) -> None:
    """An easier exercise is handed in under the name of another one."""
    _about(folder, lesson="queues")


def lesson_of_his_own(folder: Path) -> None:
    """The folder brings a lesson of the same name, whose grader gives all points; none of its code is run."""
    shutil.copytree(exercise_of("window").folder, mine := folder / "window")
    (mine / "exercise.py").write_text("raise SystemExit('this ran')\n")
    _about(folder, lesson=str(mine))


def edits_results(folder: Path) -> None:
    """Grades, a grader and pytest's own settings lie in the folder, beside a wrong answer."""
    (folder / "conftest.py").write_text("raise SystemExit(0)\n")
    (folder / "exercise.py").write_text("def test_all(): pass\n")
    (folder / "grades.json").write_text('{"graded": [{"got": 5, "points": 5}]}')
    (folder / SCENARIO).write_text("format: 1\n")


def replays_samples(folder: Path) -> None:
    """The bundle of a good run lies in the folder as that of the wrong answer, by its very key."""
    here = replace(exercise_of("window"), folder=folder)
    store = Laboratory(folder / "runs", jobs=1)
    good, bad = (LessonFile(here, SCENARIO, None, (f"transfer.window={window}",)) for window in ("2 MB", WRONG))
    store.one(good)
    (kept,) = store.store.cells.glob("*.json")
    (key,) = store.keys([bad])
    kept.with_stem(key).write_text(kept.read_text().replace(kept.stem, key))
    assert store.known([bad]) == (1, 1)


def prints_the_figure(folder: Path) -> None:
    """A program that sends nothing and prints a rate."""
    _program(folder, "print(63000000)")


def forges_the_count(folder: Path) -> None:
    """A program that writes our server's result."""
    _program(folder, 'open("/tmp/counted", "w").write("99999 12")')


def pours_datagrams(folder: Path) -> None:
    """A program that fills the line with what nobody stores."""
    _program(folder, POURS)


def stops_early(folder: Path) -> None:
    """A program that sends a burst, and is gone."""
    _program(folder, SHORT)


def leaves_it(folder: Path) -> None:
    """The program as it was handed out."""


def _program(folder: Path, text: str) -> None:
    block = (folder / "store.py").read_text().partition("BLOCK = ")[2].split()[0]
    (folder / "store.py").write_text(f"BLOCK = {block}\n{text}\n")


WRONG = "64 kB"  # a window
POURS = """import socket, sys, time
sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end = time.monotonic() + 2
while time.monotonic() < end:
    sink.sendto(bytes(1400), (sys.argv[2], 5000))"""
SHORT = """import socket, sys
with socket.create_connection((sys.argv[2], 5000)) as out:
    out.sendall(bytes(BLOCK) * 40)"""
Cheat = Callable[[Path], None]
FOLDERS: dict[Cheat, str] = {  # what is done to a folder of `window` → why it is refused
    another_name: "was not made for",
    easier_path: "was not made for",
    no_class: "is of Ada Lovelace of no class",
    class_of_his_own: "was not made for",
    other_lesson: "was not made for",
    lesson_of_his_own: "was not made for",
}
ANSWERED: dict[Cheat, str] = {
    edits_results: "it gets",
    replays_samples: "it gets",
}  # to a folder of `window` with a wrong answer
PROGRAMS: dict[Cheat, str] = {  # to a folder of `own-window`
    prints_the_figure: "our server stored nothing",
    forges_the_count: "our server stored nothing",
    pours_datagrams: "our server stored nothing",
    stops_early: "your program sent for",
    leaves_it: "it reaches",
}


@pytest.mark.parametrize("cheat", FOLDERS)
def test_a_folder_that_is_not_the_students_is_refused(tmp_path: Path, cheat: Cheat) -> None:
    folder = answer(folder_of(tmp_path), {"bdp": "1 MB", "window": "1 MB"})
    cheat(folder)
    one = graded_folder(CLASS, folder)
    assert (one.got, one.marks) == (0, ())
    assert FOLDERS[cheat] in one.error


def test_reads_the_key() -> None:
    """What a student computes from the package, without the secret, is another variant: no better than a guess."""
    exercise = exercise_of("fairness").exercise
    assert exercise is not None
    hits = 0
    for number in range(200):
        guess = exercise.order(chance_of("fairness", f"{number}"))["place"]
        hits += guess == exercise.order(chance_of("fairness", f"{number}", CLASS))["place"]
    assert 25 <= hits <= 75


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, HandIn]:
    """Hand-ins of two students, graded together as a lecturer does."""
    place = tmp_path_factory.mktemp("class")
    key = answer_key(folder_of(place), NONE, CLASS)
    shutil.copytree(place / f"window-{ADA}", place / "once-more")
    answer(place / f"window-{ADA}", key)
    answer(folder_of(place, BOB), key)  # Ada's figures, on Bob's path
    for cheat in ANSWERED:
        folder = start("window", ADA, place / cheat.__name__, NONE, CLASS)
        cheat(answer(folder, key | {"window": WRONG}))
    for cheat in PROGRAMS:
        folder = start("own-window", ADA, place / cheat.__name__, NONE, CLASS)
        cheat(answer(folder, {"own_window": "1 B"}))
    folders = exercise_folders([place])
    found = grade_all(CLASS, folders, jobs=2, runs=place / "grades" / RUNS)
    write_report(place / "grades", CLASS, found)
    assert read_grades(place / "grades")[0].student == found[0].student
    (place / "grades" / "overview.html").rename(place / "overview.html")
    return {Path(each.folder).name: each for each in found} | {"": HandIn(str(place), "", "")}


@pytest.mark.guest
def test_the_key_has_all_points(graded: dict[str, HandIn]) -> None:
    ada = graded[f"window-{ADA}"]
    assert (ada.got, ada.points, ada.error) == (5, 5, "")


@pytest.mark.guest
def test_anothers_figures_are_wrong_on_ones_own_path_and_are_found(graded: dict[str, HandIn]) -> None:
    bob = graded[f"window-{BOB}"]
    assert bob.got < bob.points
    told = copies(CLASS, list(graded.values())[:-1])
    assert any("=Bob and Ada Lovelace handed in the same answers.yaml" in each for each in told)
    assert any("the folder of Ada Lovelace was handed in 4 times" in each for each in told)


@pytest.mark.guest
@pytest.mark.parametrize("cheat", ANSWERED | PROGRAMS)
def test_the_evidence_is_the_lecturers(graded: dict[str, HandIn], cheat: Cheat) -> None:
    """What a fresh run measures at the other end has no points, whatever lies in the folder or is printed."""
    mark = graded[cheat.__name__].marks[1]
    assert mark["got"] == 0
    assert (ANSWERED | PROGRAMS)[cheat] in mark["why"]
    changed = graded["edits_results"].notes
    assert list(changed) == ["scenario.yaml was changed; graded against the original one"]


@pytest.mark.guest
def test_one_path_and_one_answer_are_one_run(graded: dict[str, HandIn], monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hand-ins of one wrong window share its run, each program has one; graded again, nothing runs."""
    place = Path(graded[""].folder)
    kept = place / "grades" / RUNS
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert len(list((kept / "cells").glob("*.json"))) == 3  # Ada's, Bob's, the wrong one
    assert len(list((kept / "outputs").glob("*.json"))) == len(PROGRAMS)
    monkeypatch.setattr(Laboratory, "_here", None)
    monkeypatch.setattr(Laboratory, "_run_program", None)
    for name in ("replays_samples", "prints_the_figure", f"window-{ADA}"):
        assert graded_folder(CLASS, place / name, kept) == graded[name]


@pytest.mark.guest
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
    for said in ("Ada Lovelace", ">5/5<", "The bandwidth-delay product, to 1 %", "handed in 4 times"):
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
