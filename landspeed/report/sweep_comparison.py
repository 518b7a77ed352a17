"""Sweep against sweep, cell by cell: two kernels, two engines, two worlds; what differs beyond its uncertainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from landspeed.base.failures import BundleError
from landspeed.base.files import write_atomically
from landspeed.base.text import DASH, NARROW, rate_text, signed_percent
from landspeed.judge.certainty import Certain, MeanDifference, beyond_chance, certain, difference
from landspeed.report.page_parts import environment, template_text
from landspeed.results.bundle import OutputError
from landspeed.results.parquet_file import read_parquet
from landspeed.results.sample_columns import SamplesError

TABLE = "table.parquet"
MEASURES = {"goodput_bps": "goodput", "retransmits": "retransmits"}
_PLAIN = ("cell", "seed")


@dataclass(frozen=True)
class SweepSide:
    """One of the two sweeps."""

    folder: Path
    world: str
    builds: tuple[str, ...]
    keys: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]

    @property
    def label(self) -> str:
        """Folder name, world and build of the sweep."""
        return f"{self.folder.name} ({self.world}; {', '.join(self.builds) or 'build not known'})"

    def groups(self) -> dict[tuple[str, ...], list[dict[str, Any]]]:
        """Combination → its rows, one for each seed."""
        found: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for row in self.rows:
            found.setdefault(tuple(str(row[key]) for key in self.keys), []).append(row)
        return found


@dataclass(frozen=True)
class FigurePair:
    """A figure of a combination in both sweeps.

    Attributes:
        beyond: it is beyond chance, and above the tolerance.
        chance_excluded: it is beyond chance, however small.
    """

    values: dict[str, str]
    measure: str
    first: Certain
    second: Certain
    difference: MeanDifference
    chance_excluded: bool
    beyond: bool


@dataclass(frozen=True)
class SweepComparison:
    """Every combination that both have. `alone` has those of one sweep only, by side."""

    sides: tuple[SweepSide, SweepSide]
    tolerance: float
    compared: tuple[FigurePair, ...]
    alone: tuple[tuple[dict[str, str], ...], tuple[dict[str, str], ...]]

    @property
    def differing(self) -> list[FigurePair]:
        """Differences beyond their uncertainty, the greatest first."""
        return sorted((each for each in self.compared if each.beyond), key=lambda each: -_size(each))

    @property
    def uncertain(self) -> int:
        """Combinations with a single seed on a side, whose goodput differs by more than the tolerance."""
        return sum(
            each.difference.p is None and _size(each) > self.tolerance
            for each in self.compared
            if each.measure == "goodput_bps"
        )


def _size(each: FigurePair) -> float:
    return abs(each.difference.share) if each.difference.share is not None else float("inf")


def is_sweep(folder: Path) -> bool:
    """Return whether a folder is that of a sweep."""
    return (folder / TABLE).is_file()


def load_sweep(folder: Path) -> SweepSide:
    """The table of a sweep.

    Raises:
        BundleError: it cannot be read, or is no sweep's.
    """
    file = folder / TABLE
    try:
        table = read_parquet(file)
    except SamplesError as error:
        raise BundleError(str(error)) from error
    names = table.column_names
    if missing := [name for name in (*_PLAIN, "state", *MEASURES) if name not in names]:
        raise BundleError(f"{file}: not the table of a sweep (it has no column {', '.join(missing)})")
    rows = tuple(table.to_pylist())
    builds = tuple(dict.fromkeys(str(row["build"]) for row in rows if row.get("build")))
    world = (table.schema.metadata or {}).get(b"world", b"").decode()
    return SweepSide(folder, world, builds, tuple(names[1 : names.index("seed")]), rows)


def compare_sweeps(first: SweepSide, second: SweepSide, tolerance: float) -> SweepComparison:
    """Lay one sweep beside the other.

    Args:
        tolerance: relative difference up to which nothing is named, even if it is certain.

    Raises:
        BundleError: they vary different keys, or have no combination in common.
    """
    if set(first.keys) != set(second.keys):
        told = [f"{side.folder} varies {', '.join(side.keys) or 'nothing'}" for side in (first, second)]
        raise BundleError(f"{'; '.join(told)}: compare sweeps that vary the same keys")
    here, there = first.groups(), _in_order(second, first.keys)
    common = [values for values in here if values in there]
    if not common:
        raise BundleError(f"{first.folder} and {second.folder} have no combination in common")
    asked = [(values, measure) for values in common for measure in MEASURES]
    both = [(each, _draws(here[each[0]], each[1]), _draws(there[each[0]], each[1])) for each in asked]
    told = [each for each in both if each[1] or each[2] or each[0][1] == "goodput_bps"]  # a world may not tell all
    pairs, draws = [each[0] for each in told], [each[1:] for each in told]
    differences = [difference(*each) for each in draws]
    excluded = beyond_chance([each.p for each in differences])
    compared = tuple(
        FigurePair(
            dict(zip(first.keys, values, strict=True)),
            measure,
            certain(one),
            certain(other),
            apart,
            out,
            out and (apart.share is None or abs(apart.share) > tolerance),
        )
        for (values, measure), (one, other), apart, out in zip(pairs, draws, differences, excluded, strict=True)
    )
    alone = (
        tuple(dict(zip(first.keys, values, strict=True)) for values in here if values not in there),
        tuple(dict(zip(first.keys, values, strict=True)) for values in there if values not in here),
    )
    return SweepComparison((first, second), tolerance, compared, alone)


def _in_order(side: SweepSide, keys: Sequence[str]) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """The groups of a side whose file may name its keys in another order."""
    places = [side.keys.index(key) for key in keys]
    return {tuple(values[place] for place in places): rows for values, rows in side.groups().items()}


def _draws(rows: Sequence[Mapping[str, Any]], measure: str) -> list[float]:
    return [float(row[measure]) for row in rows if row["state"] == "done" and row[measure] is not None]


def verdict_lines(made: SweepComparison) -> list[str]:
    """Say in sentences what the comparison found."""
    count = sum(each.measure == "goodput_bps" for each in made.compared)
    lines: list[str] = []
    for each in made.differing:
        where = ", ".join(f"{key} {value}" for key, value in each.values.items()) or "all"
        lines.append(f"{where}: {MEASURES[each.measure]} {difference_text(each.difference)}")
    if not lines:
        least = f"{made.tolerance * 100:g}{NARROW}%"
        lines.append(f"No figure of {count} combinations differs by more than {least} beyond its uncertainty.")
    small = sum(each.chance_excluded and not each.beyond for each in made.compared)
    if small:
        lines.append(f"{small} figures differ beyond chance, but by less than {made.tolerance * 100:g}{NARROW}%.")
    if made.uncertain:
        lines.append(f"{made.uncertain} combinations have a single seed, so their difference cannot be tested.")
    for side, alone in zip(made.sides, made.alone, strict=True):
        if alone:
            lines.append(f"{len(alone)} combinations are only in {side.folder.name}.")
    return lines


def difference_text(apart: MeanDifference) -> str:
    """`−3.1 % ± 1.2 %`."""
    if apart.share is None:
        return DASH
    spread = "" if apart.half is None else f" ± {apart.half * 100:.2g}{NARROW}%"
    return f"{signed_percent(apart.share, 2)}{spread}"


def write_sweep_comparison(made: SweepComparison, target: Path) -> Path:
    """Write the page.

    Raises:
        OutputError: it cannot be written.
    """
    from markupsafe import Markup

    text = (
        environment()
        .get_template("sweep_comparison.html.j2")
        .render(
            made=made,
            keys=made.sides[0].keys,
            lines=verdict_lines(made),
            measures=MEASURES,
            value_text=value_text,
            difference_text=difference_text,
            style=Markup(template_text("report.css")),
        )
    )
    try:
        write_atomically(target, text.encode())
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}") from error
    return target


def value_text(known: Certain, measure: str) -> str:
    """A mean with its interval, in words."""

    if known.mean is None:
        return DASH
    shown = rate_text(known.mean) if measure == "goodput_bps" else f"{known.mean:.5g}"
    return shown if known.relative is None else f"{shown} ± {known.relative * 100:.2g}{NARROW}%"
