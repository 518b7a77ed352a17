"""How long Reno needs back after a loss, and the packets with which it is back in time."""

import random
from itertools import pairwise

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.scenario.plan.plan import Plan

PEAK = 1.2  # BDP: path and queue together
ASKED = {
    "recovery": AnswerSpec("how long Reno needs from one loss to the next, with packets of 1500 B", "time"),
    "mtu": AnswerSpec("the least MTU with which it is back in the time of the task", "size"),
}
HINTS = (
    "A loss halves the window; each round trip gives one packet back.",
    "Just before a loss, path and queue are full: 1.2 BDP. Half of that, in packets, is the number of round trips.",
    "The time goes with 1 / packet size. On the line a packet is MTU + 38 B.",
)
SCENARIO = """\
format: 1
name: exercise-one-loss
title: A sawtooth of Reno, {rate} Mbit/s over {rtt} ms
mtu: 1500 B
line_rate: 1 Gbit/s
hosts:
  a: {{role: sender}}
  b: {{role: receiver}}
path:
  - {{from: a, to: r, one_way_delay: 1 ms}}
  - {{from: r, to: b, one_way_delay: {second} ms, line_rate: {rate} Mbit/s, queue: 0.2 BDP}}
transfer:
  congestion_control: reno
  window: 8 MB
  duration: {duration} s
  sample_interval: 50 ms
"""
TASK = """\
Your path carries {rate} Mbit/s, its round trip is {rtt} ms, and the queue before the line holds a fifth of a BDP. A
Reno stream loses a packet each time path and queue are full, and is back there some seconds later.

1. How long is that with packets of 1500 B, by theory?
2. An operator wants a loss to be forgotten in {wanted} s. What is the least MTU? At most 15 % above the least.

Try with `landspeed run scenario.yaml --set mtu="3000 B"`, and look at the window in its report.
"""


def period_s(rate_bps: float, rtt_s: float, mtu: float) -> float:
    """Half of the greatest window, in packets, times the round trip (RFC 5681)."""
    return PEAK / 2 * rate_bps * rtt_s**2 / 8 / (mtu + 38)


def wanted_s(rate_bps: float, rtt_s: float) -> float:
    """Time that is asked for: a third of that of 1500 B."""
    return round(period_s(rate_bps, rtt_s, 1500) / 3, 1)


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """A rate of 15 to 30 Mbit/s and a round trip of 80 to 110 ms: 4 to 15 s."""
    rate, rtt = chance.randrange(15, 31), chance.randrange(40, 56) * 2
    wanted = wanted_s(rate * 1e6, rtt / 1e3)
    return StudentDraw.of(
        SCENARIO, TASK, rate=rate, rtt=rtt, second=rtt // 2 - 1, wanted=wanted, duration=round(8 + 4 * wanted)
    )


def asked_of(plan: Plan) -> tuple[float, float, float]:
    """(Time with 1500 B, time that is wanted, least MTU)."""
    rate_bps, rtt_s = plan.links[1].forward.rate_bps, plan.physics.rtt_ns / 1e9
    usual, wanted = period_s(rate_bps, rtt_s, 1500), wanted_s(rate_bps, rtt_s)
    return usual, wanted, usual / wanted * 1538 - 38


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """The formula, and a little more than its inverse."""
    usual, _wanted, least = asked_of(plan)
    return {"recovery": f"{usual:.2f} s", "mtu": f"{round(1.1 * least)} B"}


def falls(windows: list[tuple[float, float]]) -> list[float]:
    """Times at which the window begins to fall; it takes a round trip for that, some samples."""
    low = [
        at
        for number, (at, window) in enumerate(windows)
        if window < 0.75 * max(before for _, before in windows[max(0, number - 3) : number + 1])
    ]
    return [at for earlier, at in pairwise([-1.0, *low]) if at - earlier > 0.5]


@points(2)
def test_recovery(work: GradingWork) -> None:
    """Time from loss to loss with packets of 1500 B, to 10 %"""
    work.near("recovery", asked_of(work.plan)[0] * 1e9, 0.10, "not half of 1.2 BDP in packets, a packet a round trip")


@points(2)
def test_back_in_time(work: GradingWork) -> None:
    """With your MTU, the sender's window falls and is back in the time of the task, in a fresh run"""
    run, wanted = work.run(f"mtu={round(work.number('mtu'))} B"), asked_of(work.plan)[1]
    windows = run.series("cwnd_packets")
    gaps = [later - earlier for earlier, later in pairwise(falls(windows))]
    assert gaps, f"in {windows[-1][0]:.0f} s it is not back once"
    assert gaps[-1] <= 1.15 * wanted, f"it takes {gaps[-1]:.1f} s of {wanted} s"


@points(1)
def test_mtu_is_the_least(work: GradingWork) -> None:
    """Your MTU is at most 15 % above the least one"""
    over = work.number("mtu") / asked_of(work.plan)[2] - 1
    assert over <= 0.15, f"it is {100 * over:.0f} % above what is needed"
