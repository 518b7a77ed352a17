"""One side of a comparison: a bundle, and what its samples say about its start, its level and its losses."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..scenarios.plan import Plan
from .bundle import LINKS, SAMPLES, load_record
from .compare import plan_of
from .figures import Series, columns_of, series_of, total_of
from .record import RunRecord
from .series import largest_send_window, receiver_curves

NO_THRESHOLD_BYTES = 1 << 31  # no window is so large (RFC 7323): a threshold above it is the one of the start
FULL_SHARE = 0.95  # of the settled goodput: the run has reached its rate
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
    """What an event did to the sum of the congestion windows. Times since the event; `back_s` null: not seen."""

    number: int  # of the event, from 1
    kind: str
    at_s: float
    before_mb: float
    least_mb: float
    back_s: float | None

    @property
    def share(self) -> float:
        """What was left of the window."""
        return self.least_mb / self.before_mb if self.before_mb else 1.0


@dataclass
class Side:
    """A bundle as a comparison sees it. What its samples do not have is empty or null."""

    label: str
    bundle: Path
    record: RunRecord
    plan: Plan
    goodput: Series = field(default_factory=list)  # Gbit/s, read by the receiver
    window: Series = field(default_factory=list)  # MB, all streams
    rtt: Series = field(default_factory=list)  # ms, first stream
    settled_bps: float | None = None
    full_s: float | None = None
    slow_start: SlowStart | None = None
    responses: list[Response] = field(default_factory=list)
    packets_per_ack: float | None = None
    offered_window_bytes: int | None = None
    paced_bps: float | None = None  # largest pacing rate, all streams


def load_side(bundle: Path, label: str | None = None) -> Side:
    """Read a bundle.

    Raises:
        ValueError: it cannot be read, or the run died before it had a plan.
    """
    record = load_record(bundle)
    plan = plan_of(record)
    if plan is None:
        raise ValueError(f"{bundle}: the run died before it had a plan")
    side = Side(label or f"{record.scenario}, {WORLD_WORDS[record.world]}", bundle, record, plan)
    if (bundle / SAMPLES).exists():
        _read_samples(side)
    side.packets_per_ack = _packets_per_ack(side)
    return side


def _read_samples(side: Side) -> None:
    file, mss = side.bundle / SAMPLES, side.plan.physics.mss_bytes
    received = columns_of(file, "receiver", ["goodput_bps"])
    names = ["cwnd_packets", "ssthresh_packets", "mss_bytes", "retransmits", "srtt_us", "pacing_rate_bps"]
    sent = columns_of(file, "sender", names)

    def only(*wanted: str) -> dict[str, list[Any]]:
        return {name: sent[name] for name in ("stream", "time_ns", *wanted)}

    side.goodput = total_of(series_of(received, lambda row: row["goodput_bps"] / 1e9))
    side.window = total_of(
        series_of(only("cwnd_packets", "mss_bytes"), lambda row: row["cwnd_packets"] * (row["mss_bytes"] or mss) / 1e6)
    )
    round_trips = series_of(only("srtt_us"), lambda row: row["srtt_us"] / 1e3)
    side.rtt = [point for point in next(iter(round_trips.values()), []) if point[1] > 0]
    curves = receiver_curves(side.bundle)
    if curves is not None:
        side.settled_bps = side.record.steady_goodput_bps or curves.goodput_bps(curves.end_s / 2)
    if side.settled_bps:
        level = FULL_SHARE * side.settled_bps / 1e9
        side.full_s = next((time_s for time_s, value in side.goodput if value >= level), None)
    side.slow_start = _slow_start(only("cwnd_packets", "ssthresh_packets", "retransmits"), mss)
    side.offered_window_bytes = largest_send_window(side.bundle)
    pacing = total_of(series_of(only("pacing_rate_bps"), lambda row: row["pacing_rate_bps"]))
    side.paced_bps = max((value for _, value in pacing if value < 1e15), default=None)
    side.responses = _responses(side)


def _slow_start(columns: dict[str, list[Any]], mss_bytes: int) -> SlowStart | None:
    exits = []
    cells = zip(*(columns[name] for name in columns), strict=True)
    left: set[int] = set()
    for stream, time_ns, window, threshold, retransmits in cells:
        if stream in left or window is None or threshold is None:
            continue
        if threshold * mss_bytes < NO_THRESHOLD_BYTES:
            left.add(stream)
            exits.append(SlowStart(time_ns / 1e9, float(threshold), bool(retransmits)))
    return min(exits, key=lambda each: each.exit_s, default=None)


def _responses(side: Side) -> list[Response]:
    found = []
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


def _packets_per_ack(side: Side) -> float | None:
    """Packets of the first link in the forward direction for each one in the reverse: how often ACKs are sent."""
    if not (side.bundle / LINKS).exists():
        return None
    from pyarrow import parquet

    table = parquet.read_table(
        side.bundle / LINKS, columns=["direction", "packets"], filters=[("link", "=", len(side.plan.links) - 1)]
    )
    counts: dict[str, list[int]] = {"forward": [], "reverse": []}
    for direction, packets in zip(table["direction"].to_pylist(), table["packets"].to_pylist(), strict=True):
        counts[direction].append(packets)
    if not all(counts.values()):
        return None
    passed = {name: max(values) - min(values) for name, values in counts.items()}
    return passed["forward"] / passed["reverse"] if passed["reverse"] else None
