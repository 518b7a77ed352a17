"""What a line gives each flow or host, and how long a small packet waits, when flows have queues of their own."""

from collections.abc import Iterator, Sequence

from landspeed.course.comparison import TIME, FigureAxis, FigureLine, FigurePoint, LessonFigure, LessonProgram
from landspeed.course.lesson_run import LessonRun, percentile
from landspeed.course.stated_figures import computed, measured
from landspeed.results.series import Series
from landspeed.scenario.theory.physics import FRAMING_BYTES

FLOWS, FROM_S = 8, 4.0
ECHO_BYTES = 98  # on its card
QUEUED_BYTES, FRAME_BYTES = 1514, 1500 + FRAMING_BYTES["ethernet"]
RATE_BPS, RTT_S, QUEUE_BYTES = 10e6, 0.04, 200e3
USUAL_TARGET_S, TARGET_S = 0.005, 0.02  # of CoDel: by default, and in house.yaml
BY_HOSTS = "CAKE by hosts"
CUBIC_KEEPS = 0.7  # of its window, at a loss


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


def idle(rtt_s: float, target_s: float) -> float:
    """Share of its part that a CUBIC flow behind CoDel leaves idle.

    The drop comes when path and target hold the window, and leaves 0.7 of it (RFC 9438 section 4.6). This grows by
    equal steps, each of which takes a round trip; while it is less than the path, the queue is empty. None is idle if
    0.7 (path + target) ≥ path: the target is 3/7 of the path's round trip or more. CoDel waits for its interval before
    it drops, so less is idle, and drops twice now and then, so it is more: 3 to 7 % in spans of 15 s instead of 6.5 %.
    """
    top = 1 + target_s / rtt_s  # in windows of the path
    low = CUBIC_KEEPS * top
    return 0.0 if low >= 1 else (1 - low) ** 2 / 2 / (1 - low + (top**2 - 1) / 2)


def received(run: LessonRun) -> tuple[float, float, float]:
    """Bytes that many and one received of their downloads, and one of echoes."""
    many, one = map(int, run.output.split("\n", 1)[0].split())
    pinged = ECHO_BYTES * sum(at_s >= FROM_S for at_s, _ in echoes(run))
    return many, one - pinged, pinged


def share_of_one(run: LessonRun) -> float:
    """Its download's share of both's downloads."""
    many, one, _ = received(run)
    return one / (many + one)


def share_of_host(run: LessonRun) -> float:
    """Its card's share of what both cards received: a queue that looks at hosts counts echoes, too."""
    many, one, pinged = received(run)
    return (one + pinged) / (many + one + pinged)


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
            found = share_of_host(run) if run.name == BY_HOSTS else share_of_one(run)
            yield FigurePoint(run.name, found, shares(FLOWS)[run.name], note=f"echo {1e3 * slow_echo_s(run):.1f} ms")


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
    computed("Its usual target is {:.0f} ms", 1e3 * USUAL_TARGET_S),
    computed("leaves {:.0f} % of path and target", 100 * CUBIC_KEEPS),
    computed("is grown again, {:.1f} % of the flow's part are idle", 100 * idle(RTT_S, USUAL_TARGET_S)),
    computed("With {:.0f} ms, half a round trip, {:.0f} % are", 1e3 * TARGET_S, 100 * idle(RTT_S, TARGET_S)),
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
        within=0.005,
        why="the cards are read in the midst of packets: two of the one's 450 in 5 s are 0.4 %",
        program=PROGRAM,
    ),
}
