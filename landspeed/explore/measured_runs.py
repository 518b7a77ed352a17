"""Runs that were measured at settings of the sliders: those of a grid, and those that somebody asked for.

They are kept as cells of a sweep are, by their content: another kernel or another setting is another run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from landspeed.base.errors import ScenarioError
from landspeed.base.failures import BundleError, RunFailed
from landspeed.base.places import runs_dir
from landspeed.explore.grid import packets_of
from landspeed.explore.setting import MEAN_S, SAMPLE_MS, Setting, Slider, settings_of
from landspeed.runs.run import Run
from landspeed.runs.sweeps.grid import Cell, GridPoint, grid_of, point_of
from landspeed.runs.sweeps.store import Store
from landspeed.runs.sweeps.sweep import State, SweepOptions, run_grid
from landspeed.runs.sweeps.work import FIGURES, CellOutcome
from landspeed.scenario.file.vary import Combination
from landspeed.worlds.world import World

RUN_S, PACKETS_PER_S = 5.0, 8_000
"""Of an ordinary core: what a run takes before and after its transfer, and what it sends meanwhile."""


@dataclass(frozen=True)
class ShownRun:
    """A run, as the page shows it.

    Attributes:
        mean_bps: goodput between the times of MEAN_S; of the whole run where it was not sampled.
        loaded_ms: median round trip under load, in the same time; None where TCP told none.
        series: goodput in kbit/s, each the mean of SAMPLE_MS.
        bound: what bound it, as the judge says.
    """

    setting: Setting
    key: str
    bundle: Path
    mean_bps: float
    loaded_ms: float | None
    resent: int | None
    bound: str | None
    series: list[int]

    @classmethod
    def of(cls, setting: Setting, key: str, run: Run) -> ShownRun:
        """The figures of a run that is complete."""
        curves = run.samples.curves if run.goodput_bps is not None else None
        mean = curves.goodput_bps(*MEAN_S) if curves else None
        series: list[int] = []
        if curves:
            step = SAMPLE_MS / 1e3
            counts = [curves.bytes_at(number * step) for number in range(int(curves.end_s / step + 0.5) + 1)]
            series = [round((two - one) * 8 / step / 1e3) for one, two in pairwise(counts)]
        return cls(setting, key, run.bundle, mean or run.goodput_bps or 0.0, run.rtt_loaded_median_ms,
                   run.record.retransmits, run.limited_by, series)  # fmt: skip

    def told(self, chosen: Sequence[Slider]) -> dict[str, Any] | None:
        """Describe the run for the page; None if a slider has no such value."""
        values = asdict(self.setting)
        if any(values[slider.key] not in slider.values for slider in chosen):
            return None
        return {
            "key": self.key,
            "at": [slider.values.index(values[slider.key]) for slider in chosen],
            "mean": round(self.mean_bps),
            "loaded": self.loaded_ms,
            "resent": self.resent,
            "bound": self.bound,
            "series": self.series,
        }


class Collection:
    """The runs of a folder, in one world."""

    def __init__(self, world: World, folder: Path | None = None, options: dict[str, Any] | None = None) -> None:
        """Make the collection of a folder; None: the usual one, beside the bundles.

        Args:
            options: those that the world was made with.
        """
        self.world, self.store = world, Store(folder or usual_folder())
        self._options = options or {}
        self._points: dict[Setting, GridPoint] = {}

    def cell(self, setting: Setting) -> Cell:
        """The run of a setting.

        Raises:
            ScenarioError: the world cannot make it.
        """
        point = self._point(setting)
        return point.cell(point.plan.seed)

    def able(self, settings: Iterable[Setting]) -> list[Setting]:
        """Select the settings that the world can make: not every world has every congestion control."""
        return [setting for setting in settings if self._is_able(setting)]

    def _is_able(self, setting: Setting) -> bool:
        try:
            self._point(setting)
        except ScenarioError:
            return False
        return True

    def find(self, setting: Setting) -> ShownRun | None:
        """Find the run measured at a setting; None if there is none yet."""
        cell = self.cell(setting)
        return self._read(cell.key, setting)

    def known(self) -> list[ShownRun]:
        """Every run that this build made, in the order of their settings."""
        found: list[ShownRun] = []
        for file in sorted(self.store.cells.glob("*.json")):
            outcome = self.store.load(file.stem)
            bundle = None if outcome is None or not outcome.bundle else self.store.bundles / Path(outcome.bundle).name
            try:
                plan = Run.load(bundle).plan if bundle is not None else None
            except BundleError:
                continue
            if plan is None or not plan.transfer.window_exact:
                continue
            setting = next((each for each in settings_of(plan) if self.cell(each).key == file.stem), None)
            if setting is not None and (read := self._read(file.stem, setting)):
                found.append(read)
        return sorted(found, key=lambda each: repr(each.setting))

    def missing(self, settings: Iterable[Setting]) -> list[Setting]:
        """Select the settings that have no run yet."""
        return [setting for setting in settings if self.find(setting) is None]

    def run(self, settings: Iterable[Setting], jobs: int | None, tell: Callable[[State], None]) -> None:
        """Run what is not known of them.

        Raises:
            NotReady: this host cannot.
            RunFailed: some broke; all the others were made.
            KeyboardInterrupt: by the user; what was done is kept.
        """
        missing = self.missing(settings)
        if not missing:
            return
        self.store.make()
        points = tuple(self._point(setting) for setting in sorted(missing, key=packets_of, reverse=True))
        for point in points:  # a bundle that was removed, or a run that broke
            (self.store.cells / f"{point.cell(point.plan.seed).key}.json").unlink(missing_ok=True)
        grid = grid_of(points, self.world)
        outcomes, interrupted = run_grid(grid, self.store, SweepOptions(self.store.folder, jobs), self._options, tell)
        if interrupted:
            raise KeyboardInterrupt
        if broken := [each for _, each in outcomes if not each.done]:
            raise RunFailed(f"{len(broken)} of {len(missing)} runs broke: {broken[0].error}")

    def keep(self, setting: Setting, run: Run) -> ShownRun:
        """Keep a run that was made outside of a grid.

        Raises:
            OutputError: it cannot be written.
        """
        cell = self.cell(setting)
        figures = {name: getattr(run.record, name) for name in FIGURES}
        self.store.keep(CellOutcome(cell.key, cell.seed, "done", None, figures, str(run.bundle), run.record.wall_s))
        return ShownRun.of(setting, cell.key, run)

    def _read(self, key: str, setting: Setting) -> ShownRun | None:
        outcome = self.store.load(key)
        if outcome is None or not outcome.done or outcome.bundle is None:
            return None
        try:
            return ShownRun.of(setting, key, Run.load(self.store.bundles / Path(outcome.bundle).name))
        except BundleError:
            return None

    def _point(self, setting: Setting) -> GridPoint:
        if setting not in self._points:
            self._points[setting] = point_of(Combination({}, setting.scenario().loaded), self.world, None)
        return self._points[setting]


def seconds_of(settings: Iterable[Setting]) -> float:
    """Estimate the wall time of runs, one after another."""
    return sum(RUN_S + packets_of(setting) / PACKETS_PER_S for setting in settings)


def usual_folder() -> Path:
    """Folder of the explorer's runs, beside the bundles."""
    return runs_dir().parent / "explore"
