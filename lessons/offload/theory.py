"""How large Linux makes the packets that it leaves to the card to cut, and how many of them captures see."""

import math
from collections.abc import Iterator, Sequence

from landspeed.course.comparison import FigureAxis, FigurePoint, LessonFigure, LessonProgram
from landspeed.course.lesson_run import LessonRun
from landspeed.course.stated_figures import computed, measured, thousands

MSS_BYTES, LINE_BYTES = 1448, 1538
FILE_BYTES = 2 * 2**20
RATES = (20, 50, 100)  # Mbit/s
PER_SECOND = 1024  # packets that the kernel makes at most in a second of a paced stream (sk_pacing_shift, 2^10)
LEAST = 2  # segments (net.ipv4.tcp_min_tso_segs)


def segments(rate_bps: float) -> int:
    """What of the rate falls into 2^-10 s, in whole segments (tcp_tso_autosize)."""
    return max(LEAST, int(rate_bps / 8 / PER_SECOND / MSS_BYTES))


def packets(size_bytes: float) -> int:
    """On the line."""
    return math.ceil(size_bytes / MSS_BYTES)


def captures(run: LessonRun) -> dict[tuple[int, str], tuple[int, int, int, int]]:
    """(Rate, state) → payload and packets of the capture at a, payload and packets of that at b."""
    rows = [line.split() for line in run.output.splitlines()]
    return {(int(rate), state): (int(p), int(q), int(r), int(s)) for rate, state, p, q, r, s in rows}


def sizes(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """The usual packet of the sender's capture, with TSO."""
    for (rate, state), (payload, *_) in captures(runs[0]).items():
        if state == "on":
            yield FigurePoint(f"{rate} Mbit/s", payload, segments(rate * 1e6) * MSS_BYTES, x=rate * 1e6)


def counts(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Packets that both captures have without offload."""
    for (rate, state), (_, at_a, _, at_b) in captures(runs[0]).items():
        if state == "off":
            yield FigurePoint(f"{rate} Mbit/s, at a", at_a, packets(FILE_BYTES))
            yield FigurePoint(f"{rate} Mbit/s, at b", at_b, packets(FILE_BYTES))


def lies(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Packets that both captures have with offload."""
    for (rate, state), (_, at_a, payload, at_b) in captures(runs[0]).items():
        if state == "on":
            yield FigurePoint(f"{rate} Mbit/s, at a", at_a, packets(FILE_BYTES))
            yield FigurePoint(f"{rate} Mbit/s, at b", at_b, packets(FILE_BYTES), note=f"{payload} B in a packet")


PROGRAM = LessonProgram("a", ("sh", "LESSON/capture.sh", *(f"{rate}" for rate in RATES)), ("capture.sh",))
PACKETS = FigureAxis("packets with payload")
STATED = (
    computed("paced at {}, {} and {} Mbit/s", *RATES),
    computed("of them at {} Mbit/s with", 50),
    computed("Paced at {} Mbit/s", 50),
    computed("{} Mbit/s is {} segments", 50, segments(50e6)),
    computed("{} × {} = {} B", segments(50e6), MSS_BYTES, thousands(segments(50e6) * MSS_BYTES)),
    computed("{} packets a second", PER_SECOND),
    computed("{} MiB are {} packets", 2, thousands(packets(FILE_BYTES))),
    computed("packet of {} B", 1500),
    computed("{} packets leave it back to back, each {:.1f} µs after the last", segments(50e6), LINE_BYTES * 8 / 1e3),
    computed("up to {} KiB", 64),
    computed("at {} Gbit/s", 10),
    computed(
        "{} kB of payload: a packet each {:.0f} µs instead of {:.1f} µs", 64, 64e3 * 8 / 10e3, LINE_BYTES * 8 / 10e3
    ),
    measured("The sender's capture has {}", "lies", lambda p: (f"{p['50 Mbit/s, at a'].measured}",)),
)
COMPARISONS = {
    "sizes": LessonFigure(
        title="The usual packet of the sender's capture, with offload",
        scenarios=("path.yaml",),
        points=sizes,
        x=FigureAxis("pacing", "Mbit/s", 1e6),
        y=FigureAxis("payload", "B"),
        source="what of the rate falls into 1/1024 s, in whole segments, two at least (tcp_tso_autosize)",
        within=0.001,
        program=PROGRAM,
    ),
    "counts": LessonFigure(
        title="Packets of 2 MiB, without offload",
        scenarios=("path.yaml",),
        points=counts,
        y=PACKETS,
        source="size / MSS",
        within=0.005,
        why="a program writes in blocks, and a block's last packet may be short",
        program=PROGRAM,
    ),
    "lies": LessonFigure(
        title="Packets of 2 MiB, with offload",
        scenarios=("path.yaml",),
        points=lies,
        y=PACKETS,
        source="the line",
        within=None,
        why="a capture has what the kernel has, before the card cuts it and after it joined it",
        beside="on the line",
        program=PROGRAM,
    ),
}
