"""The bucket that lets a file pass in time, and the one that Reno needs."""

import random

from landspeed.course.exercise import AnswerSpec, StudentDraw, points
from landspeed.course.grading import GradingWork
from landspeed.course.laboratory import Laboratory
from landspeed.scenario.plan.plan import Plan

ON_WIRE = 1538 / 1448  # bytes of a line for a byte of payload
ASKED = {
    "burst": AnswerSpec("the least burst of the bucket with which the file is there in time", "size"),
    "reno": AnswerSpec("the burst with which a long Reno stream would keep the rate without a queue", "size"),
}
HINTS = (
    "The bucket counts packets as they are on the line: 1538 B for 1448 B of the file.",
    "The burst passes at once; the rest waits for tokens: (bytes on the line − burst) × 8 / rate.",
    "For Reno it is BDP² / 18 packets. The BDP is one of the bucket's rate, in packets of 1538 B.",
)
SCENARIO = """\
format: 1
name: exercise-policer
title: A bucket of {rate} Mbit/s and a file of {size} kB
line_rate: 1 Gbit/s
hosts:
  a: {{role: sender}}
  b: {{role: receiver}}
path:
  - {{from: a, to: edge, one_way_delay: 1 ms}}
  - from: edge
    to: b
    one_way_delay: 1 ms
    queue: 4 MB
    discipline: {{tbf: {{rate: {rate} Mbit/s, burst: 20 kB}}}}
    reverse: {{discipline: fifo}}
calibration: {{rate_tolerance: 99.9 %}}   # the train of packets that measures the line finds the bucket instead
transfer:
  congestion_control: cubic
  window: 4 MB
  bytes: {size} kB
  initial_window: 1000
  sample_interval: 10 ms
"""
TASK = """\
A provider sells {rate} Mbit/s by a token bucket on a line of 1 Gbit/s, whose queue is long. A camera sends files of
{size} kB, one an hour.

1. A file is to be there in {wanted} s. What is the least burst? At most 10 % above the least.
2. Another customer has the same rate over {rtt} ms, without a queue: a policer. He sends a long file by Reno. Which
   burst does he need to keep the rate?

Try with `landspeed run scenario.yaml --set path.1.discipline="{{tbf: {{rate: {rate} Mbit/s, burst: 100 kB}}}}"`.
"""


def wanted_s(size_bytes: float, rate_bps: float) -> float:
    """Time that is asked for: three fifths of what the bucket's rate alone would give."""
    return round(0.6 * size_bytes * ON_WIRE * 8 / rate_bps, 1)


def reno_rtt_ms(rate_mbps: float) -> int:
    """Round trip of the other customer."""
    return 30 + round(rate_mbps) % 7 * 10


def draw(chance: random.Random, _: Laboratory | None) -> StudentDraw:
    """A rate of 6 to 20 Mbit/s and a file of 1.5 to 4 MB."""
    rate, size = chance.randrange(6, 21), chance.randrange(15, 41) * 100
    wanted = wanted_s(size * 1e3, rate * 1e6)
    return StudentDraw.of(SCENARIO, TASK, rate=rate, size=size, wanted=wanted, rtt=reno_rtt_ms(rate))


def rate_of(plan: Plan) -> int:
    """The bucket's rate."""
    parameters = plan.links[1].forward.parameters
    assert parameters is not None
    return parameters.rate_bps or 0


def least(plan: Plan) -> float:
    """What must pass at once: (bytes − burst) × 8 / rate is the time."""
    size, rate_bps = plan.transfer.bytes or 0, rate_of(plan)
    return size * ON_WIRE - wanted_s(size, rate_bps) * rate_bps / 8


def reno_bytes(plan: Plan) -> float:
    """BDP² / 18 packets (lessons/policer/theory.py)."""
    rate_bps = rate_of(plan)
    bdp = rate_bps * reno_rtt_ms(rate_bps / 1e6) / 8e3 / 1538
    return bdp**2 / 18 * 1538


def key(_: random.Random, plan: Plan, __: Laboratory) -> dict[str, str]:
    """A little more than the least, and the formula."""
    return {"burst": f"{round(1.05 * least(plan))} B", "reno": f"{round(reno_bytes(plan))} B"}


@points(2)
def test_file_is_in_time(work: GradingWork) -> None:
    """With your burst, the receiver has the file in time, in a fresh run"""
    plan = work.plan
    bucket = f"{{tbf: {{rate: {rate_of(plan)} bit/s, burst: {round(work.number('burst'))} B}}}}"
    took = work.run(f"path.1.discipline={bucket}").record.duration_s or 0.0
    wanted = wanted_s(plan.transfer.bytes or 0, rate_of(plan))
    assert took <= 1.02 * wanted, f"it takes {took:.2f} s of {wanted} s"


@points(2)
def test_burst_is_the_least(work: GradingWork) -> None:
    """Your burst is at most 10 % above the least one"""
    over = work.number("burst") / least(work.plan) - 1
    assert over <= 0.10, f"it is {100 * over:.0f} % above what is needed"


@points(1)
def test_reno(work: GradingWork) -> None:
    """The burst that Reno needs, to 5 %"""
    work.near("reno", reno_bytes(work.plan), 0.05, "not BDP² / 18 packets")
