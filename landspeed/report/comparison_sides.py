"""One side of a comparison: a bundle, and what its samples say about its start, its level and its losses."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from landspeed.base.failures import BundleError, telling_of
from landspeed.judge.fairness import flows_goodput, total_goodput
from landspeed.results.bundle import load_record
from landspeed.results.record import RunRecord
from landspeed.results.samples_reader import Samples
from landspeed.results.series import ByteCurves, Series, total_of
from landspeed.scenario.plan.flow_path import path_of
from landspeed.scenario.plan.plan import Plan

if TYPE_CHECKING:
    import pyarrow as pa

NO_THRESHOLD_BYTES = 1 << 31  # no window is so large (RFC 7323): a threshold above it is the one of the start
REACHED_SHARE = 0.95  # of the settled goodput: the run has reached its rate
NEARLY_SHARE = 0.93  # 2 % less is the same rate: whether a sample lies just above or just below says nothing
RECOVERY_RTTS = 6  # a window's fall after a loss is looked for in this time
WORLD_WORDS = {"sim": "simulated", "emu": "emulated", "real": "real"}


@dataclass(frozen=True)
class SlowStart:
    """The end of slow start of the first stream that left it. `by_loss`: something had been sent again by then."""

    exit_s: float
    exit_packets: float
    by_loss: bool


@dataclass(frozen=True)
class Response:
    """Effect of an event on the sum of the congestion windows. Times since the event; `back_s` null: not seen."""

    number: int  # of the event, from 1
    kind: str
    at_s: float
    before_mb: float
    least_mb: float
    back_s: float | None

    @property
    def share(self) -> float:
        """Share of the window that was left."""
        return self.least_mb / self.before_mb if self.before_mb else 1.0


@dataclass
class Side:
    """A bundle as a comparison sees it. What its samples do not have is empty or null."""

    label: str
    bundle: Path
    record: RunRecord
    plan: Plan
    flow: str = ""  # of a network; empty: the whole run
    share: float | None = None  # of the goodput of all flows
    goodput: Series = field(default_factory=Series)  # Gbit/s, read by the receiver
    window: Series = field(default_factory=Series)  # MB, all streams
    rtt: Series = field(default_factory=Series)  # ms, first stream
    queue: Series = field(default_factory=Series)  # MB, at the port where most waited
    settled_bps: float | None = None
    full_s: float | None = None
    nearly_full_s: float | None = None
    slow_start: SlowStart | None = None
    responses: list[Response] = field(default_factory=list[Response])
    packets_per_ack: float | None = None
    offered_window_bytes: int | None = None
    paced_bps: float | None = None  # largest pacing rate, all streams
    recoveries: int = 0  # times that a stream sent something again
    waiting: float = 0.0  # share of the samples of the sender in which it was making good a timeout
    backs_off: bool = False  # it ended waiting for a timeout
    standing: float = 0.0  # share of those of the receiver in which nothing came, where packets should have


def world_words(world: str) -> str:
    """Name a world's kind in a word; a world of another package has its own name."""
    return WORLD_WORDS.get(world, f"world {world}")


def load_side(bundle: Path, label: str | None = None) -> Side:
    """Read a bundle of a path; of a network, its first flow.

    Raises:
        BundleError: it cannot be read, or the run ended before it had a plan.
    """
    return load_sides(bundle, label)[0]


def load_sides(bundle: Path, label: str | None = None) -> list[Side]:
    """Read a bundle: one side; of a network one for each flow, as the transfer over its path.

    Raises:
        BundleError: it cannot be read, or the run ended before it had a plan.
    """
    with telling_of(bundle):
        record = load_record(bundle)
        plan = record.plan
        if plan is None:
            raise BundleError(f"{bundle}: the run ended before it had a plan")
        samples, sides = Samples(bundle), list[Side]()
        for flow, planned in zip(record.flows, plan.flows, strict=True):
            side = Side(flow.name, bundle, record.alone(flow), path_of(plan, planned), flow=flow.name)
            if plan.is_path:
                side.label, side.flow = label or f"{record.scenario}, {world_words(record.world)}", ""
            else:
                side.share = _share(flow.goodput_bps, record)
            _read_samples(side, samples.alone(plan, flow))
            sides.append(side)
        return sides


def load_whole(bundle: Path) -> Side:
    """Read a bundle of a network as one side, all flows together.

    Raises:
        BundleError: it cannot be read, or the run ended before it had a plan.
    """
    with telling_of(bundle):
        record = load_record(bundle)
        plan = record.plan
        if plan is None:
            raise BundleError(f"{bundle}: the run ended before it had a plan")
        goodput = total_goodput(flows_goodput(record, Samples(bundle)))
        scaled = [(time_s, value / 1e9) for time_s, value in goodput]
        return Side(f"{record.scenario}, {world_words(record.world)}", bundle, record, plan, goodput=scaled)


