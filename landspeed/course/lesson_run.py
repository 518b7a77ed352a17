"""One run of a lesson: what varied, what was planned, what came out. Theory asks it for figures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from landspeed.results.bundle import load_record
from landspeed.results.record import RunRecord
from landspeed.results.series import Series, total_of
from landspeed.scenario.file.ranges import magnitude
from landspeed.scenario.plan.plan import Plan

if TYPE_CHECKING:
    from landspeed.results.samples_reader import Samples


@dataclass(frozen=True)
class LessonRun:
    """A run that was made.

    Attributes:
        file: name of the scenario's file.
        values: what varies, as written.
        plan: the work.
        bundle: its folder; None for a program's run.
        output: what a program printed.
    """

    file: str
    values: dict[str, str]
    seed: int
    plan: Plan
    bundle: Path | None = None
    output: str = field(default="", repr=False)

    @cached_property
    def record(self) -> RunRecord:
        """Every figure of the run."""
        assert self.bundle is not None
        return load_record(self.bundle)

    @cached_property
    def samples(self) -> Samples:
        """Time series of the run."""
        # saves 14 ms where it is not needed
        from landspeed.results.samples_reader import Samples

        assert self.bundle is not None
        return Samples(self.bundle)

    @property
    def name(self) -> str:
        """Values in words."""
        return ", ".join(self.values.values()) or Path(self.file).stem

    def number(self, key: str) -> float:
        """A value that varies, in base units: bytes, bits per second, nanoseconds, a share.

        Raises:
            KeyError: the key does not vary, or is no quantity.
        """
        found = magnitude(self.values[key])
        if found is None:
            raise KeyError(f"{key}: '{self.values[key]}' is not a quantity")
        return found

    # --- figures -----------------------------------------------------------------------------------------------------

    @property
    def rtt_s(self) -> float:
        """Round-trip time of the path with empty queues, as planned."""
        return self.plan.physics.rtt_ns / 1e9

    @property
    def line_rate_bps(self) -> int:
        """Rate of the slowest line towards the receiver."""
        return min(link.forward.rate_bps for link in self.plan.links)

    @property
    def mss_bytes(self) -> int:
        """Payload of a full packet."""
        return self.plan.physics.mss_bytes

    @cached_property
    def window_bytes(self) -> int:
        """The largest window that the receiver offered, all streams together."""
        found = self.samples.largest_send_window()
        assert found is not None
        return found

    def goodput_bps(self, from_s: float = 0.0, until_s: float | None = None, stream: int | None = None) -> float:
        """Payload read between two instants, over the time between the samples next to them."""
        rows: dict[int, list[tuple[float, int]]] = defaultdict(list)
        for which, time_ns, count in self.samples.rows("receiver", "stream", "time_ns", "bytes"):
            if stream in (None, which) and from_s <= time_ns / 1e9 and (until_s is None or time_ns / 1e9 <= until_s):
                rows[which].append((time_ns / 1e9, count))
        return sum(
            8 * (each[-1][1] - each[0][1]) / (each[-1][0] - each[0][0]) for each in rows.values() if len(each) > 1
        )

    def series(self, column: str, stream: int = 0, end: Literal["sender", "receiver"] = "sender") -> Series:
        """A column of the samples over time in s."""
        return self.samples.by_stream(end, column).get(stream, [])

    def goodput_series(self, every_s: float) -> Series:
        """Goodput of all streams over time in bit/s, each the mean of so long; a shorter rest is left out."""
        total = total_of(self.samples.by_stream("receiver", "goodput_bps"))
        bins: dict[int, list[float]] = defaultdict(list)
        for time_s, value in total:
            bins[int(time_s / every_s - 1e-6)].append(value)
        means = (((number + 1) * every_s, sum(each) / len(each)) for number, each in sorted(bins.items()))
        return [(time_s, mean_bps) for time_s, mean_bps in means if time_s <= total[-1][0] + 1e-6]

    def queue_series(self, link: int, direction: str = "forward") -> Series:
        """Bytes waiting before a link's line over time."""
        return self.samples.backlogs().get((link, direction), [])

    def flow(self, name: str) -> LessonRun:
        """One flow of a network, as a run of its own: times count from its beginning."""
        # saves 3 ms where it is not needed
        from landspeed.scenario.plan.flow_path import path_of

        flow = next(each for each in self.plan.flows if each.name == name)
        told = next(each for each in self.record.flows if each.name == name)
        made = LessonRun(self.file, self.values | {"flow": name}, self.seed, path_of(self.plan, flow), self.bundle)
        made.__dict__["samples"] = self.samples.alone(self.plan, told)
        return made


def between(series: Iterable[tuple[float, float]], from_s: float, until_s: float = float("inf")) -> Series:
    """The part of a series between two instants."""
    return [(time_s, value) for time_s, value in series if from_s <= time_s <= until_s]


def mean(series: Sequence[tuple[float, float]]) -> float:
    """Mean of a series of equal steps.

    Raises:
        ValueError: it is empty.
    """
    if not series:
        raise ValueError("an empty series has no mean")
    return sum(value for _, value in series) / len(series)


def percentile(series: Sequence[tuple[float, float]], share: float) -> float:
    """The value below which this share of a series is."""
    values = sorted(value for _, value in series)
    return values[min(len(values) - 1, int(share * len(values)))]


def first_at(series: Sequence[tuple[float, float]], level: float) -> float:
    """Time at which a series first reaches a level, interpolated between two samples; infinite if never."""
    last = None
    for time_s, value in series:
        if value >= level:
            if last is None or value == last[1]:
                return time_s
            return last[0] + (level - last[1]) / (value - last[1]) * (time_s - last[0])
        last = (time_s, value)
    return float("inf")


def by(runs: Iterable[LessonRun], *keys: str) -> dict[tuple[str, ...], list[LessonRun]]:
    """Runs by what varies, seeds together, in the order in which they come."""
    groups: dict[tuple[str, ...], list[LessonRun]] = {}
    for run in runs:
        groups.setdefault(tuple(run.values[key] for key in keys), []).append(run)
    return groups
