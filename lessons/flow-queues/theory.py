"""What a line gives each flow or host, and how long a small packet waits, when flows have queues of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from landspeed.course.comparison import TIME, FigureAxis, FigureLine, FigurePoint, LessonFigure, LessonProgram
from landspeed.course.lesson_run import LessonRun, percentile
from landspeed.course.stated_figures import computed, measured
from landspeed.results.series import Series
from landspeed.scenario.theory.physics import FRAMING_BYTES

FLOWS, FROM_S = 8, 4.0
ECHO_BYTES, ECHOES = 98, 250  # of an echo on its card; from 4 s to 9 s
QUEUED_BYTES, FRAME_BYTES = 1514, 1500 + FRAMING_BYTES["ethernet"]
RATE_BPS, RTT_S, QUEUE_BYTES = 10e6, 0.04, 200e3
BY_HOSTS = "CAKE by hosts"


def packet_s(rate_bps: float) -> float:
    """A full packet on the line."""
    return 8 * FRAME_BYTES / rate_bps


def wait_s(queue: str, flows: int, rate_bps: float, queue_bytes: float) -> float:
    """What 95 of 100 small packets wait at most, beside so many flows that fill the line.

    FIFO: the whole queue. SFQ: a packet of each flow, a round (McKenney 1990). FQ-CoDel and CAKE: a flow that has
    nothing waiting is served next, so only the packet that is on the line (RFC 8290 section 4.2).
    """
    packets = {"FIFO": queue_bytes // QUEUED_BYTES, "SFQ": flows}.get(queue, 0.95)
    return packets * packet_s(rate_bps)


def shares(flows: int) -> dict[str, float]:
    """Share of one flow's user beside another user with so many, by kind of queue."""
    return {"SFQ": 1 / (1 + flows), "FQ-CoDel": 1 / (1 + flows), "CAKE": 1 / (1 + flows), BY_HOSTS: 1 / 2}


def received(run: LessonRun) -> tuple[float, float]:
    """Bytes that many and one received of their downloads."""
    many, one = map(int, run.output.split("\n", 1)[0].split())
    return many, one - ECHOES * ECHO_BYTES


def share_of_one(run: LessonRun) -> float:
    """Its share of what both received."""
    many, one = received(run)
    return one / (many + one)


def echoes(run: LessonRun) -> Series:
    """Round trips of echoes over time, in s; the first one came at 0."""
    rows = [line.split() for line in run.output.splitlines()[1:]]
    return [(float(at) - float(rows[0][0]), float(ms) / 1e3) for at, ms in rows]


def slow_echo_s(run: LessonRun) -> float:
    """What 95 of 100 echoes do not exceed when all downloads run."""
    return percentile([each for each in echoes(run) if each[0] >= FROM_S], 0.95)


def share(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """The share of the one who has one download."""
    for run in runs:
        if run.name in shares(FLOWS):
            yield FigurePoint(
                run.name, share_of_one(run), shares(FLOWS)[run.name], note=f"echo {1e3 * slow_echo_s(run):.1f} ms"
            )


def delay(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Echoes under load."""
    for run in runs:
        if run.name == BY_HOSTS:  # a host's flows wait for each other: no law
            continue
        theory_s = RTT_S + wait_s(run.name, FLOWS + 1, RATE_BPS, QUEUE_BYTES)
        yield FigurePoint(run.name, slow_echo_s(run), theory_s, note=f"one gets {100 * share_of_one(run):.1f} %")


def delay_lines(runs: Sequence[LessonRun]) -> Iterator[FigureLine]:
    """Each echo over time."""
    for run in runs:
        if run.name in ("FIFO", "SFQ", "FQ-CoDel"):
            yield FigureLine(run.name, echoes(run))
    yield FigureLine("path alone", [(0, RTT_S), (9, RTT_S)], "limit")


PROGRAM = LessonProgram("server", ("sh", "LESSON/load.sh", f"{FLOWS}"), ("load.sh",))
STATED = (
    computed("each gets a {}th of the line, here {:.2f} Mbit/s", FLOWS + 1, RATE_BPS / 1e6 / (FLOWS + 1)),
    computed(
        "a round of {} packets: {} × {:.2f} = {:.1f} ms",
        FLOWS + 1,
        FLOWS + 1,
        1e3 * packet_s(RATE_BPS),
        1e3 * wait_s("SFQ", FLOWS + 1, RATE_BPS, 0),
    ),
    computed("{:.0f} packets, {:.0f} ms", QUEUE_BYTES // QUEUED_BYTES, 1e3 * wait_s("FIFO", 9, RATE_BPS, QUEUE_BYTES)),
    computed("do {} of {} pings not exceed", 95, 100),
    computed("all {} flows", FLOWS + 1),
    computed("opens {} connections", 32),
    computed("{} of {} parts instead of {} of {}", 32, 33, 1, 2),
    computed("{:.1f} ms at {} Gbit/s with {} flows", 1e3 * wait_s("SFQ", 1000, 1e9, 0), 1, "1000"),
    computed("{} queues", "1024"),
    computed("one in {}", "1024"),
    measured("for {:.1f} ms here", "share", lambda p: (float(p[BY_HOSTS].note.split()[-2]),)),
    measured("The one with one download gets {:.0f} %", "delay", lambda p: (float(p["FIFO"].note.split()[-2]),)),
)
COMPARISONS = {
    "delay": LessonFigure(
        title="Slow echoes beside nine downloads",
        scenarios=("house.yaml",),
        points=delay,
        lines=delay_lines,
        x=TIME,
        y=FigureAxis("round trip", "ms", 1e-3),
        source="the path, and the full queue (FIFO), a packet of each flow (SFQ) or the packet on the line (RFC 8290)",
        within=0.03,
        why="the long queue is not full at each instant, and a new flow's echo now and then waits for a second packet",
        program=PROGRAM,
    ),
    "share": LessonFigure(
        title="Share of the one with one download",
        scenarios=("house.yaml",),
        points=share,
        y=FigureAxis("share of the line", "%", 0.01),
        source="one part for each flow, or for each host",
        within=0.08,
        why="a drop of CoDel leaves 70 % of path and target; until the window has grown, 7 % of a flow's part are lost",
        program=PROGRAM,
    ),
}