def _share(goodput_bps: float | None, record: RunRecord) -> float | None:
    total = sum(flow.goodput_bps or 0.0 for flow in record.flows)
    return goodput_bps / total if goodput_bps is not None and total else None


def _read_samples(side: Side, samples: Samples) -> None:
    mss = side.plan.physics.mss_bytes
    side.goodput = total_of(samples.by_stream("receiver", "goodput_bps", per=1e9))
    side.window = total_of(samples.windows(mss, per=1e6))
    round_trips = samples.by_stream("sender", "srtt_us", per=1e3)
    side.rtt = [point for point in next(iter(round_trips.values()), Series()) if point[1] > 0]
    side.queue = max(
        samples.backlogs(per=1e6).values(), key=lambda series: max(value for _, value in series), default=Series()
    )
    if samples.curves is not None:
        side.settled_bps = side.record.steady_goodput_bps
        if side.settled_bps is None:
            clock_s = side.record.duration_s if side.plan.transfer.bytes is None else None
            side.settled_bps = second_half_bps(samples.curves, clock_s, mss)
    if side.settled_bps:
        side.full_s, side.nearly_full_s = (
            next((time_s for time_s, value in side.goodput if value >= share * side.settled_bps / 1e9), None)
            for share in (REACHED_SHARE, NEARLY_SHARE)
        )
    side.slow_start = _slow_start(samples.sender, mss)
    side.offered_window_bytes = samples.largest_send_window()
    pacing = total_of(samples.by_stream("sender", "pacing_rate_bps"))
    side.paced_bps = max((value for _, value in pacing if value < 1e15), default=None)
    side.responses = _responses(side)
    side.packets_per_ack = _packets_per_ack(side, samples)
    side.recoveries = samples.recoveries(side.plan.physics.rtt_ns / 1e9)
    side.waiting, side.backs_off = samples.waiting(), samples.backs_off()
    side.standing = _standing(side)


def second_half_bps(curves: ByteCurves, clock_s: float | None, mss_bytes: int) -> float | None:
    """Goodput of the second half; less than a segment is interpolation's part of the sample before it: nothing."""
    end_s = curves.stopped_s(clock_s)
    found = curves.goodput_bps(end_s / 2, end_s)
    return 0.0 if found is not None and found / 8 * end_s / 2 < mss_bytes else found


def _standing(side: Side) -> float:
    """Share of the samples without data; 0 if the samples are too short to tell (ten packets at the mean goodput)."""
    packet_s = 8 * side.plan.physics.mss_bytes / side.record.goodput_bps if side.record.goodput_bps else math.inf
    if side.plan.transfer.sample_interval_ns / 1e9 < 10 * packet_s or not side.goodput:
        return 0.0
    return sum(value == 0 for _, value in side.goodput) / len(side.goodput)


def _slow_start(sender: pa.Table, mss_bytes: int) -> SlowStart | None:
    """The first row of any stream with a threshold that is not the one of the start."""
    import pyarrow.compute as pc

    told = (pc.field("ssthresh_packets") * mss_bytes < NO_THRESHOLD_BYTES) & pc.field("cwnd_packets").is_valid()
    left = sender.filter(told).sort_by("time_ns").slice(0, 1).to_pylist()
    return next(
        (SlowStart(row["time_ns"] / 1e9, float(row["ssthresh_packets"]), bool(row["retransmits"])) for row in left),
        None,
    )


def _responses(side: Side) -> list[Response]:
    found: list[Response] = []
    times = [time_s for time_s, _ in side.window]
    for number, event in enumerate(side.record.events, start=1):
        if event.at_s is None or event.kind not in ("loss", "down", "rate", "background"):
            continue
        begin = bisect_left(times, event.at_s)
        if begin == 0 or begin == len(times):
            continue
        before = side.window[begin - 1][1]
        span_s = (event.until_s or event.at_s) - event.at_s + RECOVERY_RTTS * side.plan.physics.rtt_ns / 1e9
        after = [point for point in side.window[begin:] if point[0] <= event.at_s + span_s]
        if not after:
            continue
        lowest_s, least = min(after, key=lambda point: point[1])
        back = next((t for t, value in side.window[begin:] if t > lowest_s and value >= before), None)
        back_s = None if back is None or least >= before else back - event.at_s
        found.append(Response(number, event.kind, event.at_s, before, min(least, before), back_s))
    return found


def _packets_per_ack(side: Side, samples: Samples) -> float | None:
    """Packets of the last link in the forward direction for each one in the reverse: how often ACKs are sent."""
    passed, last = samples.passed_by_link("packets"), len(side.plan.links) - 1
    forward, reverse = passed.get((last, "forward")), passed.get((last, "reverse"))
    return forward / reverse if forward is not None and reverse else None
