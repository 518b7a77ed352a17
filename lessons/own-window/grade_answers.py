"""Grades the exercise of a program's own window: what it was, and a fresh run of the repaired program."""

from __future__ import annotations

import base64
import re

import pytest

from landspeed.course.exercise import draw
from landspeed.course.grading import GradingWork

WANTED = 0.80
SECONDS = 12
RUN = """
$3
mkdir -p /tmp/theirs && echo "$1" | base64 -d >/tmp/theirs/store.py
ip netns exec server timeout 60 python3 /tmp/theirs/store.py serve >/dev/null 2>&1 &
sleep 1
timeout 40 python3 /tmp/theirs/store.py send server $2 2>&1 | tail -3
wait
"""


def first_program(work: GradingWork) -> str:
    """The program as it was handed out."""
    return draw(work.lesson, work.student).files["store.py"]


@pytest.mark.points(2)
def test_own_window(work: GradingWork) -> None:
    """The program's own window, to 5 %"""
    program = first_program(work)
    block, blocks = re.search(r"BLOCK = (\d+)", program), re.search(r"range\((\d+)\)", program)
    assert block
    assert blocks
    window = int(block[1]) * int(blocks[1])
    assert abs(work.number("own_window") / window - 1) <= 0.05, (
        "not what goodput × round trip gives, measured far from the line's rate"
    )


@pytest.mark.points(3)
def test_repaired(work: GradingWork) -> None:
    """Your store.py reaches 80 % of the line in a fresh run"""
    exercise = work.lesson.exercise
    assert exercise is not None
    theirs = base64.b64encode(work.file("store.py").encode()).decode()
    run = work.program("client", "sh", "-c", RUN, "run", theirs, str(SECONDS), exercise.UNPACED)
    last = run.output.strip().splitlines()[-1:] or [""]
    assert re.fullmatch(r"\d+", last[0]), f"its last line is no rate: {last[0][:200]!r}"
    share = int(last[0]) / run.plan.physics.line_rate_limit_bps
    assert share <= 1.02, f"it says {100 * share:.0f} % of what the line can carry"
    assert share >= WANTED, f"it reaches {100 * share:.1f} %"
