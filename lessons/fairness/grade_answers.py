"""Grades the exercise of fairness: which stream is BBR, and how equal the shares are."""

from __future__ import annotations

import pytest

from landspeed.course.exercise import exercise_of
from landspeed.course.grading import GradingWork


@pytest.mark.points(3)
def test_bbr(work: GradingWork) -> None:
    """The stream that is BBR"""
    exercise = work.lesson.exercise
    assert exercise is not None
    place = exercise.order(work.chance())["place"]
    assert work.number("bbr") == place, "another one: BBR's window does not fall when packets are lost"


@pytest.mark.points(2)
def test_jain(work: GradingWork) -> None:
    """Jain's index from second 10 on, to one per cent"""
    exercise = exercise_of("fairness").exercise
    assert exercise is not None
    run = exercise.the_run(work.chance(), work.laboratory)
    index = exercise.jain(exercise.table(run))
    assert abs(work.number("jain") / index - 1) <= 0.01, "not (Σ x)² / (n Σ x²) of the four rates"
