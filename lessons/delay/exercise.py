"""The largest echo that comes back in time: propagation and serialization, taken apart."""

import random

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.scenario.plan.plan import Plan

ECHO_BYTES = 8 + 20 + 38  # ICMP, IP, Ethernet: beside the payload
ASKED = {
    "serialization": AnswerSpec("how long an echo of 1472 B occupies your slow line, one way", "time"),
    "payload": AnswerSpec("the largest payload whose round trip is within the bound of the task", "size"),
}
HINTS = (
    "An echo with n bytes of payload is n + 66 bytes on the wire; a line needs bits / rate for it.",
    "The round trip is twice the propagation, and twice the serialization of each of the two lines.",
    "Take the propagation off the bound, halve what is left, and solve (n + 66) × 8 × (1/slow + 1/fast) for n.",
)
SCENARIO = """\
format: 1
name: exercise-delay
title: A slow line of {rate} Mbit/s, {rtt} ms there and back
line_rate: 1 Gbit/s
hosts:
  here: {{role: sender}}
  there: {{role: receiver}}
path:
  - {{from: here, to: border, one_way_delay: {first} ms}}
  - {{from: border, to: there, one_way_delay: {second} ms, line_rate: {rate} Mbit/s}}
transfer: {{duration: 1 s}}
"""
TASK = """\
Your path has a line of 1 Gbit/s and a slow one of {rate} Mbit/s; light needs {rtt} ms there and back.

1. How long does an echo with 1472 B of payload occupy the slow line, one way?
2. A telephone sends one packet after the other. Its echo may take {bound} ms, there and back. What is the largest
   payload (`ping -s`) for which it does? It may be up to 2 % smaller than that.

Try with `landspeed exec scenario.yaml --at here -- ping -c 3 -s 800 there`.
"""


def bound_ms(rtt_ms: float, rate_mbps: float) -> float:
    """What an echo may take: propagation, and 5 to 9 kbit of the slow line both ways."""
    return round(rtt_ms + (10 + rtt_ms % 9) / rate_mbps, 2)


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """A slow line of 1 to 8 Mbit/s and a propagation of 20 to 80 ms."""
    rate, rtt, first = chance.randrange(1, 9), chance.randrange(10, 41) * 2, chance.randrange(1, 5)
    bound = bound_ms(rtt, rate)
    return StudentDraw.of(SCENARIO, TASK, rate=rate, rtt=rtt, first=first, second=rtt // 2 - first, bound=bound)


def bound_of(plan: Plan) -> float:
    """The bound of a student's path in ms."""
    return bound_ms(propagation_ms(plan), plan.links[1].forward.rate_bps / 1e6)


def propagation_ms(plan: Plan) -> float:
    """There and back with nothing on the way."""
    return sum(link.forward.delay_ns + link.reverse.delay_ns for link in plan.links) / 1e6


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """Both formulas, solved."""
    per_byte_ms = sum(8e3 / link.forward.rate_bps for link in plan.links)
    payload = (bound_of(plan) - propagation_ms(plan)) / 2 / per_byte_ms - ECHO_BYTES
    slow_ms = (1472 + ECHO_BYTES) * 8e3 / plan.links[1].forward.rate_bps
    return {"serialization": f"{slow_ms:.4f} ms", "payload": f"{int(payload)} B"}


@points(1)
def test_serialization(work: GradingWork) -> None:
    """Serialization of a full echo on the slow line, to 1 %"""
    right_ns = (1472 + ECHO_BYTES) * 8e9 / work.plan.links[1].forward.rate_bps
    work.near("serialization", right_ns, 0.01, "not (payload + 66 B) × 8 / rate")


@points(3)
def test_echo_is_in_time(work: GradingWork) -> None:
    """An echo of your payload, sent now, is back within the bound, and one of 2 % more would hardly be"""
    size = round(work.number("payload"))
    said = work.program("here", "ping", "-q", "-n", "-c", "3", "-s", str(size), "there").output
    took_ms = float(said.rpartition("= ")[2].split("/")[0])
    bound, light = bound_of(work.plan), propagation_ms(work.plan)
    assert took_ms <= bound + 0.005, f"it takes {took_ms} ms of {bound} ms"
    used = (took_ms - light) / (bound - light)
    assert used >= 0.97, f"it takes {took_ms} ms: a larger one would be in time, too"
