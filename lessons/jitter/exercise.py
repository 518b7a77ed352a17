"""The jitter that a telephone bears, and how long it must hold packets."""

import math
import random

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.scenario.plan.plan import Plan

ASKED = {
    "jitter": AnswerSpec("the jitter of one direction with which ping's mdev is that of the task", "time"),
    "hold": AnswerSpec("how long the receiver must hold the earliest packets, so that none is late", "time"),
}
HINTS = (
    "The delay is even between −J and +J. What is its standard deviation?",
    "J / √3: so J is √3 times the deviation.",
    "The earliest packet comes J before the middle, the latest J after it.",
)
SCENARIO = """\
format: 1
name: exercise-jitter
title: A telephone over {rtt} ms
line_rate: 100 Mbit/s
hosts:
  a: {{role: sender}}
  b: {{role: receiver}}
path:
  - {{from: a, to: r, one_way_delay: 1 ms}}
  - {{from: r, to: b, one_way_delay: {second} ms, jitter: 1 ms, reverse: {{jitter: 0 ms}}}}
transfer: {{duration: 1 s}}
"""
TASK = """\
A radio link delays each packet by a different time, even between −J and +J, in one direction; the round trip is
{rtt} ms. A telephone bears a standard deviation of {wanted} ms.

1. Which jitter J may the link have, at most? `ping` tells the standard deviation as `mdev`.
2. How long must the receiver hold the earliest packets at that J, so that a packet that comes last is still in time?

Try with `landspeed exec scenario.yaml --set path.1.jitter="3 ms" --at a -- ping -q -c 200 -i 0.1 b`.
"""


def wanted_ms(rtt_ms: float) -> float:
    """Standard deviation that is asked for."""
    return round(1.2 + rtt_ms % 23 / 10, 1)


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """A round trip of 30 to 80 ms, and a deviation of 1.2 to 3.4 ms."""
    rtt = chance.randrange(15, 41) * 2
    return StudentDraw.of(SCENARIO, TASK, rtt=rtt, second=rtt // 2 - 1, wanted=wanted_ms(rtt))


def jitter_ms(plan: Plan) -> float:
    """√3 times the deviation that is asked for."""
    return math.sqrt(3) * wanted_ms(round(plan.physics.rtt_ns / 1e6))


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """The jitter, and twice as long."""
    return {"jitter": f"{jitter_ms(plan):.3f} ms", "hold": f"{2 * jitter_ms(plan):.3f} ms"}


@points(2)
def test_deviation(work: GradingWork) -> None:
    """With your jitter, a thousand echoes spread as the task says, to 6 %"""
    # Every 100 ms: an answer is there 10 ms before the next echo. If it came later, ping would spin until then.
    jitter = f"path.1.jitter={work.number('jitter') / 1e6:.4f} ms"
    run = work.program("a", "ping", "-q", "-n", "-c", "1000", "-i", "0.1", "b", overrides=(jitter,))
    found = float(run.output.rpartition("/")[2].split()[0])
    wanted = wanted_ms(round(work.plan.physics.rtt_ns / 1e6))
    assert abs(found / wanted - 1) <= 0.06, f"their mdev is {found:.2f} ms of {wanted} ms"


@points(2)
def test_hold(work: GradingWork) -> None:
    """How long packets are held, to 3 %"""
    work.near("hold", 2e6 * jitter_ms(work.plan), 0.03, "not from the earliest to the latest packet, 2 J")
