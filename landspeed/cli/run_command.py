"""The commands `run` and `compare`: runs, and runs beside one another."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Generator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landspeed.cli import values
from landspeed.cli.arguments import (
    chosen_worlds,
    given_options,
    runs_folder,
    with_output,
    with_overrides,
    with_world,
    with_world_options,
)
from landspeed.cli.errors import FAILED, UsageError, warn
from landspeed.cli.parser import Parser
from landspeed.cli.progress import Reporter, make_reporter

if TYPE_CHECKING:
    from landspeed.report.comparison import Comparison
    from landspeed.runs.run import Run
    from landspeed.runs.sweeps.variants import Variant


def add_run(made: Parser) -> None:
    """Arguments of `run`."""
    made.add_argument("file", type=Path, metavar="FILE", help="scenario file, or a name of `landspeed scenarios`")
    with_world(made)
    made.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder for the bundle (default: results/runs of a clone, else ~/.local/share/landspeed/runs)",
    )
    made.add_argument("--open", action="store_true", help="open the report in the browser")
    with_output(made)
    with_overrides(made)
    with_world_options(made, "run")


def do_run(parsed: argparse.Namespace) -> int:
    """One run; or, for a file that varies something, one of each combination and a table."""
    from landspeed.runs.sweeps.variants import plan_variants

    (world,) = chosen_worlds([parsed.world], given_options(parsed))
    variants = plan_variants(parsed.file, parsed.overrides, world, parsed.seed)
    folder = runs_folder(parsed.out)
    if not parsed.quiet:
        warn(
            warning
            for variant in variants
            for warning in (*world.all_warnings(variant.plan), *world.said_first(variant.plan))
        )
    if variants[0].values:
        return _run_all(variants, folder, parsed)
    run = _run_one(variants[0], folder, quiet=parsed.quiet)
    if parsed.json:
        print(json.dumps(_as_json(run), indent=1))
    elif not parsed.quiet:
        _print_summary(run)
    if run.error:
        print(f"Error: {run.error}", file=sys.stderr)
    if parsed.open and run.report_file.is_file():
        import webbrowser  # saves 4 ms

        webbrowser.open(run.report_file.resolve().as_uri())
    return run.status


def _run_one(variant: Variant, folder: Path, *, quiet: bool) -> Run:
    """One run; on a terminal a path's goodput is drawn while it goes on, elsewhere its phases are told."""
    if quiet or not sys.stderr.isatty() or not variant.plan.is_path:
        with _reporter(quiet=quiet) as reporter:
            return variant.run(folder, progress=reporter)
    from rich.console import Console

    from landspeed.cli.live_chart import LiveChart

    with LiveChart.of(variant.plan, Console(stderr=True)) as shown:
        run = variant.run(folder, progress=shown)
        if run.complete:
            shown.finish(run)
        return run


def _run_all(variants: list[Variant], folder: Path, parsed: argparse.Namespace) -> int:
    """All combinations; one that breaks does not stop the others."""
    done: list[tuple[dict[str, str], Run]] = []
    for number, variant in enumerate(variants, start=1):
        if not parsed.quiet:
            print(f"landspeed: {number} of {len(variants)}: {variant.name}", file=sys.stderr)
        with _reporter(quiet=parsed.quiet) as reporter:
            done.append((variant.values, variant.run(folder, progress=reporter)))
        if done[-1][1].interrupted:
            break
    if parsed.json:
        print(json.dumps([{"vary": values, **_as_json(run)} for values, run in done], indent=1))
    elif not parsed.quiet:
        print_table(done)
    for varied, run in done:
        if run.error:
            print(f"Error: {varied}: {run.error}", file=sys.stderr)
    return FAILED if len(done) < len(variants) or any(run.status for _, run in done) else 0


@contextlib.contextmanager
def _reporter(*, quiet: bool) -> Generator[Reporter]:
    reporter = make_reporter(quiet=quiet)
    try:
        yield reporter
    finally:
        reporter.close()


def _as_json(run: Run) -> dict[str, Any]:
    from landspeed.results.record import command_json

    return command_json(run.record, run.bundle)


def _print_summary(run: Run) -> None:
    from rich.console import Console

    from landspeed.report.summary import render_summary

    Console().print(render_summary(run.record, run.bundle, run.report_file))


