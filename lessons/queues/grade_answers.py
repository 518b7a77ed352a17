"""Grades the exercise of queues: against theory, and by a fresh run with the student's queue."""

from __future__ import annotations

import pytest

from landspeed.course.grading import GradingWork
from landspeed.course.lesson_run import LessonRun, between, percentile

FROM_S = 10.0
BOUND_S, SHARE = 0.020, 0.95


def with_theirs(work: GradingWork) -> LessonRun:
    """A run with the queue that was chosen."""
    queue = f"path.1.queue={round(work.number('queue'))} B"
    return work.run(queue, f"path.1.discipline={work.answers['discipline']}")


@pytest.mark.points(1)
def test_wait(work: GradingWork) -> None:
    """How long the last packet of the full queue waits, to 5 %"""
    lane = work.run("transfer.duration=1 s").plan.links[1].forward
    wait_s = lane.queue_bytes * 8 / lane.rate_bps
    assert abs(work.number("wait") / 1e9 / wait_s - 1) <= 0.05, "not the size of the queue over the rate of the line"


@pytest.mark.points(2)
def test_delay(work: GradingWork) -> None:
    """With your queue, packets wait less than 20 ms for 95 % of the time"""
    run = with_theirs(work)
    waits = [(time_s, value / 1e6 - run.rtt_s) for time_s, value in between(run.series("srtt_us"), FROM_S)]
    found = percentile(waits, 0.95)
    assert found < BOUND_S, f"it is {found * 1e3:.1f} ms"


@pytest.mark.points(2)
def test_goodput(work: GradingWork) -> None:
    """With your queue, the stream gets 95 % of what the line leaves"""
    run = with_theirs(work)
    share = run.goodput_bps(FROM_S) / run.plan.physics.line_rate_limit_bps
    assert share >= SHARE, f"it gets {100 * share:.1f} %"
