"""What two routes of the student's own give together, and what is left when the first one is cut."""

import random

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson import lesson_named
from landspeed.scenario.plan.plan import Plan

ASKED = {
    "both": AnswerSpec("the goodput over both routes", "rate"),
    "left": AnswerSpec("the goodput at the end of the cut", "rate"),
    "window": AnswerSpec("what is on the way when both lines are full and their queues are empty", "size"),
}
HINTS = (
    "A packet has 1538 B on the line. TCP leaves 1448 of them for payload; MPTCP needs 28 B more.",
    "While the first route is cut, the other line is full.",
    "Bytes of the fast route wait for those of the slow one: sum of the rates × the longer round trip.",
)
SCENARIO = """\
format: 1
name: exercise-mptcp
title: {fibre} and {radio} Mbit/s
line_rate: 1 Gbit/s
links:
  - {{from: a, to: fibre, one_way_delay: 1 ms}}
  - {{from: fibre, to: b, one_way_delay: 9 ms, line_rate: {fibre} Mbit/s, queue: 1 BDP}}
  - {{from: a, to: radio, one_way_delay: 1 ms}}
  - {{from: radio, to: b, one_way_delay: {far} ms, line_rate: {radio} Mbit/s, queue: 1 BDP}}
transfer:
  duration: 12 s
flows:
  - {{name: both, from: a, to: b, mptcp: true}}
events:
  - {{at: 4 s, down: 8 s, between: [fibre, b]}}
"""
TASK = """\
A transfer by MPTCP has {fibre} Mbit/s over 20 ms and {radio} Mbit/s over {rtt} ms. After 4 s the first one is cut.

1. Which goodput do both routes give together before the cut? To 2 %.
2. Which one is left at the end? To 2 %.
3. How much must the receiver's window hold at least, so that both lines are full? Rates on the line, to 1 %.

Try with `landspeed run scenario.yaml`; its report draws the goodput.
"""


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """20 to 40 Mbit/s, and 10 to 19 over 60 to 100 ms."""
    fibre, radio, rtt = chance.randrange(20, 41), chance.randrange(10, 20), chance.randrange(30, 51) * 2
    return StudentDraw.of(SCENARIO, TASK, fibre=fibre, radio=radio, rtt=rtt, far=rtt // 2 - 1)


def rates(plan: Plan) -> tuple[int, int]:
    """Of both lines."""
    return plan.links[1].forward.rate_bps, plan.links[3].forward.rate_bps


def window_bytes(plan: Plan) -> float:
    """Both rates for the longer round trip."""
    return sum(rates(plan)) * 2 * (plan.links[2].forward.delay_ns + plan.links[3].forward.delay_ns) / 8e9


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """By theory."""
    payload_bps = lesson_named("mptcp").theory.payload_bps
    both, left = payload_bps(*rates(plan), mptcp=True), payload_bps(rates(plan)[1], mptcp=True)
    return {
        "both": f"{both / 1e6:.2f} Mbit/s",
        "left": f"{left / 1e6:.2f} Mbit/s",
        "window": f"{window_bytes(plan):.0f} B",
    }


@points(2)
def test_both(work: GradingWork) -> None:
    """What the receiver of a fresh run reads from 2.5 s to the cut, to 2 %"""
    work.near(
        "both", work.run().goodput_bps(2.5, 4.0), 0.02, "another goodput: MPTCP's option takes 28 B of each packet"
    )


@points(2)
def test_left(work: GradingWork) -> None:
    """What the receiver of a fresh run reads in the last 1.5 s, to 2 %"""
    work.near("left", work.run().goodput_bps(10.5, 12.0), 0.02, "another goodput: one line is left")


@points(1)
def test_window(work: GradingWork) -> None:
    """Both rates for the longer round trip, to 1 %"""
    work.near("window", window_bytes(work.plan), 0.01, "another size: bytes of the fast route wait for the slow one's")
