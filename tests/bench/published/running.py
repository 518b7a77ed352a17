"""The runs of a source: a sweep whose cases are its cells, begun again where it was left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from landspeed.runs.sweeps.grid import Grid, plan_grid
from landspeed.runs.sweeps.store import Store, rows_of
from landspeed.runs.sweeps.sweep import State, SweepOptions, run_grid, store_of
from landspeed.worlds.emu.kernel_choice import choose
from landspeed.worlds.emu.kernel_source import KernelError
from landspeed.worlds.make_world import make_world
from tests.bench.published.cells import ROOT, Cell, Found, Source

FOLDER = ROOT / "build" / "published"


@dataclass(frozen=True)
class Choice:
    """Cells of a source that belong together: those of `QUICK=1`, or all."""

    source: Source
    cells: Sequence[Cell]
    seeds: int

    @classmethod
    def of(cls, source: Source, *, quick: bool) -> Choice:
        """Those that are asked for."""
        if not quick:
            return cls(source, source.cells, source.seeds)
        return cls(source, [cell for cell in source.cells if cell.quick], source.quick_seeds)

    def matching(self, text: str) -> Choice:
        """Those whose names contain a text."""
        return replace(self, cells=[cell for cell in self.cells if text in cell.name])

    def in_world(self, world: str) -> Choice:
        """Those that are asked there."""
        return replace(self, cells=[cell for cell in self.cells if cell.asked_in(world)])

    def write_scenario(self, folder: Path) -> Path:
        """Write the source's scenario with a case for each cell."""
        content: dict[str, Any] = yaml.safe_load(self.source.scenario.read_text(encoding="utf-8"))
        cases = {cell.case: dict(cell.changes) for cell in self.cells}
        content["vary"] = {"cases": cases, "seeds": self.seeds}
        file = folder / f"{self.source.name}.yaml"
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True), encoding="utf-8")
        return file


def run(choice: Choice, folder: Path = FOLDER, tell: Callable[[State], None] = lambda _: None) -> list[Found]:
    """Run what is not known yet of a choice, in each world of its source; the figures of what ran to its end."""
    return [found for world in choice.source.worlds for found in _figures(choice, world, folder, tell)]


def known(source: Source, folder: Path = FOLDER) -> list[Found]:
    """What was run before of all cells of a source whose kernels are here."""
    every = Choice.of(source, quick=False)
    choice = replace(every, cells=[cell for cell in every.cells if _has_kernel(cell.changes.get("kernel"))])
    return [found for world in source.worlds for found in _figures(choice, world, folder)]


def _has_kernel(name: object) -> bool:
    try:
        return name is None or bool(choose(str(name)))
    except KernelError:
        return False


def _figures(choice: Choice, world: str, folder: Path, tell: Callable[[State], None] | None = None) -> list[Found]:
    choice = choice.in_world(world)
    if not choice.cells:
        return []
    grid = plan_grid(choice.write_scenario(folder), [], make_world(world))
    store = store_of(SweepOptions(folder / choice.source.name / world))
    store.make()
    if tell:
        run_grid(grid, store, SweepOptions(store.folder), {}, tell)
    return _found(choice, world, grid, store)


def _found(choice: Choice, world: str, grid: Grid, store: Store) -> list[Found]:
    """The cells of which something is known."""
    runs: dict[str, list[tuple[dict[str, Any], Path]]] = {}
    for cell in grid.cells():
        outcome = store.load(cell.key)
        if outcome is not None and outcome.done and outcome.bundle:
            (row,) = rows_of([(cell, outcome)])
            runs.setdefault(cell.values["case"], []).append((row, Path(outcome.bundle)))
    return [
        Found(
            choice.source,
            world,
            cell,
            [choice.source.measure(row | {"case": cell.name}, bundle) for row, bundle in runs[cell.case]],
        )
        for cell in choice.cells
        if cell.case in runs
    ]
