"""A queue that marks: nothing sent again, and little delay."""

import random

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson_run import LessonRun, between, percentile
from landspeed.scenario.plan.plan import Plan

FROM_S = 6.0
SHARE = 0.95
ASKED = {
    "dctcp": AnswerSpec("the share of its window that DCTCP gives up at the marks of the task", "share"),
    "target": AnswerSpec("the target of a CoDel that marks, with which the bounds of the task hold", "time"),
}
HINTS = (
    "DCTCP reduces by half of the share of packets that were marked (RFC 8257).",
    "CUBIC keeps 70 % of its window at a mark. The line stays busy if 0.7 × (round trip + wait) is a round trip.",
    "CoDel waits for an interval of 100 ms above its target, so the greatest wait is above it. Try 2, 5 and 20 ms.",
)
SCENARIO = """\
format: 1
name: exercise-ecn
title: A line of {rate} Mbit/s that may mark, {rtt} ms
line_rate: 1 Gbit/s
hosts:
  a: {{role: sender}}
  b: {{role: receiver}}
path:
  - {{from: a, to: r, one_way_delay: 1 ms}}
  - {{from: r, to: b, one_way_delay: {second} ms, line_rate: {rate} Mbit/s, queue: 4 BDP, discipline: fifo}}
transfer:
  congestion_control: cubic
  ecn: true
  window: 8 MB
  duration: 15 s
"""
TASK = """\
A line of {rate} Mbit/s has a plain queue of four BDP; the round trip is {rtt} ms. You may make it a CoDel that marks.

1. Somebody else's host uses DCTCP, and {marked} % of its packets are marked in a round trip. Which share of its window
   does it give up?
2. Choose CoDel's target. From the sixth second on, one CUBIC stream is to get 95 % of what the line leaves, its
   packets are to wait less than {bound} ms for 95 % of the time, and none is to be sent again.

Try with `landspeed run scenario.yaml --set path.1.discipline="{{codel: {{ecn: true, target: 20 ms}}}}"`.
"""


def marked(rtt_ms: int) -> int:
    """Share of packets that is marked, in per cent."""
    return 10 + rtt_ms % 11 * 5


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """A rate of 20 to 50 Mbit/s and a round trip of 24 to 48 ms."""
    rate, rtt = chance.randrange(4, 11) * 5, chance.randrange(12, 25) * 2
    return StudentDraw.of(SCENARIO, TASK, rate=rate, rtt=rtt, second=rtt // 2 - 1, marked=marked(rtt), bound=rtt)


def gives_up(plan: Plan) -> float:
    """Half of the share that is marked (RFC 8257 section 3.3)."""
    return marked(round(plan.physics.rtt_ns / 1e6)) / 200


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """Half of the marks, and a quarter of a round trip: CUBIC's wait before a mark is to be 3/7 of one."""
    return {"dctcp": f"{100 * gives_up(plan):.2f} %", "target": f"{plan.physics.rtt_ns / 4e6:g} ms"}


def with_theirs(work: GradingWork) -> LessonRun:
    """A run with the target that was chosen."""
    return work.run(f"path.1.discipline={{codel: {{ecn: true, target: {round(work.number('target') / 1e3)} us}}}}")


@points(1)
def test_dctcp(work: GradingWork) -> None:
    """What DCTCP gives up, to 1 %"""
    work.near("dctcp", gives_up(work.plan), 0.01, "not half of the share that is marked")


@points(2)
def test_delay(work: GradingWork) -> None:
    """With your target, packets wait less than a round trip for 95 % of the time"""
    run = with_theirs(work)
    waits = [(time_s, value / 1e6 - run.rtt_s) for time_s, value in between(run.series("srtt_us"), FROM_S)]
    found = percentile(waits, 0.95)
    assert found < run.rtt_s, f"it is {found * 1e3:.1f} ms of {run.rtt_s * 1e3:.0f} ms"


@points(2)
def test_goodput(work: GradingWork) -> None:
    """With your target, the receiver reads 95 % of what the line leaves, and nothing is sent again"""
    run = with_theirs(work)
    share = run.goodput_bps(FROM_S) / run.plan.physics.line_rate_limit_bps
    again = between(run.series("retransmits"), FROM_S)
    assert share >= SHARE, f"it reads {100 * share:.1f} %"
    assert again[-1][1] == again[0][1], f"{again[-1][1] - again[0][1]:.0f} packets were sent again"
