"""The least window that fills a path of the student's own."""

import random

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.scenario.plan.plan import Plan

ASKED = {
    "bdp": AnswerSpec("the bandwidth-delay product of your path, from its line rate and RTT", "size"),
    "window": AnswerSpec(
        "the least window with which your transfer gets 97 % of what the line leaves for payload", "size"
    ),
}

HINTS = (
    "The bandwidth-delay product is rate × round-trip time. The task gives both; divide bits by eight.",
    "97 % of the goodput needs 97 % of what must be in flight for all of it: start from `show`'s line rate limit.",
    "A window lets through window / RTT. Solve it for the window; the scenario offers what you write, to the byte.",
)

FROM_S = 3.0
WANTED = 0.97

SCENARIO = """\
format: 1
name: exercise-window
title: A path of your own, {rate} Mbit/s over {rtt} ms
line_rate: 10 Gbit/s
queue: 2 BDP
hosts:
  here: {{role: sender}}
  there: {{role: receiver}}
path:
  - {{from: here, to: border, one_way_delay: {first} ms}}
  - {{from: border, to: there, one_way_delay: {second} ms, line_rate: {rate} Mbit/s}}
transfer:
  congestion_control: reno
  window: 64 kB
  window_exact: true       # the receiver offers what you write, and no more
  duration: 5 s
"""

TASK = """\
Your path carries {rate} Mbit/s, and its round trip is {rtt} ms. With a window of 64 kB it is slow.

1. Compute its bandwidth-delay product.
2. Find the least window that gets at least 97 % of what the line leaves for payload (`landspeed show scenario.yaml`,
   "Line rate limit"). Not more than it needs: at most 10 % above the least one.

Try with `landspeed run scenario.yaml --set transfer.window="1 MB"`. `landspeed find` can search for you; think first.
"""


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """A rate of 50 to 400 Mbit/s and a round trip of 30 to 180 ms."""
    rate, rtt = chance.randrange(5, 41) * 10, chance.randrange(15, 91) * 2
    first = chance.randrange(1, 5)
    values = {"rate": rate, "rtt": rtt, "first": first, "second": rtt // 2 - first}
    return StudentDraw(SCENARIO.format(**values), TASK.format(**values), {})


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """The BDP, and a window 6 % above the least one: acknowledgments wait a little at the receiver, too."""
    physics = plan.physics
    least = 0.97 * physics.line_rate_limit_bps * physics.rtt_ns / 8e9
    return {"bdp": f"{physics.bdp_bytes} B", "window": f"{round(1.06 * least)} B"}


def exact(window: float) -> str:
    """For --set."""
    return f"transfer.window={round(window)} B"


@points(1)
def test_bdp(work: GradingWork) -> None:
    """The bandwidth-delay product, to 1 %"""
    why = "not rate × round trip; mind that a byte has eight bits"
    work.near("bdp", work.plan.physics.bdp_bytes, 0.01, why)


@points(2)
def test_window_fills_the_path(work: GradingWork) -> None:
    """With your window, a fresh run gets 97 % of what the line leaves"""
    run = work.run(exact(work.number("window")))
    share = run.goodput_bps(FROM_S) / run.plan.physics.line_rate_limit_bps
    assert share >= WANTED, f"it gets {100 * share:.1f} %"


@points(2)
def test_window_is_the_least(work: GradingWork) -> None:
    """Your window is at most 10 % above the least one"""
    physics = work.plan.physics
    least = WANTED * physics.line_rate_limit_bps * physics.rtt_ns / 8e9
    over = work.number("window") / least - 1
    assert over <= 0.10, f"it is {100 * over:.0f} % above what is needed"
