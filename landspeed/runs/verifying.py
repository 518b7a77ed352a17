"""An imported scenario run in both worlds at once, beside what was measured: what differs, and what that may mean."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from landspeed.base import limits
from landspeed.base.units_text import rate_text
from landspeed.runs.library import run
from landspeed.runs.run import Run
from landspeed.runs.scenario import Scenario
from landspeed.scenario.file.model_recorded import ExpectSection
from landspeed.scenario.importers.import_files import InferredScenario
from landspeed.scenario.importers.infer import settled
from landspeed.scenario.importers.infer_form import InferredPath
from landspeed.scenario.importers.path_evidence import MeasurementError

WORLDS = ("emu", "sim")
RTT_SHARE = 0.1  # of a round trip under load that may differ: the measured one is smoothed, or a mean
COUNT_FACTOR, FEW = 2.0, 10  # counts of retransmits that differ by less are alike: losses come in bursts
TOLERANCE = 0.05  # of the goodput, where the scenario has none
SAME_LIMITS = {limits.HOST: (limits.BUS, limits.BUS_FITTED)}


@dataclass(frozen=True)
class Comparand:
    """A figure that was measured, and of each run.

    Attributes:
        apart: whether a world's is farther from it than it should be.
    """

    what: str
    measured: str
    runs: tuple[str, ...]
    apart: tuple[bool, ...]


@dataclass(frozen=True)
class Verification:
    """Runs of the imported scenario, beside the measurement."""

    path: InferredPath
    runs: tuple[Run, ...]
    figures: tuple[Comparand, ...]

    @property
    def agrees(self) -> bool:
        """True if no figure of a run differs."""
        return not any(any(each.apart) for each in self.figures)

    def lines(self) -> Iterator[str]:
        """A table, and what differs in words."""
        rows = [("", "measured", *(each.record.world for each in self.runs))]
        rows += [(each.what, each.measured, *each.runs) for each in self.figures]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        for row in rows:
            yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for each in self.figures:
            worlds = [one.record.world for one, apart in zip(self.runs, each.apart, strict=True) if apart]
            if worlds:
                told = ", ".join(f"{each.runs[WORLDS.index(world)]} in {world}" for world in worlds)
                yield f"differs: {each.what}: {each.measured} measured, {told}"
        if self.agrees:
            yield "Both worlds show what was measured."
        elif self.path.second:
            yield f"The reading was: {self.path.bound_by} ({self.path.sure}). The second one is: {self.path.second}."


def verify(made: InferredScenario, runs_dir: Path | None = None) -> Verification:
    """Run the scenario in both worlds at once.

    Raises:
        MeasurementError: nothing was measured that a run could show.
        LandspeedError: a world cannot run it.
    """
    if made.path is None or made.path.transfer is None or made.path.goodput is None:
        raise MeasurementError(
            "--verify: no file tells of a transfer, so there is nothing to compare a run with; add iperf3's JSON or a "
            "packet capture"
        )
    scenario, expect = Scenario(made.loaded), made.loaded.scenario.expect
    with ThreadPoolExecutor(len(WORLDS)) as pool:
        going = [pool.submit(run, scenario, world=world, runs_dir=runs_dir) for world in WORLDS]
        runs = tuple(each.result() for each in going)
    assert expect is not None
    return Verification(made.path, runs, tuple(_figures(made.path, runs, expect)))


def _figures(path: InferredPath, runs: tuple[Run, ...], expect: ExpectSection) -> Iterator[Comparand]:
    transfer = path.transfer
    assert transfer is not None and path.goodput is not None
    by_world = _Beside(runs)
    yield by_world.number(
        "goodput", path.goodput.value, lambda each: each.goodput_bps, rate_text, expect.tolerance or TOLERANCE
    )
    if expect.rtt:
        yield by_world.number("idle round trip", expect.rtt / 1e6, lambda each: each.rtt_ms, _ms, RTT_SHARE)
    loaded_s = [each.rtt_s for each in settled(transfer) if each.rtt_s]
    if loaded_s:
        loaded_ms = statistics.median(loaded_s) * 1e3
        yield by_world.number("under load", loaded_ms, lambda each: each.rtt_loaded_median_ms, _ms, RTT_SHARE)
    if transfer.retransmits is not None:
        yield by_world.counts("retransmits", transfer.retransmits, lambda each: each.record.retransmits)
    if path.bound_by is not None:
        words = tuple(each.limited_by or limits.UNKNOWN for each in runs)
        same = (path.bound_by, *SAME_LIMITS.get(path.bound_by, ()))
        yield Comparand("bound by", path.bound_by, words, tuple(word not in same for word in words))


def _ms(value: float) -> str:
    return f"{value:.2f} ms"


@dataclass(frozen=True)
class _Beside:
    """Figures of the runs beside a measured one."""

    runs: tuple[Run, ...]

    def number(
        self, what: str, measured: float, of: Callable[[Run], float | None], text: Callable[[float], str], share: float
    ) -> Comparand:
        found = [of(each) for each in self.runs]
        told = tuple("-" if each is None else f"{text(each)} ({each / measured - 1:+.1%})" for each in found)
        apart = tuple(each is not None and abs(each / measured - 1) > share for each in found)
        return Comparand(what, text(measured), told, apart)

    def counts(self, what: str, measured: int, of: Callable[[Run], int | None]) -> Comparand:
        found = [of(each) for each in self.runs]
        apart = tuple(
            each is not None and max(each, measured) > COUNT_FACTOR * min(each, measured) + FEW for each in found
        )
        return Comparand(what, str(measured), tuple("-" if each is None else str(each) for each in found), apart)
