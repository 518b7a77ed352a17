"""What `import landspeed` offers to programs: load, run, arun, sweep, runs. Nothing is printed here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..results.bundle import list_bundles
from ..results.certainty import parse_until
from ..results.failure import RunFailed, RunInterrupted
from ..results.places import runs_dir as usual_runs_dir
from ..results.places import sweeps_dir
from ..results.progress import Progress
from ..results.query import QueryResult, query
from ..scenarios.load import LoadedScenario
from ..scenarios.plan import Plan
from ..scenarios.vary import read_space
from ..worlds.making import make_world
from ..worlds.registry import DEFAULT_WORLD, plan_for
from ..worlds.world import World
from .one_run import check_world, run_plan
from .run import Run
from .scenario import Scenario
from .sweeps.grid import MOST_CELLS
from .sweeps.sweep import State, Sweep, SweepOptions, make_sweep

SHOWN_EVERY_S = 1.0


def load(file: str | Path, overrides: Sequence[str] = ()) -> Scenario:
    """Read a scenario file.

    Raises:
        ScenarioError: with every problem, each with file, line and column.
    """
    return Scenario.load(file, overrides)


def run(
    scenario: Scenario | str | Path,
    *,
    world: str | World = DEFAULT_WORLD,
    seed: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    runs_dir: str | Path | None = None,
    report: bool = True,
    **options: Any,
) -> Run:
    """Calibrate the path, make the transfer, judge it, keep it in a bundle.

    Several runs at once, in threads, are several guests; each has its own core while there are enough.

    Args:
        scenario: or the file of one.
        world: "emu" (the real kernel in virtual time), "sim" (ns-3), or one of somebody else.
        seed: of everything random; None takes the scenario's own. The same seed gives the same samples.
        progress: called when the phase changes and once a second; `print` will do. What it raises ends the run.
        runs_dir: folder for the bundle; None takes `results/runs` of a clone, else the user's data folder.
        report: write report.html too.
        options: of the world, such as `tool="iperf3"`.

    Returns:
        the run; whether its verdicts passed is in `passed`.

    Raises:
        ScenarioError: bad input, located.
        NotReady: this host lacks something; nothing was started.
        RunFailed: it broke; `error.run` has what it measured, and its bundle.
    """
    chosen, loaded, plan = _prepared(scenario, world, seed, options)
    tell = _paced(progress) if progress else _unheard
    return _whole(run_plan(chosen, loaded, plan, _folder(runs_dir), progress=tell, report=report))


class Going:
    """A run under way in a thread of its own: iterate over its progress, await its end.

    For example:

        async with landspeed.arun(scenario) as going:
            async for progress in going:
                print(progress)
            run = await going.finished()
    """

    def __init__(self, run: Callable[[Callable[[Progress], None]], Run]) -> None:
        """`run` makes it, and calls what it is given with its progress."""
        self._run = run
        self._news: asyncio.Queue[Progress | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[Run] | None = None
        self._ended = False

    async def __aenter__(self) -> Going:
        """Begin."""
        self._task = asyncio.create_task(asyncio.to_thread(self._work))
        return self

    async def __aexit__(self, *_: object) -> None:
        """End it if it still goes on, and wait for that."""
        self.end()
        await asyncio.gather(asyncio.shield(self._started()), return_exceptions=True)

    def _started(self) -> asyncio.Task[Run]:
        assert self._task is not None
        return self._task

    def _work(self) -> Run:
        """In the run's thread."""
        try:
            return self._run(self._tell)
        finally:
            self._loop.call_soon_threadsafe(self._news.put_nowait, None)

    def _tell(self, progress: Progress) -> None:
        """Called in the run's thread."""
        if self._ended:
            raise RunInterrupted("interrupted")
        self._loop.call_soon_threadsafe(self._news.put_nowait, replace(progress))

    def end(self) -> None:
        """End the run cleanly, soon; what it measured is kept in its bundle, marked incomplete."""
        self._ended = True

    async def finished(self) -> Run:
        """The run, when it has ended. Raises what `run` raises; RunInterrupted after `end`."""
        return await asyncio.shield(self._started())

    async def __aiter__(self) -> AsyncIterator[Progress]:
        """Its progress as it comes, until its end."""
        while (progress := await self._news.get()) is not None:
            yield progress


