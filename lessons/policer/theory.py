"""What a token bucket lets through: its burst at the line's rate, then its own."""

import math
from collections.abc import Iterator, Sequence

from landspeed.course.comparison import GOODPUT, TIME, FigureAxis, FigureLine, FigurePoint, LessonFigure, unpromised
from landspeed.course.lesson_run import LessonRun
from landspeed.course.stated_figures import computed, measured

FROM_S = 10.0
RENO_FROM_S = 30.0  # some sawteeth after slow start
RATE_BPS, RTT_S, ON_WIRE_BYTES = 50e6, 0.040, 1538  # of bucket.yaml and reno.yaml


def bucket_goodput_bps(run: LessonRun) -> float:
    """Token rate × MSS / (MTU + framing): the bucket counts packets with their framing."""
    link = run.plan.links[1]
    assert link.forward.parameters is not None
    rate = link.forward.parameters.rate_bps or 0
    return rate * run.mss_bytes / (link.mtu_bytes + link.framing_bytes)


def transfer_s(run: LessonRun) -> float:
    """Time for so many bytes: what the burst does not cover must wait for tokens, (bytes − burst) / rate."""
    link = run.plan.links[1]
    assert link.forward.parameters is not None
    rate, burst = link.forward.parameters.rate_bps or 1, link.forward.parameters.burst_bytes or 0
    on_wire = (run.plan.transfer.bytes or 0) * (link.mtu_bytes + link.framing_bytes) / run.mss_bytes
    return (on_wire - burst) * 8 / rate


def reno_burst_bytes(rate_bps: float, rtt_s: float, packet_bytes: int) -> float:
    """The bucket with which Reno keeps the rate of a policer: BDP² / 18 packets.

    A bucket delays nothing, so the window swings around the BDP, from 2/3 to 4/3 of it. Above the BDP it takes
    BDP/3 round trips, each with a packet more beyond the rate: (BDP/3)² / 2 packets, which tokens saved below it pay.
    """
    bdp = rate_bps * rtt_s / 8 / packet_bytes
    return bdp**2 / 18 * packet_bytes


def reno_share(burst_bytes: float, rate_bps: float, rtt_s: float, packet_bytes: int) -> float:
    """What Reno gets of a policer's rate. A burst of b packets lasts until the window is √(2b) beyond the BDP; the mean
    of a sawtooth is three quarters of its peak."""
    bdp = rate_bps * rtt_s / 8 / packet_bytes
    return min(1.0, 0.75 * (1 + math.sqrt(2 * burst_bytes / packet_bytes) / bdp))


def reno(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Goodput of Reno through a policer over its burst."""
    for run in runs:
        link = run.plan.links[1]
        parameters = link.forward.parameters
        assert parameters is not None
        packet, rate, burst = link.mtu_bytes + link.framing_bytes, parameters.rate_bps or 0, parameters.burst_bytes or 0
        predicted = bucket_goodput_bps(run) * reno_share(burst, rate, run.rtt_s, packet)
        note = f"{run.record.retransmits} sent again"
        yield FigurePoint(run.name, run.goodput_bps(RENO_FROM_S), predicted, x=burst, note=note)


def shaped(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Where packets wait, the goodput is the bucket's."""
    for run in runs:
        if run.name.startswith("shaper"):
            note = f"{run.record.retransmits} sent again"
            yield FigurePoint(run.name, run.goodput_bps(FROM_S), bucket_goodput_bps(run), note=note)


def policed(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Where they are dropped, it is less, and how much less is the congestion control's."""
    for run in runs:
        note = f"{run.record.retransmits} sent again"
        yield FigurePoint(run.name, run.goodput_bps(FROM_S), bucket_goodput_bps(run), note=note)


def lines(runs: Sequence[LessonRun]) -> Iterator[FigureLine]:
    """Goodput over time."""
    for run in runs:
        if "500" not in run.name:
            yield FigureLine(
                run.name.replace(", queue 250 kB", "").replace(", queue 6 kB", ""), run.goodput_series(1.0)
            )


def burst(runs: Sequence[LessonRun]) -> Iterator[FigurePoint]:
    """Time of a transfer of 2 MB over the burst."""
    for run in runs:
        parameters = run.plan.links[1].forward.parameters
        assert parameters is not None
        yield FigurePoint(run.name, run.record.duration_s or 0.0, transfer_s(run), x=parameters.burst_bytes)


STATED = (
    computed("BDP² / {} packets, here {:.1f} MB", 18, reno_burst_bytes(RATE_BPS, RTT_S, ON_WIRE_BYTES) / 1e6),
    computed("the BDP is {:.0f} packets", RATE_BPS * RTT_S / 8 / ON_WIRE_BYTES),
    computed("One BDP, {:.0f} kB, is far too little", RATE_BPS * RTT_S / 8 / 1e3),
    measured(
        "a bucket of 20 kB gives {:.1f} Mbit/s, one of 250 kB {:.1f}, one of 1 MB {:.1f}, and one of 2.4 MB {:.1f}",
        "reno",
        lambda points: [points[name].measured / 1e6 for name in ("20 kB", "250 kB", "1 MB", "2.4 MB")],
    ),
    computed("packets of {} B on the wire", ON_WIRE_BYTES),
    computed("from {}/{} of it to {}/{}. While", 2, 3, 4, 3),
    computed("(BDP/{})² / {} packets in all", 3, 2),
    computed("A customer measures {} and complains", 40),
    computed("or a burst of BDP² / {} packets", 18),
)
COMPARISONS = {
    "burst": LessonFigure(
        title="Time for 2 MB through a bucket of 10 Mbit/s",
        scenarios=("burst.yaml",),
        points=burst,
        x=FigureAxis("burst", "kB", 1e3),
        y=TIME,
        source="(bytes on the wire − burst) / rate",
        within=0.02,
        why="the start of the connection and the way of the last packet are not in the formula",
    ),
    "shaped": LessonFigure(
        title="A shaper of 50 Mbit/s",
        scenarios=("bucket.yaml",),
        points=shaped,
        y=GOODPUT,
        source="token rate × MSS / (MTU + framing)",
        within=0.01,
    ),
    "reno": LessonFigure(
        title="Reno through a policer of 50 Mbit/s over its burst, 40 ms",
        scenarios=("reno.yaml",),
        points=reno,
        x=FigureAxis("burst", "kB", 1e3, log=True),
        y=GOODPUT,
        source="3/4 of a sawtooth whose peak is √(2 × burst) packets beyond the BDP, at most the rate of the bucket",
        within=0.03,
    ),
    "policed": unpromised(
        title="Shaper and policer of the same 50 Mbit/s",
        scenarios=("bucket.yaml",),
        points=policed,
        lines=lines,
        x=TIME,
        y=GOODPUT,
        source="token rate × MSS / (MTU + framing), as if nothing were lost",
        beside="tokens allow",
        why="what is lost and how a control answers decides it",
    ),
}
