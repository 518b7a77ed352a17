"""How long a page of the student's own takes, and how near a copy of it has to be."""

import random

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson import lesson_named
from landspeed.scenario.plan.plan import Plan

ASKED = {
    "completion": AnswerSpec("the page's completion time, from the first byte sent until the last one read", "time"),
    "delay": AnswerSpec("the longest delay of the first link with which the page is there in time", "time"),
}
HINTS = (
    "How many packets of 1448 B has the page, and how many windows of 10, 20, 40 … are they?",
    "Linux paces at two windows a round trip: a full window leaves over more than half of one.",
    "Completion is nearly in proportion to the round trip, so the round trip in time follows; half of it is one way.",
)
REST_MS = 1
SCENARIO = """\
format: 1
name: exercise-short-flows
title: A page of {size} kB over {rate} Mbit/s and {rtt} ms
line_rate: 10 Gbit/s
queue: 10 MB
hosts:
  server: {{role: sender}}
  client: {{role: receiver}}
path:
  - {{from: server, to: edge, one_way_delay: {delay} ms}}
  - {{from: edge, to: client, one_way_delay: 1 ms, line_rate: {rate} Mbit/s}}
transfer:
  congestion_control: reno
  bytes: {size} kB
"""
TASK = """\
A page of {size} kB comes over {rate} Mbit/s and {rtt} ms. The connection is open, and its first window has 10 packets.

1. How long is it from the first byte sent until the last one is read? To 5 %.
2. Readers leave after {wanted} ms. Where must a copy of the page be? Find the longest delay of the first link, one way,
   with which the last byte is read in time: at most 8 % shorter than the longest one.

Try with `landspeed run scenario.yaml --set path.0.one_way_delay="20 ms"`; `result.json` of the bundle has
`completion_from_start_s`.
"""


def completion_s(size_bytes: float, rtt_s: float, rate_bps: float) -> float:
    """The lesson's theory."""
    return lesson_named("short-flows").theory.completion_s(size_bytes, rtt_s, rate_bps)


def wanted_s(size_bytes: float, rtt_s: float, rate_bps: float) -> float:
    """The time after which readers leave: about half of what the page takes."""
    return round(completion_s(size_bytes, rtt_s, rate_bps) / 2, 2)


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """A page of 60 to 400 kB over 80 to 160 ms."""
    size, rtt, rate = chance.randrange(6, 41) * 10, chance.randrange(40, 81) * 2, chance.randrange(8, 30) * 10
    wanted = round(1e3 * wanted_s(size * 1e3, rtt / 1e3, rate * 1e6))
    return StudentDraw.of(SCENARIO, TASK, size=size, rtt=rtt, rate=rate, delay=rtt // 2 - REST_MS, wanted=wanted)


def page_of(plan: Plan) -> tuple[float, float, float]:
    """Its size, round trip and line."""
    return plan.transfer.bytes or 0, plan.physics.rtt_ns / 1e9, plan.links[1].forward.rate_bps


def longest_s(plan: Plan) -> float:
    """The longest round trip with which the page is there in time."""
    size, rtt_s, rate_bps = page_of(plan)
    wanted, low, high = wanted_s(size, rtt_s, rate_bps), 0.0, rtt_s
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if completion_s(size, middle, rate_bps) <= wanted else (low, middle)
    return low


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """Theory's, the delay 4 % below the longest one."""
    delay_ms = 1e3 * (0.96 * longest_s(plan) / 2) - REST_MS
    return {"completion": f"{1e3 * completion_s(*page_of(plan)):.1f} ms", "delay": f"{delay_ms:.2f} ms"}


@points(2)
def test_completion(work: GradingWork) -> None:
    """The completion time of the page in a fresh run, to 5 %"""
    why = "another time: count the windows, each a round trip, and half of one for the last packet"
    work.near("completion", 1e9 * (work.run().record.completion_from_start_s or 0), 0.05, why)


@points(2)
def test_copy_is_near_enough(work: GradingWork) -> None:
    """With your delay, a fresh run reads the last byte in time"""
    took_s = work.run(f"path.0.one_way_delay={work.number('delay') / 1e6:.4f} ms").record.completion_from_start_s
    assert took_s is not None
    assert took_s <= wanted_s(*page_of(work.plan)), f"it takes {1e3 * took_s:.0f} ms"


@points(1)
def test_delay_is_the_longest(work: GradingWork) -> None:
    """Your delay is at most 8 % shorter than the longest one"""
    share = work.number("delay") / (1e9 * longest_s(work.plan) / 2 - 1e6 * REST_MS)
    assert share >= 0.92, f"it could be {100 / share - 100:.0f} % longer"
