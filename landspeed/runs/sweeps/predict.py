"""Predict how long a transfer of many bytes takes: shorter ones, until they are steady, and the rest at their rate.

Each choice is run with several seeds, twice as long each time, until its rate is steady or the longest time is reached.
What the clock of a guest cannot show is no part of it: the CPUs of the hosts, their disks, other users of the path.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from landspeed.base.errors import Source, TextPosition
from landspeed.base.failures import NotPossible, RunFailed
from landspeed.base.limits import BUS, UNKNOWN
from landspeed.base.text import bytes_text, rate_text
from landspeed.base.units import RATE, format_exact
from landspeed.judge.certainty import most_told
from landspeed.judge.steady import Steady, carried_on, steady
from landspeed.results.samples_reader import Samples
from landspeed.runs.sweeps.grid import plan_grid
from landspeed.runs.sweeps.store import Store
from landspeed.runs.sweeps.sweep import Report, SweepOptions, run_grid
from landspeed.runs.sweeps.work import CellOutcome
from landspeed.scenario.file.document import YamlNode, apply_override
from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.file.vary import read_space
from landspeed.scenario.plan.plan import Plan
from landspeed.scenario.theory import physics as ph
from landspeed.scenario.theory.queueing import full_queue
from landspeed.worlds.registry import plan_for
from landspeed.worlds.world import World

FIRST_S, STARTS, ROUNDS, RECOVERIES = 10.0, 4.0, 50.0, 2.0
MOST_S = 120.0
SEEDS = 5
PERCENTILES = (5.0, 50.0, 95.0)


@dataclass(frozen=True)
class Choice:
    """One choice in one world: what was set, as written."""

    values: dict[str, str]
    world: str

    def __str__(self) -> str:
        said = ", ".join(f"{key} {value}" for key, value in self.values.items())
        return f"{said} ({self.world})" if said else self.world


@dataclass(frozen=True)
class Prediction:
    """Prediction for a choice; one entry of `durations_s` for each seed.

    Attributes:
        start_s, start_bytes: of the start, median of the seeds.
        rate_bps: the steady rate, median of the seeds.
        measured_s, measured_bytes: of each transfer that was run, on its own clock.
        bound_by: what bound most of them, and how many if not all.
        rtt_loaded_ms: round trip under load, median of the seeds' medians.
        full_queue_ms: the same by theory, with the queue before the slowest line full; None where none fills.
        steady: whether every seed's rate was steady.
        recovery_s: how long a recovery from a loss takes, where they were not steady.
    """

    choice: Choice
    amount: float
    seeds: tuple[int, ...]
    durations_s: tuple[float, ...]
    start_s: float
    start_bytes: float
    rate_bps: float
    measured_s: float
    measured_bytes: float
    bound_by: str
    steady: bool
    rtt_loaded_ms: float | None
    full_queue_ms: float | None
    recovery_s: float = 0.0

    def percentile_s(self, share: float) -> float:
        """Percentile of the durations over the seeds, interpolated."""
        return percentile(self.durations_s, share)

    @property
    def extrapolated(self) -> float:
        """The share of the bytes that was not sent but computed from the steady rate."""
        return max(0.0, 1 - self.measured_bytes / self.amount)

    @property
    def how(self) -> str:
        """Method of the prediction in a sentence: what was sent, and what was extrapolated."""
        if not self.extrapolated:
            return f"nothing was extrapolated: all of it was sent, in {self.measured_s:.4g} s"
        sent, start = bytes_text(self.measured_bytes), f"the start took {self.start_s:.4g} s"
        told = f"{sent} were sent in {self.measured_s:.4g} s; {start}"
        long = (
            f" (one recovery from a loss takes {self.recovery_s:.4g} s)"
            if self.recovery_s > self.measured_s / 4
            else ""
        )
        certain = "" if self.steady else f", which was NOT steady yet{long}: allow more with --at-most"
        return f"{told}; {self.extrapolated * 100:.6g} % are extrapolated at {rate_text(self.rate_bps)}{certain}"


@dataclass(frozen=True)
class Predictions:
    """The predictions, in the order of the choices, and first what they leave out."""

    amount: float
    unknown: str
    predictions: tuple[Prediction, ...] = field(repr=False)

    def __iter__(self) -> Any:
        return iter(self.predictions)


def parse_choices(texts: Sequence[str]) -> dict[str, list[str]]:
    """`KEY=VALUE,VALUE` of each; commas inside brackets belong to the value.

    Raises:
        NotPossible: one is something else, or a key stands twice.
    """
    found: dict[str, list[str]] = {}
    for text in texts:
        key, equals, listed = (part.strip() for part in text.partition("="))
        chosen = [each.strip() for each in re.split(r",(?![^\[{]*[\]}])", listed)]
        if not equals or not key or not all(chosen) or key in found or len(set(chosen)) < len(chosen):
            raise NotPossible(
                f"--choose '{text}': write KEY=VALUE,VALUE, each key and each value once, such as "
                "transfer.congestion_control=cubic,bbr"
            )
        found[key] = chosen
    return found


def choices_of(choose: Mapping[str, Sequence[object]]) -> dict[str, list[str]]:
    """Values as Python has them, as they would be typed."""
    return {
        key: [each if isinstance(each, str) else json.dumps(each) for each in each_of]
        for key, each_of in choose.items()
    }


def percentile(values: Sequence[float], share: float) -> float:
    """A percentile by linear interpolation between the ordered values (Hyndman and Fan 1996, type 7)."""
    ordered = sorted(values)
    place = share / 100 * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def predict_completion(
    file: Path,
    overrides: Sequence[str],
    worlds: Sequence[tuple[World, Mapping[str, Any]]],
    how: SweepOptions,
    *,
    amount: int,
    choose: Mapping[str, Sequence[str]],
    host_limit_bps: int | None = None,
    seeds: int = SEEDS,
    at_most_s: float = MOST_S,
    progress: Report = lambda _: None,
) -> Predictions:
    """Predict the completion time of each choice in each world.

    Args:
        file, overrides: the scenario; `amount` replaces its duration or bytes.
        worlds: each with the options that it was made with.
        how: where the runs are kept and who runs them; those that are known are not run again.
        amount: bytes of payload.
        choose: dotted key → values, as written; every combination is a choice.
        host_limit_bps: goodput that the sending host can make; a lower limit of the file stays.
        at_most_s: the longest transfer that is run, on its own clock.

    Raises:
        ScenarioError, NotPossible, NotReady: known before the first run.
        RunFailed: a run failed.
    """
    if varied := read_space(file, overrides).keys:
        raise NotPossible(
            f"the file varies {', '.join(varied)}: fix it with --set, or choose with --choose KEY=VALUE,VALUE"
        )
    words = [*overrides, "expect=null", "transfer.bytes=null", *_limits(file, overrides, host_limit_bps)]
    choices = [dict(zip(choose, values, strict=True)) for values in itertools.product(*choose.values())]
    asked = [
        [PredictionRun(Choice(each, world.name), _plan(file, [*words, *_set(each)], world)) for each in choices]
        for world, _ in worlds
    ]
    _refuse(asked[0][0].plan)
    found: list[Prediction] = []
    for (world, options), own in zip(worlds, asked, strict=True):
        stage = Stages(file, words, world, options, how, seeds, at_most_s, progress)
        for each in own:
            each.duration_s = min(max(each.duration_s, FIRST_S), at_most_s)
        stage.run(own)
        found += [each.prediction(amount) for each in own]
    return Predictions(amount, unknown(asked[0][0].plan, host_limit_bps), tuple(found))


def _refuse(plan: Plan) -> None:
    """Raise NotPossible for a plan that cannot be extrapolated."""
    if not plan.is_path:
        raise NotPossible("a prediction needs one transfer over a path, and this file is a network")
    if plan.events:
        raise NotPossible(
            "the file has events, and what happens once is not steady: leave them out with --set events=null"
        )


class SeedRun(NamedTuple):
    """Figures of the run of one seed."""

    seed: int
    divided: Steady
    bound_by: str
    retransmits: int
    rtt_loaded_ms: float | None


@dataclass
class PredictionRun:
    """A choice that is being run."""

    choice: Choice
    plan: Plan
    runs: list[SeedRun] = field(default_factory=list[SeedRun])
    duration_s: float = 0.0

    def __post_init__(self) -> None:
        """Set the duration of its first runs: several times the expected length of the start."""
        physics, streams = self.plan.physics, self.plan.transfer.streams
        window = physics.expected_goodput_bps * physics.rtt_ns // (8 * 10**9 * streams)
        start_s = ph.slow_start_ns(window, physics.mss_bytes, physics.rtt_ns) / 1e9
        self.duration_s = float(math.ceil(max(STARTS * start_s, ROUNDS * physics.rtt_ns / 1e9)))

    @property
    def recovery_s(self) -> float:
        """Time that the congestion control takes to recover from a loss; 0 where it does not count losses."""
        control = self.plan.transfer.congestion_control
        if control.startswith("bbr") or not self.runs:
            return 0.0
        physics, streams = self.plan.physics, self.plan.transfer.streams
        rate = percentile([each.divided.rate_bps for each in self.runs], 50)
        window = round(rate * physics.rtt_ns / (8 * 10**9 * streams))
        if control == "reno":
            return ph.reno_recovery_ns(window, physics.mss_bytes, physics.rtt_ns) / 1e9
        return ph.cubic_recovery_ns(window, physics.mss_bytes) / 1e9

    @property
    def steady(self) -> bool:
        """True if every run is long enough: its rate is steady, and after a loss it had time to recover, twice."""
        return bool(self.runs) and all(
            run.is_steady and (not each.retransmits or run.measured_s - run.start_s >= RECOVERIES * self.recovery_s)
            for each in self.runs
            for run in [each.divided]
        )

    def prediction(self, amount: int) -> Prediction:
        """Predict the transfer of so many bytes from its runs."""

        def median(values: Iterable[float]) -> float:
            return percentile(list(values), 50)

        divided = [each.divided for each in self.runs]
        loaded_ms = [each.rtt_loaded_ms for each in self.runs if each.rtt_loaded_ms is not None]
        queue = full_queue(self.plan)
        try:
            durations = tuple(each.duration_s(amount) for each in divided)
        except ValueError as error:
            raise RunFailed(f"{self.choice}: {error}") from error
        return Prediction(
            choice=self.choice,
            amount=amount,
            seeds=tuple(each.seed for each in self.runs),
            durations_s=durations,
            start_s=median(each.start_s for each in divided),
            start_bytes=median(each.start_bytes for each in divided),
            rate_bps=median(each.rate_bps for each in divided),
            measured_s=median(each.measured_s for each in divided),
            measured_bytes=median(each.measured_bytes for each in divided),
            bound_by=most_told(each.bound_by for each in self.runs),
            steady=self.steady,
            rtt_loaded_ms=median(loaded_ms) if loaded_ms else None,
            full_queue_ms=queue.rtt_ns / 1e6 if queue else None,
            recovery_s=0.0 if self.steady else self.recovery_s,
        )


@dataclass(frozen=True)
class Stages:
    """Runs of all choices in a world, twice as long each time for those that are not steady."""

    file: Path
    words: list[str]
    world: World
    options: Mapping[str, Any]
    how: SweepOptions
    seeds: int
    at_most_s: float
    progress: Report

    def run(self, asked: Sequence[PredictionRun]) -> None:
        """Run every choice until it is steady, or as long as `at_most_s`.

        Raises:
            RunFailed: a run failed.
        """
        waiting = list(asked)
        while waiting:
            self._once(waiting)
            waiting = [each for each in waiting if not each.steady and each.duration_s < self.at_most_s]
            for each in waiting:
                each.duration_s = min(2 * each.duration_s, self.at_most_s)

    def _once(self, asked: Sequence[PredictionRun]) -> None:
        cases = {
            str(number): {**_plain(each.choice.values), "transfer.duration": f"{each.duration_s:g} s"}
            for number, each in enumerate(asked)
        }
        vary = json.dumps({"cases": cases, "seeds": self.seeds}, ensure_ascii=False)
        grid = plan_grid(self.file, [*self.words, f"vary={vary}"], self.world)
        store = Store(self.how.folder)
        store.make()
        for cell in grid.cells():
            store.forget_lost(cell.key)
        done, interrupted = run_grid(grid, store, self.how, self.options, self.progress)
        if interrupted:
            raise KeyboardInterrupt
        known = {cell.key: outcome for cell, outcome in done}
        for point in grid.points:
            each = asked[int(point.values["case"])]
            each.runs = [self._read(known[cell.key], each.choice, point.plan) for cell in point.cells()]

    def _read(self, outcome: CellOutcome, choice: Choice, plan: Plan) -> SeedRun:
        if not outcome.done or outcome.bundle is None:
            raise RunFailed(f"{choice}, seed {outcome.seed}: {outcome.error}")
        bundle = Path(outcome.bundle)
        curves = Samples(bundle).curves
        if curves is None:
            raise RunFailed(f"{choice}, seed {outcome.seed}: {bundle} has no samples")
        try:
            rtt_s = plan.physics.rtt_ns / 1e9
            divided = carried_on(steady(curves, rtt_s), rtt_s, plan.physics.expected_goodput_bps)
        except ValueError as error:
            raise RunFailed(f"{choice}, seed {outcome.seed}: {error}") from error
        figures = outcome.figures
        bound, resent = figures.get("limited_by") or UNKNOWN, int(figures.get("retransmits") or 0)
        return SeedRun(outcome.seed, divided, bound, resent, figures.get("rtt_loaded_median_ms"))


def unknown(plan: Plan, host_limit_bps: int | None) -> str:
    """Say what virtual time cannot know of this transfer, and what is assumed instead."""
    here = f"the sending host is taken to make {rate_text(host_limit_bps)}, as given" if host_limit_bps else (
        f"the hosts are taken to fill what binds the path, {rate_text(plan.physics.expected_goodput_bps)} by theory; "
        "measure what one can, and give --host-limit RATE"
    )  # fmt: skip
    return f"Not known here: what the hosts' CPUs, memory and disks can do, and other users of the path. So {here}."


def _limits(file: Path, overrides: Sequence[str], host_limit_bps: int | None) -> list[str]:
    """Overrides that limit the sending host."""
    if host_limit_bps is None:
        return []
    plan = _plan(file, overrides, None)
    mtu = min(link.mtu_bytes for link in plan.links)
    bus = ph.bus_for_goodput_bps(host_limit_bps, mtu, plan.ip_version)
    if any(limit.kind == BUS and limit.goodput_bps <= host_limit_bps for limit in plan.physics.limits):
        return []
    sender = plan.nodes[0].name
    return [f"hosts.{sender}.bus={json.dumps({'rate': format_exact(RATE, bus), 'why': 'given as --host-limit'})}"]


def _plan(file: Path, words: Sequence[str], world: World | None) -> Plan:
    loaded = load_scenario(file, words)
    return plan_for(loaded, world.name) if world is not None else plan_for(loaded)


def _set(values: Mapping[str, str]) -> list[str]:
    return [f"{key}={text}" for key, text in values.items()]


def _plain(values: Mapping[str, str]) -> dict[str, Any]:
    """The values as `--set` reads them."""
    empty = YamlNode(TextPosition(Source("--choose")), "mapping")
    return {key: apply_override(empty, f"value={text}").mapping["value"].plain() for key, text in values.items()}
