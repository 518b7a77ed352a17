"""As few streams as fill the line, and what they take from others."""

import math
import random

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.scenario.plan.plan import Plan

FROM_S, WANTED = 2.0, 0.97
OTHERS = 3  # streams of a colleague
ASKED = {
    "streams": AnswerSpec("the least number of streams that fill 97 % of what the line leaves", "number"),
    "share": AnswerSpec("the share of a full line that so many streams take beside three others", "share"),
}
HINTS = (
    "One stream carries a window in each round trip. Whole packets only: round the window down to 1448 B.",
    "97 % of rate × 1448 / 1538, over what one stream carries; round up.",
    "Streams of one kind share a line evenly: n of n + 3.",
)
SCENARIO = """\
format: 1
name: exercise-parallel
title: Windows of {window} kB, {rate} Mbit/s over {rtt} ms
line_rate: {rate} Mbit/s
queue: 2 BDP
hosts:
  a: {{role: sender}}
  b: {{role: receiver}}
path:
  - {{from: a, to: r, one_way_delay: 1 ms}}
  - {{from: r, to: b, one_way_delay: {second} ms}}
transfer:
  streams: 1
  window: {window} kB      # of each stream
  window_exact: true
  duration: 5 s
"""
TASK = """\
The other end offers {window} kB to each connection, and nobody there can change it. Your path carries {rate} Mbit/s
over {rtt} ms.

1. With how many parallel streams do you get 97 % of what the line leaves for payload? Take as few as possible.
2. A colleague uses three streams of the same kind, without a limit of the window. If yours had none either: which share
   of the line would your streams take?

Try with `landspeed run scenario.yaml --set transfer.streams=4`.
"""


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """A rate of 80 to 160 Mbit/s, 60 to 120 ms, and a window of a third to an eighth of the BDP."""
    rate, rtt = chance.randrange(8, 17) * 10, chance.randrange(30, 61) * 2
    window = round(rate * rtt / 8 / chance.randrange(30, 80) * 10)
    return StudentDraw.of(SCENARIO, TASK, rate=rate, rtt=rtt, second=rtt // 2 - 1, window=window)


def least(plan: Plan) -> int:
    """Streams whose windows, in whole packets, let through what is wanted."""
    physics = plan.physics
    window = (plan.transfer.window_bytes or 0) // physics.mss_bytes * physics.mss_bytes
    return math.ceil(WANTED * physics.line_rate_limit_bps * physics.rtt_ns / 8e9 / window)


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """The least number, and its share beside three."""
    streams = least(plan)
    return {"streams": str(streams), "share": f"{100 * streams / (streams + OTHERS):.2f} %"}


@points(2)
def test_line_is_filled(work: GradingWork) -> None:
    """With so many streams, the receiver of a fresh run reads 97 % of what the line leaves"""
    streams = work.number("streams")
    assert 1 <= streams <= 64, "try 1 to 64"
    run = work.run(f"transfer.streams={streams:.0f}")
    share = run.goodput_bps(FROM_S) / run.plan.physics.line_rate_limit_bps
    assert share >= WANTED - 0.005, f"it reads {100 * share:.1f} %"


@points(2)
def test_streams_are_few(work: GradingWork) -> None:
    """No stream more than needed"""
    assert work.number("streams") <= least(work.plan), "fewer are enough: line / (window / round trip), rounded up"


@points(1)
def test_share(work: GradingWork) -> None:
    """What they would take beside three others, to 2 %"""
    streams = work.number("streams")
    work.near("share", streams / (streams + OTHERS), 0.02, "not n / (n + 3)")
