"""Interface of `import landspeed` for programs: load, run, arun, runs, import_measured. It prints nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from landspeed.base.failures import RunFailed, RunInterrupted
from landspeed.base.places import runs_dir as usual_runs_dir
from landspeed.base.progress import Progress
from landspeed.results.bundle import list_bundles
from landspeed.results.query import QueryResult, query
from landspeed.runs.one_run import check_world, run_plan
from landspeed.runs.run import Run
from landspeed.runs.scenario import Scenario
from landspeed.scenario.file.load import LoadedScenario
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.make_world import make_world
from landspeed.worlds.registry import DEFAULT_WORLD, plan_for
from landspeed.worlds.world import World

SHOWN_EVERY_S = 1.0
Files: TypeAlias = "str | Path | Sequence[str | Path]"


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
    """Calibrate the path, make the transfer, judge it, and keep it in a bundle.

    Several runs at once, in threads, are several guests; each has its own core while there are enough.

    Args:
        scenario: or the file of one.
        world: "emu" (the real kernel in virtual time), "sim" (ns-3), or one of another package.
        seed: of everything random; None takes the scenario's own. The same seed gives the same samples.
        progress: called when the phase changes and once a second; such as `print`. An exception from it ends the run.
        runs_dir: folder for the bundle; None takes `results/runs` of a clone, else the user's data folder.
        report: write report.html too.
        options: of the world, such as `tool="iperf3"`.

    Returns:
        the run; whether its verdicts passed is in `passed`.

    Raises:
        ScenarioError: bad input, located.
        NotReady: this host lacks something; nothing was started.
        RunFailed: it failed; `error.run` has what it measured, and its bundle.
    """
    chosen, loaded, plan = _prepared(scenario, world, seed, options)
    tell = _paced(progress) if progress else _unheard
    return _whole(run_plan(chosen, loaded, plan, _folder(runs_dir), progress=tell, report=report))


class RunHandle:
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

    async def __aenter__(self) -> RunHandle:
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
        """Do the run in its thread."""
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
        """Yield its progress as it comes, until its end."""
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
) -> AsyncGenerator[RunHandle]:
    """A run in an asyncio program. Leaving the block cleanly ends a run that is still going on.

    The arguments are those of `run`; errors in them are raised before the block is entered.
    """
    chosen, loaded, plan = _prepared(scenario, world, seed, options)
    check_world(chosen, plan)

    def work(tell: Callable[[Progress], None]) -> Run:
        return _whole(run_plan(chosen, loaded, plan, _folder(runs_dir), progress=tell, report=report))

    async with RunHandle(work) as going:
        yield going


def import_measured(
    *files: str | Path,
    iperf3: Files = (),
    pscheduler: Files = (),
    traceroute: Files = (),
    ss: Files = (),
    perfsonar_archive: Files = (),
    name: str = "measured",
    title: str = "",
) -> ImportedScenario:
    """Make a scenario from what was measured on a real path, as far as the figures allow.

    Args:
        files: what measuring programs printed; of which each is, is found out.
        iperf3: what `iperf3 --json` printed, of the sending end.
        pscheduler: results of pScheduler as JSON: throughput, rtt, latency, trace.
        traceroute: from the sender; a second one from the receiver back.
        ss: what `ss -ti` printed at the sender during the transfer.
        perfsonar_archive: the answer of a search in perfSONAR's archive.
        name, title: of the scenario.

    Returns:
        the scenario, and its text with the source and the uncertainty of each value.

    Raises:
        LandspeedError: a file is truncated or of a failed run, or the files together say too little.
    """
    # saves 49 ms where it is not needed
    from landspeed.scenario.importers.import_files import import_files

    given = {"iperf3": iperf3, "pscheduler": pscheduler, "traceroute": traceroute, "ss": ss}
    given["perfsonar_archive"] = perfsonar_archive
    kinds = {kind: [Path(each) for each in _listed(those)] for kind, those in given.items()}
    made = import_files(kinds, name, title, [Path(each) for each in files])
    return ImportedScenario(made.text, Scenario(made.loaded))


@dataclass(frozen=True)
class ImportedScenario:
    """A scenario that was made of measurements.

    Attributes:
        text: the file, with sources and uncertainties as comments.
        scenario: to be run, shown, changed.
    """

    text: str
    scenario: Scenario

    def save(self, file: str | Path) -> Path:
        """Write the file."""
        Path(file).write_text(self.text, encoding="utf-8")
        return Path(file)


def _listed(files: Files) -> Sequence[str | Path]:
    return [files] if isinstance(files, str | Path) else files


class RunFolder:
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


def find_runs(folder: str | Path | None = None) -> RunFolder:
    """The bundles of a folder; None takes the usual one."""
    return RunFolder(_folder(folder))


def _folder(given: str | Path | None) -> Path:
    return usual_runs_dir() if given is None else Path(given)


def _prepared(
    scenario: Scenario | str | Path, world: str | World, seed: int | None, options: Mapping[str, Any]
) -> tuple[World, LoadedScenario, Plan]:
    chosen = world if isinstance(world, World) else make_world(world, **options)
    loaded = (scenario if isinstance(scenario, Scenario) else Scenario.load(scenario)).loaded
    return chosen, loaded, chosen.with_options(plan_for(loaded, chosen.name, seed))


def _whole(made: Run) -> Run:
    """The run, if it came to its end."""
    if made.record.error is None:
        return made
    error = (RunInterrupted if made.interrupted else RunFailed)(made.record.error)
    error.run = made
    raise error


def _unheard(_: Progress) -> None:
    """Ignore the progress; nobody asked for it."""


def _paced(progress: Callable[[Progress], None]) -> Callable[[Progress], None]:
    """Called when the phase changes and once a second."""
    last = ["", 0.0]

    def tell(now: Progress) -> None:
        due = time.monotonic() - float(last[1]) >= SHOWN_EVERY_S
        if now.phase != last[0] or due:
            last[0], last[1] = now.phase, time.monotonic()
            progress(now)

    return tell
