"""A run's flows in steps of a second, as measuring programs print them: what arrived, what was sent again, the window.

Arrived bytes between two samples count evenly over the time between them. The last step is as long as is left.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from landspeed.exporters.exporter import Exported, ExportError
from landspeed.results.flow_result import FlowResult
from landspeed.results.samples_reader import Samples
from landspeed.scenario.plan.plan import Flow

STEP_S = 1.0


@dataclass(frozen=True)
class StreamStep:
    """One stream during one step; None where its kernel told nothing."""

    stream: int
    received_bytes: int
    retransmits: int | None
    cwnd_bytes: int | None
    rtt_us: int | None
    rttvar_us: int | None


@dataclass(frozen=True)
class FlowInterval:
    """All streams of a flow from `begin_s` to `end_s` of it."""

    begin_s: float
    end_s: float
    streams: tuple[StreamStep, ...]

    @property
    def received_bytes(self) -> int:
        """Sum of the streams."""
        return sum(each.received_bytes for each in self.streams)


@dataclass(frozen=True)
class FlowSteps:
    """One flow: its result, its plan, its steps.

    Attributes:
        suffix: what its files have in their names, so that those of several flows differ.
        rtts_us: each stream's least, greatest and mean smoothed round-trip time; empty where its kernel told none.
    """

    result: FlowResult
    planned: Flow
    suffix: str
    steps: tuple[FlowInterval, ...]
    rtts_us: tuple[tuple[int, ...], ...]


def flows_in_steps(exported: Exported, step_s: float = STEP_S) -> Iterator[FlowSteps]:
    """Each flow that moved data.

    Raises:
        ExportError: none did.
    """
    record, plan = exported.measured, exported.plan
    found = 0
    for result, planned in zip(record.flows, plan.flows, strict=True):
        if planned.transfer.protocol == "udp":
            raise ExportError(
                f"{exported.name}: {result.name} sends datagrams, and this form has TCP's figures; "
                "openmetrics and influx have its goodput over time"
            )
        samples = exported.samples.alone(plan, result)
        if samples.curves is None or not result.duration_s:
            continue
        found += 1
        suffix = "" if len(plan.flows) == 1 else f".{result.name}"
        steps = tuple(_steps(samples, result.duration_s, step_s))
        rtts = samples.by_stream("sender", "srtt_us")
        known = [[int(us) for _, us in rtts.get(each.stream, []) if us] for each in steps[0].streams]
        told = tuple((min(each), max(each), round(sum(each) / len(each))) if each else () for each in known)
        yield FlowSteps(result, planned, suffix, steps, told)
    if not found:
        raise ExportError(f"{exported.name}: nothing arrived in this run; export one that moved data")


def _steps(samples: Samples, duration_s: float, step_s: float) -> Iterator[FlowInterval]:
    assert samples.curves is not None
    streams = sorted(samples.curves.streams)
    sent = {stream: _Told(samples, stream) for stream in streams}
    curves = {stream: samples.curves.streams[stream] for stream in streams}
    for number in range(max(1, math.ceil(round(duration_s / step_s, 6)))):
        begin_s, end_s = number * step_s, min((number + 1) * step_s, duration_s)
        parts = (
            StreamStep(
                stream,
                _at(*curves[stream], end_s) - _at(*curves[stream], begin_s),
                sent[stream].growth("retransmits", begin_s, end_s),
                sent[stream].window_bytes(end_s),
                sent[stream].last("srtt_us", end_s),
                sent[stream].last("rttvar_us", end_s),
            )
            for stream in streams
        )
        yield FlowInterval(begin_s, end_s, tuple(parts))


def _at(times_s: Sequence[float], counts: Sequence[int], time_s: float) -> int:
    """Bytes of a curve at a time, on the straight line between its samples."""
    after = bisect_right(times_s, time_s)
    if after == len(times_s):
        return counts[-1]
    t0, n0 = (times_s[after - 1], counts[after - 1]) if after else (0.0, 0)
    t1, n1 = times_s[after], counts[after]
    return round(n0 + (n1 - n0) * (time_s - t0) / (t1 - t0)) if t1 > t0 else n1


class _Told:
    """Figures that one stream's sender told, by time."""

    def __init__(self, samples: Samples, stream: int) -> None:
        columns = ("stream", "time_ns", "retransmits", "cwnd_packets", "mss_bytes", "srtt_us", "rttvar_us")
        rows = [row[1:] for row in samples.rows("sender", *columns) if row[0] == stream]
        self._times_s = [row[0] / 1e9 for row in rows]
        self._columns = {name: [row[place] for row in rows] for place, name in enumerate(columns[2:], start=1)}

    def last(self, column: str, time_s: float) -> int | None:
        """Value of the last sample until a time."""
        place = bisect_right(self._times_s, time_s)
        return self._columns[column][place - 1] if place else None

    def growth(self, column: str, begin_s: float, end_s: float) -> int | None:
        """Growth of a counter."""
        end = self.last(column, end_s)
        return None if end is None else end - (self.last(column, begin_s) or 0 if begin_s else 0)

    def window_bytes(self, time_s: float) -> int | None:
        """Congestion window."""
        packets, mss = self.last("cwnd_packets", time_s), self.last("mss_bytes", time_s)
        return packets * mss if packets is not None and mss else None