@asynccontextmanager
async def arun(
    scenario: Scenario | str | Path,
    *,
    world: str | World = DEFAULT_WORLD,
    seed: int | None = None,
    runs_dir: str | Path | None = None,
    report: bool = True,
    **options: Any,
) -> AsyncGenerator[Going]:
    """A run beside other work of an asyncio program. Leaving the block ends a run that still goes on, cleanly.

    The arguments are those of `run`; what is wrong with them is raised before the block is entered.
    """
    chosen, loaded, plan = _prepared(scenario, world, seed, options)
    check_world(chosen, plan)

    def work(tell: Callable[[Progress], None]) -> Run:
        return _whole(run_plan(chosen, loaded, plan, _folder(runs_dir), progress=tell, report=report))

    async with Going(work) as going:
        yield going


def sweep(
    file: str | Path,
    overrides: Sequence[str] = (),
    *,
    world: str = DEFAULT_WORLD,
    seed: int | None = None,
    folder: str | Path | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    until: str | None = None,
    at_most: int = MOST_CELLS,
    bundles: bool = True,
    fresh: bool = False,
    progress: Callable[[State], None] | None = None,
    **options: Any,
) -> Sweep:
    """Every combination of a file's `vary:`, on all cores or on a cluster; what is known already is not run again.

    Args:
        file, overrides: as for `load`.
        world, seed, options: as for `run`.
        folder: of the sweep; None takes `results/sweeps/NAME` of a clone, else one in the user's data folder.
        jobs: cells at once; None: the cores that this process may use.
        scheduler: address of a Dask scheduler, instead of this computer.
        until: such as "ci95=2 %": seeds are added until each combination's mean goodput is known so well.
        at_most: cells.
        bundles: keep each cell's bundle.
        fresh: run again what is known.
        progress: told whenever a cell begins or ends; `print` will do.

    Returns:
        the sweep; cells that failed have a row with their error.

    Raises:
        ScenarioError, NotReady, NotPossible: known before the first run.
        OutputError: the folder cannot be written.
    """
    space = read_space(Path(file), overrides)
    how = SweepOptions(
        folder=Path(folder) if folder is not None else sweeps_dir() / space.name,
        jobs=jobs,
        scheduler=scheduler,
        until=None if until is None else parse_until(until),
        at_most=at_most,
        bundles=bundles,
        fresh=fresh,
    )
    return make_sweep(
        Path(file), overrides, make_world(world, **options), options, how, seed=seed, progress=progress or _nobody
    )


class Runs:
    """The bundles of a folder: iterate over them as runs, or ask them with SQL."""

    def __init__(self, folder: Path) -> None:
        """The folder; a missing one is an empty one."""
        self.folder = folder

    def __iter__(self) -> Iterator[Run]:
        """Every bundle that can be read, in the order of their names."""
        for bundle in list_bundles(self.folder):
            try:
                yield Run.load(bundle)
            except ValueError:
                continue

    def __len__(self) -> int:
        return sum(1 for _ in list_bundles(self.folder))

    def sql(self, question: str) -> QueryResult:
        """The answer to a query in DuckDB's SQL over the tables runs, samples and links.

        Raises:
            QueryError: DuckDB refuses the SQL; the message is DuckDB's.
        """
        return query(question, self.folder)

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        return self.sql(
            "SELECT bundle, goodput_bps, retransmits, limited_by, complete, passed FROM runs ORDER BY started, bundle"
        ).to_html()


def runs(folder: str | Path | None = None) -> Runs:
    """The bundles of a folder; None takes the usual one."""
    return Runs(_folder(folder))


def _folder(given: str | Path | None) -> Path:
    return usual_runs_dir() if given is None else Path(given)


def _prepared(
    scenario: Scenario | str | Path, world: str | World, seed: int | None, options: Mapping[str, Any]
) -> tuple[World, LoadedScenario, Plan]:
    chosen = world if isinstance(world, World) else make_world(world, **options)
    loaded = (scenario if isinstance(scenario, Scenario) else Scenario.load(scenario)).loaded
    return chosen, loaded, plan_for(loaded, chosen.name, seed)


def _whole(made: Run) -> Run:
    """The run, if it came to its end."""
    if made.record.error is None:
        return made
    error = (RunInterrupted if made.interrupted else RunFailed)(made.record.error)
    error.run = made
    raise error


def _nobody(_: State) -> None:
    """Nobody asked how far the sweep is."""


def _unheard(_: Progress) -> None:
    """Nobody asked for the progress."""


def _paced(progress: Callable[[Progress], None]) -> Callable[[Progress], None]:
    """Called when the phase changes and once a second."""
    last = ["", 0.0]

    def tell(now: Progress) -> None:
        due = time.monotonic() - float(last[1]) >= SHOWN_EVERY_S
        if now.phase != last[0] or due:
            last[0], last[1] = now.phase, time.monotonic()
            progress(now)

    return tell
