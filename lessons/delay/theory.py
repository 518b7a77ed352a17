"""How long a packet takes: propagation over the distance, serialization at each line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from landspeed.course.comparison import Axis, Comparison, Point, Program
from landspeed.course.measured import Measured
from landspeed.scenarios.physics import ETHERNET_FRAMING, IP_HEADER

ICMP_HEADER = 8  # RFC 792
SMALL = 56  # what ping sends when it is not told


def serialization_s(payload_bytes: int, rate_bps: float) -> float:
    """An echo of this payload onto a line, framing included: bits / rate (IEEE 802.3, RFC 791, RFC 792)."""
    return (payload_bytes + ICMP_HEADER + IP_HEADER[4] + ETHERNET_FRAMING) * 8 / rate_bps


def propagation_s(run: Measured) -> float:
    """There and back, with nothing on the way."""
    return sum(link.forward.delay_ns + link.reverse.delay_ns for link in run.plan.links) / 1e9


def round_trip_s(run: Measured, payload_bytes: int) -> float:
    """Both: each line is passed twice, and a router sends a packet on when it has all of it."""
    rates = [lane.rate_bps for link in run.plan.links for lane in (link.forward, link.reverse)]
    return propagation_s(run) + sum(serialization_s(payload_bytes, rate) for rate in rates)


def serialization(runs: Sequence[Measured]) -> Iterator[Point]:
    """What is left of each round trip without propagation."""
    for run in runs:
        for line in run.output.splitlines():
            size, rtt_ms = line.split()
            measured, predicted = (
                each - propagation_s(run) for each in (float(rtt_ms) / 1e3, round_trip_s(run, int(size)))
            )
            rate = run.values["path.1.line_rate"]
            yield Point(f"{rate}, {size} B", measured, predicted, x=int(size), series=rate)


def distance(runs: Sequence[Measured]) -> Iterator[Point]:
    """The whole round trip of a small packet."""
    for run in runs:
        (line,) = run.output.splitlines()
        one_way_s = propagation_s(run) / 2
        yield Point(f"{one_way_s * 1e3:g} ms", float(line) / 1e3, round_trip_s(run, SMALL), x=one_way_s)


COMPARISONS = {
    "serialization": Comparison(
        title="What the size of a packet costs, there and back over a slow line",
        scenarios=("line.yaml",),
        points=serialization,
        x=Axis("payload of the echo", "B"),
        y=Axis("serialization, both ways", "ms", 1e-3),
        source="2 × (payload + 28 + 38) × 8 / rate for each line",
        within=0.001,
        program=Program("geneva", ("sh", "LESSON/sizes.sh", "village"), ("sizes.sh",)),
    ),
    "distance": Comparison(
        title="Round trip of a small packet over the delay one way",
        scenarios=("distance.yaml",),
        points=distance,
        x=Axis("propagation delay one way", "ms", 1e-3, log=True),
        y=Axis("round trip", "ms", 1e-3, log=True),
        source="2 × propagation + serialization",
        within=0.001,
        why="ping tells microseconds, so the shortest path is known to 0.05 % only",
        program=Program("here", ("sh", "LESSON/small.sh", "there"), ("small.sh",)),
    ),
}
