"""What one download gets beside many, what an echo waits, and which queues give each person half."""

import random

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson import lesson_named
from landspeed.course.lesson_run import LessonRun
from landspeed.scenario.plan.plan import Plan

ASKED = {
    "rate": AnswerSpec("what the single download gets of the line with FQ-CoDel, headers and framing included", "rate"),
    "echo": AnswerSpec("the round trip that 95 of 100 echoes do not exceed, with SFQ", "time"),
    "isolation": AnswerSpec(
        "the isolation of CAKE with which both hosts get half", "word", ("triple-isolate", "flows", "hosts")
    ),
}
HINTS = (
    "Count the flows that fill the line. Each has a queue, and the queues take turns.",
    "An echo's queue is empty: it waits for a packet of each other flow. A packet has 1538 B on the line.",
    "All flows come from one server. Which kind of isolation still sees a difference between the two receivers?",
)
SCENARIO = """\
format: 1
name: exercise-flow-queues
title: {many} downloads beside one, {rate} Mbit/s over {rtt} ms
line_rate: 1 Gbit/s
links:
  - {{from: server, to: edge, one_way_delay: {far} ms}}
  - {{from: edge, to: home, one_way_delay: 1 ms, line_rate: {rate} Mbit/s, queue: 4 BDP}}
  - {{from: home, to: many, one_way_delay: 1 ms}}
  - {{from: home, to: one, one_way_delay: 1 ms}}
transfer:
  duration: 9 s
flows:
  - {{name: many, from: server, to: many, streams: {many}}}
  - {{name: one, from: server, to: one}}
"""
TASK = """\
`many` loads {many} files at once, `one` loads one, over {rate} Mbit/s and {rtt} ms.

1. With FQ-CoDel before the second link, how much of the line does the download of `one` get? To 8 %.
2. With SFQ, which round trip do 95 of 100 of its echoes not exceed? To 3 %.
3. With which isolation of CAKE does each of the two hosts get half?

Try with `landspeed run scenario.yaml --set links.1.discipline=fq_codel`, and `landspeed exec` with `ping`.
"""


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """Five to ten downloads over 8 to 15 Mbit/s and 30 to 60 ms."""
    many, rate, rtt = chance.randrange(5, 11), chance.randrange(8, 16), chance.randrange(15, 31) * 2
    return StudentDraw.of(SCENARIO, TASK, many=many, rate=rate, rtt=rtt, far=rtt // 2 - 2)


def many_of(plan: Plan) -> int:
    """Downloads of the one who has many."""
    return next(flow.transfer.streams for flow in plan.flows if flow.name == "many")


def echo_s(plan: Plan) -> float:
    """The path, and a packet of each flow."""
    link = plan.links[1].forward
    wait_s = lesson_named("flow-queues").theory.wait_s("SFQ", many_of(plan) + 1, link.rate_bps, 0)
    return plan.flows[1].physics.rtt_ns / 1e9 + wait_s


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """By theory."""
    rate = plan.links[1].forward.rate_bps / (many_of(plan) + 1)
    return {"rate": f"{rate / 1e6:.3f} Mbit/s", "echo": f"{1e3 * echo_s(plan):.2f} ms", "isolation": "hosts"}


def target_ms(plan: Plan) -> float:
    """CoDel's target with which no part of the line is idle, half a round trip; its interval is twenty of them."""
    return plan.flows[1].physics.rtt_ns / 2e6


def loaded(work: GradingWork, discipline: str) -> LessonRun:
    """Echoes and downloads through such a queue, counted at the receivers' cards."""
    script = lesson_named("flow-queues").folder / "load.sh"
    many = f"{many_of(work.plan)}"
    return work.program("server", "sh", f"{script}", many, overrides=(f"links.1.discipline={discipline}",))


@points(2)
def test_rate(work: GradingWork) -> None:
    """What the card of `one` receives of a fresh download with FQ-CoDel, to 8 %"""
    target = target_ms(work.plan)
    run = loaded(work, f"{{fq_codel: {{target: {target:g} ms, interval: {20 * target:g} ms}}}}")
    share = lesson_named("flow-queues").theory.share_of_one(run)
    work.near("rate", share * work.plan.links[1].forward.rate_bps, 0.08, "another rate: count the flows on the line")


@points(2)
def test_echo(work: GradingWork) -> None:
    """What 95 of 100 fresh echoes do not exceed with SFQ, to 3 %"""
    slow_s = lesson_named("flow-queues").theory.slow_echo_s(loaded(work, "sfq"))
    work.near("echo", 1e9 * slow_s, 0.03, "another time: it waits for a packet of each flow")


@points(1)
def test_isolation(work: GradingWork) -> None:
    """With your isolation, both cards receive half of a fresh download, to 2 %"""
    run = loaded(work, f"{{cake: {{isolation: {work.answers['isolation']}, rtt: {20 * target_ms(work.plan):g} ms}}}}")
    share = lesson_named("flow-queues").theory.share_of_host(run)
    assert abs(share - 0.5) <= 0.01, f"`one` gets {100 * share:.0f} %"
