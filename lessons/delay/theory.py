"""How long a packet takes: propagation over the distance, serialization at each line."""

import math
from collections.abc import Iterator, Sequence

from landspeed.course.comparison import FigureAxis, FigurePoint, LessonFigure, LessonProgram
from landspeed.course.lesson_run import LessonRun
from landspeed.course.stated_figures import computed, thousands
from landspeed.scenario.theory.physics import ETHERNET_FRAMING, IP_HEADER

ICMP_HEADER = 8  # RFC 792
SMALL = 56  # what ping sends when it is not told
LEAST_FRAME = 64  # bytes from address to checksum: Ethernet pads a shorter frame (IEEE 802.3 section 3.2.8)
BESIDE_FRAME = 20  # preamble and gap
EARTH_KM = 6371.0  # mean radius
GENEVA, PASADENA = (46.20, 6.14), (34.15, -118.14)  # degrees north and east
GLASS_KM_PER_MS, AIR_KM_PER_MS = 204.0, 299.7  # c / 1.468, and light in a hollow core
RECORDED_KM, RECORDED_MS = 15_766, 264  # the record's length, leg by leg, and its round trip


def serialization_s(payload_bytes: int, rate_bps: float) -> float:
    """An echo of this payload onto a line, framing included: bits / rate (IEEE 802.3, RFC 791, RFC 792)."""
    return (payload_bytes + ICMP_HEADER + IP_HEADER[4] + ETHERNET_FRAMING) * 8 / rate_bps


def ethernet_bytes(payload_bytes: int) -> int:
    """What an echo takes of a real Ethernet line: padded to the least frame. The line here does not pad."""
    return max(payload_bytes + ICMP_HEADER + IP_HEADER[4] + ETHERNET_FRAMING, LEAST_FRAME + BESIDE_FRAME)


def great_circle_km(here: tuple[float, float], there: tuple[float, float]) -> float:
    """The shortest way over the earth's surface (haversine)."""
    (north, east), (far_north, far_east) = (tuple(map(math.radians, place)) for place in (here, there))
    half = math.sin((far_north - north) / 2) ** 2
    half += math.cos(north) * math.cos(far_north) * math.sin((far_east - east) / 2) ** 2
    return 2 * EARTH_KM * math.asin(math.sqrt(half))


def light_ms(distance_km: float) -> float:
    """There and back in glass."""
    return 2 * distance_km / GLASS_KM_PER_MS


def propagation_s(run: LessonRun) -> float:
    """There and back, with nothing on the way."""
    return sum(link.forward.delay_ns + link.reverse.delay_ns for link in run.plan.links) / 1e9


def round_trip_s(run: LessonRun, payload_bytes: int) -> float:
    """Both: each line is passed twice, and a router sends a packet on when it has all of it."""
    rates = [lane.rate_bps for link in run.plan.links for lane in (link.forward, link.reverse)]
    return propagation_s(run) + sum(serialization_s(payload_bytes, rate) for rate in rates)


def serialization(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """What is left of each round trip without propagation."""
    for run in runs:
        for line in run.output.splitlines():
            size, rtt_ms = line.split()
            measured, predicted = (
                each - propagation_s(run) for each in (float(rtt_ms) / 1e3, round_trip_s(run, int(size)))
            )
            rate = run.values["path.1.line_rate"]
            yield FigurePoint(f"{rate}, {size} B", measured, predicted, x=int(size), series=rate)


def distance(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """The whole round trip of a small packet."""
    for run in runs:
        (line,) = run.output.splitlines()
        one_way_s = propagation_s(run) / 2
        yield FigurePoint(f"{one_way_s * 1e3:g} ms", float(line) / 1e3, round_trip_s(run, SMALL), x=one_way_s)


SHORTEST_KM = round(great_circle_km(GENEVA, PASADENA), -1)
STATED = (
    computed(
        "at 1 Mbit/s a full packet takes {:.1f} ms each way; at 1 Gbit/s, {:.1f} µs",
        serialization_s(1472, 1e6) * 1e3,
        serialization_s(1472, 1e9) * 1e6,
    ),
    computed(
        "falls from {:.3f} ms to {:.3f} ms",
        118 + 2e3 * serialization_s(SMALL, 1e9),
        118 + 2e3 * serialization_s(SMALL, 100e9),
    ),
    computed("light in a hollow core is {:.0f} % faster", 100 * (AIR_KM_PER_MS / GLASS_KM_PER_MS - 1)),
    computed("in vacuum, and {:.0f} km in glass", GLASS_KM_PER_MS),
    computed(
        "The great circle from Geneva to Pasadena is {:.0f} km: {} × {:.0f} / {:.0f} = {:.0f} ms",
        SHORTEST_KM,
        2,
        SHORTEST_KM,
        GLASS_KM_PER_MS,
        light_ms(SHORTEST_KM),
    ),
    computed("sum of its hops: {} km, which is {:.0f} ms of light", thousands(RECORDED_KM), light_ms(RECORDED_KM)),
    computed("The other {:.0f} ms", RECORDED_MS - light_ms(RECORDED_KM)),
    computed("still has {} bytes of headers and framing", ethernet_bytes(1472) - 1472),
    computed("pads it to {} bytes", ethernet_bytes(0)),
    computed("light in glass covers about {:.0f} km in a millisecond", round(GLASS_KM_PER_MS, -1)),
    computed("has {} bytes of ICMP header, {} of IP, and {} of Ethernet", ICMP_HEADER, IP_HEADER[4], ETHERNET_FRAMING),
    computed(r"\frac{{(n + 8 + {} + {}) \times 8}}", IP_HEADER[4], ETHERNET_FRAMING),
    computed(
        "and at {:.0f} Gbit/s it is a hundred-thousandth", round(2e-1 * serialization_s(1472, 1) / RECORDED_MS, -1)
    ),
    computed("a line of {} Gbit/s over {} ms by one of {} Gbit/s", 1, 59, 100),
    computed("Light travels {:.0f} km in a millisecond", AIR_KM_PER_MS),
    computed("a frame has at least {}", LEAST_FRAME),
    computed("from {} bytes of payload on", ethernet_bytes(0) - (ethernet_bytes(1472) - 1472)),
    computed("A ping of {} B goes over a line", 1500 - IP_HEADER[4] - ICMP_HEADER),
    computed("Geneva to Pasadena, {:.0f} ms one way", RECORDED_MS / 2),
)
COMPARISONS = {
    "serialization": LessonFigure(
        title="What the size of a packet costs, there and back over a slow line",
        scenarios=("line.yaml",),
        points=serialization,
        x=FigureAxis("payload of the echo", "B"),
        y=FigureAxis("serialization, both ways", "ms", 1e-3),
        source="2 × (payload + 28 + 38) × 8 / rate for each line",
        within=0.001,
        program=LessonProgram("geneva", ("sh", "LESSON/sizes.sh", "village"), ("sizes.sh",)),
    ),
    "distance": LessonFigure(
        title="Round trip of a small packet over the delay one way",
        scenarios=("distance.yaml",),
        points=distance,
        x=FigureAxis("propagation delay one way", "ms", 1e-3, log=True),
        y=FigureAxis("round trip", "ms", 1e-3, log=True),
        source="2 × propagation + serialization",
        within=0.001,
        why="ping tells microseconds, so the shortest path is known to 0.05 % only",
        program=LessonProgram("here", ("sh", "LESSON/small.sh", "there"), ("small.sh",)),
    ),
}
