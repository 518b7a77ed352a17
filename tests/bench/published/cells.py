"""A source, its cells, and what landspeed measured in each."""

import csv
import importlib
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from landspeed.results.samples_reader import Samples

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
Row = dict[str, str]
Measure = Callable[[Mapping[str, Any], Path], float]


@dataclass(frozen=True)
class Cell:
    """One published figure and the path that it belongs to.

    Attributes:
        name: within its source; a name of the sweep's case.
        changes: dotted key → value, what the cell has beside its source's scenario.
        published: the figure, in the source's unit.
        spread: what the source itself tells of it: a standard deviation, half the distance of two runs.
        allowed: how far landspeed's figure may be from it.
        quick: one of those that `QUICK=1` runs.
        cause: why it may be outside, where that is known.
        of: the cell whose run it is another figure of, with the same changes; of its own run if none is said.
        worlds: those of its source's in which it is asked, where it is not in all.
        causes: by world, where it is another one there.
    """

    name: str
    changes: Mapping[str, Any]
    published: float
    spread: float
    allowed: float
    quick: bool = False
    cause: str = ""
    of: str = ""
    worlds: tuple[str, ...] = ()
    causes: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def case(self) -> str:
        """Of the sweep: the run whose figure it is."""
        return self.of or self.name

    def asked_in(self, world: str) -> bool:
        """Whether it is, of its source's worlds, in this one."""
        return not self.worlds or world in self.worlds


@dataclass(frozen=True)
class Source:
    """One publication, and how landspeed asks the same.

    Attributes:
        name: of its folder.
        title: what was measured, and by whom.
        read: where the figures were read.
        figure, unit: what is compared.
        rule: how near it must come, in words.
        cells: one for each figure.
        measure: the figure of a run, from its row in the sweep and its bundle.
        seeds: of each cell.
        quick_seeds: of each cell with `QUICK=1`.
        worlds: in which it is run.
        kernels: that its cells ask for beside the one of `make setup`: name → patches to add to its series.
    """

    name: str
    title: str
    read: str
    figure: str
    unit: str
    rule: str
    cells: Sequence[Cell]
    measure: Measure
    seeds: int = 1
    quick_seeds: int = 1
    worlds: tuple[str, ...] = ("emu",)
    kernels: Mapping[str, Sequence[Path]] = field(default_factory=dict[str, Sequence[Path]])

    @property
    def scenario(self) -> Path:
        """The constant part of its path."""
        return HERE / self.name / "scenario.yaml"

    @property
    def asked(self) -> list[tuple[str, Cell]]:
        """Each of its worlds with each cell that is asked there."""
        return [(world, cell) for world in self.worlds for cell in self.cells if cell.asked_in(world)]


@dataclass(frozen=True)
class Found:
    """What landspeed measured in a cell: a figure for each seed.

    Attributes:
        values: the figures; of a row that the page keeps, the lowest and the highest.
        kept_mean: of a row that the page keeps.
    """

    source: Source
    world: str
    cell: Cell
    values: Sequence[float] = field(default=())
    kept_mean: float | None = None

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return statistics.fmean(self.values) if self.kept_mean is None else self.kept_mean

    @property
    def off(self) -> float:
        """The mean's distance from the published figure, as a share of it."""
        return self.mean / self.cell.published - 1

    @property
    def cause(self) -> str:
        """Why it may be outside, where that is known."""
        return self.cell.causes.get(self.world, self.cell.cause)

    @property
    def ok(self) -> bool:
        """Some seed's figure is as near as allowed, or the published one lies between those of two seeds."""
        low, high = self.cell.published - self.cell.allowed, self.cell.published + self.cell.allowed
        return min(self.values) <= high and max(self.values) >= low


def figures_of(name: str) -> list[Row]:
    """The rows of a source's figures; lines that begin with # say where they were read."""
    text = (HERE / name / "figures.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


def goodput_mbit(row: Mapping[str, Any], _: Path) -> float:
    """Payload that the receiver read, over the whole transfer."""
    return float(row["goodput_bps"]) / 1e6


def sources() -> list[Source]:
    """All of them, in the order of their names."""
    names = sorted(each.parent.name for each in HERE.glob("*/figures.csv"))
    return [importlib.import_module(f"tests.bench.published.{name}").SOURCE for name in names]


def goodput_between(from_s: float, to_s: float) -> Measure:
    """Goodput of a time of the run, in Mbit/s."""

    def measured(_: Mapping[str, Any], bundle: Path) -> float:
        curves = Samples(bundle).curves
        assert curves is not None
        return (curves.goodput_bps(from_s, to_s) or 0.0) / 1e6

    return measured
