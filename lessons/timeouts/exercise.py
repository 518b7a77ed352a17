"""When a transfer of the student's own goes on after an outage, and the longest outage that it bears in time."""

import random

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson import lesson_named
from landspeed.scenario.plan.plan import Plan

ASKED = {
    "again": AnswerSpec("when the first packet is sent again after the return, since the outage began", "time"),
    "outage": AnswerSpec("the longest outage after which a packet is sent again in time", "time"),
}
HINTS = (
    "The first try is a probe after two round trips. Then come timeouts; the first is the round trip plus 200 ms.",
    "Each timeout is twice the one before. The first try after the return is the one that counts.",
    "In time is a matter of the last try before the limit: the line has to be back just before it.",
)
SCENARIO = """\
format: 1
name: exercise-timeouts
title: A line over {rtt} ms that is down for {down} ms
line_rate: 1 Gbit/s
hosts:
  a: {{role: sender}}
  b: {{role: receiver}}
path:
  - {{from: a, to: r, one_way_delay: 2 ms}}
  - {{from: r, to: b, one_way_delay: {far} ms, line_rate: 10 Mbit/s, queue: 1 MB}}
transfer:
  congestion_control: reno
  window: 20 kB
  window_exact: true
  duration: 6 s
  sample_interval: 10 ms
events:
  - {{at: 1 s, between: [r, b], down: {down} ms}}
"""
TASK = """\
A stream of a small window over {rtt} ms. After a second the line is down for {down} ms.

1. When is the first packet sent again after the line's return, since the outage began? To 7 %.
2. A packet must be sent again, over the line that is back, within {limit} ms since the outage began. How long may the
   outage be? At most 12 % shorter than the longest one.

Try with `landspeed run scenario.yaml --set events.0.down="500 ms"`; its report draws when packets are sent again.
"""


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """20 to 60 ms, and an outage of 1 to 1.6 s, or of 2.2 to 3.2 s."""
    rtt = chance.randrange(10, 31) * 2
    down = chance.choice([chance.randrange(100, 161), chance.randrange(220, 321)]) * 10
    return StudentDraw.of(SCENARIO, TASK, rtt=rtt, down=down, far=rtt // 2 - 2, limit=limit_ms(rtt))


def limit_ms(rtt_ms: int) -> int:
    """A limit between the second and the third timeout."""
    return 1100 + 4 * rtt_ms


def after_s(plan: Plan) -> float:
    """The lesson's theory of the student's own outage."""
    theory = lesson_named("timeouts").theory
    outage_s = (plan.events[0].duration_ns or 0) / 1e9
    return theory.after_outage_s(outage_s, plan.physics.rtt_ns / 1e9, theory.last_heard_s(plan))


def longest_s(plan: Plan) -> float:
    """The last try before the limit."""
    theory, rtt_s = lesson_named("timeouts").theory, plan.physics.rtt_ns / 1e9
    last = 0.0
    for at_s in theory.sends_s(rtt_s, theory.last_heard_s(plan)):
        if at_s * 1e3 > limit_ms(round(rtt_s * 1e3)):
            return last
        last = at_s
    raise AssertionError


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """By theory, 3 % later; the outage 4 % shorter than the longest one."""
    return {"again": f"{1.03 * after_s(plan):.3f} s", "outage": f"{960 * longest_s(plan):.0f} ms"}


@points(2)
def test_again(work: GradingWork) -> None:
    """When the first packet is sent again in a fresh run, to 7 %"""
    found = lesson_named("timeouts").theory.sent_again_s(work.run())
    work.near("again", 1e9 * found, 0.07, "another time: a probe, then timeouts that double; which one comes first?")


@points(2)
def test_in_time(work: GradingWork) -> None:
    """With your outage, a packet of a fresh run is sent again in time"""
    run = work.run(f"events.0.down={work.number('outage') / 1e6:.0f} ms")
    found = 1e3 * lesson_named("timeouts").theory.sent_again_s(run)
    assert found <= limit_ms(round(1e3 * run.rtt_s)), f"it is sent again after {found:.0f} ms"


@points(1)
def test_longest(work: GradingWork) -> None:
    """Your outage is at most 12 % shorter than the longest one"""
    share = work.number("outage") / 1e9 / longest_s(work.plan)
    assert share >= 0.88, f"it could be {100 / share - 100:.0f} % longer"
