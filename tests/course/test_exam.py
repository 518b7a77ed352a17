"""Examination papers: every answer against one worked by hand, variants that a class's secret draws, the command."""

import random
import re
from pathlib import Path

import pytest

from landspeed.base.places import ROOT
from landspeed.cli.main import main
from landspeed.course.class_register import ClassRegister
from landspeed.course.exam import QUESTIONS, ExamQuestion, draw, paper
from landspeed.course.exercise_names import ExerciseError
from landspeed.course.lesson import all_lessons

CLASS = ClassRegister("networks", "a secret of the lecturer", ("Ada",))
WORKED = [  # numbers of a question and its answer, in the order of the questions, worked by hand
    ({"size": 934, "rate": 8, "km": 2040}, 22.0),  # 2 × (10 + 1)
    ({"rate": 1000, "rtt": 80, "window": 1000}, 100.0),
    ({"rate": 100, "mtu": 1500}, 92.848),  # 1428 / 1538
    ({"size": 100, "first": 10}, 3),  # 70 packets: 10 + 20 + 40
    ({"rate": 123, "rtt": 100}, 50.0),  # 1.5375 MB are 1000 packets: 500 round trips
    ({"window": 4000}, 14.422),  # (4000 × 0.3 / 0.4)^(1/3)
    ({"each": 1000, "rtt": 100}, 4.486),  # 1448 × 8 / 0.1 × 1.2247 × 31.62
    ({"rate": 40, "queue": 1000}, 200.0),
    ({"mine": 6, "theirs": 2, "rate": 400}, 300.0),
    ({"window": 1000, "rate": 2500}, 750.0),
    ({"a": 60, "b": 30, "c": 10}, 0.7246),  # 10 000 / 13 800
    ({"rate": 8, "burst": 500, "size": 2500}, 2.0),
    ({"rate": 769}, 22.5),  # a quarter million packets of 2 × 1538 B in 4 s; 90 / 3076
    ({"buffer": 10, "rate": 480}, 100.0),
    ({"deviation": 1000}, 1.732),
    ({"marked": 50, "window": 400}, 300.0),
    ({"rate": 8, "rtt": 65}, 65.0),
    ({"streams": 8, "rate": 8, "rtt": 264}, 33.0),
    ({"first": 400, "losses": 3}, 50.0),
    ({"size": 100, "rtt": 80}, 200.0),  # 70 packets: 10 + 20 + 40
    ({"rate": 123, "rtt": 100, "times": 3}, 200.0),  # 2 × 1000 packets more, a tenth of a second each
    ({"link": 1500, "added": 60}, 1400),
    ({"rate": 80, "rtt": 100}, 1890.0),
    ({"shift": 7, "raw": 1000, "rtt": 64}, 16.0),  # 128 kB
    ({"rtt": 100, "number": 3}, 2.3),  # 0.2 + 0.3 × 7
    ({"rate": 16, "flows": 20}, 15.38),  # 20 × 12 304 bit
    ({"rate": 10, "rtt": 80}, 200.0),
    ({"fast": 70, "near": 10, "slow": 10, "far": 100}, 1000.0),
    ({"rate": 100}, 8),  # 12 207 B
    ({"rtt": 40, "size": 500, "times": 3}, 120.0),  # 9 round trips instead of 6
]


@pytest.mark.parametrize(("question", "worked"), list(zip(QUESTIONS, WORKED, strict=True)), ids=lambda e: str(e)[:40])
def test_an_answer_is_the_one_worked_by_hand(question: ExamQuestion, worked: tuple[dict[str, int], float]) -> None:
    numbers, right = worked
    assert question.answer(numbers) == pytest.approx(right, rel=1e-3)


def test_every_lesson_has_a_question_and_every_number_a_place_in_it() -> None:
    assert {each.lesson for each in QUESTIONS} == {lesson.name for lesson in all_lessons()}
    for each in QUESTIONS:
        assert set(re.findall(r"\{(\w+)\}", each.text)) == set(each.draw), each.text
        answers = [draw(each, random.Random(seed))[1] for seed in range(60)]
        assert min(answers) > 0
        assert len(set(answers)) > 4, each.text


def test_the_secret_and_the_variant_draw_the_numbers() -> None:
    asked, key = paper(CLASS, "A", [])
    assert paper(CLASS, "A", []) == (asked, key)
    assert asked.count("**") == 2 * len(QUESTIONS)
    other = ClassRegister("networks", "another secret", ("Ada",))
    assert len({key, paper(CLASS, "B", [])[1], paper(other, "A", [])[1]}) == 3
    assert "10 points, 10 minutes" in paper(CLASS, "A", ["own-window", "delay", "queues"])[0]
    with pytest.raises(ExerciseError, match="no question of chess; there are questions of delay, window"):
        paper(CLASS, "A", ["chess"])


def test_the_command_writes_papers_and_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "class.json"
    CLASS.save(file)
    assert main(["class", "exam", str(file), "window", "queues", "--variants", "3"]) == 0
    made = capsys.readouterr().out.splitlines()
    assert [Path(each).name for each in made] == [f"{name}-{v}.md" for v in "ABC" for name in ("exam", "key")]
    assert Path(made[1]).read_text().count("window") == 1
    assert main(["class", "exam", str(file), "--variants", "0"]) == 2


def test_the_plan_of_a_course_has_every_lesson() -> None:
    """A week, its chapters and its pitfall; a lab beside the weeks has the minutes of its head."""
    text = (ROOT / "docs" / "how-to" / "plan-a-course.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")
    ]
    weeks = " ".join(row[1] for row in rows if row[0].isdigit())
    more = {row[0]: row for row in rows if row[-1].startswith("week ")}
    for lesson in all_lessons():
        others = [row for row in rows if row[0] == lesson.name and row not in more.values()]
        assert [len(row) for row in others] == [6, 3], lesson.name
        if lesson.name not in more:
            assert re.search(rf"\b{lesson.name}\b", weeks), lesson.name
            continue
        assert more[lesson.name][2] == f"{lesson.minutes} min"
        assert set(more[lesson.name][1].split(", ")) <= {each.name for each in all_lessons()}
