"""Windows for a record, and the loss that it bears."""

import random

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.scenario.plan.plan import Plan

FROM_S, WANTED = 4.0, 0.98
ASKED = {
    "window": AnswerSpec("the least window of each stream with which the bus of the host is the limit", "size"),
    "loss": AnswerSpec(
        "the greatest probability of loss at which Reno streams keep that rate in the long run", "share"
    ),
}
HINTS = (
    "What the bus lets through: its rate × 8948 / 9000, since it moves whole IP packets.",
    "That rate × round trip must be in flight; each stream has its part of it.",
    "Each stream's rate is MSS × 8 / RTT × √(3/2) / √p. Solve it for p.",
)
SCENARIO = """\
format: 1
name: exercise-record-2004
title: A record of {streams} streams over {rtt} ms
fidelity: super-packets
mtu: 9000 B
line_rate: 10 Gbit/s
queue: 64 MB
hosts:
  geneva: {{role: sender, nic: 10 Gbit/s, bus: {{rate: {bus} Mbit/s, why: drawn}}}}
  pasadena: {{role: receiver, nic: 10 Gbit/s}}
path:
  - {{from: geneva, to: chicago, one_way_delay: 60 ms}}
  - {{from: chicago, to: pasadena, one_way_delay: {second} ms}}
transfer:
  streams: {streams}
  congestion_control: reno
  window: 8 MB
  window_exact: true
  duration: 8 s
"""
TASK = """\
Your host's bus moves {bus} Mbit/s of IP packets of 9000 B, the line carries 10 Gbit/s, and the round trip is {rtt} ms.
You try a record with {streams} Reno streams.

1. Which window must the receiver offer to each stream, so that the bus is the limit? The least one that gets 98 % of
   what the bus lets through, at most 10 % more.
2. At which probability of loss would the streams still keep the bus busy in the long run? To 10 %.

Try with `landspeed run scenario.yaml --set transfer.window="20 MB"`.
"""


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """A bus of 3 to 7 Gbit/s, 4 to 10 streams, and a round trip of 160 to 280 ms."""
    bus, streams, rtt = chance.randrange(30, 71) * 100, chance.randrange(4, 11), chance.randrange(80, 141) * 2
    return StudentDraw.of(SCENARIO, TASK, bus=bus, streams=streams, rtt=rtt, second=rtt // 2 - 60)


def least(plan: Plan) -> float:
    """A stream's part of what must be in flight."""
    physics = plan.physics
    return WANTED * (physics.bus_limit_bps or 0) * physics.rtt_ns / 8e9 / plan.transfer.streams


def greatest(plan: Plan) -> float:
    """Loss that leaves each stream its part of the bus (Mathis et al. 1997)."""
    physics = plan.physics
    each_bps = (physics.bus_limit_bps or 0) / plan.transfer.streams
    return 1.5 * (physics.mss_bytes * 8e9 / physics.rtt_ns / each_bps) ** 2


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """A little more than the least window, and the law."""
    return {"window": f"{round(1.06 * least(plan))} B", "loss": f"{100 * greatest(plan):.3e} %"}


@points(2)
def test_bus_is_the_limit(work: GradingWork) -> None:
    """With your windows, the receiver of a fresh run reads 98 % of what the bus lets through"""
    run = work.run(f"transfer.window={round(work.number('window'))} B")
    share = run.goodput_bps(FROM_S) / (run.plan.physics.bus_limit_bps or 1)
    assert share >= WANTED - 0.005, f"it reads {100 * share:.1f} %"


@points(2)
def test_window_is_the_least(work: GradingWork) -> None:
    """Your window is at most 10 % above the least one"""
    over = work.number("window") / least(work.plan) - 1
    assert over <= 0.10, f"it is {100 * over:.0f} % above what is needed"


@points(2)
def test_loss(work: GradingWork) -> None:
    """The greatest loss, to 10 %"""
    work.near("loss", greatest(work.plan), 0.10, "not 1.5 × (MSS × 8 / RTT / rate of a stream)²")
