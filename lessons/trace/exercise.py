"""Window, shift and plateau, read from a capture of the student's own path."""

import random
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from landspeed.course.comparison import LessonProgram
from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory, LessonFile
from landspeed.course.lesson import lesson_named
from landspeed.course.lesson_run import LessonRun
from landspeed.scenario.plan.plan import Plan

ASKED = {
    "shift": AnswerSpec("the shift of the receiver's windows", "number"),
    "window": AnswerSpec("the largest window that the receiver offered", "size"),
    "goodput": AnswerSpec("the goodput when it has settled, acknowledged bytes over time", "rate"),
}
HINTS = (
    "iperf3 has two connections; the second one has the data. Its SYNs have the option WS (window scale).",
    "`tshark -e tcp.window_size_value` is the raw window, `tcp.window_size` the one that is meant.",
    "Two acknowledgments of the last second: the difference of their numbers over that of their times.",
)
SCENARIO = """\
format: 1
name: exercise-trace
title: A path of {rate} Mbit/s over {rtt} ms
line_rate: 1 Gbit/s
queue: 4 BDP
hosts:
  a: {{role: sender}}
  b: {{role: receiver}}
path:
  - {{from: a, to: r, one_way_delay: 5 ms}}
  - {{from: r, to: b, one_way_delay: {far} ms, line_rate: {rate} Mbit/s}}
transfer:
  window: {window} KiB   # what iperf3 is to ask for
  duration: 2 s
"""
TASK = """\
Your path carries {rate} Mbit/s over {rtt} ms. Make a capture of a transfer whose program asks for {window} KiB:

`landspeed exec scenario.yaml --at a -- sh capture.sh {window}K 2 > trace.pcap`

Read it with Wireshark or tshark.

1. By how many bits are the receiver's windows shifted?
2. What was the largest window that it offered? To 1 %.
3. Which goodput does the capture show when it has settled? To 3 %.
"""


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """30 to 50 Mbit/s over 50 to 80 ms, a window of less than the path holds, and the program that captures."""
    rate, rtt, window = chance.randrange(30, 51), chance.randrange(25, 41) * 2, chance.randrange(40, 90)
    drawn = StudentDraw.of(SCENARIO, TASK, rate=rate, rtt=rtt, far=rtt // 2 - 5, window=window)
    return replace(drawn, files={"capture.sh": (lesson_named("trace").folder / "capture.sh").read_text("utf-8")})


def words(plan: Plan) -> tuple[str, ...]:
    """The command that makes and prints a capture of a fresh transfer."""
    folder = lesson_named("trace").folder
    return ("sh", f"{folder}/read.sh", f"{folder}/capture.sh", "2", f"{(plan.transfer.window_bytes or 0) // 1024}K")


def read(run: LessonRun) -> Any:
    """The trace of a capture's data connection."""
    (found,) = lesson_named("trace").theory.traces(run.output)
    return found


def key(chance: random.Random, plan: Plan, laboratory: Laboratory) -> dict[str, str]:
    """Read from a capture at the sender, as a student does."""
    with tempfile.TemporaryDirectory(prefix="landspeed-exercise-") as place:
        file = Path(place) / "scenario.yaml"
        file.write_text(draw(chance, None).scenario, encoding="utf-8")
        here = replace(lesson_named("trace"), folder=Path(place))
        (run,) = laboratory.one(LessonFile(here, file.name, LessonProgram("a", words(plan))))
    trace = read(run)
    return {
        "shift": f"{trace.scale}",
        "window": f"{trace.window_bytes} B",
        "goodput": f"{trace.plateau_bps / 1e6:.2f} Mbit/s",
    }


def fresh(work: GradingWork) -> Any:
    """A capture at the receiver of a fresh transfer."""
    return read(work.program("b", *words(work.plan)))


@points(1)
def test_shift(work: GradingWork) -> None:
    """The shift that the receiver's own SYN tells"""
    assert work.number("shift") == fresh(work).scale, "another shift: look at the SYN of the connection with the data"


@points(2)
def test_window(work: GradingWork) -> None:
    """The largest window that the receiver offers in a fresh transfer, to 1 %"""
    work.near("window", fresh(work).window_bytes, 0.01, "another window: the raw one is shifted to the left")


@points(2)
def test_goodput(work: GradingWork) -> None:
    """What the receiver acknowledges of a fresh transfer when it has settled, to 3 %"""
    work.near("goodput", fresh(work).plateau_bps, 0.03, "another goodput: it is a window in each round trip")
