"""A sweep that chooses the values of one key itself: more where the curve of goodput bends (python-adaptive).

Each combination of the other keys is a curve. In each round every curve gets a few values more, in the middle of the
intervals where it bends most; how many does not depend on the number of workers, so the table does not either.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from landspeed.base.failures import NotPossible, NotReady
from landspeed.runs.one_run import check_world
from landspeed.runs.sweeps.find import ends_of
from landspeed.runs.sweeps.grid import Cell, GridPoint, grid_of, point_of
from landspeed.runs.sweeps.sweep import Report, State, Sweep, SweepOptions, finish, run_grid, store_of
from landspeed.runs.sweeps.work import CellOutcome
from landspeed.scenario.file.load import change_tree
from landspeed.scenario.file.ranges import Ends
from landspeed.scenario.file.vary import Combination, read_space
from landspeed.worlds.world import World

AT_ONCE = 4  # values of a curve in a round
TRIES = 20  # to be given a value that is not known, before a curve is taken as fine enough
POINTS = 15


@dataclass
class _Curve:
    """The values of the key that one combination of the others has so far."""

    combination: Combination
    ends: Ends
    learner: Any
    points: dict[Fraction, GridPoint] = field(default_factory=dict[Fraction, GridPoint])
    goodput_bps: dict[Fraction, float] = field(default_factory=dict[Fraction, float])

    def ask(self, key: str, most: int, world: World, seed: int | None) -> list[tuple[Fraction, GridPoint]]:
        """Values that it has not been told of, up to `most` in all."""
        found: list[tuple[Fraction, GridPoint]] = []
        for _ in range(TRIES):
            count = min(AT_ONCE, most - len(self.points))
            if count <= 0 or found:
                break
            for place in self.learner.ask(count)[0]:
                value = self.ends.at(place)
                if value in self.points:  # nearer than six digits, or a count that is known
                    self.learner.tell(place, self.goodput_bps.get(value, 0.0))
                    continue
                text = self.ends.written(value)
                loaded = self.combination.loaded
                changed = change_tree(loaded.tree, loaded.path, loaded.overrides, {key: text}, "--adaptive")
                values = {**self.combination.values, key: text if isinstance(text, str) else json.dumps(text)}
                self.points[value] = point_of(Combination(values, changed, self.combination.seeds), world, seed)
                found.append((value, self.points[value]))
        return found

    def tell(self, value: Fraction, goodputs_bps: Sequence[float]) -> None:
        """Add the goodputs at a value; ignore a value at which every run failed."""
        if goodputs_bps:
            self.goodput_bps[value] = statistics.fmean(goodputs_bps)
            self.learner.tell(self.ends.place(value), self.goodput_bps[value])


def sweep_adaptively(
    file: Path,
    overrides: Sequence[str],
    world: World,
    options: Mapping[str, Any],
    how: SweepOptions,
    *,
    vary: str,
    points: int = POINTS,
    seed: int | None = None,
    progress: Report = lambda _: None,
) -> Sweep:
    """Sweep over a key whose values are chosen where goodput bends.

    Args:
        vary: `KEY=FROM..TO`, or a key that the file varies over a range or a list: its first and its last value count.
        points: values of the key for each combination of the others; the two ends among them.

    Raises:
        ScenarioError, NotPossible, NotReady: known before the first run.
    """
    key, ends = ends_of(file, overrides, vary, "--adaptive")
    if points < 3:
        raise NotPossible(f"--points {points}: a curve that bends has three or more")
    space = read_space(file, overrides).without(key)
    if len(space) * points > how.at_most:
        raise NotPossible(
            f"{len(space)} combinations and seeds with {points} values each are {len(space) * points} cells: "
            f"take fewer --points, or allow more: --at-most {len(space) * points} (now {how.at_most})"
        )
    curves = [_Curve(each, ends, _learner()) for each in space.combinations()]
    store, total = store_of(how), State()
    done: list[tuple[Cell, CellOutcome]] = []
    interrupted = False
    while not interrupted:
        asked = [(curve, *pair) for curve in curves for pair in curve.ask(key, points, world, seed)]
        if not asked:
            break
        for _, _, point in asked:
            check_world(world, point.plan)
        grid = grid_of([point for _, _, point in asked], world)
        store.make()
        before = replace(total)

        def tell(now: State, before: State = before) -> None:
            total.add(before, now)
            progress(total)

        left = replace(how, at_most=max(len(grid.cells()), how.at_most - len(done)))
        made, interrupted = run_grid(grid, store, left, options, tell)
        done += made
        for curve, value, point in asked:
            curve.tell(value, _goodputs_bps(point, made))
    whole = grid_of([curve.points[value] for curve in curves for value in sorted(curve.points)], world)
    rank = {_content(point.values): number for number, point in enumerate(whole.points)}
    done.sort(key=lambda pair: (rank[_content(pair[0].values)], pair[0].seed))
    return finish(whole, store, done, total, interrupted=interrupted)


def _content(values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(values.items())


def _goodputs_bps(point: GridPoint, made: Sequence[tuple[Cell, CellOutcome]]) -> list[float]:
    """Goodput of every seed of a point that ran to its end."""
    own = [outcome for cell, outcome in made if cell.values == point.values and outcome.done]
    return [float(each.figures["goodput_bps"] or 0.0) for each in own]


def _learner() -> Any:
    try:
        from adaptive import Learner1D
        from adaptive.learner.learner1D import curvature_loss_function
    except ImportError as error:
        raise NotReady("--adaptive needs python-adaptive: pip install 'landspeed[sweep]'") from error
    return Learner1D(None, bounds=(0.0, 1.0), loss_per_interval=curvature_loss_function())
