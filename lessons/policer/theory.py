"""What a token bucket lets through: its burst at the line's rate, then its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from landspeed.course.comparison import GOODPUT, TIME, Axis, Comparison, Line, Point, unpromised
from landspeed.course.measured import Measured

FROM_S = 10.0


def bucket_goodput_bps(run: Measured) -> float:
    """Token rate × MSS / (MTU + framing): the bucket counts packets with their framing."""
    link = run.plan.links[1]
    assert link.forward.parameters is not None
    rate = link.forward.parameters.rate_bps or 0
    return rate * run.mss_bytes / (link.mtu_bytes + link.framing_bytes)


def transfer_s(run: Measured) -> float:
    """Time for so many bytes: what the burst does not cover must wait for tokens, (bytes − burst) / rate."""
    link = run.plan.links[1]
    assert link.forward.parameters is not None
    rate, burst = link.forward.parameters.rate_bps or 1, link.forward.parameters.burst_bytes or 0
    on_wire = (run.plan.transfer.bytes or 0) * (link.mtu_bytes + link.framing_bytes) / run.mss_bytes
    return (on_wire - burst) * 8 / rate


def shaped(runs: Sequence[Measured]) -> Iterator[Point]:
    """Where packets wait, the goodput is the bucket's."""
    for run in runs:
        if run.name.startswith("shaper"):
            note = f"{run.record.retransmits} sent again"
            yield Point(run.name, run.goodput_bps(FROM_S), bucket_goodput_bps(run), note=note)


def policed(runs: Sequence[Measured]) -> Iterator[Point]:
    """Where they are dropped, it is less, and how much less is the congestion control's."""
    for run in runs:
        note = f"{run.record.retransmits} sent again"
        yield Point(run.name, run.goodput_bps(FROM_S), bucket_goodput_bps(run), note=note)


def lines(runs: Sequence[Measured]) -> Iterator[Line]:
    """Goodput over time."""
    for run in runs:
        if "500" not in run.name:
            yield Line(run.name.replace(", queue 250 kB", "").replace(", queue 6 kB", ""), run.goodput_series(1.0))


def burst(runs: Sequence[Measured]) -> Iterator[Point]:
    """Time of a transfer of 2 MB over the burst."""
    for run in runs:
        parameters = run.plan.links[1].forward.parameters
        assert parameters is not None
        yield Point(run.name, run.record.duration_s or 0.0, transfer_s(run), x=parameters.burst_bytes)


COMPARISONS = {
    "burst": Comparison(
        title="Time for 2 MB through a bucket of 10 Mbit/s",
        scenarios=("burst.yaml",),
        points=burst,
        x=Axis("burst", "kB", 1e3),
        y=TIME,
        source="(bytes on the wire − burst) / rate",
        within=0.02,
        why="the start of the connection and the way of the last packet are not in the formula",
    ),
    "shaped": Comparison(
        title="A shaper of 50 Mbit/s",
        scenarios=("bucket.yaml",),
        points=shaped,
        y=GOODPUT,
        source="token rate × MSS / (MTU + framing)",
        within=0.01,
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
