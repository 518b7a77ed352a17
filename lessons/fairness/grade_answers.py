"""Grades the exercise of fairness: which stream is BBR, and how equal the shares are."""

from __future__ import annotations

import csv
import io

import pytest

from landspeed.course.exercise import chance_of, exercise_of
from landspeed.course.grading import GradingWork

FROM_S = 10.0


@pytest.mark.points(3)
def test_bbr(work: GradingWork) -> None:
    """The stream that is BBR"""
    exercise = work.lesson.exercise
    assert exercise is not None
    place = exercise.order(chance_of("fairness", work.student))["place"]
    assert work.number("bbr") == place, "another one: BBR's window does not fall when packets are lost"


@pytest.mark.points(2)
def test_jain(work: GradingWork) -> None:
    """Jain's index from second 10 on, to one per cent"""
    exercise = exercise_of("fairness").exercise
    assert exercise is not None
    run = exercise.the_run(chance_of("fairness", work.student), work.laboratory)
    rows = [row for row in csv.DictReader(io.StringIO(exercise.table(run))) if float(row["time_s"]) >= FROM_S]
    rates: list[float] = []
    for stream in range(exercise.STREAMS):
        own = [row for row in rows if row["stream"] == str(stream)]
        spans = float(own[-1]["time_s"]) - float(own[0]["time_s"])
        rates.append((int(own[-1]["bytes_read"]) - int(own[0]["bytes_read"])) / spans)
    index = sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))
    assert abs(work.number("jain") / index - 1) <= 0.01, "not (Σ x)² / (n Σ x²) of the four rates"
