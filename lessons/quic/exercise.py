"""How near a server has to be for QUIC, and what one lost message of the student's own costs."""

import random
import sys
from types import ModuleType

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson import lesson_named
from landspeed.course.lesson_run import LessonRun
from landspeed.scenario.plan.plan import Plan

ASKED = {
    "delay": AnswerSpec("the longest delay of the second link with which the page is there in time by TLS", "time"),
    "lost": AnswerSpec("time from a message that is lost until it is read", "time"),
    "together": AnswerSpec("messages that TCP's program reads when the lost one comes", "number"),
}
HINTS = (
    "Count the round trips until a page is there by TCP and TLS 1.3. What is left of the time for each?",
    "The sender learns of a loss when the next message is acknowledged; what it sends again needs half a round trip.",
    "Until then it wrote more messages. All that were written before it sent again are there first.",
)
REST_MS = 1
SCENARIO = """\
format: 1
name: exercise-quic
title: A message each {every} ms over {rtt} ms
line_rate: 1 Gbit/s
hosts:
  server: {{role: sender}}
  client: {{role: receiver}}
path:
  - {{from: server, to: r, one_way_delay: 1 ms}}
  - {{from: r, to: client, one_way_delay: {delay} ms, line_rate: 500 Mbit/s}}
transfer:
  duration: {wanted} ms         # in which the page is to be there
  sample_interval: {every} ms   # of messages
"""
TASK = """\
Between a server and a client are {rtt} ms.

1. A page of 1 kB is to be there in {wanted} ms by TCP and TLS 1.3, from the first SYN on. How long may the second link
   be, one way? At most 3 % shorter than the longest delay.
2. The server writes a message of 1 kB each {every} ms, and a router loses one on your path as it is. How long from this
   message's writing until it is read, by TCP or QUIC? To 3 %.
3. How many messages does the client's program read then at once, by TCP?

Try with `landspeed exec scenario.yaml --at server -- sh ways.sh PYTHON ways.py {every} page` (or `messages 60`, of
which the fiftieth is lost; it prints when each was written and read, in ms). PYTHON has aioquic:
`pip install 'landspeed[course]'` brings it.
"""
FILES = ("ways.sh", "ways.py")


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """60 to 120 ms; messages so often that 3 to 5 are read at once, and that no border is near."""
    while True:
        rtt, every = chance.randrange(30, 61) * 2, chance.randrange(20, 61)
        if 0.2 <= rtt / every % 1 <= 0.8 and 1.3 <= rtt / every < 4:
            break
    wanted = chance.randrange(60, 3 * rtt - 20)
    drawn = StudentDraw.of(SCENARIO, TASK, rtt=rtt, every=every, delay=rtt // 2 - REST_MS, wanted=wanted)
    folder = lesson_named("quic").folder
    return StudentDraw(drawn.scenario, drawn.task, {name: (folder / name).read_text("utf-8") for name in FILES})


def theory() -> ModuleType:
    """The lesson's."""
    return lesson_named("quic").theory


def every_s(plan: Plan) -> float:
    """Between two messages."""
    return plan.transfer.sample_interval_ns / 1e9


def longest_s(plan: Plan) -> float:
    """The longest delay of the second link with which the page is there in time by TLS."""
    assert plan.transfer.duration_ns
    trips = theory().ROUND_TRIPS[theory().TLS]
    return plan.transfer.duration_ns / 1e9 / trips / 2 - plan.links[0].forward.delay_ns / 1e9


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """By theory, the delay 1.5 % below the longest one."""
    rtt_s = plan.physics.rtt_ns / 1e9
    return {
        "delay": f"{1e3 * 0.985 * longest_s(plan):.2f} ms",
        "lost": f"{1e3 * theory().lost_s(every_s(plan), rtt_s, theory().TCP):.1f} ms",
        "together": f"{theory().together(every_s(plan), rtt_s, theory().TCP)}",
    }


def ways(work: GradingWork, *what: str, overrides: tuple[str, ...] = ()) -> LessonRun:
    """A fresh run of the lesson's server and client."""
    script, program = (f"{lesson_named('quic').folder / name}" for name in FILES)
    every_ms = f"{1e3 * every_s(work.plan):.0f}"
    return work.program("server", "sh", script, sys.executable, program, every_ms, *what, overrides=overrides)


def messages(work: GradingWork) -> dict[int, tuple[float, float]]:
    """TCP's messages of a fresh run, the fiftieth of which is lost: when each was written and read."""
    return theory().messages(ways(work, "messages", "60"))[theory().TCP]


@points(2)
def test_page_is_there_in_time(work: GradingWork) -> None:
    """With your delay, a fresh client has the page by TLS in time"""
    wanted_ms = (work.plan.transfer.duration_ns or 0) / 1e6
    delay = f"path.1.one_way_delay={work.number('delay') / 1e6:.3f} ms"
    took_ms = theory().times_ms(ways(work, "page", overrides=(delay,)))[theory().TLS]
    assert took_ms <= wanted_ms, f"it takes {took_ms:.1f} ms"


@points(1)
def test_delay_is_the_longest(work: GradingWork) -> None:
    """Your delay is at most 3 % shorter than the longest one"""
    share = work.number("delay") / (1e9 * longest_s(work.plan))
    assert share >= 0.97, f"it could be {100 / share - 100:.0f} % longer"


@points(2)
def test_lost(work: GradingWork) -> None:
    """The time until a fresh client reads the message that was lost, to 3 %"""
    written, read = messages(work)[theory().FIRST_LOST]
    work.near("lost", 1e9 * (read - written), 0.03, "another time: how does the sender learn of the loss, and when?")


@points(2)
def test_together(work: GradingWork) -> None:
    """The messages that a fresh client reads when the lost one comes"""
    count = theory().read_with(messages(work), theory().FIRST_LOST)
    assert work.number("together") == count, "another count: what did the server write until it sent again?"
