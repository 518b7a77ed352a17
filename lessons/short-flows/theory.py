"""How long a file takes whose windows all are those of slow start."""

import math
from collections.abc import Iterator, Sequence

from landspeed.course.comparison import FigureAxis, FigurePoint, LessonFigure, unpromised
from landspeed.course.lesson_run import LessonRun
from landspeed.course.stated_figures import computed, measured, thousands
from landspeed.scenario.theory.physics import FRAMING_BYTES

FIRST_PACKETS = 10  # RFC 6928
MSS_BYTES, FRAME_BYTES = 1448, 1500 + FRAMING_BYTES["ethernet"]
COMPLETION = FigureAxis("completion time", "ms", 1e-3, log=True)


def packets_of(size_bytes: float) -> int:
    """Full packets that a file needs."""
    return math.ceil(size_bytes / MSS_BYTES)


def windows_of(size_bytes: float) -> int:
    """Windows of 10, 20, 40 … packets that a file needs."""
    return math.ceil(math.log2(packets_of(size_bytes) / FIRST_PACKETS + 1))


def burst_s(size_bytes: float, rtt_s: float) -> float:
    """Windows sent at once, a round trip apart; the last packet needs half of one."""
    return (windows_of(size_bytes) - 0.5) * rtt_s


def completion_s(size_bytes: float, rtt_s: float, rate_bps: float) -> float:
    """Packet by packet: slow start adds a packet for each acknowledgment, and Linux paces at two windows a round trip.

    The first ten leave at once (tcp(7), fq(8)). Packet k may leave when the window has room: k < 10 + 2 × acknowledged.
    """
    count = packets_of(size_bytes)
    left_s = line_s = 0.0
    acked_s: list[float] = []
    heard = 0
    for number in range(count):
        needed = max(0, math.ceil((number + 1 - FIRST_PACKETS) / 2))
        if number >= FIRST_PACKETS:
            may_s = acked_s[needed - 1]
            while heard < number and acked_s[heard] <= max(left_s, may_s):
                heard += 1
            left_s = max(left_s + rtt_s / 2 / (FIRST_PACKETS + heard), may_s)
        line_s = max(line_s, left_s) + FRAME_BYTES * 8 / rate_bps
        acked_s.append(line_s + rtt_s)
    return line_s + rtt_s / 2


def completion(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """From the moment at which the sender can send until the last byte is read."""
    for run in runs:
        size, rate_bps = run.plan.transfer.bytes or 0, run.line_rate_bps
        line = run.values["path.1.line_rate"]
        share = 8 * size / rate_bps / (run.record.completion_from_start_s or math.inf)
        yield FigurePoint(
            run.name,
            run.record.completion_from_start_s or math.inf,
            completion_s(size, run.rtt_s, rate_bps),
            x=size,
            series=line,
            note=f"{100 * share:.2g} % of the line",
        )


def beside(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """The page while a download fills the line, beside the same page alone."""
    for run in runs:
        page = run.flow("page")
        told = next(each for each in run.record.flows if each.name == "page")
        alone_s = completion_s(page.plan.transfer.bytes or 0, page.rtt_s, page.line_rate_bps)
        note = f"round trips of {told.rtt_loaded_median_ms:.0f} ms (median), {told.retransmits} packets sent again"
        yield FigurePoint(run.name, told.completion_from_start_s or math.inf, alone_s, note=note)


COUNT = packets_of(100e3)
STATED = (
    computed("windows of {}, {}, {} … packets", 10, 20, 40),
    computed("{} kB are {} packets: {} + {} + {}", 100, COUNT, 10, 20, COUNT - 30),
    computed("They are read after {:.1f} round trips, {:.0f} ms", burst_s(100e3, 1), 1e3 * burst_s(100e3, 0.08)),
    computed(r"\frac{{n}}{{{}}}", FIRST_PACKETS),
    computed("(HTTP/{})", 2),
    computed("a page of {} kB over {} ms. You may", 300, 80),
    computed("{} packets need {} windows", packets_of(300e3), windows_of(300e3)),
    computed(
        "{} windows, so {:.0f} ms instead of {:.0f}",
        windows_of(300e3),
        *(1e3 * burst_s(300e3, e) for e in (0.02, 0.08)),
    ),
    computed("a copy of the page {} ms away", 20),
    computed("A first window of {} packets", 40),
    computed("{} kB in {} windows instead of {}", 100, math.ceil(math.log2(COUNT / 40 + 1)), windows_of(100e3)),
    computed("From which size on do {} Gbit/s over {} ms", 1, 80),
    computed(
        "The path holds {} packets. Windows double from {} to that in {} round trips, which send {} packets or "
        "{:.1f} MB",
        thousands(FULL := math.floor(1e9 * 0.08 / 8 / FRAME_BYTES)),
        10,
        DOUBLINGS := math.ceil(math.log2(FULL / 10)),
        thousands(10 * (2**DOUBLINGS - 1)),
        10 * (2**DOUBLINGS - 1) * MSS_BYTES / 1e6,
    ),
    measured(
        "{:.0f} ms at {} Mbit/s and {:.0f} ms at ten times the rate",
        "completion",
        lambda p: (1e3 * p["100 Mbit/s, 100 kB"].measured, 100, 1e3 * p["1 Gbit/s, 100 kB"].measured),
    ),
    measured(
        "takes {:.1f} times as long behind a queue of {} BDP",
        "beside",
        lambda p: (p["FIFO, 4 BDP"].measured / p["FIFO, 4 BDP"].predicted, 4),
    ),
    measured(
        "with SFQ {:.1f} % longer than alone",
        "beside",
        lambda p: (100 * p["SFQ"].residual,),
    ),
)
COMPARISONS = {
    "completion": LessonFigure(
        title="Completion of files of 10 kB to 3 MB over 80 ms",
        scenarios=("sizes.yaml",),
        points=completion,
        x=FigureAxis("size", "kB", 1e3, log=True),
        y=COMPLETION,
        source="slow start by RFC 5681 from ten packets (RFC 6928), paced as Linux does, packet by packet",
        within=0.03,
        why="two packets leave together, so that the first gap is longer than in this theory of single packets",
    ),
    "beside": unpromised(
        title="100 kB beside a download, 20 Mbit/s over 80 ms",
        scenarios=("beside.yaml",),
        points=beside,
        y=COMPLETION,
        beside="alone",
        source="the same formula on the empty line",
        why="how full a queue is at one moment is chance",
    ),
}
