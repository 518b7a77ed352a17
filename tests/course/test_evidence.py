"""Every exercise: its key has all points, and one wrong answer loses those of the evidence, counted in a fresh run."""

import json
from pathlib import Path
from unittest.mock import Mock

import pytest

from landspeed.course.answer_key import answer_key
from landspeed.course.class_grades import graded_folder
from landspeed.course.class_register import ClassRegister
from landspeed.course.comparison import LessonProgram
from landspeed.course.exercise import ABOUT, ANSWERS, SCENARIO, TASK, exercise_of, start
from landspeed.course.grading import GradingWork, check
from landspeed.course.laboratory import Laboratory
from tests.support.lessons import LESSONS

ADA = "Ada 1815"
# lesson → the answer that is changed, what of the key is written instead, and the tests that it fails
WRONG: dict[str, tuple[str, float, set[str]]] = {
    "delay": ("payload", 1.2, {"test_echo_is_in_time"}),
    "framing": ("mtu", 0.8, {"test_mtu_gives_it"}),
    "slow-start": ("window", 0.7, {"test_page_is_there"}),
    "one-loss": ("mtu", 0.4, {"test_back_in_time"}),
    "random-loss": ("loss", 4, {"test_loss_by_theory", "test_loss_by_run"}),
    "parallel": ("streams", 0.6, {"test_line_is_filled", "test_share"}),
    "pacing": ("pacing", 1.2, {"test_nothing_is_lost", "test_line_is_used"}),
    "policer": ("burst", 0.7, {"test_file_is_in_time"}),
    "ack-path": ("back", 0.5, {"test_acks_do_not_wait", "test_back_is_the_least"}),
    "autotuning": ("receive", 0.1, {"test_line_is_filled"}),
    "jitter": ("jitter", 1.3, {"test_deviation"}),
    "ecn": ("target", 60, {"test_delay"}),
    "short-flows": ("delay", 1.3, {"test_copy_is_near_enough"}),
    "changing-line": ("queue", 0.9, {"test_nothing_is_lost"}),
    "black-hole": ("mss", 1.02, {"test_mss"}),
    "bbr": ("queue", 0.88, {"test_nothing_is_lost"}),
    "trace": ("window", 0.5, {"test_window"}),
    "timeouts": ("outage", 1.2, {"test_in_time"}),
    "flow-queues": ("echo", 1.2, {"test_echo"}),
    "dtn": ("window", 0.7, {"test_line_is_filled"}),
    "mptcp": ("both", 0.8, {"test_both"}),
    "offload": ("payload", 2, {"test_payload"}),
    "quic": ("delay", 1.1, {"test_page_is_there_in_time"}),
    "converging": ("losses", 3, {"test_losses"}),
    "record-2004": ("window", 0.7, {"test_bus_is_the_limit"}),
}
ELSEWHERE = {"window", "queues", "fairness", "own-window"}  # test_exercises.py, test_grades.py, test_class.py


def test_every_lesson_has_an_exercise() -> None:
    """With points for what is known and what is measured, three hints or more, and a key of every answer."""
    assert set(LESSONS) == {*WRONG, *ELSEWHERE}
    for name in LESSONS:
        exercise = exercise_of(name).exercise
        assert exercise is not None
        tests = [test for word, test in vars(exercise).items() if word.startswith("test_")]
        assert sum(test.points for test in tests) >= 4 or len(tests) <= 2, name
        assert all(test.__doc__ for test in tests), name
        assert len(exercise.HINTS) >= 3, name
        assert callable(exercise.key), name


CLASS = ClassRegister("networks", "a secret of the lecturer", (ADA, "Bob"))
NONE: Laboratory = Mock()
FILES = {ABOUT, ANSWERS, SCENARIO, TASK}
HANDS_OUT = (
    "offload",
    "quic",
    "trace",
)  # scripts; own-window's program is to be changed, and runs as nobody (test_class.py)


@pytest.mark.parametrize(
    "name", sorted({*LESSONS} - {"fairness"})
)  # fairness hands out samples of a run: test_class.py
def test_no_folder_of_a_class_passes_as_anothers(name: str, tmp_path: Path) -> None:
    """Neither a copied folder with one's own name in it, nor one's own with an easier path."""
    folder = start(name, ADA, tmp_path / "hers", NONE, CLASS)
    assert {file.name for file in folder.iterdir()} == FILES or name in (*HANDS_OUT, "own-window")
    about = json.loads((folder / ABOUT).read_text())
    for changed in ({"student": "Bob"}, {"scenario": about["scenario"].replace("ms", "us")}):
        (folder / ABOUT).write_text(json.dumps(about | changed))
        told = graded_folder(CLASS, folder)
        assert (told.got, told.marks) == (0, ())
        assert "its exercise.json was changed, or is another's" in told.error


@pytest.mark.parametrize("name", HANDS_OUT)
def test_evidence_comes_from_the_lecturers_programs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a student writes into scripts that were handed out, no grade runs it or reads it."""
    folder = start(name, ADA, tmp_path / "hers", NONE, CLASS)
    for handed in {file.name for file in folder.iterdir()} - FILES:
        (folder / handed).write_text("echo all points\n")
    asked: list[str] = []

    def recorded(_: GradingWork, overrides: tuple[str, ...], program: LessonProgram | None) -> None:
        asked.extend((*overrides, *(program.command if program else ())))
        raise AssertionError("recorded")

    monkeypatch.setattr(GradingWork, "_runs", recorded)
    monkeypatch.setattr(GradingWork, "file", Mock(side_effect=RuntimeError("a student's file was read")))
    asked_for = exercise_of(name).exercise
    assert asked_for is not None
    some = {"size": "1 kB", "time": "1 ms", "rate": "1 Mbit/s", "number": "2"}
    told = graded_folder(CLASS, written(folder, {key: some[each.kind] for key, each in asked_for.ASKED.items()}))
    assert not told.error
    assert any(mark["why"] == "recorded" for mark in told.marks), "no evidence of a run is asked for"
    assert not any(str(folder) in word for word in asked)


def written(folder: Path, answers: dict[str, str]) -> Path:
    (folder / ANSWERS).write_text("".join(f"{key}: {value}\n" for key, value in answers.items()), encoding="utf-8")
    return folder


def other(answer: str, times: float) -> str:
    """Another answer of the same unit."""
    number, _, unit = answer.partition(" ")
    return f"{float(number) * times:.5g} {unit}" if unit else f"{max(1, int(float(number) * times))}"


@pytest.mark.guest
@pytest.mark.parametrize("name", WRONG)
def test_the_key_passes_and_a_wrong_answer_does_not(name: str, tmp_path: Path) -> None:
    laboratory = Laboratory(tmp_path / "runs", jobs=1)
    folder = start(name, ADA, tmp_path / "hers", laboratory)
    key = answer_key(folder, laboratory)
    right = check(written(folder, key), laboratory)
    assert right.passed, str(right)
    answer, times, fails = WRONG[name]
    wrong = check(written(folder, key | {answer: other(key[answer], times)}), laboratory)
    assert {mark.name for mark in wrong.marks if not mark.passed} == fails, str(wrong)
