"""A sweep: what is not known of its cells is run, on all cores or on a cluster; the folder then has table and page."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landspeed.base.extras import require_extra
from landspeed.base.failures import NotPossible
from landspeed.judge.certainty import enough
from landspeed.runs.sweeps.grid import MOST_CELLS, Cell, Grid, GridPoint, plan_grid
from landspeed.runs.sweeps.store import Store, arrow_table, rows_of
from landspeed.runs.sweeps.work import CellOutcome, work_of
from landspeed.runs.sweeps.workers import Workers, cluster_workers, local_workers, usual_jobs
from landspeed.worlds.world import World

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


MOST_REPORTS = 32  # of a sweep: more take longer to write than anybody reads


@dataclass(frozen=True)
class SweepOptions:
    """Options of a sweep.

    Attributes:
        folder: gets cells, table, page and bundles.
        jobs: cells at once on this computer; None: its cores.
        scheduler: address of a Dask scheduler, instead of this computer.
        until: seeds are added to each combination until its mean goodput is known to this share (0.02: 2 %).
        at_most: cells, those of `until` counted.
        bundles: keep each cell's bundle.
        reports: write their reports, too, where there are no more than MOST_REPORTS.
        fresh: run again what is known already.
        resume: the sweep must have been begun.
    """

    folder: Path
    jobs: int | None = None
    scheduler: str | None = None
    until: float | None = None
    at_most: int = MOST_CELLS
    bundles: bool = True
    reports: bool = False
    fresh: bool = False
    resume: bool = False


@dataclass
class State:
    """State of a sweep; times in s."""

    cells: int = 0
    done: int = 0
    reused: int = 0
    failed: int = 0
    running: int = 0
    wall_s: float = 0.0
    virtual_s: float = 0.0
    virtual_left_s: float = 0.0
    dashboard: str = ""

    def add(self, before: State, now: State) -> None:
        """Set this state to the sum of the state before a round and that of the round."""
        vars(self).update(vars(now))
        for name in ("cells", "done", "reused", "failed", "wall_s", "virtual_s"):
            setattr(self, name, getattr(before, name) + getattr(now, name))

    @property
    def speed(self) -> float:
        """Virtual seconds in each second of wall time."""
        return self.virtual_s / self.wall_s if self.wall_s > 0 else 0.0

    @property
    def left_s(self) -> float | None:
        """Wall time until the end, as it goes now."""
        return self.virtual_left_s / self.speed if self.speed > 0 else None

    def __str__(self) -> str:
        left = "" if self.left_s is None else f", {int(self.left_s) // 60}:{int(self.left_s) % 60:02d} left"
        known = f", {self.reused} known before" if self.reused else ""
        failed = f", {self.failed} failed" if self.failed else ""
        return (
            f"{self.done} of {self.cells} cells done{known}{failed}, {self.running} running, "
            f"{self.speed:.1f} virtual s per s{left}"
        )


@dataclass
class Sweep:
    """A sweep that was made: its rows in the order of the file.

    Attributes:
        state: counts; `state.failed` cells have a row with their `error` and no figures.
        interrupted: the user ended it; what was done is kept.
    """

    grid: Grid = field(repr=False)
    store: Store = field(repr=False)
    state: State
    rows: list[dict[str, Any]] = field(repr=False)
    interrupted: bool = False

    @property
    def table(self) -> Path:
        """The file of the table, Parquet."""
        return self.store.table

    @property
    def page(self) -> Path:
        """The file of the page."""
        return self.store.page

    @property
    def complete(self) -> bool:
        """True if every cell ran to its end."""
        return not self.interrupted and len(self.rows) == self.state.cells and not self.state.failed

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        return arrow_table(self.grid, self.rows)

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a data frame (needs pandas).

        Raises:
            NotReady: pandas is not installed.
        """
        require_extra("notebook")
        return self.to_arrow().to_pandas()

    def __iter__(self) -> Any:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


Report = Callable[[State], None]


def make_sweep(
    file: Path,
    overrides: Sequence[str],
    world: World,
    options: Mapping[str, Any],
    how: SweepOptions,
    *,
    seed: int | None = None,
    progress: Report = lambda _: None,
) -> Sweep:
    """Run what is not known yet, and write table and page.

    Args:
        world, options: the world, and the options that it was made with.
        progress: told whenever a cell begins or ends.

    Raises:
        ScenarioError, NotReady, NotPossible: known before the first run.
        OutputError: the folder cannot be written.
    """
    store = store_of(how)
    grid = plan_grid(file, overrides, world, seed=seed, at_most=how.at_most)
    store.make()
    state = State()

    def tell(now: State) -> None:
        vars(state).update(vars(now))
        progress(now)

    done, interrupted = run_grid(grid, store, how, options, tell)
    return finish(grid, store, done, state, interrupted=interrupted)


def store_of(how: SweepOptions) -> Store:
    """The folder.

    Raises:
        NotPossible: a sweep is to be continued that was not begun.
    """
    store = Store(how.folder)
    if how.resume and not store.cells.is_dir():
        raise NotPossible(
            f"--resume: no sweep was begun in {how.folder}; leave --resume out, or name its folder with --out"
        )
    return store


