"""The window and the pacing that fill a path of the student's own without a loss."""

import random

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson_run import LessonRun
from landspeed.scenario.plan.plan import Plan

ASKED = {
    "window": AnswerSpec("the window to ask for", "size"),
    "pacing": AnswerSpec("the rate at which the sender paces", "rate"),
}
HINTS = (
    "The line carries packets of 9038 B, of which 8948 B are payload. Pacing counts payload.",
    "The window has to hold the paced rate × round trip. It does not need to hold more.",
    "Unpaced, slow start sends bursts at the card's rate, and the queue drops them. Pace a little below the line.",
)
FROM_S = 4.0
SCENARIO = """\
format: 1
name: exercise-dtn
title: A DTN on {rate} Mbit/s over {rtt} ms
line_rate: 10 Gbit/s
mtu: 9000 B
hosts:
  dtn: {{role: sender}}
  far: {{role: receiver}}
path:
  - {{from: dtn, to: edge, one_way_delay: 1 ms}}
  - {{from: edge, to: far, one_way_delay: {far} ms, line_rate: {rate} Mbit/s, queue: 0.05 BDP}}
transfer:
  congestion_control: cubic
  window: 64 MB
  window_exact: true   # the receiver offers the window, not what Linux makes of it
  duration: 6 s
"""
TASK = """\
Your DTN sends over {rate} Mbit/s and {rtt} ms; the router's queue is short. Find

1. a `transfer.window` with which the line is filled: at least 95 % of what it gives after headers, from the fourth
   second on; and at most a quarter larger than the least one;
2. a `transfer.pacing` with which nothing is dropped, and the line is still filled.

Try with `landspeed run scenario.yaml --set transfer.window="4 MB" --set transfer.pacing="300 Mbit/s"`.
"""


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """300 to 900 Mbit/s over 60 to 120 ms."""
    rate, rtt = chance.randrange(30, 91) * 10, chance.randrange(30, 61) * 2
    return StudentDraw.of(SCENARIO, TASK, rate=rate, rtt=rtt, far=rtt // 2 - 1)


def least_window(plan: Plan) -> float:
    """95 % of what the line gives, each round trip."""
    return 0.95 * plan.physics.line_rate_limit_bps * plan.physics.rtt_ns / 8e9


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """By theory: a window a tenth larger than the least one, and pacing at 98 % of the line."""
    pacing = 0.98 * plan.physics.line_rate_limit_bps
    return {"window": f"{1.1 * least_window(plan):.0f} B", "pacing": f"{pacing / 1e6:.1f} Mbit/s"}


def fresh(work: GradingWork) -> LessonRun:
    """A run with the student's settings."""
    window, pacing = work.number("window"), work.number("pacing")
    return work.run(f"transfer.window={window:.0f} B", f"transfer.pacing={pacing:.0f} bit/s")


@points(2)
def test_line_is_filled(work: GradingWork) -> None:
    """A fresh run's receiver reads 95 % of what the line gives after headers"""
    share = fresh(work).goodput_bps(FROM_S) / work.plan.physics.line_rate_limit_bps
    assert share >= 0.95, f"it reads {100 * share:.1f} %"


@points(2)
def test_nothing_is_dropped(work: GradingWork) -> None:
    """The queue of a fresh run drops nothing"""
    dropped = fresh(work).samples.drops_by_link()
    assert not dropped, f"{sum(dropped.values())} packets are dropped"


@points(1)
def test_window_is_small(work: GradingWork) -> None:
    """Your window is at most a quarter larger than the least one"""
    over = work.number("window") / least_window(work.plan) - 1
    assert over <= 0.25, f"it is {100 * over:.0f} % larger"
