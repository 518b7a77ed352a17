"""One run from plan to report: the world makes it, the judge judges it, the bundle keeps it, whatever happens."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .results.bundle import EVIDENCE, BundleWriter
from .results.failure import NotReady, RunFailed
from .results.progress import make_reporter
from .results.record import RunRecord, command_json
from .scenarios.load import LoadedScenario
from .scenarios.plan import Plan
from .worlds import World, make_world, option_words

FAILED = 1


@dataclass(frozen=True)
class Run:
    """What became of a run.

    Attributes:
        record: judged, or what there is of a run that broke.
        bundle: its folder.
        report: its report.
        interrupted: the user ended it, and what would come after it.
    """

    record: RunRecord
    bundle: Path
    report: Path
    interrupted: bool = False

    @property
    def status(self) -> int:
        """Exit status: 0 passed, 1 a verdict failed, or the run broke or was interrupted."""
        return 0 if self.record.complete and self.record.passed else FAILED


def run_plan(world: World, loaded: LoadedScenario, plan: Plan, runs_dir: Path, *, quiet: bool = False) -> Run:
    """Run a plan in a world, judge it, keep it, write its report.

    Raises:
        OutputError, MemoryError, NotReady: known before anything was started.
    """
    from .results.report import write_report
    from .results.submission import write_submission

    started = time.monotonic()
    world.check(plan)
    bundle = BundleWriter(runs_dir, plan.scenario)
    transfer = plan.transfer
    reporter = make_reporter(transfer.duration_ns / 1e9 if transfer.duration_ns else None, transfer.bytes, quiet=quiet)
    interrupted = False
    try:
        bundle.write_text("scenario.yaml", loaded.text_resolved)
        record = world.run(plan, bundle, reporter)
        record = _judge(record, plan, bundle)
        record = record.model_copy(update={"wall_s": time.monotonic() - started})
        bundle.finish(record)
        record = record.model_copy(update={"complete": True})
    except (RunFailed, NotReady) as error:
        record = _keep(bundle, str(error))
    except KeyboardInterrupt:
        record, interrupted = _keep(bundle, "interrupted"), True
    except BaseException as error:
        _keep(bundle, f"{type(error).__name__}: {error}")
        raise
    finally:
        reporter.close()
    report = write_report(bundle.path)
    if record.complete and (bundle.path / EVIDENCE).is_dir():
        write_submission(bundle.path)
    return Run(record, bundle.path, report, interrupted)


def run_scenario(loaded: LoadedScenario, plan: Plan, parsed: argparse.Namespace, runs_dir: Path) -> int:
    """Run a plan as the command line asks and print what it asks for.

    Returns:
        exit status: 0 passed, 1 a verdict failed, or the run broke or was interrupted.

    Raises:
        OutputError, MemoryError, NotReady: known before anything was started.
    """
    world = make_world(parsed.world, parsed, run_command(loaded, plan, parsed, parsed.world))
    run = run_plan(world, loaded, plan, runs_dir, quiet=parsed.quiet)
    _show(run, parsed)
    if run.record.error:
        print(f"Error: {run.record.error}", file=sys.stderr)
    return run.status


def run_command(loaded: LoadedScenario, plan: Plan, parsed: argparse.Namespace, world: str) -> list[str]:
    """The command that repeats a run."""
    overrides = [word for override in loaded.overrides for word in ("--set", override)]
    options = option_words(parsed, world)
    return ["landspeed", "run", str(loaded.path), *overrides, *options, "--seed", str(plan.seed)]


def _judge(record: RunRecord, plan: Plan, bundle: BundleWriter) -> RunRecord:
    from .results.judge import judge

    bundle.convert()
    return judge(plan, record, bundle.path)


def _keep(bundle: BundleWriter, error: str) -> RunRecord:
    bundle.fail(error, bundle.record)
    return bundle.record.model_copy(update={"complete": False, "error": error, "passed": False})


def _show(run: Run, parsed: argparse.Namespace) -> None:
    if parsed.json:
        print(json.dumps(command_json(run.record, run.bundle), indent=1))
    elif not parsed.quiet:
        _print_summary(run.record, run.bundle, run.report)


def _print_summary(record: RunRecord, folder: Path, report: Any) -> None:
    from rich.console import Console

    from .results.summary import render_summary

    Console().print(render_summary(record, folder, report))
