"""Comparing: what is to be run is run, and the runs are laid side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from landspeed.base.errors import LandspeedError
from landspeed.report.comparison import TOLERANCE, Comparison, compare
from landspeed.report.comparison_page import write_comparison
from landspeed.report.comparison_sides import Side, load_sides, load_whole, world_words
from landspeed.report.side_words import what_differs
from landspeed.results.bundle import RESULT
from landspeed.runs.one_run import Report, check_world
from landspeed.runs.run import Run
from landspeed.runs.sweeps.variants import Variant
from landspeed.scenario.file.load import load_scenario
from landspeed.worlds.registry import plan_for
from landspeed.worlds.world import World

NOTHING = "nothing to compare with: name two bundles or files, or two worlds (--worlds sim,emu)"


class CompareError(LandspeedError):
    """A name that cannot be compared; the message says what would be right."""


@dataclass
class ComparisonOutcome:
    """Result of comparing. `comparison` and `page` are there unless the user ended it."""

    comparison: Comparison | None = None
    page: Path | None = None
    broken: list[Run] = field(default_factory=list[Run])
    interrupted: bool = False


def compare_targets(
    targets: Sequence[Path],
    worlds: Sequence[World],
    runs_dir: Path,
    *,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    tolerance: float = TOLERANCE,
    page: Path | None = None,
    progress: Report = lambda _: None,
) -> ComparisonOutcome:
    """Compare bundles, and scenario files run in each of the worlds.

    Args:
        targets: bundles and scenario files.
        worlds: in which the files are run.
        runs_dir: folder for bundles, and for the page unless `page` names it.
        overrides, seed: of the files.
        tolerance: relative difference of rates that needs no explanation.

    Raises:
        CompareError, ScenarioError, NotReady: known before anything was started.
    """
    planned = [_variants(target, worlds, overrides, seed) for target in targets]  # every error before the first run
    count = sum(1 if isinstance(each, Path) else len(each) for each in planned)
    if count < 2 and not any(_many(each) for each in planned):
        raise CompareError(NOTHING)
    runs: list[list[Side]] = []  # of each bundle
    done = ComparisonOutcome()
    for each in planned:
        if isinstance(each, Path):
            runs.append(_load(each))
            continue
        for variant in each:
            run = variant.run(runs_dir, progress=progress)
            if run.error:
                done.broken.append(run)
            if run.interrupted:
                done.interrupted = True
                return done
            runs.append(_load(run.bundle))
    if sum(len(sides) for sides in runs) < 2:
        raise CompareError(NOTHING)
    done.comparison = _compared(runs, tolerance)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    done.page = page or runs_dir / f"compare-{runs[0][0].plan.scenario}-{stamp}.html"
    write_comparison(done.comparison, done.page)
    return done


def _variants(
    target: Path, worlds: Sequence[World], overrides: Sequence[str], seed: int | None
) -> Path | list[Variant]:
    """A bundle as it is; a scenario file as what is to be run."""
    if (target / RESULT).is_file():
        return target
    if target.is_dir():
        raise CompareError(f"{target}: not a bundle (it has no {RESULT})")
    loaded = load_scenario(target, overrides)
    variants = [Variant({}, loaded, world.with_options(plan_for(loaded, world.name, seed)), world) for world in worlds]
    for variant in variants:
        check_world(variant.world, variant.plan)
    return variants


def _many(planned: Path | list[Variant]) -> bool:
    """Return whether it may be several sides by itself: a bundle, which is not read yet, or a network's flows."""
    return isinstance(planned, Path) or any(len(variant.plan.flows) > 1 for variant in planned)


def _load(bundle: Path) -> list[Side]:
    try:
        return load_sides(bundle)
    except ValueError as error:
        raise CompareError(str(error)) from error


def _compared(runs: list[list[Side]], tolerance: float) -> Comparison:
    """Runs of networks that have flows in common, as wholes and flow by flow; else every side against the first."""
    named = [{side.flow: side for side in sides} for sides in runs]
    common = [name for name in named[0] if name and all(name in each for each in named)]
    if len(runs) < 2 or not common:
        sides = [side for each in runs for side in each]
        _name(sides)
        return compare(sides, tolerance)
    wholes = [load_whole(sides[0].bundle) for sides in runs]
    _name(wholes)
    for sides, whole in zip(runs, wholes, strict=True):
        for side in sides:
            side.label = whole.label
    return compare(wholes, tolerance, [[each[name] for each in named] for name in common])


def _name(sides: list[Side]) -> None:
    """The shortest labels that tell the sides apart: world, what differs in the scenarios, their names, the bundle."""

    def world(side: Side) -> str:
        return world_words(side.record.world)

    def with_flow(words: Callable[[Side], str]) -> Callable[[Side], str]:
        return lambda side: f"{words(side)}, {side.flow}" if side.flow else words(side)

    apart = what_differs([side.bundle for side in sides])
    keys = dict(zip([side.bundle for side in sides], apart or [], strict=False))
    choices: tuple[Callable[[Side], str], ...] = (
        lambda side: side.flow or world(side),
        with_flow(world),
        with_flow(lambda side: keys.get(side.bundle, "")),
        with_flow(lambda side: side.record.scenario),
        with_flow(lambda side: f"Linux {side.record.versions.get('kernel')}"),
        with_flow(lambda side: f"{side.record.scenario}, {world(side)}"),
        with_flow(lambda side: f"{side.record.scenario}, {world(side)}, seed {side.record.seed}"),
        with_flow(lambda side: side.bundle.name),
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
