"""The loss that a line may have for a rate: the square-root law, both ways."""

import random

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.scenario.plan.plan import Plan
from landspeed.scenario.theory.physics import square_root_law_bps

FROM_S = 8.0
ASKED = {
    "rate": AnswerSpec("the goodput that the square-root law gives your path as it is", "rate"),
    "loss": AnswerSpec("the greatest probability of loss that leaves the goodput of the task", "share"),
}
HINTS = (
    "MSS × 8 / RTT × √(3/2) / √p; the MSS is 1448 B.",
    "Solve the law for p. The rate has a square in it.",
    "p = 1.5 × (MSS × 8 / RTT / rate)².",
)
SCENARIO = """\
format: 1
name: exercise-random-loss
title: A radio link that loses {loss} %, {rtt} ms
line_rate: 1 Gbit/s
hosts:
  a: {{role: sender}}
  b: {{role: receiver}}
path:
  - {{from: a, to: r, one_way_delay: 1 ms}}
  - {{from: r, to: b, one_way_delay: {second} ms, loss: {loss} %}}
transfer:
  congestion_control: reno
  window: 2 MB
  duration: 45 s
"""
TASK = """\
A radio link loses {loss} % of its packets, at random. The round trip is {rtt} ms, the line is fast,
packets have 1500 B.

1. What does the square-root law give one Reno stream?
2. It is to be {wanted:.1f} Mbit/s. Which loss may the link have? Give the greatest one, to 10 %: better radio
   costs money.

Try with `landspeed run scenario.yaml --set path.1.loss="0.05 %"`, several times with another `seed`: losses are drawn.
"""


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """A loss of 0.1 to 0.2 % and a round trip of 40 to 60 ms."""
    loss, rtt = chance.randrange(10, 21) / 100, chance.randrange(20, 31) * 2
    wanted = factor(rtt) * square_root_law_bps(1448, rtt * 1_000_000, loss / 100) / 1e6
    return StudentDraw.of(SCENARIO, TASK, loss=loss, rtt=rtt, second=rtt // 2 - 1, wanted=wanted)


def factor(rtt_ms: int) -> float:
    """How many times the present goodput is asked for."""
    return (1.6, 1.8, 2.0, 2.2)[rtt_ms // 2 % 4]


def law_bps(plan: Plan) -> float:
    """What the law gives the path as it is."""
    return square_root_law_bps(plan.physics.mss_bytes, plan.physics.rtt_ns, plan.links[1].forward.loss)


def greatest(plan: Plan) -> float:
    """Loss that leaves what is asked for: it goes with the square."""
    return plan.links[1].forward.loss / factor(round(plan.physics.rtt_ns / 1e6)) ** 2


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """The law and its inverse."""
    return {"rate": f"{round(law_bps(plan))} bit/s", "loss": f"{100 * greatest(plan):.4f} %"}


@points(1)
def test_rate(work: GradingWork) -> None:
    """What the law gives, to 3 %"""
    work.near("rate", law_bps(work.plan), 0.03, "not MSS × 8 / RTT × √1.5 / √p")


@points(2)
def test_loss_by_theory(work: GradingWork) -> None:
    """The greatest loss, to 10 %"""
    work.near("loss", greatest(work.plan), 0.10, "not 1.5 × (MSS × 8 / RTT / rate)²: the rate has a square in it")


@points(2)
def test_loss_by_run(work: GradingWork) -> None:
    """With your loss, the receiver of a fresh run reads what is asked for, less what chance may take (25 %)"""
    plan = work.plan
    wanted = law_bps(plan) * (plan.links[1].forward.loss / greatest(plan)) ** 0.5
    read = work.run(f"path.1.loss={100 * work.number('loss'):.5f} %").goodput_bps(FROM_S)
    assert read >= 0.75 * wanted, f"it reads {read / 1e6:.1f} of {wanted / 1e6:.1f} Mbit/s"
