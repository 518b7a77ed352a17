"""The first window with which a page is there in two round trips."""

import math
import random

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson_run import first_at
from landspeed.scenario.plan.plan import Plan

WANTED = 2  # round trips
ASKED = {
    "rounds": AnswerSpec("round trips until the page is there, with Linux's first window of 10 packets", "number"),
    "window": AnswerSpec("the least first window with which it is there in two round trips, in packets", "number"),
}
HINTS = (
    "How many packets is the page? A packet of 1500 B has 1448 B of payload.",
    "The window doubles: after n round trips W, 2 W, 4 W … packets have been sent, W × (2ⁿ − 1) together.",
    "Two round trips carry 3 W packets. Round up.",
)
SCENARIO = """\
format: 1
name: exercise-slow-start
title: A page of {size} B over {rtt} ms
line_rate: 1 Gbit/s
queue: 1 BDP
hosts:
  server: {{role: sender}}
  browser: {{role: receiver}}
path:
  - {{from: server, to: core, one_way_delay: {first} ms}}
  - {{from: core, to: browser, one_way_delay: {second} ms}}
transfer:
  congestion_control: reno
  window: 8 MB
  initial_window: 10
  bytes: {size} B
  sample_interval: 10 ms
"""
TASK = """\
A server of yours sends a page of {size} B over a fast line; the round trip is {rtt} ms. The connection is open.

1. In how many round trips is the whole page there, with Linux's first window of 10 packets? Count a round trip for each
   window that is sent.
2. The page is to be there in two. What is the least first window? (More would be a burst that nobody asked for.)

Try with `landspeed run scenario.yaml --set transfer.initial_window=20`.
"""


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """A page of 45 to 115 packets and a round trip of 120 to 240 ms."""
    packets, rtt, first = chance.randrange(45, 116), chance.randrange(30, 61) * 4, chance.randrange(1, 9)
    size = packets * 1448 - chance.randrange(1448)
    return StudentDraw.of(SCENARIO, TASK, size=size, rtt=rtt, first=first, second=rtt // 2 - first)


def packets_of(plan: Plan) -> int:
    """Packets of the page."""
    return math.ceil((plan.transfer.bytes or 0) / plan.physics.mss_bytes)


def rounds(packets: int, first_window: int) -> int:
    """Windows that are sent until so many packets are."""
    return math.ceil(math.log2(packets / first_window + 1))


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """The geometric series, and a third of the page."""
    packets = packets_of(plan)
    return {"rounds": str(rounds(packets, 10)), "window": str(math.ceil(packets / 3))}


@points(1)
def test_rounds(work: GradingWork) -> None:
    """Round trips with a first window of 10 packets"""
    right = rounds(packets_of(work.plan), 10)
    assert work.number("rounds") == right, "not the least n with 10 × (2ⁿ − 1) packets or more"


@points(2)
def test_page_is_there(work: GradingWork) -> None:
    """With your first window, the receiver has the whole page in two round trips"""
    run = work.run(f"transfer.initial_window={work.number('window'):.0f}")
    trips = took_s(run.series("bytes", end="receiver"), work.plan.transfer.bytes or 0) / run.rtt_s
    assert trips <= WANTED + 0.2, f"it takes {trips:.1f} round trips"


@points(2)
def test_window_is_the_least(work: GradingWork) -> None:
    """Your window is the least one"""
    least = math.ceil(packets_of(work.plan) / 3)
    assert work.number("window") <= least, f"it is {work.number('window') - least:.0f} packets more than needed"


def took_s(read: list[tuple[float, float]], size: int) -> float:
    """Time of the receiver until so many bytes were read."""
    return first_at(read, size)
