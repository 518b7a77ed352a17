"""Grades the exercise of the window: against theory, and by a fresh run with the student's own."""

from __future__ import annotations

import pytest

from landspeed.course.grading import GradingWork

FROM_S = 5.0
WANTED = 0.97


def exact(window: float) -> str:
    """For --set."""
    return f"transfer.window={round(window)} B"


@pytest.mark.points(1)
def test_bdp(work: GradingWork) -> None:
    """The bandwidth-delay product, to 1 %"""
    physics = work.run().plan.physics
    assert abs(work.number("bdp") / physics.bdp_bytes - 1) <= 0.01, (
        "not rate × round trip; mind that a byte has eight bits"
    )


@pytest.mark.points(2)
def test_window_fills_the_path(work: GradingWork) -> None:
    """With your window, a fresh run gets 97 % of what the line leaves"""
    run = work.run(exact(work.number("window")))
    share = run.goodput_bps(FROM_S) / run.plan.physics.line_rate_limit_bps
    assert share >= WANTED, f"it gets {100 * share:.1f} %"


@pytest.mark.points(2)
def test_window_is_the_least(work: GradingWork) -> None:
    """Your window is at most 10 % above the least one"""
    physics = work.run().plan.physics
    least = WANTED * physics.line_rate_limit_bps * physics.rtt_ns / 8e9
    over = work.number("window") / least - 1
    assert over <= 0.10, f"it is {100 * over:.0f} % above what is needed"
