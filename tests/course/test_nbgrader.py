"""An assignment of nbgrader: its cells grade what the student's own folder asks."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from landspeed.cli.main import main
from landspeed.course.answer_key import answer_key
from landspeed.course.class_register import ClassRegister
from landspeed.course.exercise_names import ExerciseError
from landspeed.course.grading import ExerciseGrade
from landspeed.course.nbgrader import CLASS, EXECUTION, FOLDERS, NotebookExercise

ADA, BOB = "ada", "Bob Müller"
REGISTER = ClassRegister("networks", "a secret of the lecturer", (ADA, BOB))


@pytest.fixture
def cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Cells of the assignment `jitter`; here is its folder, handed in by Ada."""
    monkeypatch.chdir(tmp_path)
    REGISTER.save(tmp_path / "class.json")
    (tmp_path / "autograded").mkdir()
    assert main(["class", "nbgrader", "class.json", "jitter", "--out", f"autograded/{ADA}"]) == 0
    monkeypatch.chdir(tmp_path / "autograded" / ADA / "jitter")
    return json.loads(Path("jitter.ipynb").read_text())["cells"]


def run(cells: list[dict[str, Any]], student: str, answers: dict[str, str]) -> list[str]:
    """Run them with these answers; what each graded one says, "" if it has its points."""
    names: dict[str, Any] = {}
    written = {"student": f"student = {student!r}", "answers": f"answers = {answers!r}"}
    told: list[str] = []
    for cell in cells:
        source: str = written.get(cell["id"]) or cell["source"]
        if not cell["metadata"].get("nbgrader", {}).get("grade"):
            exec(source if cell["cell_type"] == "code" else "", names)
            continue
        try:
            exec(source, names)
            told.append("")
        except (AssertionError, ExerciseError) as error:
            told.append(str(error))
    return told


def test_cells_are_locked_and_have_the_points_of_the_exercise(cells: list[dict[str, Any]]) -> None:
    """By nbgrader's schema 3; the lists of folders and files have no secret."""
    marks = [cell["metadata"]["nbgrader"] for cell in cells if cell["metadata"]]
    assert all(mark["locked"] and mark["schema_version"] == 3 and not mark["solution"] for mark in marks)
    assert [mark["points"] for mark in marks if mark["grade"]] == [2, 2]
    assert [cell["id"] for cell in cells if not cell["metadata"]] == ["student", "answers"]
    assert len(list(Path(FOLDERS).iterdir())) == 2
    assert all(REGISTER.secret not in file.read_text() for file in Path().rglob("*") if file.is_file())


@pytest.mark.guest
def test_a_key_has_all_points_and_a_wrong_answer_does_not(
    cells: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CLASS, "../../../class.json")
    monkeypatch.setenv(EXECUTION, "autograde")
    key = answer_key(Path(FOLDERS, "jitter-ada"), Mock(), REGISTER)
    assert run(cells, ADA, key) == ["", ""]
    with pytest.raises(ExerciseError, match="handed in by ada; the notebook says that it is of Bob Müller"):
        run(cells, BOB, key)
    monkeypatch.delenv(EXECUTION)
    wrong = run(cells, BOB, dict.fromkeys(key, "1 ms"))
    assert all(wrong), wrong


def test_a_run_serves_all_cells(cells: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    made = Mock(return_value=Mock(spec=ExerciseGrade, marks=[]))
    monkeypatch.setattr("landspeed.course.nbgrader.check", made)
    exercise = NotebookExercise("jitter", ADA)
    assert "ping" in exercise._repr_markdown_()
    for _ in range(2):
        with pytest.raises(ValueError, match="unpack"):
            exercise.grade({"jitter": "1 ms"}, "test_deviation")
    assert made.call_count == 1
    with pytest.raises(ExerciseError, match="no folder of 'Eve'"):
        NotebookExercise("jitter", "Eve")


def test_what_is_wrong_is_said(cells: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["class", "nbgrader", "../../../class.json", "jitter", "--out", ".."]) == 2
    assert "exists already" in capsys.readouterr().err
    assert main(["class", "nbgrader", "../../../class.json"]) == 2
    assert "LESSON…" in capsys.readouterr().err
