"""The commands `sweep` and `find`: many runs."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landspeed.cli import values
from landspeed.cli.arguments import (
    chosen_worlds,
    given_options,
    with_output,
    with_overrides,
    with_world,
    with_world_options,
)
from landspeed.cli.errors import FAILED, UsageError
from landspeed.cli.parser import Parser

if TYPE_CHECKING:
    from landspeed.runs.sweeps.sweep import State, Sweep

PLAIN_EVERY_S = 10.0


def add_sweep(made: Parser) -> None:
    """Arguments of `sweep`."""
    made.add_argument("file", type=Path, metavar="FILE", help="scenario file with `vary:`")
    with_world(made)
    made.add_argument("--out", type=Path, metavar="DIR", help="folder of the sweep (default: results/sweeps/NAME)")
    made.add_argument("--jobs", type=values.count, metavar="N", help="cells at once (default: cores)")
    made.add_argument("--scheduler", metavar="ADDRESS", help="use this Dask scheduler, such as tcp://head:8786")
    made.add_argument(
        "--until", metavar="GOAL", help='add seeds until each mean goodput is this certain, such as "ci95=2 %%"'
    )
    made.add_argument(
        "--at-most", type=values.count, default=10_000, metavar="N", help="most cells to run (default: 10 000)"
    )
    made.add_argument(
        "--adaptive",
        metavar="KEY[=FROM..TO]",
        help='choose this key\'s values where goodput bends, such as "path.1.loss=1e-6 %%..1 %%", or a key of `vary:`',
    )
    made.add_argument(
        "--points", type=values.count, metavar="N", help="with --adaptive: values for each curve (default: 15)"
    )
    made.add_argument("--no-bundles", action="store_true", help="keep the figures only")
    again = made.add_mutually_exclusive_group()
    again.add_argument("--resume", action="store_true", help="continue a sweep; an error if none was begun")
    again.add_argument("--fresh", action="store_true", help="run everything again")
    made.add_argument("--csv", type=Path, metavar="FILE", help="write the table as CSV, too")
    with_output(made)
    with_overrides(made)
    with_world_options(made, "run")


def add_find(made: Parser) -> None:
    """Arguments of `find`."""
    made.add_argument("file", type=Path, metavar="FILE", help="scenario file, or a name of `landspeed scenarios`")
    made.add_argument(
        "--vary",
        required=True,
        metavar="KEY[=FROM..TO]",
        help='key and range, such as "queue=0.01 BDP..2 BDP", or a key of `vary:`',
    )
    made.add_argument("--goal", required=True, metavar="GOAL", help='what to reach, such as "goodput >= 900 Mbit/s"')
    end = made.add_mutually_exclusive_group()
    end.add_argument("--least", action="store_true", help="the least value that meets the goal (default)")
    end.add_argument("--most", action="store_true", help="the greatest value that meets the goal")
    made.add_argument("--seeds", type=values.count, default=3, metavar="N", help="seeds of each value (default: 3)")
    made.add_argument(
        "--within",
        type=values.share,
        default=0.05,
        metavar="SHARE",
        help="width of the answer's bracket (default: 5 %%)",
    )
    with_world(made)
    made.add_argument("--out", type=Path, metavar="DIR", help="folder of the cells (default: results/sweeps/NAME)")
    made.add_argument("--jobs", type=values.count, metavar="N", help="cells at once (default: cores)")
    made.add_argument("--scheduler", metavar="ADDRESS", help="use this Dask scheduler")
    with_output(made)
    with_overrides(made, seed=False)
    with_world_options(made, "run")


def do_find(parsed: argparse.Namespace) -> int:
    """Bisects, and says the bracket."""
    from landspeed.base.places import sweeps_dir
    from landspeed.runs.sweeps.find import Goal, Trial, find
    from landspeed.runs.sweeps.sweep import SweepOptions
    from landspeed.scenario.file.vary import read_space

    options = given_options(parsed)
    (world,) = chosen_worlds([parsed.world], options)
    folder = parsed.out or sweeps_dir() / read_space(parsed.file, parsed.overrides).name
    how = SweepOptions(folder, parsed.jobs, parsed.scheduler, bundles=False)

    def tell(probe: Trial) -> None:
        if not parsed.quiet:
            print(f"landspeed: {parsed.vary.partition('=')[0]} {probe}", file=sys.stderr, flush=True)

    goal = Goal.parse(parsed.goal)
    found = find(
        parsed.file, parsed.overrides, world, options, how, vary=parsed.vary, goal=goal, most=parsed.most,
        seeds=parsed.seeds, within=parsed.within, tell=tell,
    )  # fmt: skip
    if parsed.json:
        told = [
            {"value": probe.value, "met": probe.met, "seeds": probe.seeds, "bound_by": probe.bound_by}
            for probe in found.probes
        ]
        bracket = {"met": found.met.value, "missed": found.missed.value, "bound_by": found.missed.bound_by}
        print(json.dumps({"key": found.key, "goal": goal.text, **bracket, "probes": told}, indent=1))
    elif not parsed.quiet:
        print(found)
    return 0


def do_sweep(parsed: argparse.Namespace) -> int:
    """Runs what is not known yet, and shows what came out."""
    from landspeed.base.places import sweeps_dir
    from landspeed.judge.certainty import parse_until
    from landspeed.runs.sweeps.sweep import SweepOptions, make_sweep
    from landspeed.scenario.file.vary import read_space

    options = given_options(parsed)
    (world,) = chosen_worlds([parsed.world], options)
    name = read_space(parsed.file, parsed.overrides).name
    how = SweepOptions(
        folder=parsed.out or sweeps_dir() / name,
        jobs=parsed.jobs,
        scheduler=parsed.scheduler,
        until=None if parsed.until is None else parse_until(parsed.until),
        at_most=parsed.at_most,
        bundles=not parsed.no_bundles,
        reports=True,
        fresh=parsed.fresh,
        resume=parsed.resume,
    )
    reporter = silent if parsed.quiet else SweepReporter()
    began = time.monotonic()
    if parsed.adaptive is not None:
        from landspeed.runs.sweeps.adaptive import POINTS, sweep_adaptively

        done = sweep_adaptively(
            parsed.file, parsed.overrides, world, options, how, vary=parsed.adaptive, points=parsed.points or POINTS,
            seed=parsed.seed, progress=reporter,
        )  # fmt: skip
    else:
        done = make_sweep(parsed.file, parsed.overrides, world, options, how, seed=parsed.seed, progress=reporter)
    if parsed.csv is not None:
        _write_csv(done, parsed.csv)
    if parsed.json:
        state = done.state
        counts = {"cells": state.cells, "done": state.done, "reused": state.reused, "failed": state.failed}
        print(json.dumps({**counts, "table": str(done.table), "wall_s": round(time.monotonic() - began, 3)}, indent=1))
    elif not parsed.quiet:
        _show(done)
    for row in done.rows:
        if row["error"]:
            where = ", ".join(f"{key} {row[key]}" for key in (*done.grid.keys, "seed"))
            print(f"Error: {where}: {row['error']}", file=sys.stderr)
    if done.interrupted:
        print(
            f"Error: interrupted; {len(done)} of {done.state.cells} cells are kept in {done.store.folder}",
            file=sys.stderr,
        )
    return 0 if done.complete else FAILED


def compare_two(parsed: argparse.Namespace) -> int:
    """The second half of `compare`: one sweep against another."""
    from landspeed.report.sweep_comparison import (
        compare_sweeps,
        is_sweep,
        load_sweep,
        verdict_lines,
        write_sweep_comparison,
    )

    if len(parsed.targets) != 2 or not all(is_sweep(target) for target in parsed.targets):
        raise UsageError("a sweep can only be compared with a sweep: name the folders of two")
    first, second = (load_sweep(target) for target in parsed.targets)
    made = compare_sweeps(first, second, parsed.tolerance)
    page = parsed.html or second.folder / f"against-{first.folder.resolve().name}.html"
    write_sweep_comparison(made, page)
    if parsed.json:
        cells = [
            {
                "values": each.values,
                "figure": each.measure,
                "means": [each.first.mean, each.second.mean],
                "seeds": [each.first.count, each.second.count],
                "difference": each.difference.share,
                "half": each.difference.half,
                "p": each.difference.p,
                "differs": each.beyond,
            }
            for each in made.compared
        ]
        alone = [list(each) for each in made.alone]
        print(json.dumps({"cells": cells, "alone": alone, "page": str(page)}, indent=1, ensure_ascii=False))
    elif not parsed.quiet:
        print(f"A: {first.label}\nB: {second.label}")
        for line in verdict_lines(made):
            print(f"  {line}")
        print(f"Page: {page}")
    return 0


def _write_csv(done: Sweep, target: Path) -> None:
    from pyarrow import csv

    from landspeed.results.bundle import OutputError

    try:
        csv.write_csv(done.to_arrow(), target)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error}") from error


def _show(done: Sweep) -> None:
    """A line for each combination."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from landspeed.base.text import DASH
    from landspeed.report.findings import sweep_finding
    from landspeed.report.sweep_figures import MEASURES, means

    table = Table(box=box.SIMPLE_HEAD, header_style="bold")
    for key in done.grid.keys:
        table.add_column(key)
    for name in ("seeds", "goodput", "settled", "RTT under load", "retransmits"):
        table.add_column(name, justify="right")
    table.add_column("bound by")
    found = means(done.grid.keys, done.rows)
    for mean in found:
        resent = DASH if mean.retransmits is None else f"{mean.retransmits:.5g}"
        count = f"{mean.goodput.count}" + (f" ({mean.failed} failed)" if mean.failed else "")
        table.add_row(
            *mean.values.values(), count, *(measure.text(mean) for measure in MEASURES), resent, mean.bound_by or DASH
        )
    console = Console() if sys.stdout.isatty() else Console(width=160)
    console.out(sweep_finding(done.grid.keys, found), highlight=False)
    console.print(table)
    console.out("Settled: from 10 s on, or of the second half, as are RTT (median) and bound by.", highlight=False)
    console.out(f"Table: {done.table}", highlight=False)
    console.out(f"Page: {done.page}", highlight=False)


def silent(_: State) -> None:
    """Show nothing."""


class SweepReporter:
    """Progress of a sweep: one line that is rewritten on a terminal, a line now and then elsewhere."""

    def __init__(self) -> None:
        self._next = 0.0
        self._dashboard = ""

    def __call__(self, state: Any) -> None:
        now = time.monotonic()
        if state.dashboard and state.dashboard != self._dashboard:
            self._dashboard = state.dashboard
            print(f"landspeed: Dask's dashboard: {state.dashboard}", file=sys.stderr, flush=True)
        ended = state.done + state.reused + state.failed == state.cells
        if sys.stderr.isatty():
            print(f"\r\x1b[Klandspeed: {state}", end="\n" if ended else "", file=sys.stderr, flush=True)
        elif now >= self._next or ended:
            self._next = now + PLAIN_EVERY_S
            print(f"landspeed: {state}", file=sys.stderr, flush=True)
