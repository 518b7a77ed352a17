"""One run from plan to bundle: the world makes it, the judge judges it, the bundle keeps it, whatever happens."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from landspeed.base.failures import NotReady, RunFailed, RunInterrupted
from landspeed.base.log import Log
from landspeed.base.progress import Progress
from landspeed.base.version import __version__
from landspeed.results.bundle import EVIDENCE, BundleWriter
from landspeed.results.flow_result import planned_flows
from landspeed.results.record import RunRecord
from landspeed.runs.preload import IMPORTS
from landspeed.runs.run import Run
from landspeed.scenario.file.load import BUILT, LoadedScenario
from landspeed.scenario.plan.duration import asked_bytes, asked_duration_s
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.options import repeating_words
from landspeed.worlds.registry import DEFAULT_WORLD
from landspeed.worlds.world import World

LOG = Log(__name__)
Report = Callable[[Progress], None]
"""Told of the progress several times a second; an exception that it raises ends the run, which keeps what it had."""


def check_world(world: World, plan: Plan) -> None:
    """Check before the run whatever can be known then.

    Raises:
        NotReady: this host cannot run the plan in this world.
    """
    try:
        world.check(plan)
    except MemoryError as error:
        raise NotReady(str(error)) from error


def run_plan(
    world: World,
    loaded: LoadedScenario,
    plan: Plan,
    runs_dir: Path,
    *,
    progress: Report = lambda _: None,
    report: bool = True,
) -> Run:
    """Run a plan in a world, judge it, keep it, write its report. A run that breaks is returned as what it had.

    Args:
        world: with its options.
        loaded, plan: the scenario and its plan for this world.
        runs_dir: folder for the bundle; made if missing.
        progress: told of the progress; to raise RunInterrupted or KeyboardInterrupt in it ends the run.
        report: write report.html.

    Raises:
        OutputError, NotReady: known before anything was started.
    """
    started = time.monotonic()
    check_world(world, plan)
    bundle = BundleWriter(runs_dir, plan.scenario, first_record(world, plan, repeating_command(loaded, plan, world)))
    LOG.info("run: %s, world %s, seed %d, in %s", plan.scenario, world.name, plan.seed, bundle.path)
    interrupted = False

    @cache
    def keep_scenario() -> None:
        bundle.write_text("scenario.yaml", loaded.text_resolved)

    def tell(now: Progress) -> None:
        keep_scenario()  # as the imports: the world runs by now, and a text of many hosts takes 30 ms
        IMPORTS.begin()
        now.share = now.share_of(asked_duration_s(plan), asked_bytes(plan))
        progress(now)

    try:
        try:
            record = world.run(plan, bundle, tell)
        finally:
            keep_scenario()
        record = _judged(record, plan, bundle)
        record = record.model_copy(update={"wall_s": time.monotonic() - started})
        bundle.finish(record)
        world.remember(plan, record.wall_s or 0.0)
    except (KeyboardInterrupt, RunInterrupted):
        interrupted = True
        _keep(bundle, "interrupted")
    except (RunFailed, NotReady, MemoryError) as error:
        _keep(bundle, str(error))
    except BaseException as error:
        _keep(bundle, f"{type(error).__name__}: {error}")
        raise
    run = Run(bundle.record, bundle.path, interrupted)
    if report:
        run.report(loaded.contents)
        if run.complete and (bundle.path / EVIDENCE).is_dir():
            run.submission()
    return run


def first_record(world: World, plan: Plan, command: list[str]) -> RunRecord:
    """Make the record of a run before it begins; `command` repeats it."""
    return RunRecord(
        scenario=plan.scenario,
        title=plan.title,
        world=world.name,
        clock=world.clock,
        seed=plan.seed,
        fidelity=plan.fidelity,
        command=command,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        plan=plan,
        flows=planned_flows(plan),
        versions={"landspeed": __version__, "python": platform.python_version()},
    )


def repeating_command(loaded: LoadedScenario, plan: Plan, world: World) -> list[str]:
    """The command that repeats a run. A scenario that was built in Python is repeated from its bundle's copy."""
    file = "scenario.yaml" if str(loaded.path) == BUILT else str(loaded.path)
    overrides = [] if str(loaded.path) == BUILT else [w for each in loaded.overrides for w in ("--set", each)]
    where = [] if world.name == DEFAULT_WORLD else ["--world", world.name]
    return ["landspeed", "run", file, *overrides, *where, *repeating_words(world.options), "--seed", str(plan.seed)]


def _judged(record: RunRecord, plan: Plan, bundle: BundleWriter) -> RunRecord:
    IMPORTS.wait()
    # saves 35 ms where it is not needed
    from landspeed.judge.judge import judge

    bundle.convert()
    judged = judge(plan, record, bundle.path)
    LOG.info("judged: %s", "passed" if judged.passed else "failed")
    return judged


def _keep(bundle: BundleWriter, error: str) -> None:
    IMPORTS.wait()
    bundle.fail(error)
