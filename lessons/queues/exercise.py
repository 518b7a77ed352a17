"""A queue that keeps the delay below 20 ms and the line at 95 %."""

import random

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson_run import LessonRun, between, percentile
from landspeed.scenario.plan.plan import Plan

DISCIPLINES = ("fifo", "red", "pie", "codel", "fq_codel", "cake")
ASKED = {
    "wait": AnswerSpec("how long the last packet of the full queue waits at present", "time"),
    "discipline": AnswerSpec("the discipline that you choose", "word", DISCIPLINES),
    "queue": AnswerSpec("the size of the queue that you choose", "size"),
}

HINTS = (
    "A full queue of Q bytes before a line of rate C delays its last packet by Q / C.",
    "20 ms of this line are rate × 0.020 s / 8 bytes: a plain queue that is not longer can never delay more.",
    "One CUBIC stream keeps 70 % of its window at a loss: the line stays busy with less than a whole BDP of queue.",
)

FROM_S = 10.0
BOUND_S, SHARE = 0.020, 0.95

SCENARIO = """\
format: 1
name: exercise-queues
title: A home line of {rate} Mbit/s with a deep queue
line_rate: 1 Gbit/s
hosts:
  server: {{role: sender}}
  laptop: {{role: receiver}}
path:
  - {{from: server, to: core, one_way_delay: {first} ms}}
  - {{from: core, to: home, one_way_delay: {second} ms, line_rate: {rate} Mbit/s, queue: {queue} kB, discipline: fifo}}
  - {{from: home, to: laptop, one_way_delay: 1 ms}}
transfer:
  congestion_control: cubic
  window: 8 MB
  duration: 30 s
"""

TASK = """\
Somebody set the queue of a line of {rate} Mbit/s to {queue} kB, "so that nothing is lost". Now every call stutters
while a file is loaded. The round trip of the empty path is {rtt} ms.

1. How long does the last packet wait when the queue is full?
2. Choose a discipline and a size with which one CUBIC stream waits less than 20 ms in the queue, for 95 % of the time,
   and still gets 95 % of what the line leaves for payload, both from the tenth second on.

Try with `landspeed run scenario.yaml --set path.1.discipline=codel --set path.1.queue="500 kB"`.
"""


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """A rate of 40 to 80 Mbit/s and a round trip of 24 to 48 ms."""
    rate, rtt = chance.randrange(8, 17) * 5, chance.randrange(12, 25) * 2
    first = chance.randrange(2, 6)
    queue = rate * chance.randrange(25, 60)  # 200 to 480 ms
    values = {"rate": rate, "rtt": rtt, "first": first, "second": rtt // 2 - first - 1, "queue": queue}
    return StudentDraw(SCENARIO.format(**values), TASK.format(**values), {})


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """The wait, and a plain queue of 17 ms."""
    lane = plan.links[1].forward
    wait_ms = lane.queue_bytes * 8e3 / lane.rate_bps
    return {"wait": f"{wait_ms:.1f} ms", "discipline": "fifo", "queue": f"{round(lane.rate_bps * 0.017 / 8)} B"}


def with_theirs(work: GradingWork) -> LessonRun:
    """A run with the queue that was chosen."""
    queue = f"path.1.queue={round(work.number('queue'))} B"
    return work.run(queue, f"path.1.discipline={work.answers['discipline']}")


@points(1)
def test_wait(work: GradingWork) -> None:
    """How long the last packet of the full queue waits, to 5 %"""
    lane = work.plan.links[1].forward
    wait_ns = lane.queue_bytes * 8e9 / lane.rate_bps
    work.near("wait", wait_ns, 0.05, "not the size of the queue over the rate of the line")


@points(2)
def test_delay(work: GradingWork) -> None:
    """With your queue, packets wait less than 20 ms for 95 % of the time"""
    run = with_theirs(work)
    waits = [(time_s, value / 1e6 - run.rtt_s) for time_s, value in between(run.series("srtt_us"), FROM_S)]
    found = percentile(waits, 0.95)
    assert found < BOUND_S, f"it is {found * 1e3:.1f} ms"


@points(2)
def test_goodput(work: GradingWork) -> None:
    """With your queue, the stream gets 95 % of what the line leaves"""
    run = with_theirs(work)
    share = run.goodput_bps(FROM_S) / run.plan.physics.line_rate_limit_bps
    assert share >= SHARE, f"it gets {100 * share:.1f} %"
