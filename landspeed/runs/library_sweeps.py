"""Interface of `import landspeed` for many runs: sweep, predict, compare_sweeps. It prints nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from landspeed.base.failures import NotPossible
from landspeed.base.places import sweeps_dir
from landspeed.base.units import RATE, SIZE, Kind, UnitError, parse
from landspeed.judge.certainty import parse_until
from landspeed.report.sweep_comparison import SweepComparison, load_sweep
from landspeed.report.sweep_comparison import compare_sweeps as _compare_sweeps
from landspeed.runs.sweeps.adaptive import POINTS, sweep_adaptively
from landspeed.runs.sweeps.grid import MOST_CELLS
from landspeed.runs.sweeps.predict import MOST_S, SEEDS, Predictions, choices_of, predict_completion
from landspeed.runs.sweeps.sweep import State, Sweep, SweepOptions, make_sweep
from landspeed.scenario.file.vary import read_space
from landspeed.worlds.make_world import make_world
from landspeed.worlds.registry import DEFAULT_WORLD


def sweep(
    file: str | Path,
    overrides: Sequence[str] = (),
    *,
    world: str = DEFAULT_WORLD,
    seed: int | None = None,
    folder: str | Path | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    until: str | None = None,
    adaptive: str | None = None,
    points: int = POINTS,
    at_most: int = MOST_CELLS,
    bundles: bool = True,
    fresh: bool = False,
    progress: Callable[[State], None] | None = None,
    **options: Any,
) -> Sweep:
    """Run every combination of a file's `vary:`, on all cores or on a cluster, except what was run before.

    Args:
        file, overrides: as for `load`.
        world, seed, options: as for `run`.
        folder: of the sweep; None takes `results/sweeps/NAME` of a clone, else one in the user's data folder.
        jobs: cells at once; None: the cores that this process may use.
        scheduler: address of a Dask scheduler, instead of this computer.
        until: such as "ci95=2 %": seeds are added until each combination's mean goodput is this certain.
        adaptive: such as "path.1.loss", or "queue=0.01 BDP..2 BDP": values of this key are chosen where goodput bends.
        points: number of its values for each combination of the other keys.
        at_most: cells.
        bundles: keep each cell's bundle.
        fresh: run again what is known.
        progress: called whenever a cell begins or ends; for example `print`.

    Returns:
        the sweep; cells that failed have a row with their error.

    Raises:
        ScenarioError, NotReady, NotPossible: known before the first run.
        OutputError: the folder cannot be written.
    """
    space = read_space(Path(file), overrides)
    how = SweepOptions(
        folder=Path(folder) if folder is not None else sweeps_dir() / space.name,
        jobs=jobs,
        scheduler=scheduler,
        until=None if until is None else parse_until(until),
        at_most=at_most,
        bundles=bundles,
        fresh=fresh,
    )
    chosen, tell = make_world(world, **options), progress or _nobody
    if adaptive is None:
        return make_sweep(Path(file), overrides, chosen, options, how, seed=seed, progress=tell)
    return sweep_adaptively(
        Path(file), overrides, chosen, options, how, vary=adaptive, points=points, seed=seed, progress=tell
    )


def predict(
    file: str | Path,
    amount: str | int,
    overrides: Sequence[str] = (),
    *,
    choose: Mapping[str, Sequence[object]] | None = None,
    host_limit: str | None = None,
    worlds: Sequence[str] = (DEFAULT_WORLD,),
    seeds: int = SEEDS,
    at_most_s: float = MOST_S,
    folder: str | Path | None = None,
    jobs: int | None = None,
    progress: Callable[[State], None] | None = None,
) -> Predictions:
    """Predict how long a transfer of many bytes takes, for each choice: from shorter runs and their steady rate.

    Args:
        file, overrides: the scenario; `amount` replaces its duration or bytes.
        amount: payload, such as "100 TB", or bytes.
        choose: dotted key → values; every combination is a choice.
        host_limit: goodput that the sending host can make, such as "38 Gbit/s".
        worlds: in each of which every choice is run.
        seeds: of each choice.
        at_most_s: the longest transfer that is run, on its own clock.
        folder: of the runs; None takes one named after the scenario. What is known there is not run again.

    Returns:
        the predictions: iterate over them; `unknown` says what they leave out.

    Raises:
        ScenarioError, NotReady, NotPossible: known before the first run.
        RunFailed: a run failed.
    """
    where = Path(folder) if folder is not None else sweeps_dir() / f"predict-{read_space(Path(file), overrides).name}"
    return predict_completion(
        Path(file),
        overrides,
        [(make_world(name), {}) for name in worlds],
        SweepOptions(where, jobs),
        amount=amount if isinstance(amount, int) else _quantity(SIZE, amount),
        choose=choices_of(choose or {}),
        host_limit_bps=None if host_limit is None else _quantity(RATE, host_limit),
        seeds=seeds,
        at_most_s=at_most_s,
        progress=progress or _nobody,
    )


def compare_sweeps(first: str | Path, second: str | Path, tolerance: float = 0.02) -> SweepComparison:
    """Compare two sweeps, cell by cell: `differing` has what differs beyond its uncertainty.

    Args:
        first, second: folders of sweeps that vary the same keys.
        tolerance: relative difference up to which nothing is named, even if it is certain.

    Raises:
        BundleError: one is not a sweep, or they have nothing in common.
    """
    return _compare_sweeps(load_sweep(Path(first)), load_sweep(Path(second)), tolerance)


def _quantity(kind: Kind, text: str) -> int:
    try:
        return parse(kind, text)
    except UnitError as error:
        raise NotPossible(str(error)) from error


def _nobody(_: State) -> None:
    """Ignore the progress; nobody asked for it."""
