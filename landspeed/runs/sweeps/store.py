"""A sweep's folder: one small file for each cell that was run, by its content; from them the table.

sweep/cells/KEY.json   what became of a cell; its presence is all that a sweep which is begun again needs
sweep/bundles/         the cells' bundles
sweep/table.parquet    a row for each cell, in the order of the file
sweep/sweep.html       the page
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landspeed.base.files import read_object, replacing, write_atomically
from landspeed.results.bundle import OutputError
from landspeed.results.flow_result import PING_FIGURES, UDP_FIGURES
from landspeed.runs.preload import IMPORTS
from landspeed.runs.sweeps.grid import Cell, Grid
from landspeed.runs.sweeps.work import FIGURES, CellOutcome

if TYPE_CHECKING:
    import pyarrow as pa

TYPES = {
    "seed": "int64",
    "passed": "bool",
    "goodput_bps": "float64",
    "steady_goodput_bps": "float64",
    "settled_goodput_bps": "float64",
    "bytes": "int64",
    "duration_s": "float64",
    "rtt_ms": "float64",
    "rtt_loaded_median_ms": "float64",
    "rtt_loaded_p95_ms": "float64",
    "rtt_loaded_p99_ms": "float64",
    "rtt_loaded_max_ms": "float64",
    **dict.fromkeys(PING_FIGURES, "float64"),
    **dict.fromkeys(UDP_FIGURES, "float64"),
    "retransmits": "int64",
    "limited_by": "string",
}


class Store:
    """The folder of a sweep."""

    def __init__(self, folder: Path) -> None:
        """Keep the folder, which need not be there yet."""
        self.folder = folder
        self.cells, self.bundles = folder / "cells", folder / "bundles"
        self.table, self.page = folder / "table.parquet", folder / "sweep.html"

    def make(self) -> None:
        """Make the folder.

        Raises:
            OutputError: it cannot be made, or not be written to.
        """
        try:
            self.cells.mkdir(parents=True, exist_ok=True)
            write_atomically(
                self.cells / "README", b"One file for each cell, by its content: delete one to run it again.\n"
            )
        except OSError as error:
            raise OutputError(f"{self.folder}: {error.strerror or error}; give another folder with --out") from error

    def load(self, key: str) -> CellOutcome | None:
        """Read the outcome of a cell; None if it was not run, or its file was cut short."""
        found = read_object(self.cells / f"{key}.json")
        try:
            return CellOutcome(**found) if found.get("key") == key else None
        except TypeError:
            return None

    def keep(self, outcome: CellOutcome) -> None:
        """Keep what became of a cell.

        Raises:
            OutputError: it cannot be written; the disk may be full.
        """
        target = self.cells / f"{outcome.key}.json"
        try:
            write_atomically(target, json.dumps(asdict(outcome), indent=1, ensure_ascii=False).encode())
        except OSError as error:
            raise OutputError(f"cannot write {target}: {error.strerror or error}") from error

    def forget_lost(self, key: str) -> None:
        """Forget a cell whose bundle was to be kept and is gone: who needs its samples has to run it again."""
        known = self.load(key)
        if known is not None and (known.bundle is None or not Path(known.bundle).is_dir()):
            (self.cells / f"{key}.json").unlink(missing_ok=True)

    def write_table(self, grid: Grid, rows: Sequence[dict[str, Any]]) -> None:
        """The table, the same bytes for the same outcomes in whatever order they came.

        Raises:
            OutputError: it cannot be written.
        """
        with IMPORTS.alone():  # threads of this process may be running cells
            from pyarrow import parquet

        try:
            with replacing(self.table) as beside:
                parquet.write_table(arrow_table(grid, rows), beside)
        except OSError as error:
            raise OutputError(f"cannot write {self.table}: {error.strerror or error}") from error


def rows_of(done: Iterable[tuple[Cell, CellOutcome]]) -> list[dict[str, Any]]:
    """A row for each cell, in their order."""
    return [
        {
            "cell": cell.key,
            **cell.values,
            "seed": cell.seed,
            "state": known.state,
            **{name: known.figures.get(name) for name in FIGURES},
            "error": known.error,
            "build": cell.build,
        }
        for cell, known in done
    ]


def arrow_table(grid: Grid, rows: Sequence[dict[str, Any]]) -> pa.Table:
    """The rows with their types; what varies is text as written. The schema's metadata names the world."""
    with IMPORTS.alone():
        import pyarrow as pa

    kinds = {"bool": pa.bool_(), "float64": pa.float64(), "int64": pa.int64(), "string": pa.string()}
    types = {
        name: kinds[TYPES.get(name, "string")]
        for name in ("cell", *grid.keys, "seed", "state", *FIGURES, "error", "build")
    }
    metadata = {"scenario": grid.name, "world": grid.world.name}
    return pa.Table.from_pylist(list(rows), schema=pa.schema(types.items(), metadata))
