"""What a capture's headers say of a transfer (window, scale, round trip, in flight), and what a capture takes."""

import base64
import gzip
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from landspeed.base.captures import Capture
from landspeed.base.segments import Segment, SegmentReader, options_of, other_way
from landspeed.course.comparison import (
    GOODPUT,
    TIME,
    FigureAxis,
    FigureLine,
    FigurePoint,
    LessonFigure,
    LessonProgram,
)
from landspeed.course.lesson_run import LessonRun
from landspeed.course.stated_figures import computed, measured

SYN, SCALE = 2, 3  # the flag, and the option's kind (RFC 7323 section 2.2)
FILE_BYTES, RECORD_BYTES = 24, 16  # headers of a capture file and of a packet in it
KEPT_BYTES, FRAME_BYTES = 96, 1514  # of a packet; a full one as a host sees it
WINDOWS = ("128K", "256K", "1M")
FROM_S, UNTIL_S = 1.2, 2.0  # of the transfer: slow start is over, the end not there yet


class Trace(NamedTuple):
    """One connection of a capture, from the sender's SYN on.

    Attributes:
        window: as asked of iperf3.
        counted: (bytes, packets) that the interface counted while it was captured.
        size_bytes: of the capture.
        segments: of both directions.
    """

    window: str
    counted: tuple[int, int]
    size_bytes: int
    segments: Sequence[Segment]

    @property
    def acknowledgments(self) -> list[Segment]:
        """What the receiver sent after its SYN."""
        back = other_way(self.segments[0].ends)
        return [each for each in self.segments if each.ends == back][1:]

    @property
    def rtt_s(self) -> float:
        """From the SYN to its answer."""
        return (self._answer.time_ns - self.segments[0].time_ns) / 1e9

    @property
    def scale(self) -> int:
        """Shift of the receiver's windows, which only its SYN tells."""
        return options_of(self._answer.options)[SCALE][0]

    @property
    def raw_window(self) -> int:
        """The largest window in an acknowledgment's header."""
        return max(each.window for each in self.acknowledgments)

    @property
    def window_bytes(self) -> int:
        """That window as it is meant."""
        return self.raw_window << self.scale

    @property
    def plateau_bps(self) -> float:
        """Acknowledged bytes over time, when the transfer has settled."""
        settled = [each for each in self.acknowledgments if FROM_S <= self._since_s(each) <= UNTIL_S]
        first, last = settled[0], settled[-1]
        return 8 * (last.acknowledged - first.acknowledged) % 2**32 / (last.time_ns - first.time_ns) * 1e9

    @property
    def in_flight(self) -> list[tuple[float, float]]:
        """Bytes sent and not acknowledged, at each of the sender's packets of the first second."""
        found: list[tuple[float, float]] = []
        acknowledged = (self.segments[0].sequence + 1) % 2**32
        for each in self.segments[1:]:
            if self._since_s(each) > 1:
                break
            if each.ends != self.segments[0].ends:
                acknowledged = each.acknowledged
            elif each.payload:
                found.append((self._since_s(each), (each.sequence + each.payload - acknowledged) % 2**32))
        return found

    @property
    def _answer(self) -> Segment:
        back = other_way(self.segments[0].ends)
        return next(each for each in self.segments if each.ends == back and each.flags & SYN)

    def _since_s(self, segment: Segment) -> float:
        return (segment.time_ns - self.segments[0].time_ns) / 1e9


@cache
def traces(output: str) -> list[Trace]:
    """The data connection of each capture: iperf3's second one, its first one is for control."""
    found: list[Trace] = []
    for line in output.splitlines():
        window, *counts, packed = line.split()
        content = gzip.decompress(base64.b64decode(packed))
        segments = list(SegmentReader(Capture(Path(window), content)))
        _, data = dict.fromkeys(each.ends for each in segments if each.flags & SYN and each.acknowledged == 0)
        mine = [each for each in segments if each.ends in (data, other_way(data))]
        first_bytes, first_packets, last_bytes, last_packets = map(int, counts)
        found.append(Trace(window, (last_bytes - first_bytes, last_packets - first_packets), len(content), mine))
    return found


def capture_bytes(packets: int, packet_bytes: float) -> float:
    """A capture of packets of which so much is kept (draft-ietf-opsawg-pcap)."""
    return FILE_BYTES + packets * (RECORD_BYTES + packet_bytes)


def ring_s(ring_bytes: float, rate_bps: float, kept_bytes: float) -> float:
    """How far a ring of files reaches back, when full packets fill the line."""
    return ring_bytes / (RECORD_BYTES + kept_bytes) * (FRAME_BYTES + 24) * 8 / rate_bps


