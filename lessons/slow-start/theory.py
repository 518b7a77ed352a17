"""Slow start: the window doubles in each round trip, until the queue overflows or something stops it before."""

import math
from collections.abc import Iterator, Sequence

from landspeed.course.comparison import (
    TIME,
    FigureAxis,
    FigureLine,
    FigurePoint,
    LessonFigure,
    LessonProgram,
    unpromised,
)
from landspeed.course.lesson_run import LessonRun
from landspeed.course.stated_figures import computed, measured, thousands

PATH_PACKETS = 1e9 * 0.119 / 8 / 9038  # of 1 Gbit/s over 119 ms
QUEUED_FRAME = 14  # bytes of Ethernet that a queue counts beside the packet


def window_packets(initial_packets: int, round_trips: float) -> float:
    """Doubling, with an acknowledgment for what it covers counted in full (RFC 5681 section 3.1, RFC 3465)."""
    return initial_packets * 2.0**round_trips


def full_packets(run: LessonRun) -> float:
    """Packets that the path holds at the line's rate, and its queue: the most that can be on the way."""
    link = run.plan.links[1]
    in_flight = link.forward.rate_bps * run.rtt_s / 8 / (link.mtu_bytes + link.framing_bytes)
    return in_flight + link.forward.queue_bytes / (link.mtu_bytes + QUEUED_FRAME)


def doubling(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """The window at each whole round trip, as long as the line is not full."""
    for run in runs:
        first = run.plan.transfer.initial_window_packets or 10
        for time_s, window in run.series("cwnd_packets"):
            trips = (
                round(time_s / run.rtt_s) - 1
            )  # at a whole round trip the first acknowledgment is just not there yet
            if trips >= 1 and window_packets(first, trips) < full_packets(run) / 2:
                name = f"first window {first}, after {trips} round trip{'s' if trips > 1 else ''}"
                yield FigurePoint(name, window, window_packets(first, trips), x=trips, series=f"first window {first}")


def overshoot(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Packets sent again. The first loss is noticed a round trip after the queue is full: the window has doubled again,
    and what is above the full path is lost."""
    for run in runs:
        control, queue = run.values["transfer.congestion_control"], run.values["path.1.queue"]
        if control == "reno" and run.plan.links[1].forward.queue_bytes >= 0.99 * run.plan.physics.bdp_bytes:
            yield FigurePoint(
                f"{control}, {queue}",
                run.record.retransmits or 0,
                full_packets(run),
                x=full_packets(run),
                series=control,
            )


def hystart(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """The largest window before the first reduction, for both controls, beside what the path and its queue hold."""
    for run in runs:
        control, queue = run.values["transfer.congestion_control"], run.values["path.1.queue"]
        largest = max(window for time_s, window in run.series("cwnd_packets") if time_s < 2.0)
        note = f"{run.record.retransmits} packets sent again"
        yield FigurePoint(f"{control}, {queue}", largest, full_packets(run), note=note)


def windows(runs: Sequence[LessonRun]) -> Iterator[FigureLine]:
    """The window over time with a queue of one BDP, and what this path and this queue hold."""
    shown = [run for run in runs if run.values["path.1.queue"] == "1 BDP"]
    for run in shown:
        yield FigureLine(run.values["transfer.congestion_control"], run.series("cwnd_packets"))
    full = full_packets(shown[0])
    yield FigureLine("path and queue full", [(0, full), (4, full)], "limit")


def trigger(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """The window at which HyStart stopped doubling, as Linux counts it (TcpExtTCPHystartTrainCwnd, …DelayCwnd)."""
    for run in runs:
        for line in run.output.splitlines():
            pacing, trains, delays, window, again = line.split()
            found = "train of acknowledgments" if int(trains) else "delay" if int(delays) else "none before a loss"
            name = f"{run.name}, {'paced' if pacing == 'pacing' else 'not paced'}"
            yield FigurePoint(name, int(window), full_packets(run), note=f"{found}; {again} sent again")


STATED = (
    computed(
        "$P$ is {:.0f} packets of 9000 B: {:.1f} round trips, {:.1f} s",
        PATH_PACKETS,
        math.log2(PATH_PACKETS / 10),
        math.log2(PATH_PACKETS / 10) * 0.119,
    ),
    computed("With packets of {} B it is {:.0f} packets", 1448, math.ceil(100e3 / 1448)),
    computed("Three round trips, {:.2f} s", 3 * 0.264),
    measured(
        "with a queue of one BDP at {} packets, more than path and queue hold ({})",
        "trigger",
        lambda points: (
            thousands(points["1 BDP, paced"].measured),
            thousands(points["1 BDP, paced"].predicted),
        ),
    ),
    measured(
        "The same host without pacing stops at {} packets",
        "trigger",
        lambda points: (thousands(points["1 BDP, not paced"].measured),),
    ),
    measured(
        "CUBIC, 0.25 BDP: {:.0f} packets sent again; Reno: {:.0f}",
        "hystart",
        lambda points: [int(points[f"{name}, 0.25 BDP"].note.split()[0]) for name in ("cubic", "reno")],
    ),
    computed("with a first window of {}, {} and {} packets", 4, 10, 40),
    computed("The first window is {} packets", 10),
    computed("they come less than {} ms apart", 2),
    computed("A web page of {} kB over {} ms", 100, 264),
    computed("{} in the first round trip, {} in the second, {} in the third", 10, 20, 40),
    computed("With a first window of {} it is two", 40),
    computed("a first window of {} packets a bad idea", 1000),
    computed("start-up sends at {:.2f} times the rate", 2 / math.log(2)),
    computed("Path and queue hold {:.0f} packets together", round(2 * PATH_PACKETS, -2)),
)
COMPARISONS = {
    "doubling": LessonFigure(
        title="The window in slow start, once in each round trip",
        scenarios=("start.yaml",),
        points=doubling,
        x=FigureAxis("round trips since the start", ""),
        y=FigureAxis("congestion window", "packets", log=True),
        source="first window × 2ⁿ, RFC 5681 section 3.1, RFC 6928",
        within=0.01,
    ),
    "overshoot": LessonFigure(
        title="What slow start sends again with Reno, over what path and queue hold",
        scenarios=("overshoot.yaml",),
        points=overshoot,
        x=FigureAxis("packets that path and queue hold", "packets", least=3000, most=5200),
        y=FigureAxis("packets sent again", "packets", least=3000, most=5200),
        source="as many as path and queue hold: the window doubles once more before the loss is noticed",
        within=0.05,
    ),
    "hystart": unpromised(
        title="The end of slow start with a queue of one BDP: Reno, and CUBIC with HyStart",
        scenarios=("overshoot.yaml",),
        points=hystart,
        lines=windows,
        y=FigureAxis("congestion window", "packets"),
        x=TIME,
        source="Ha and Rhee 2011",
        beside="path and queue hold",
        why="HyStart guesses, and how far it comes depends on the spacing of the acknowledgments",
    ),
    "trigger": LessonFigure(
        title="The window at which HyStart ends slow start; 0: a packet was lost before",
        scenarios=("hystart.yaml",),
        points=trigger,
        y=FigureAxis("congestion window", "packets"),
        source="Linux's counters of HyStart, by nstat",
        within=None,
        beside="path and queue hold",
        why="HyStart guesses, and how far it comes depends on the spacing of the acknowledgments",
        program=LessonProgram("geneva", ("sh", "LESSON/hystart.sh", "chicago"), ("hystart.sh",)),
    ),
}
