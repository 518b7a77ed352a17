"""BBR's window in ProbeBW on a path of the student's own, and the least queue that takes its Startup."""

import random

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson import lesson_named
from landspeed.course.lesson_run import LessonRun
from landspeed.scenario.plan.plan import Plan

ASKED = {
    "window": AnswerSpec("BBR's window in most of ProbeBW, in packets", "number"),
    "queue": AnswerSpec("the least queue before the second link with which nothing is lost", "size"),
}
HINTS = (
    "The path holds rate × round trip; a full packet is 1538 B on the line. In ProbeBW the window is twice that.",
    "In Startup the window is 2.89 times what the path holds. Where is what the path does not hold?",
    "Three bursts of about a millisecond are added to the window. The queue counts 1514 B of each packet.",
)
QUEUED_BYTES = 1514  # of a packet: the IP packet and its Ethernet header
SCENARIO = """\
format: 1
name: exercise-bbr
title: BBR over {rate} Mbit/s and {rtt} ms
line_rate: 1 Gbit/s
hosts:
  a: {{role: sender}}
  b: {{role: receiver}}
path:
  - {{from: a, to: r, one_way_delay: 2 ms}}
  - {{from: r, to: b, one_way_delay: {far} ms, line_rate: {rate} Mbit/s, queue: 4 BDP}}
transfer:
  congestion_control: bbr
  duration: 3 s
  sample_interval: 10 ms
"""
TASK = """\
A BBR stream has {rate} Mbit/s over {rtt} ms for itself.

1. How large is its window in most of ProbeBW, in packets? To 6 %.
2. Which queue before the second link (`path.1.queue`) is just large enough that nothing is lost when it starts? At most
   8 % larger than the least one.

Try with `landspeed run scenario.yaml --set path.1.queue="500 kB"`; its report draws the window.
"""


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """20 to 39 Mbit/s over 30 to 50 ms."""
    rate, rtt = chance.randrange(20, 40), chance.randrange(15, 26) * 2
    return StudentDraw.of(SCENARIO, TASK, rate=rate, rtt=rtt, far=rtt // 2 - 2)


def path_of(plan: Plan) -> tuple[float, float]:
    """Rate and round trip."""
    return plan.links[1].forward.rate_bps, plan.physics.rtt_ns / 1e9


def least_queue(plan: Plan) -> float:
    """What of Startup's window the path does not hold."""
    return lesson_named("bbr").theory.startup_queue_packets(*path_of(plan)) * QUEUED_BYTES


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """By theory, the queue 5 % above the least one."""
    window = round(lesson_named("bbr").theory.cruise_packets(*path_of(plan)))
    return {"window": f"{window}", "queue": f"{1.05 * least_queue(plan):.0f} B"}


def fresh(work: GradingWork) -> LessonRun:
    """A run with the student's queue."""
    return work.run(f"path.1.queue={work.number('queue'):.0f} B")


@points(2)
def test_window(work: GradingWork) -> None:
    """The median of the window in ProbeBW of a fresh run, to 6 %"""
    window = lesson_named("bbr").theory.cruising_packets(fresh(work))
    work.near("window", window, 0.06, "another one: twice what the path holds, and three bursts")


@points(2)
def test_nothing_is_lost(work: GradingWork) -> None:
    """With your queue, a fresh run drops no packet"""
    dropped = fresh(work).samples.drops_by_link()
    assert not dropped, f"{sum(dropped.values())} packets are dropped"


@points(1)
def test_queue_is_the_least(work: GradingWork) -> None:
    """Your queue is at most 8 % larger than the least one"""
    over = work.number("queue") / least_queue(work.plan) - 1
    assert over <= 0.08, f"it is {100 * over:.0f} % larger"