def plateau(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Goodput by acknowledgments, beside the window / round trip that the same capture tells."""
    (run,) = runs
    for each in traces(run.output):
        predicted = min(each.window_bytes * 8 / each.rtt_s, run.plan.physics.line_rate_limit_bps)
        note = f"{each.raw_window} × 2^{each.scale} = {each.window_bytes / 1e3:.0f} kB, {1e3 * each.rtt_s:.2f} ms"
        yield FigurePoint(f"-w {each.window}", each.plateau_bps, predicted, x=each.window_bytes, note=note)


def no_points(_: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """The tables of the other figures have them."""
    return iter(())


def flight(runs: Sequence[LessonRun]) -> Iterator[FigureLine]:
    """In flight over time, and what the path holds."""
    (run,) = runs
    for each in traces(run.output):
        yield FigureLine(f"-w {each.window}", each.in_flight)
    bdp = run.plan.physics.line_rate_limit_bps * run.rtt_s / 8
    yield FigureLine("BDP", [(0, bdp), (1, bdp)], "limit")


def sizes(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Bytes of a capture of headers, beside the packets that the interface counted."""
    for each in traces(runs[0].output):
        _, packets = each.counted
        note = f"{packets} packets"
        data = sum(1 for one in each.segments if one.payload > 0)
        predicted = capture_bytes(packets, (data * KEPT_BYTES + (packets - data) * 66) / packets)
        yield FigurePoint(f"-w {each.window}", each.size_bytes, predicted, note=note)


PROGRAM = LessonProgram("a", ("sh", "LESSON/read.sh", "LESSON/capture.sh", "2", *WINDOWS), ("read.sh", "capture.sh"))


def _noted(point: FigurePoint, *which: int) -> list[str]:
    """Pick raw window, shift, window in kB and round trip in ms out of a point's note."""
    numbers = re.findall(r"[\d.]+", point.note)
    return [(numbers[0], numbers[2], numbers[3], numbers[4])[each] for each in which]


DISK = 10e9 / 8 * 3600 / (FRAME_BYTES + 24)  # packets an hour
STATED = (
    computed("keeps {} B of each packet", KEPT_BYTES),
    computed("A header has {} bits for it", 16),
    computed("iperf3 asked for {} KiB", 128),
    computed("iperf3 asks for a window of {} KiB", 128),
    computed("Each packet takes {} B and what is kept", RECORD_BYTES),
    computed("that capture of {} s", 2),
    computed("data packets of {} kB on a link", 60),
    measured("{} kB and the", "plateau", lambda p: _noted(p["-w 128K"], 2)),
    measured("with a shift of {}: {} × 2^{} = {} kB", "plateau", lambda p: _noted(p["-w 128K"], 1, 0, 1, 2)),
    measured("and the {} ms of the handshake", "plateau", lambda p: _noted(p["-w 128K"], 3)),
    measured(
        "allow {:.1f} Mbit/s, and {:.1f} Mbit/s came",
        "plateau",
        lambda p: (p["-w 128K"].predicted / 1e6, p["-w 128K"].measured / 1e6),
    ),
    computed("An hour of {} Gbit/s in full packets", 10),
    computed(
        "{:.1f} TB whole, and {:.0f} GB with {} B of each packet",
        capture_bytes(round(DISK), FRAME_BYTES) / 1e12,
        capture_bytes(round(DISK), KEPT_BYTES) / 1e9,
        KEPT_BYTES,
    ),
    computed("a ring of {} files of {} GB", 10, 1),
    computed(
        "At {} Gbit/s it reaches back {:.0f} s whole, and {:.0f} s with {} B",
        10,
        *(ring_s(1e10, 1e10, e) for e in (FRAME_BYTES, KEPT_BYTES)),
        KEPT_BYTES,
    ),
    computed("the raw window is {}, and the SYN is missing", 501),
    computed("{} B to {:.0f} MB", 501, 501 * 2**14 / 1e6),
    computed("from {} to {}, and it holds", 0, 14),
)
COMPARISONS = {
    "flight": LessonFigure(
        title="Bytes in flight in three captures, by the sender's packets",
        scenarios=("path.yaml",),
        points=no_points,
        lines=flight,
        x=TIME,
        y=FigureAxis("in flight", "kB", 1e3),
        beside="BDP",
        source="sequence numbers less acknowledgments",
        within=None,
        why="the tables have the laws",
        program=PROGRAM,
    ),
    "plateau": LessonFigure(
        title="Goodput when it has settled, over the window in the capture",
        scenarios=("path.yaml",),
        points=plateau,
        x=FigureAxis("window in the capture", "kB", 1e3, log=True),
        y=GOODPUT,
        source="min(raw window × 2^scale / round trip of the handshake, line after headers), RFC 7323",
        within=0.03,
        why="a packet waits until there is room for all of it, so that a little less than the window is in flight",
        program=PROGRAM,
    ),
    "size": LessonFigure(
        title="Size of a capture that keeps 96 B of each packet",
        scenarios=("path.yaml",),
        points=sizes,
        y=FigureAxis("size", "kB", 1e3),
        source="the interface's counters × (16 B + what is kept)",
        within=0.02,
        program=PROGRAM,
    ),
}
