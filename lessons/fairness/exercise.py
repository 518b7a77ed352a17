"""Four streams share a line, and one of them is BBR: which?"""

import csv
import io
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

STREAMS = 4
DRAWN_BY_RUN = True  # streams.csv has its samples
FROM_S = 10.0
COLUMNS = ("cwnd_packets", "srtt_us", "retransmits", "delivery_rate_bps")
ASKED = {
    "bbr": AnswerSpec("the stream that is BBR, 0 to 3", "number"),
    "jain": AnswerSpec("Jain's index of the four streams' goodput from second 10 on, in per cent", "share"),
}

HINTS = (
    "Draw the four windows over time. Three of them fall at the same moments.",
    "CUBIC keeps 70 % of its window at a loss; BBR's window does not fall when packets are sent again.",
    "Jain's index: rates from bytes read, last sample minus the first from second 10 on; (Σ x)² / (4 Σ x²).",
)

SCENARIO = """\
format: 1
name: exercise-fairness
title: Four streams through {rate} Mbit/s
line_rate: 1 Gbit/s
hosts:
  a: {{role: sender}}
  b: {{role: receiver}}
path:
  - {{from: a, to: r, one_way_delay: 1 ms}}
  - {{from: r, to: b, one_way_delay: {delay} ms, line_rate: {rate} Mbit/s, queue: {queue} kB}}
transfer:
  streams: 4
  congestion_controls: {controls}
  window: 8 MB
  duration: 25 s
  sample_interval: 250 ms
"""

TASK = """\
Four streams share a line of {rate} Mbit/s. Three are CUBIC, and one is BBR. `streams.csv` has what a sender sees: for
each stream and time, its congestion window, its round trip, how many packets it has sent again, and the rate of
delivery; and the bytes that the receiver has read.

1. Which stream is BBR? Look at what happens to its window when others lose packets.
2. Compute Jain's index of the four streams' goodput, between the first sample from second 10 on and the last one.

The scenario in this folder is another one of the same kind, with CUBIC everywhere, for trials.
"""


def order(chance: random.Random) -> dict[str, object]:
    """Rate, delay, queue, and which stream is which."""
    rate, delay = chance.randrange(6, 13) * 5, chance.randrange(10, 25)
    queue = round(rate * 1e6 * 2 * (delay + 1) / 1e3 / 8e3)  # a BDP, in kB
    place = chance.randrange(STREAMS)
    controls = ["bbr" if number == place else "cubic" for number in range(STREAMS)]
    return {"rate": rate, "delay": delay, "queue": queue, "place": place, "controls": f"[{', '.join(controls)}]"}


def the_run(chance: random.Random, laboratory: Laboratory) -> LessonRun:
    """The run whose samples are handed out."""
    with tempfile.TemporaryDirectory(prefix="landspeed-exercise-") as place:
        file = Path(place) / "scenario.yaml"
        file.write_text(SCENARIO.format(**order(chance)), encoding="utf-8")
        here = replace(lesson_named("fairness"), folder=Path(place))
        (run,) = laboratory.one(LessonFile(here, file.name))
        return run


def table(run: LessonRun) -> str:
    """The samples as CSV."""
    read: dict[tuple[int, int], int] = {}
    ends = {stream: run.samples.by_stream("receiver", "bytes")[stream] for stream in range(STREAMS)}
    lines = ["time_s,stream,cwnd_packets,srtt_ms,retransmits,delivery_rate_mbps,bytes_read"]
    for stream in range(STREAMS):
        columns = [run.series(name, stream) for name in COLUMNS]
        received = ends[stream]
        for number, (time_s, window) in enumerate(columns[0]):
            rtt, resent, rate = (column[number][1] for column in columns[1:])
            seen = max((count for at_s, count in received if at_s <= time_s + 1e-6), default=0)
            read[stream, number] = int(seen)
            lines.append(f"{time_s:.2f},{stream},{window:.0f},{rtt / 1e3:.3f},{resent:.0f},{rate / 1e6:.3f},{seen:.0f}")
    return "\n".join(lines) + "\n"


def draw(chance: random.Random, laboratory: Laboratory | None) -> StudentDraw:
    """A rate, a delay, and the place of BBR."""
    assert laboratory is not None
    state = chance.getstate()
    values = order(chance)
    chance.setstate(state)
    files = {"streams.csv": table(the_run(chance, laboratory))}
    plain = SCENARIO.format(**(values | {"controls": "[cubic, cubic, cubic, cubic]"}))
    return StudentDraw(plain, TASK.format(**values), files)


def key(chance: random.Random, _: Plan, laboratory: Laboratory) -> dict[str, str]:
    """The place of BBR, and Jain's index of the run."""
    state = chance.getstate()
    place = order(chance)["place"]
    chance.setstate(state)
    return {"bbr": str(place), "jain": f"{100 * jain(table(the_run(chance, laboratory))):.2f} %"}


def jain(samples: str) -> float:
    """Jain's index of the goodput from second 10 on, as it is graded."""
    rows = [row for row in csv.DictReader(io.StringIO(samples)) if float(row["time_s"]) >= FROM_S]
    rates: list[float] = []
    for stream in range(STREAMS):
        own = [row for row in rows if row["stream"] == str(stream)]
        spans = float(own[-1]["time_s"]) - float(own[0]["time_s"])
        rates.append((int(own[-1]["bytes_read"]) - int(own[0]["bytes_read"])) / spans)
    return sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))


@points(3)
def test_bbr(work: GradingWork) -> None:
    """The stream that is BBR"""
    place = order(work.chance())["place"]
    assert work.number("bbr") == place, "another one: BBR's window does not fall when packets are lost"


@points(2)
def test_jain(work: GradingWork) -> None:
    """Jain's index from second 10 on, to one per cent"""
    index = jain(table(the_run(work.chance(), work.laboratory)))
    work.near("jain", index, 0.01, "not (Σ x)² / (n Σ x²) of the four rates")
