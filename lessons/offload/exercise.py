"""What a sender's capture shows with offload, and what was on the line."""

import random

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.course.lesson import lesson_named
from landspeed.scenario.plan.plan import Plan

ASKED = {
    "payload": AnswerSpec("the usual payload of a packet in the sender's capture, with offload", "size"),
    "packets": AnswerSpec("packets with payload that the line carried", "number"),
}
HINTS = (
    "With offload, a paced stream has at most 1024 packets in a second.",
    "How many bytes does the pacing send in that time? Only whole segments of 1448 B go into a packet, two at least.",
    "The line carries packets of 1500 B, whatever the captures show.",
)
SCENARIO = """\
format: 1
name: exercise-offload
title: 2 MiB paced at {rate} Mbit/s
line_rate: 1 Gbit/s
hosts:
  a: {{role: sender}}
  b: {{role: receiver}}
path:
  - {{from: a, to: r, one_way_delay: 2 ms}}
  - {{from: r, to: b, one_way_delay: {far} ms, queue: 4 BDP}}
transfer:
  pacing: {rate} Mbit/s
  duration: 1 s
"""
TASK = """\
A host with segmentation offload sends 2 MiB, paced at {rate} Mbit/s. On the line, a packet has at most 1448 B of
payload.

1. How much payload has the usual packet of a capture at this host? To the byte.
2. How many packets with payload does the line carry? To 1 %.

`capture.sh` makes captures: `landspeed exec scenario.yaml --at a -- sh capture.sh {rate}`.
"""


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """30 to 120 Mbit/s, and the program that captures."""
    drawn = StudentDraw.of(SCENARIO, TASK, rate=chance.randrange(6, 25) * 5, far=chance.randrange(3, 10))
    files = {"capture.sh": (lesson_named("offload").folder / "capture.sh").read_text("utf-8")}
    return StudentDraw(drawn.scenario, drawn.task, files)


def rate_bps(plan: Plan) -> int:
    """Of the pacing."""
    return plan.transfer.pacing_rate_bps or 0


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """By theory."""
    theory = lesson_named("offload").theory
    payload = theory.segments(rate_bps(plan)) * theory.MSS_BYTES
    return {"payload": f"{payload} B", "packets": f"{theory.packets(theory.FILE_BYTES)}"}


def fresh(work: GradingWork, state: str) -> tuple[int, int, int, int]:
    """Payloads and packets of fresh captures at both ends."""
    lesson, mbps = lesson_named("offload"), rate_bps(work.plan) // 1_000_000
    run = work.program("a", "sh", f"{lesson.folder / 'capture.sh'}", f"{mbps}")
    return lesson.theory.captures(run)[mbps, state]


@points(2)
def test_payload(work: GradingWork) -> None:
    """The usual packet of a fresh capture at the sender, with offload"""
    assert work.number("payload") == fresh(work, "on")[0], "another size: what does the pacing send in 1/1024 s?"


@points(2)
def test_packets(work: GradingWork) -> None:
    """Packets that the receiver gets of a fresh transfer without offload, to 1 %"""
    work.near("packets", fresh(work, "off")[3], 0.01, "another count: the line carries packets of 1500 B")
