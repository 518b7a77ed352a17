"""Figures in lessons' running text: each is what its formula gives, and one that is changed by hand is found."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from landspeed.course.comparison import Point
from landspeed.course.lesson import all_lessons
from landspeed.course.stated import NUMBER, Stated, computed, measured, thousands

LESSONS = {lesson.name: lesson for lesson in all_lessons()}
STATED = [(name, each) for name, lesson in LESSONS.items() for each in lesson.stated]
COMPUTED = [(name, each) for name, each in STATED if not each.key]


@pytest.mark.parametrize(("name", "each"), COMPUTED, ids=[f"{name}: {each.sentence[:40]}" for name, each in COMPUTED])
def test_a_lesson_says_what_is_computed(name: str, each: Stated) -> None:
    assert each.failure(LESSONS[name].text) is None


def test_what_is_measured_is_of_a_comparison_of_the_lesson() -> None:
    for name, each in STATED:
        assert not each.key or each.key in LESSONS[name].comparisons, each.sentence


def mutants() -> Iterator[tuple[str, Stated, str]]:
    """A lesson's text with one figure of one sentence changed."""
    for name, each in COMPUTED:
        text = " ".join(LESSONS[name].text.split())
        right = " ".join(each.right().split())
        for found in re.finditer(r"\d", right):
            other = str((int(found[0]) + 1) % 10)
            yield name, each, text.replace(right, right[: found.start()] + other + right[found.end() :])


def test_a_figure_that_is_changed_by_hand_is_found() -> None:
    """Digit by digit, of every sentence; and those are many."""
    kept = [(name, each.sentence) for name, each, text in mutants() if each.failure(text) is None]
    assert kept == []
    assert len(list(mutants())) >= 100


def test_a_failure_says_what_the_text_has() -> None:
    one = computed("{:.0f} minutes, or {} s", 54.2, thousands(3252))
    assert one.failure("… 54 minutes, or\n3 252 s …") is None
    said = one.failure("… 40 minutes, or\n2 400 s. …")
    assert said == "the text should say '54 minutes, or 3 252 s'; it says '40 minutes, or 2 400 s'"
    assert str(one.failure("soon")).endswith("it says nothing of that form")


def test_what_a_run_measured_is_compared_with_the_text() -> None:
    one = measured("{:.1f} Mbit/s of {:.1f}", "goodput", lambda points: (points["a"].measured, points["a"].predicted))
    assert one.failure("it is 35.9 Mbit/s of 47.1.", [Point("a", 35.87, 47.07)]) is None
    assert "35.8 Mbit/s" in str(one.failure("it is 35.9 Mbit/s of 47.1.", [Point("a", 35.8, 47.07)]))


def test_numbers_are_seen_whole() -> None:
    assert re.findall(NUMBER, "15 766 km, 2.3 MB; −3") == ["15 766", "2.3", "−3"]
