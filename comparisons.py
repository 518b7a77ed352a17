"""`landspeed compare`: runs what is to be run, and shows the runs side by side."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .results.bundle import RESULT
from .results.comparison_page import write_comparison
from .results.side_by_side import Comparison, compare, difference_lines, render_comparison
from .results.sides import WORLD_WORDS, Side, load_side
from .runs import FAILED, run_command, run_plan
from .scenarios.load import LoadedScenario, load_scenario
from .scenarios.plan import Plan
from .scenarios.resolve import make_plan
from .worlds import World, make_world


class CompareError(Exception):
    """What was named cannot be compared; the message says what would be right."""


def compare_targets(parsed: argparse.Namespace, worlds: list[str], runs_dir: Path) -> int:
    """Compare bundles, and scenario files run in each of the worlds.

    Returns:
        exit status: 0 compared, 1 a run broke or was interrupted.

    Raises:
        CompareError, ScenarioError, NotReady: known before anything was started.
    """
    planned = [_plans(target, parsed, worlds) for target in parsed.targets]  # every error before the first run
    count = sum(1 if isinstance(each, Path) else len(each) for each in planned)
    if count < 2:
        raise CompareError("nothing to compare with: name two bundles or files, or two worlds (--worlds sim,emu)")
    sides: list[Side] = []
    status = 0
    for each in planned:
        if isinstance(each, Path):
            sides.append(_load(each))
            continue
        for loaded, plan, world in each:
            run = run_plan(world, loaded, plan, runs_dir, quiet=parsed.quiet)
            status = max(status, FAILED if run.record.error else 0)
            if run.record.error:
                print(f"Error: {run.record.world}: {run.record.error} (kept in {run.bundle})", file=sys.stderr)
            if run.interrupted:
                return FAILED
            sides.append(_load(run.bundle))
    _name(sides)
    comparison = compare(sides, parsed.tolerance)
    page = (
        parsed.html
        or runs_dir / f"compare-{sides[0].plan.scenario}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}.html"
    )
    write_comparison(comparison, page)
    _show(comparison, page, parsed)
    return status


def _plans(
    target: Path, parsed: argparse.Namespace, worlds: list[str]
) -> Path | list[tuple[LoadedScenario, Plan, World]]:
    """A bundle as it is; a scenario file as what is to be run."""
    if (target / RESULT).is_file():
        return target
    if target.is_dir():
        raise CompareError(f"{target}: not a bundle (it has no {RESULT})")
    loaded = load_scenario(target, parsed.overrides)
    found = []
    for name in worlds:
        plan = make_plan(loaded, seed=parsed.seed, world=name)
        world = make_world(name, parsed, run_command(loaded, plan, parsed, name))
        world.check(plan)
        found.append((loaded, plan, world))
    return found


def _load(bundle: Path) -> Side:
    try:
        return load_side(bundle)
    except ValueError as error:
        raise CompareError(str(error)) from error


def _name(sides: list[Side]) -> None:
    """The shortest labels that tell the sides apart: the world, with the scenario, with the bundle's name."""
    choices = (
        lambda side: WORLD_WORDS[side.record.world],
        lambda side: side.record.scenario,
        lambda side: f"{side.record.scenario}, {WORLD_WORDS[side.record.world]}",
        lambda side: f"{side.record.scenario}, {WORLD_WORDS[side.record.world]}, seed {side.record.seed}",
        lambda side: side.bundle.name,
    )
    for choice in choices:
        labels = [choice(side) for side in sides]
        if len(set(labels)) == len(sides):
            break
    else:
        labels = [
            f"{letter} {side.bundle.name}" for letter, side in zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", sides, strict=False)
        ]
    for side, label in zip(sides, labels, strict=False):
        side.label = label


def _show(comparison: Comparison, page: Path, parsed: argparse.Namespace) -> None:
    if parsed.json:
        print(json.dumps(_as_json(comparison, page), indent=1, ensure_ascii=False))
    elif not parsed.quiet:
        from rich.console import Console

        console = Console() if sys.stdout.isatty() else Console(width=160)
        console.print(render_comparison(comparison))
        console.out(f"Page: {page}", highlight=False)


def _as_json(comparison: Comparison, page: Path) -> dict[str, Any]:
    return {
        "sides": [
            {
                "label": side.label,
                "bundle": str(side.bundle),
                "world": side.record.world,
                "complete": side.record.complete,
                "goodput_bps": side.record.goodput_bps,
                "settled_goodput_bps": side.settled_bps,
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
        "page": str(page),
    }