def print_table(done: list[tuple[dict[str, str], Run]]) -> None:
    """Show a row for each combination of a `vary` table: what was varied, and how its run ended."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from landspeed.base.text import DASH, grouped, rate_text

    table = Table(box=box.SIMPLE_HEAD, header_style="bold")
    for key in done[0][0]:
        table.add_column(key)
    for name in ("goodput", "settled", "loaded RTT", "retransmits"):
        table.add_column(name, justify="right")
    for name in ("bound by", "result", "bundle"):
        table.add_column(name, overflow="fold")
    for varied, run in done:
        table.add_row(
            *varied.values(),
            rate_text(run.goodput_bps),
            rate_text(run.record.settled_goodput_bps),
            DASH if run.rtt_loaded_median_ms is None else f"{run.rtt_loaded_median_ms:.3f} ms",
            grouped(run.record.retransmits),
            run.limited_by or DASH,
            run.record.outcome,
            run.bundle.name,
        )
    console = Console() if sys.stdout.isatty() else Console(width=200)
    console.print(table)


def add_compare(made: Parser) -> None:
    """Arguments of `compare`."""
    made.add_argument(
        "targets",
        nargs="+",
        type=Path,
        metavar="BUNDLE|FILE|SWEEP",
        help="folders of runs; scenario files, which are run first; or the folders of two sweeps",
    )
    made.add_argument("--worlds", default="emu", metavar="NAME,…", help="run files in each of these, such as sim,emu")
    made.add_argument(
        "--kernels", metavar="VERSION,…", help="run files in emu with each of these releases of Linux, such as 6.12,7.3"
    )
    made.add_argument(
        "--html", type=Path, metavar="FILE", help="where to write the page (default: in the folder of the bundles)"
    )
    made.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder for bundles (default: results/runs of a clone, else ~/.local/share/landspeed/runs)",
    )
    made.add_argument(
        "--tolerance",
        type=values.share,
        default=0.02,
        metavar="SHARE",
        help="name differences larger than this (default: 2 %%)",
    )
    with_output(made)
    with_overrides(made)
    with_world_options(made, "compare")


def do_compare(parsed: argparse.Namespace) -> int:
    """Runs what is to be run, and shows all side by side."""
    from landspeed.report.sweep_comparison import is_sweep
    from landspeed.runs.comparing import compare_targets
    from landspeed.worlds.registry import world_names

    if any(is_sweep(target) for target in parsed.targets):
        from landspeed.cli.sweep_command import compare_two

        return compare_two(parsed)

    names = [name.strip() for name in parsed.worlds.split(",")]
    for name in names:
        if name not in world_names() or names.count(name) > 1:
            known = ", ".join(world_names())
            raise UsageError(f"--worlds {parsed.worlds}: write each of {known} at most once, with commas")
    options = given_options(parsed)
    worlds = chosen_worlds(names, options)
    if parsed.kernels:
        if names != ["emu"] or "kernel" in options:
            raise UsageError(
                "--kernels works only with the world emu, and not together with --kernel; leave the other one out"
            )
        kernels = [each.strip() for each in parsed.kernels.split(",")]
        worlds = [chosen_worlds(names, options | {"kernel": each})[0] for each in kernels]
    with _reporter(quiet=parsed.quiet) as reporter:
        done = compare_targets(
            parsed.targets,
            worlds,
            runs_folder(parsed.out),
            overrides=parsed.overrides,
            seed=parsed.seed,
            tolerance=parsed.tolerance,
            page=parsed.html,
            progress=reporter,
        )
    for run in done.broken:
        print(f"Error: {run.record.world}: {run.error} (kept in {run.bundle})", file=sys.stderr)
    if done.comparison is not None and done.page is not None:
        _show_comparison(done.comparison, done.page, parsed)
    return FAILED if done.broken or done.interrupted else 0


def _show_comparison(comparison: Comparison, page: Path, parsed: argparse.Namespace) -> None:
    if parsed.json:
        print(json.dumps(_comparison_as_json(comparison) | {"page": str(page)}, indent=1, ensure_ascii=False))
    elif not parsed.quiet:
        from rich.console import Console

        from landspeed.report.comparison import render_comparison

        console = Console() if sys.stdout.isatty() else Console(width=160)
        console.print(render_comparison(comparison))
        console.out(f"Page: {page}", highlight=False)


def _comparison_as_json(comparison: Comparison) -> dict[str, Any]:
    from landspeed.report.comparison import difference_lines

    found: dict[str, Any] = {
        "finding": comparison.finding,
        "sides": [
            {
                "label": side.label,
                "flow": side.flow or None,
                "bundle": str(side.bundle),
                "world": side.record.world,
                "complete": side.record.complete,
                "goodput_bps": side.record.goodput_bps,
                "share": side.share,
                "jain_index": side.record.jain_index,
                "settled_goodput_bps": side.settled_bps,
                "rtt_ms": side.record.rtt_ms,
                "rtt_loaded_median_ms": side.record.rtt_loaded_median_ms,
                "rtt_loaded_p99_ms": side.record.rtt_loaded_p99_ms,
                "time_to_full_rate_s": side.full_s,
                "slow_start": None if side.slow_start is None else asdict(side.slow_start),
                "responses": [asdict(each) for each in side.responses],
                "retransmits": side.record.retransmits,
                "packets_per_ack": side.packets_per_ack,
                "offered_window_bytes": side.offered_window_bytes,
            }
            for side in comparison.sides
        ],
        "tolerance": comparison.tolerance,
        "differences": [{"against": label, **asdict(each)} for label, each in comparison.differences],
        "sentences": difference_lines(comparison),
    }
    return found | ({"flows": [_comparison_as_json(each) for each in comparison.flows]} if comparison.flows else {})
