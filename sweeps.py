"""A file that varies something: every combination run, one bundle each, and a table of them."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from .results.record import command_json
from .results.wording import DASH, grouped, rate_text
from .runs import FAILED, Run, run_command, run_plan
from .scenarios.load import LoadedScenario
from .scenarios.resolve import make_plan
from .worlds import make_world


def run_sweep(variants: list[tuple[dict[str, str], LoadedScenario]], parsed: argparse.Namespace, runs_dir: Path) -> int:
    """Run all combinations and print what became of them; one that breaks does not stop the others.

    Returns:
        exit status: 0 all passed, 1 one of them did not, or the user ended it.

    Raises:
        ScenarioError, OutputError, MemoryError, NotReady: known before anything was started.
    """
    planned = []
    for values, loaded in variants:  # every error before the first run
        plan = make_plan(loaded, seed=parsed.seed, world=parsed.world)
        world = make_world(parsed.world, parsed, run_command(loaded, plan, parsed, parsed.world))
        world.check(plan)
        planned.append((values, loaded, plan, world))
    done: list[tuple[dict[str, str], Run]] = []
    for number, (values, loaded, plan, world) in enumerate(planned, start=1):
        if not parsed.quiet:
            named = ", ".join(f"{key} {value}" for key, value in values.items())
            print(f"landspeed: {number} of {len(planned)}: {named}", file=sys.stderr)
        run = run_plan(world, loaded, plan, runs_dir, quiet=parsed.quiet)
        done.append((values, run))
        if run.interrupted:
            break
    if parsed.json:
        print(json.dumps([{"vary": values, **command_json(run.record, run.bundle)} for values, run in done], indent=1))
    elif not parsed.quiet:
        _print_table(done)
    for values, run in done:
        if run.record.error:
            print(f"Error: {values}: {run.record.error}", file=sys.stderr)
    return FAILED if len(done) < len(planned) or any(run.status for _, run in done) else 0


def _print_table(done: list[tuple[dict[str, str], Run]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, header_style="bold")
    for key in done[0][0]:
        table.add_column(key)
    for name in ("goodput", "settled", "retransmits"):
        table.add_column(name, justify="right")
    for name in ("bound by", "result", "bundle"):
        table.add_column(name, overflow="fold")
    for values, run in done:
        record = run.record
        result = "passed" if record.passed else "failed"
        table.add_row(
            *values.values(),
            rate_text(record.goodput_bps),
            rate_text(record.steady_goodput_bps),
            grouped(record.retransmits),
            record.limited_by or DASH,
            result if record.complete else "incomplete",
            run.bundle.name,
        )
    console = Console() if sys.stdout.isatty() else Console(width=200)
    console.print(table)
