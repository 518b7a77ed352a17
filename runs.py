"""One run from plan to report: the world makes it, the judge judges it, the bundle keeps it, whatever happens."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from .emu.kernel import KernelError
from .emu.progress import make_reporter
from .emu.watch import STALL_WALL_S, GuestError
from .emu.world import EmuOptions, EmuWorld, RunFailed
from .results.bundle import BundleWriter
from .results.record import RunRecord, command_json
from .scenarios.load import LoadedScenario
from .scenarios.plan import Plan

FAILED = 1


def run_scenario(loaded: LoadedScenario, plan: Plan, parsed: argparse.Namespace, runs_dir: Path) -> int:
    """Run a plan as the command line asks and print what it asks for.

    Returns:
        exit status: 0 passed, 1 a verdict failed, or the run broke or was interrupted.

    Raises:
        OutputError, MemoryError, KernelError: known before anything was started.
    """
    started = time.monotonic()
    command = ["landspeed", "run", str(parsed.file), *_options(parsed), "--seed", str(plan.seed)]
    world = EmuWorld(
        EmuOptions(
            clock=parsed.clock,
            tool=parsed.tool,
            memory_bytes=parsed.memory,
            with_queues=parsed.queues,
            stall_wall_s=parsed.stall or STALL_WALL_S,
            command=command,
        )
    )
    world.check(plan)
    bundle = BundleWriter(runs_dir, plan.scenario)
    transfer = plan.transfer
    reporter = make_reporter(
        transfer.duration_ns / 1e9 if transfer.duration_ns else None, transfer.bytes, quiet=parsed.quiet
    )
    status = 0
    try:
        bundle.write_text("scenario.yaml", loaded.text_resolved)
        record = world.run(plan, bundle, reporter)
        record = _judge(record, plan, bundle)
        record = record.model_copy(update={"wall_s": time.monotonic() - started})
        bundle.finish(record)
        record = record.model_copy(update={"complete": True})
        status = 0 if record.passed else FAILED
    except (GuestError, RunFailed, KernelError) as error:
        record = _keep(bundle, str(error))
        status = FAILED
    except KeyboardInterrupt:
        record = _keep(bundle, "interrupted")
        status = FAILED
    except BaseException as error:
        _keep(bundle, f"{type(error).__name__}: {error}")
        raise
    finally:
        reporter.close()
    _show(record, bundle, parsed)
    if record.error:
        print(f"Error: {record.error}", file=sys.stderr)
    return status


def _options(parsed: argparse.Namespace) -> list[str]:
    words = [word for override in parsed.overrides for word in ("--set", override)]
    for name, default in (("clock", "virtual"), ("tool", "engine")):
        if getattr(parsed, name) != default:
            words += [f"--{name}", getattr(parsed, name)]
    return words


def _judge(record: RunRecord, plan: Plan, bundle: BundleWriter) -> RunRecord:
    from .results.judge import judge

    bundle.convert()
    return judge(plan, record, bundle.path)


def _keep(bundle: BundleWriter, error: str) -> RunRecord:
    bundle.fail(error, bundle.record)
    return bundle.record.model_copy(update={"complete": False, "error": error, "passed": False})


def _show(record: RunRecord, bundle: BundleWriter, parsed: argparse.Namespace) -> None:
    from .results.report import write_report

    report = write_report(bundle.path)
    if parsed.json:
        print(json.dumps(command_json(record, bundle.path), indent=1))
    elif not parsed.quiet:
        _print_summary(record, bundle.path, report)


def _print_summary(record: RunRecord, folder: Path, report: Any) -> None:
    from rich.console import Console

    from .results.summary import render_summary

    Console().print(render_summary(record, folder, report))
