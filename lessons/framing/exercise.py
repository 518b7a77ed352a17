"""The least MTU that leaves a share of the line for payload."""

import random

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.scenario.plan.plan import Plan
from landspeed.scenario.theory.physics import FRAMING_BYTES, line_rate_limit_bps, mss_bytes

FROM_S = 1.0
SHARES = (0.957, 0.962, 0.967, 0.972, 0.976)
ASKED = {
    "goodput": AnswerSpec("the goodput that your line gives with an MTU of 1500 B", "rate"),
    "mtu": AnswerSpec("the least MTU that gives the goodput of the task", "size"),
}
HINTS = (
    "Count what a full packet has beside payload: IP (20 or 40), TCP (20), timestamps (12), and the line's framing.",
    "Goodput is rate × (MTU − headers) / (MTU + framing).",
    "With s = wanted goodput / rate: MTU = (headers + s × framing) / (1 − s).",
)
SCENARIO = """\
format: 1
name: exercise-framing
title: A line of {rate} Mbit/s, IPv{version}, {framing}
ip: {version}
framing: {framing}
mtu: 1500 B
line_rate: {rate} Mbit/s
hosts:
  a: {{role: sender}}
  b: {{role: receiver}}
path:
  - {{from: a, to: r, one_way_delay: 2 ms}}
  - {{from: r, to: b, one_way_delay: 3 ms}}
transfer:
  window: 4 MB
  duration: 3 s
"""
TASK = """\
Your line carries {rate} Mbit/s, with IPv{version} and the framing `{framing}` (`ethernet`: 38 B a packet; `pos`, PPP
over SONET: 9 B).

1. How much goodput does it give with packets of 1500 B?
2. A customer pays for {wanted:.2f} Mbit/s of payload. What is the least MTU that gives it? At most 2 % above the least.

Try with `landspeed run scenario.yaml --set mtu="4000 B"`.
"""


def share_of(rate_mbps: int) -> float:
    """Share of the line that is asked for."""
    return SHARES[rate_mbps // 4 % len(SHARES)]


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """A rate of 20 to 60 Mbit/s, a version of IP, a framing."""
    rate, version, framing = chance.randrange(5, 16) * 4, chance.choice((4, 6)), chance.choice(("ethernet", "pos"))
    wanted = share_of(rate) * rate
    return StudentDraw.of(SCENARIO, TASK, rate=rate, version=version, framing=framing, wanted=wanted)


def wanted_bps(plan: Plan) -> float:
    """Goodput that is asked for."""
    rate_bps = plan.links[-1].forward.rate_bps
    return share_of(round(rate_bps / 1e6)) * rate_bps


def least_mtu(plan: Plan) -> float:
    """MTU whose goodput is just that."""
    share = wanted_bps(plan) / plan.links[-1].forward.rate_bps
    headers = 1500 - mss_bytes(1500, plan.ip_version)
    return (headers + share * plan.links[-1].framing_bytes) / (1 - share)


def goodput_bps(plan: Plan, mtu: int) -> float:
    """What the line leaves for payload."""
    link = plan.links[-1]
    return line_rate_limit_bps(link.forward.rate_bps, mtu, FRAMING_BYTES[link.framing], plan.ip_version)


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """The formula, and its inverse with a little more than the least."""
    return {"goodput": f"{round(goodput_bps(plan, 1500))} bit/s", "mtu": f"{round(1.01 * least_mtu(plan))} B"}


@points(1)
def test_goodput(work: GradingWork) -> None:
    """Goodput with packets of 1500 B, to 0.3 %"""
    work.near("goodput", goodput_bps(work.plan, 1500), 0.003, "not rate × (MTU − headers) / (MTU + framing)")


@points(2)
def test_mtu_gives_it(work: GradingWork) -> None:
    """With your MTU, the receiver of a fresh run reads what the customer pays for"""
    wanted = wanted_bps(work.plan)
    read = work.run(f"mtu={round(work.number('mtu'))} B").goodput_bps(FROM_S)
    assert read >= 0.9985 * wanted, f"it reads {read / 1e6:.2f} of {wanted / 1e6:.2f} Mbit/s"


@points(2)
def test_mtu_is_the_least(work: GradingWork) -> None:
    """Your MTU is at most 2 % above the least one"""
    over = work.number("mtu") / least_mtu(work.plan) - 1
    assert over <= 0.02, f"it is {100 * over:.0f} % above what is needed"
