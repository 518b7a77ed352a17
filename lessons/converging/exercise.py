"""How many common losses make two windows nearly equal, and how often they come when the line is full."""

import random
import tempfile
from dataclasses import replace
from pathlib import Path

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory, LessonFile
from landspeed.course.lesson import lesson_named
from landspeed.course.lesson_run import LessonRun
from landspeed.scenario.plan.plan import Plan

FIRST_S, LOSSES = 2.0, 6
LEAST = (15, 25, 40, 60)
ASKED = {
    "losses": AnswerSpec("common losses after which the windows differ by fewer packets than the task says", "number"),
    "every": AnswerSpec("time between two common losses with which the windows fill the path just before each", "time"),
}
HINTS = (
    "The report draws both windows. Look at their difference just before a common loss, and at the next one.",
    "Growth adds the same to both windows; a common loss halves both. So it halves their difference.",
    "Half of what the path holds is given back at a loss; two flows regain two packets in each round trip.",
)
SCENARIO = """\
format: 1
name: exercise-converging
title: Two Reno flows through {rate} Mbit/s over {rtt} ms
line_rate: 1 Gbit/s
links:
  - {{from: a, to: left, one_way_delay: 1 ms}}
  - {{from: b, to: left, one_way_delay: 1 ms}}
  - {{from: left, to: right, one_way_delay: {middle} ms, line_rate: {rate} Mbit/s, queue: 2 MB}}
  - {{from: right, to: a-sink, one_way_delay: 1 ms}}
  - {{from: right, to: b-sink, one_way_delay: 1 ms}}
transfer:
  congestion_control: reno
  duration: 9 s
  sample_interval: {rtt} ms
flows:
  - {{name: first, from: a, to: a-sink}}
  - {{name: second, from: b, to: b-sink, start: 1 s}}
events:
  - {{at: 210 ms, loss: 1 packet, from: a, to: left}}
  - {{at: 1.12 s, loss: 1 packet, from: b, to: left}}
{events}
"""
TASK = """\
Two Reno flows share {rate} Mbit/s over {rtt} ms. The second begins a second later. From second 2 on they lose a packet
at the same instants, {losses} times, once a second.

1. Look at the windows just before each common loss. Before the first one they differ most. After how many common losses
   do they differ by fewer than {least} packets for the first time?
2. A common loss should come whenever the windows together are what the path holds (rate × round trip, packets of 1538 B
   on the line). When the windows are equal: how long is it from one such loss to the next?

Try with `landspeed run scenario.yaml`; its report draws the windows. `--set events.4.at="2.9 s"` moves a loss.
"""


def order(chance: random.Random) -> dict[str, int]:
    """Rate and round trip."""
    return {"rate": chance.randrange(5, 9) * 10, "rtt": chance.randrange(18, 23) * 2}


def least_packets(rate: int, rtt: int) -> int:
    """Difference that is near enough."""
    return LEAST[(rate // 10 + rtt) % len(LEAST)]


def scenario(values: dict[str, int], every_s: float = 1.0) -> str:
    """The path, with a common loss each so many seconds."""
    lines = [
        f"  - {{at: {FIRST_S + number * every_s:.3f} s, loss: 1 packet, from: {host}, to: left}}"
        for number in range(LOSSES)
        for host in ("a", "b")
    ]
    return SCENARIO.format(**values, middle=values["rtt"] // 2 - 2, events="\n".join(lines))


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """50 to 80 Mbit/s over 36 to 44 ms."""
    values = order(chance)
    return StudentDraw(scenario(values), TASK.format(**values, losses=LOSSES, least=least_packets(**values)), {})


def differences(run: LessonRun) -> list[float]:
    """Difference of the windows just before each common loss."""
    return [one - two for one, two in lesson_named("converging").theory.before_losses(run)]


def losses_until(run: LessonRun) -> int:
    """Common losses before the first one at which the windows differ by less."""
    plan = run.plan
    least = least_packets(round(plan.links[2].forward.rate_bps / 1e6), round(plan.physics.rtt_ns / 1e6))
    return next((number for number, each in enumerate(differences(run)) if each < least), LOSSES)


def every_s(plan: Plan) -> float:
    """Time between two losses at which the path is full."""
    theory, rtt_s = lesson_named("converging").theory, plan.physics.rtt_ns / 1e9
    return theory.common_loss_every_s(theory.held_packets(plan.links[2].forward.rate_bps, rtt_s), rtt_s)


def key(chance: random.Random, plan: Plan, laboratory: Laboratory) -> dict[str, str]:
    """What a run shows, and a quarter of what the path holds, in round trips."""
    with tempfile.TemporaryDirectory(prefix="landspeed-exercise-") as place:
        file = Path(place) / "scenario.yaml"
        file.write_text(scenario(order(chance)), encoding="utf-8")
        (run,) = laboratory.one(LessonFile(replace(lesson_named("converging"), folder=Path(place)), file.name))
        return {"losses": str(losses_until(run)), "every": f"{1e3 * every_s(plan):.1f} ms"}


@points(3)
def test_losses(work: GradingWork) -> None:
    """In a fresh run, the windows differ by less after so many common losses, and not before"""
    assert work.number("losses") == losses_until(work.run()), "another number: each common loss halves the difference"


@points(2)
def test_every(work: GradingWork) -> None:
    """The time between two losses that fill the path, to 3 %"""
    work.near("every", 1e9 * every_s(work.plan), 0.03, "not a quarter of what the path holds, in round trips")
