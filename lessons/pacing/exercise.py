"""The fastest pacing that a short queue survives."""

import random

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.scenario.plan.plan import Plan

FROM_S = 2.0
ASKED = {
    "burst": AnswerSpec("how much of a window of one BDP must wait before the line if it leaves in one burst", "size"),
    "pacing": AnswerSpec("a pacing rate with which nothing is lost and the line is used to 97 %", "rate"),
}
HINTS = (
    "While a burst arrives at the rate of the network card, the line carries a part of it away. The rest waits.",
    "BDP × (1 − line / card).",
    "Linux spaces packets by their payload: at most line rate × 1448 / 1538, and not less than 97 % of that.",
)
SCENARIO = """\
format: 1
name: exercise-pacing
title: A queue of {queue} kB before {rate} Mbit/s
line_rate: {rate} Mbit/s
hosts:
  a: {{role: sender, nic: 1 Gbit/s}}
  b: {{role: receiver}}
path:
  - {{from: a, to: r, one_way_delay: 1 ms, line_rate: 1 Gbit/s}}
  - {{from: r, to: b, one_way_delay: {second} ms, queue: {queue} kB}}
transfer:
  congestion_control: cubic
  window: 8 MB
  duration: 6 s
"""
TASK = """\
A card of 1 Gbit/s sends into a line of {rate} Mbit/s, whose queue holds {queue} kB. The round trip is {rtt} ms.

1. A window of one BDP leaves the card in one burst. How much of it must wait before the line at most?
2. At which rate must the sender pace, so that not one packet is sent again and the receiver reads 97 % of what the line
   leaves for payload?

Try with `landspeed run scenario.yaml --set transfer.pacing="50 Mbit/s"`.
"""


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """A line of 60 to 150 Mbit/s, 40 to 90 ms, and a queue of 20 to 40 packets."""
    rate, rtt, queue = chance.randrange(6, 16) * 10, chance.randrange(20, 46) * 2, chance.randrange(30, 61)
    return StudentDraw.of(SCENARIO, TASK, rate=rate, rtt=rtt, second=rtt // 2 - 1, queue=queue)


def burst_bytes(plan: Plan) -> float:
    """What of a BDP the line has not carried away when its last byte has come."""
    card, line = (plan.links[number].forward.rate_bps for number in (0, 1))
    return line * plan.physics.rtt_ns / 8e9 * (1 - line / card)


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """The formula, and 99 % of what the line leaves."""
    return {
        "burst": f"{round(burst_bytes(plan))} B",
        "pacing": f"{round(0.99 * plan.physics.line_rate_limit_bps)} bit/s",
    }


@points(2)
def test_burst(work: GradingWork) -> None:
    """What of the burst must wait, to 3 %"""
    work.near("burst", burst_bytes(work.plan), 0.03, "not BDP × (1 − line / card)")


@points(2)
def test_nothing_is_lost(work: GradingWork) -> None:
    """Paced by you, a fresh run sends no packet again, and the queue drops none"""
    run = work.run(f"transfer.pacing={round(work.number('pacing'))} bit/s")
    again = run.record.retransmits or 0
    assert again == 0, f"{again} packets were sent again"


@points(2)
def test_line_is_used(work: GradingWork) -> None:
    """Paced by you, the receiver reads 97 % of what the line leaves"""
    run = work.run(f"transfer.pacing={round(work.number('pacing'))} bit/s")
    share = run.goodput_bps(FROM_S) / run.plan.physics.line_rate_limit_bps
    assert share >= 0.97, f"it reads {100 * share:.1f} %"
