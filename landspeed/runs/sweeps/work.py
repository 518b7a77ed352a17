"""One cell's run, wherever it is made: in this process, in a worker beside it, on another computer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from landspeed.base.failures import NotReady
from landspeed.base.progress import Progress
from landspeed.results.flow_result import PING_FIGURES, UDP_FIGURES
from landspeed.runs.one_run import run_plan
from landspeed.runs.scratch import scratch_folder
from landspeed.runs.sweeps.grid import Cell
from landspeed.scenario.file.load import LoadedScenario
from landspeed.worlds.make_world import make_world
from landspeed.worlds.registry import plan_for

FIGURES = (
    "passed",
    "goodput_bps",
    "steady_goodput_bps",
    "settled_goodput_bps",
    "bytes",
    "duration_s",
    "rtt_ms",
    "rtt_loaded_median_ms",
    "rtt_loaded_p95_ms",
    "rtt_loaded_p99_ms",
    "rtt_loaded_max_ms",
    *PING_FIGURES,
    *UDP_FIGURES,
    "retransmits",
    "limited_by",
)
"""Members of a record that a cell's row has. None of them depends on how busy the host was."""


@dataclass(frozen=True)
class CellWork:
    """Work of one cell, as a worker needs it.

    Attributes:
        key: of the cell.
        build: of the world where the sweep was planned; a worker with another one is no worker for it.
        memory_bytes: what it takes at most.
        folder: for the bundle, on the worker's file system; None keeps no bundle.
        report: write the bundle's report.
    """

    key: str
    loaded: LoadedScenario
    seed: int
    world: str
    options: Mapping[str, Any]
    build: str
    memory_bytes: int
    folder: str | None
    report: bool = False


class OtherBuild(NotReady):
    """A worker has another kernel, engine or version: its figures would not be of this sweep."""


@dataclass(frozen=True)
class CellOutcome:
    """Outcome of a cell: its figures, or why there are none. `bundle` and `wall_s` differ from run to run."""

    key: str
    seed: int
    state: str  # "done" or "failed"
    error: str | None
    figures: dict[str, Any]
    bundle: str | None
    wall_s: float | None

    @property
    def done(self) -> bool:
        """True if it ran to its end, whatever its verdicts say."""
        return self.state == "done"


def work_of(
    cell: Cell, world: str, options: Mapping[str, Any], folder: Path | None, *, report: bool = False
) -> CellWork:
    """The work of a cell."""
    where = None if folder is None else str(folder)
    return CellWork(cell.key, cell.loaded, cell.seed, world, options, cell.build, cell.memory_bytes, where, report)


def do(work: CellWork, progress: Callable[[Progress], None] = lambda _: None) -> CellOutcome:
    """Run a cell; a run that breaks is an outcome, too.

    Args:
        progress: told several times a second; what it raises ends the run.

    Raises:
        OtherBuild: this host's build is not that of the sweep.
        NotReady, OutputError: nothing was started.
        RunInterrupted: `progress` raised it.
    """
    world = make_world(work.world, **work.options)
    plan = world.with_options(plan_for(work.loaded, work.world, work.seed))
    if (here := world.build_id(plan)) != work.build:
        raise OtherBuild(f"this worker has another build: {here} instead of {work.build}; install the same everywhere")
    with scratch_folder(work.folder) as folder:  # a worker may be killed
        run = run_plan(world, work.loaded, plan, folder, progress=progress, report=work.report)
        if run.interrupted:
            raise KeyboardInterrupt
        record = run.record
        figures = {name: getattr(record, name) for name in FIGURES}
        state = "done" if record.complete else "failed"
        bundle = str(run.bundle) if work.folder else None
        return CellOutcome(work.key, work.seed, state, record.error, figures, bundle, record.wall_s)
