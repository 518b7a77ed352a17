"""A file that varies something: every combination is a variant, with its plan and its world, and is run by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from landspeed.runs.one_run import Report, check_world, run_plan
from landspeed.runs.run import Run
from landspeed.scenario.file.load import LoadedScenario
from landspeed.scenario.file.vary import load_variants
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.registry import plan_for
from landspeed.worlds.world import World


@dataclass(frozen=True)
class Variant:
    """One combination: what varies and its values as written; empty for a file that varies nothing."""

    values: dict[str, str]
    loaded: LoadedScenario
    plan: Plan
    world: World

    @property
    def name(self) -> str:
        """Values in words."""
        return ", ".join(f"{key} {value}" for key, value in self.values.items())

    def run(self, runs_dir: Path, *, progress: Report = lambda _: None, report: bool = True) -> Run:
        """Run it; a run that breaks is returned as what it had.

        Raises:
            OutputError, NotReady: known before anything was started.
        """
        return run_plan(self.world, self.loaded, self.plan, runs_dir, progress=progress, report=report)


def plan_variants(file: Path, overrides: Sequence[str], world: World, seed: int | None = None) -> list[Variant]:
    """All variants of a file, checked, so that every error comes before the first run.

    Raises:
        ScenarioError: with every problem of the first variant that has any.
        NotReady: this host cannot run one of them.
    """
    variants = [
        Variant(values, loaded, world.with_options(plan_for(loaded, world.name, seed)), world)
        for values, loaded in load_variants(file, overrides)
    ]
    for variant in variants:
        check_world(world, variant.plan)
    return variants
