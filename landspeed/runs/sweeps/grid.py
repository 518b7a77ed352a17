"""The grid of a sweep: every cell with its work, known by its content, before anything runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from landspeed.runs.one_run import check_world
from landspeed.scenario.file.load import LoadedScenario
from landspeed.scenario.file.vary import Combination, read_space
from landspeed.scenario.plan.duration import expected_duration_s
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.options import repeating_words
from landspeed.worlds.registry import plan_for
from landspeed.worlds.world import World

MOST_CELLS = 10_000


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of the sweep.

    Attributes:
        key: of its content: the plan with its seed, what is expected of it, the world with its options, and the build.
            Equal keys give equal results.
        values: what varies, as written; shared by the seeds of a combination.
        seed: of everything random.
        loaded: the scenario.
        virtual_s: how long its transfer should take on its own clock.
        build: of the world, as this cell has it: its file may ask for a kernel.
        memory_bytes: what its run takes of the host's memory at most.
    """

    key: str
    values: dict[str, str]
    seed: int
    loaded: LoadedScenario = field(repr=False)
    virtual_s: float
    build: str
    memory_bytes: int


@dataclass(frozen=True)
class GridPoint:
    """A combination of everything but the seed."""

    values: dict[str, str]
    loaded: LoadedScenario
    plan: Plan
    world: World
    build: str
    seeds: tuple[int, ...]

    @cached_property
    def content(self) -> str:
        """A hash of everything but the seed that decides what comes out."""
        work = [
            replace(self.plan, seed=0).sha256,
            self.loaded.tree.mapping["expect"].plain() if "expect" in self.loaded.tree.mapping else None,
            self.world.name,
            repeating_words(self.world.options),
            self.build,
        ]
        return _digest(json.dumps(work, sort_keys=True, default=str))

    @cached_property
    def _facts(self) -> tuple[float, str, int]:
        return expected_duration_s(self.plan), self.build, self.world.memory_bytes(self.plan)

    def cell(self, seed: int) -> Cell:
        """Cell of a seed."""
        key = _digest(f"{self.content} {seed}")
        return Cell(key, self.values, seed, self.loaded, *self._facts)

    def cells(self) -> Iterator[Cell]:
        """Yield the cells of the seeds that the file asks for."""
        return map(self.cell, self.seeds)


@dataclass(frozen=True)
class Grid:
    """Work of a file's `vary:`.

    Attributes:
        name: of the scenario.
        keys: what varies, seeds left out.
        points: combinations of everything but the seed.
    """

    name: str
    title: str
    world: World
    keys: tuple[str, ...]
    points: tuple[GridPoint, ...]

    def cells(self) -> list[Cell]:
        """Every cell, each content once, in the order of the file."""
        return list({cell.key: cell for point in self.points for cell in point.cells()}.values())


def plan_grid(
    file: Path, overrides: Sequence[str], world: World, *, seed: int | None = None, at_most: int = MOST_CELLS
) -> Grid:
    """All cells of a file, checked, so that every error comes before the first run.

    Args:
        seed: instead of the scenario's own; a file that has seeds of its own keeps them.
        at_most: cells.

    Raises:
        ScenarioError: with every problem of the first cell that has any, or that there are too many.
        NotReady: this host cannot run one of them.
    """
    space = read_space(file, overrides)
    space.at_most(at_most, f"shorten them, or allow more: --at-most {len(space)} (now {at_most})")
    points = [point_of(each, world, seed) for each in space.combinations()]
    for point in points:
        check_world(world, point.plan)
    return grid_of(points, world)


def grid_of(points: Sequence[GridPoint], world: World) -> Grid:
    """A grid of points that vary the same keys; one or more."""
    scenario = points[0].loaded.scenario
    return Grid(scenario.name, scenario.title, world, tuple(points[0].values), tuple(points))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def point_of(each: Combination, world: World, seed: int | None = None) -> GridPoint:
    """A combination with its plan.

    Raises:
        ScenarioError: the world cannot honour it.
    """
    plan = world.with_options(plan_for(each.loaded, world.name, seed))
    return GridPoint(each.values, each.loaded, plan, world, world.build_id(plan), each.seeds or (plan.seed,))
