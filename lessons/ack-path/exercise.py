"""The slowest way back on which acknowledgments do not wait."""

import random

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.scenario.plan.plan import Plan

FROM_S = 3.0
ACK_BYTES, PACKET_BYTES = 90, 1538  # on the line
ASKED = {
    "acks": AnswerSpec("acknowledgments that fit the present line back, in each second", "number"),
    "back": AnswerSpec("the least rate back at which an acknowledgment for two packets each need not wait", "rate"),
}
HINTS = (
    "A bare acknowledgment is 52 B, and 90 B on an Ethernet line.",
    "A full line ahead carries rate / (1538 × 8) packets a second, and needs half as many acknowledgments.",
    "Rate ahead × 90 / (2 × 1538).",
)
SCENARIO = """\
format: 1
name: exercise-ack-path
title: {rate} Mbit/s ahead, {back} kbit/s back
line_rate: 1 Gbit/s
hosts:
  server: {{role: sender}}
  home: {{role: receiver}}
path:
  - {{from: server, to: core, one_way_delay: {first} ms}}
  - from: core
    to: home
    one_way_delay: {second} ms
    line_rate: {rate} Mbit/s
    reverse: {{line_rate: {back} kbit/s, queue: 20 kB}}
transfer:
  congestion_control: reno
  window: 4 MB
  duration: 8 s
"""
TASK = """\
A satellite carries {rate} Mbit/s down to you, and {back} kbit/s back. Packets have 1500 B.

1. How many acknowledgments fit the line back in each second, at present?
2. What is the least rate back on which a full line ahead can have an acknowledgment for every two packets? To 10 %.

Try with `landspeed run scenario.yaml --set path.1.reverse.line_rate="2 Mbit/s"`.
"""


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """A rate ahead of 40 to 100 Mbit/s, and one back of a hundredth or less."""
    rate, first, second = chance.randrange(8, 21) * 5, chance.randrange(2, 9), chance.randrange(10, 31)
    return StudentDraw.of(SCENARIO, TASK, rate=rate, back=chance.randrange(8, 26) * 10, first=first, second=second)


def acks(plan: Plan) -> float:
    """Acknowledgments of a second that fill the line back."""
    return plan.links[1].reverse.rate_bps / 8 / ACK_BYTES


def least_bps(plan: Plan) -> float:
    """An acknowledgment for two packets of a full line (RFC 9293 section 3.8.6.3)."""
    return plan.links[1].forward.rate_bps * ACK_BYTES / (2 * PACKET_BYTES)


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """Both formulas."""
    return {"acks": f"{acks(plan):.0f}", "back": f"{round(1.05 * least_bps(plan))} bit/s"}


@points(1)
def test_acks(work: GradingWork) -> None:
    """Acknowledgments a second on the present line, to 2 %"""
    work.near("acks", acks(work.plan), 0.02, "not rate / (90 B × 8)")


@points(2)
def test_acks_do_not_wait(work: GradingWork) -> None:
    """On your line back, the queue of a fresh run drops no acknowledgment, and the receiver reads 95 % of the line"""
    run = work.run(f"path.1.reverse.line_rate={round(work.number('back'))} bit/s")
    share = run.goodput_bps(FROM_S) / run.plan.physics.line_rate_limit_bps
    dropped = run.samples.drops_by_link(FROM_S).get((1, "reverse"), 0)
    assert share >= 0.95, f"the receiver reads {100 * share:.1f} %"
    assert not dropped, f"the queue back drops {dropped} acknowledgments"


@points(2)
def test_back_is_the_least(work: GradingWork) -> None:
    """Your rate back is the least one, to 10 %"""
    work.near("back", least_bps(work.plan), 0.10, "not rate ahead × 90 / (2 × 1538)")