def run_grid(
    grid: Grid, store: Store, how: SweepOptions, options: Mapping[str, Any], progress: Report = lambda _: None
) -> tuple[list[tuple[Cell, CellOutcome]], bool]:
    """Run what is not known of a grid.

    Returns:
        its cells that are known now, in their order, with their outcomes; and whether the user ended it.
    """
    going = _SweepRun(grid, store, how, dict(options), progress)
    interrupted = going.run()
    return [(cell, going.outcomes[cell.key]) for cell in going.cells if cell.key in going.outcomes], interrupted


def finish(
    grid: Grid, store: Store, done: Sequence[tuple[Cell, CellOutcome]], state: State, *, interrupted: bool
) -> Sweep:
    """Write table and page of what was run.

    Raises:
        OutputError: they cannot be written.
    """
    # saves 28 ms where it is not needed
    from landspeed.report.sweep_page import write_sweep_page

    store.write_table(grid, rows := rows_of(done))
    kept = {cell.key: Path(known.bundle) for cell, known in done if known.bundle}
    write_sweep_page(store.page, grid.title or grid.name, grid.keys, rows, kept)
    return Sweep(grid, store, state, rows, interrupted)


class _SweepRun:
    """A sweep under way."""

    def __init__(self, grid: Grid, store: Store, how: SweepOptions, options: dict[str, Any], report: Report) -> None:
        self.grid, self.store, self.how, self._options, self._report = grid, store, how, options, report
        self.cells = grid.cells()
        self.outcomes: dict[str, CellOutcome] = {}
        self.state = State(cells=len(self.cells))
        self._points = {cell.key: point for point in grid.points for cell in point.cells()}
        self._seeds = {id(point): list(point.seeds) for point in grid.points}
        self._begun = time.monotonic()
        self._waiting: list[Cell] = []

    def run(self) -> bool:
        """Run the sweep to its end. Return whether the user ended it."""
        for cell in self.cells:
            self._want(cell)
        for point in self.grid.points:
            self._add_seeds(point)
        if not self._waiting:
            self._tell(0)
            return False
        try:
            with self._workers() as workers:
                self._work(workers)
        except KeyboardInterrupt:
            return True
        return False

    def _want(self, cell: Cell) -> None:
        """A cell is known, or has to be run."""
        known = None if self.how.fresh else self.store.load(cell.key)
        if known is not None and known.done:
            self.outcomes[cell.key] = known
            self.state.reused += 1
        else:
            self._waiting.append(cell)
            self.state.virtual_left_s += cell.virtual_s

    def _workers(self) -> contextlib.AbstractContextManager[Workers]:
        if self.how.scheduler:
            return cluster_workers(self.how.scheduler)
        return local_workers(self.how.jobs or usual_jobs())

    def _work(self, workers: Workers) -> None:
        virtual: dict[str, float] = {}
        self.state.dashboard = workers.dashboard

        def fill() -> None:
            # Twice as many as can run, so that no worker waits for us; not all: thousands of plans need not wait there.
            while self._waiting and workers.running < 2 * workers.slots:
                cell = self._waiting.pop(0)
                virtual[cell.key] = cell.virtual_s
                folder = self.store.bundles if self.how.bundles else None
                report = self.how.reports and folder is not None and len(self.cells) <= MOST_REPORTS
                workers.hand_in(work_of(cell, self.grid.world.name, self._options, folder, report=report))
            self._tell(min(workers.running, workers.slots))

        try:
            fill()
            for outcome in workers.outcomes():
                self.store.keep(outcome)
                self.outcomes[outcome.key] = outcome
                self.state.done += outcome.done
                self.state.failed += not outcome.done
                self.state.virtual_s += virtual[outcome.key]
                self.state.virtual_left_s -= virtual[outcome.key]
                self._add_seeds(self._points[outcome.key])
                fill()
        finally:
            workers.end()

    def _add_seeds(self, point: GridPoint) -> None:
        """Add a seed to a combination whose mean is not certain yet, once the runs of its seeds are known."""
        if self.how.until is None:
            return
        seeds = self._seeds[id(point)]
        while len(self.cells) < self.how.at_most:
            outcomes = [self.outcomes.get(point.cell(seed).key) for seed in seeds]
            known = [each for each in outcomes if each is not None]
            if len(known) < len(seeds):
                return
            if any(not each.done for each in known):
                return  # a cell that fails by itself: its combination has no mean
            if enough([float(each.figures["goodput_bps"] or 0.0) for each in known], self.how.until):
                return
            seeds.append(seeds[-1] + 1)
            cell = point.cell(seeds[-1])
            self._points[cell.key] = point
            self.cells.append(cell)
            self.state.cells += 1
            self._want(cell)

    def _tell(self, running: int) -> None:
        self.state.running, self.state.wall_s = running, time.monotonic() - self._begun
        self._report(self.state)
