"""The round trip after a line became slower, and the least queue that loses nothing then."""

import random

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson import lesson_named
from landspeed.scenario.plan.plan import Plan

ASKED = {
    "rtt": AnswerSpec("the round trip after the change, when everything has settled", "time"),
    "queue": AnswerSpec("the least queue before the second link with which nothing is lost", "size"),
}
HINTS = (
    "After the change all of the window is on the way, as before. At which rate does the line pass its packets?",
    "What is on the way and does not fit the path at the new rate stands in the queue.",
    "A window of 1448 B packets takes 1538 B a packet on the line; the queue counts 1514 B of each.",
)
QUEUED_BYTES = 1514  # of a packet: the IP packet and its Ethernet header
SCENARIO = """\
format: 1
name: exercise-changing-line
title: From {before} Mbit/s to {after} Mbit/s over {rtt} ms
line_rate: 1 Gbit/s
hosts:
  a: {{role: sender}}
  b: {{role: receiver}}
path:
  - {{from: a, to: r, one_way_delay: 2 ms}}
  - {{from: r, to: b, one_way_delay: {far} ms, line_rate: {before} Mbit/s, queue: 2 MB}}
transfer:
  congestion_control: reno
  window: {window} kB
  window_exact: true
  duration: 2400 ms
  sample_interval: 20 ms
events:
  - {{at: 600 ms, from: r, to: b, line_rate: {after} Mbit/s}}
"""
TASK = """\
A stream with a window of {window} kB uses a line of {before} Mbit/s over {rtt} ms. After 0.6 s the line has
{after} Mbit/s.

1. How long is the round trip then, when everything has settled? To 3 %.
2. Which queue before the second link (`path.1.queue`) is just large enough that nothing is lost? At most 8 % larger
   than the least one.

Try with `landspeed run scenario.yaml --set path.1.queue="300 kB"`.
"""


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """From 20 to 40 Mbit/s to a third or a fifth of that."""
    before, rtt, ratio = chance.randrange(20, 41), chance.randrange(10, 21) * 2, chance.randrange(3, 6)
    window = round(before * rtt / 8 * 0.95)
    return StudentDraw.of(
        SCENARIO, TASK, before=before, rtt=rtt, after=before // ratio, far=rtt // 2 - 2, window=window
    )


def settled_s(plan: Plan) -> float:
    """The lesson's theory."""
    theory = lesson_named("changing-line").theory
    return theory.round_trip_s(plan.transfer.window_bytes, plan.events[0].rate_bps)


def least_queue(plan: Plan) -> float:
    """What of the window does not fit the path."""
    theory = lesson_named("changing-line").theory
    held = theory.path_packets(plan.events[0].rate_bps, plan.physics.rtt_ns / 1e9)
    return ((plan.transfer.window_bytes or 0) / theory.MSS_BYTES - held) * QUEUED_BYTES


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """By theory, the queue 4 % above the least one."""
    return {"rtt": f"{1e3 * settled_s(plan):.1f} ms", "queue": f"{1.04 * least_queue(plan):.0f} B"}


@points(2)
def test_rtt(work: GradingWork) -> None:
    """The round trip of a fresh run in its last half second, to 3 %"""
    late = [us for time_s, us in work.run().series("srtt_us") if time_s >= 1.8]
    work.near("rtt", 1e3 * sum(late) / len(late), 0.03, "another one: all of the window is on the way, at the new rate")


@points(2)
def test_nothing_is_lost(work: GradingWork) -> None:
    """With your queue, a fresh run drops no packet"""
    dropped = work.run(f"path.1.queue={work.number('queue'):.0f} B").samples.drops_by_link()
    assert not dropped, f"{sum(dropped.values())} packets are dropped"


@points(1)
def test_queue_is_the_least(work: GradingWork) -> None:
    """Your queue is at most 8 % larger than the least one"""
    over = work.number("queue") / least_queue(work.plan) - 1
    assert over <= 0.08, f"it is {100 * over:.0f} % larger"
