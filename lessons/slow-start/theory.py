"""Slow start: the window doubles in each round trip, until the queue overflows or something stops it before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from landspeed.course.comparison import TIME, Axis, Comparison, Line, Point, unpromised
from landspeed.course.measured import Measured

QUEUED_FRAME = 14  # bytes of Ethernet that a queue counts beside the packet


def window_packets(initial_packets: int, round_trips: float) -> float:
    """Doubling, with an acknowledgment for what it covers counted in full (RFC 5681 section 3.1, RFC 3465)."""
    return initial_packets * 2.0**round_trips


def full_packets(run: Measured) -> float:
    """Packets that the path holds at the line's rate, and its queue: the most that can be on the way."""
    link = run.plan.links[1]
    in_flight = link.forward.rate_bps * run.rtt_s / 8 / (link.mtu_bytes + link.framing_bytes)
    return in_flight + link.forward.queue_bytes / (link.mtu_bytes + QUEUED_FRAME)


def doubling(runs: Sequence[Measured]) -> Iterator[Point]:
    """The window at each whole round trip, as long as the line is not full."""
    for run in runs:
        first = run.plan.transfer.initial_window_packets or 10
        for time_s, window in run.series("cwnd_packets"):
            trips = (
                round(time_s / run.rtt_s) - 1
            )  # at a whole round trip the first acknowledgment is just not there yet
            if trips >= 1 and window_packets(first, trips) < full_packets(run) / 2:
                name = f"first window {first}, after {trips} round trip{'s' if trips > 1 else ''}"
                yield Point(name, window, window_packets(first, trips), x=trips, series=f"first window {first}")


def overshoot(runs: Sequence[Measured]) -> Iterator[Point]:
    """Packets sent again. The first loss is noticed a round trip after the queue is full: the window has doubled again,
    and what is above the full path is lost."""
    for run in runs:
        control, queue = run.values["transfer.congestion_control"], run.values["path.1.queue"]
        if control == "reno" and run.plan.links[1].forward.queue_bytes >= 0.99 * run.plan.physics.bdp_bytes:
            yield Point(
                f"{control}, {queue}",
                run.record.retransmits or 0,
                full_packets(run),
                x=full_packets(run),
                series=control,
            )


def hystart(runs: Sequence[Measured]) -> Iterator[Point]:
    """The largest window before the first reduction, for both controls, beside what the path and its queue hold."""
    for run in runs:
        control, queue = run.values["transfer.congestion_control"], run.values["path.1.queue"]
        largest = max(window for time_s, window in run.series("cwnd_packets") if time_s < 2.0)
        note = f"{run.record.retransmits} packets sent again"
        yield Point(f"{control}, {queue}", largest, full_packets(run), note=note)


def windows(runs: Sequence[Measured]) -> Iterator[Line]:
    """The window over time with the shallowest and the deepest queue."""
    for run in runs:
        if run.values["path.1.queue"] in ("1 BDP",):
            yield Line(f"{run.values['transfer.congestion_control']}", run.series("cwnd_packets"))
    yield Line("path and queue full", [(0, full_packets(runs[3])), (4, full_packets(runs[3]))], "limit")


COMPARISONS = {
    "doubling": Comparison(
        title="The window in slow start, once in each round trip",
        scenarios=("start.yaml",),
        points=doubling,
        x=Axis("round trips since the start", ""),
        y=Axis("congestion window", "packets", log=True),
        source="first window × 2ⁿ, RFC 5681 section 3.1, RFC 6928",
        within=0.01,
    ),
    "overshoot": Comparison(
        title="What slow start sends again with Reno, over what path and queue hold",
        scenarios=("overshoot.yaml",),
        points=overshoot,
        x=Axis("packets that path and queue hold", "packets", least=3000, most=5200),
        y=Axis("packets sent again", "packets", least=3000, most=5200),
        source="as many as path and queue hold: the window doubles once more before the loss is noticed",
        within=0.05,
    ),
    "hystart": unpromised(
        title="The end of slow start with a queue of one BDP: Reno, and CUBIC with HyStart",
        scenarios=("overshoot.yaml",),
        points=hystart,
        lines=windows,
        y=Axis("congestion window", "packets"),
        x=TIME,
        source="Ha and Rhee 2011, RFC 9406",
        beside="path and queue hold",
        why="HyStart guesses, and how far it comes depends on the spacing of the acknowledgments",
    ),
}
