"""Parquet files of a bundle as Arrow tables: the one place where they are opened.

pyarrow is imported inside the functions, because a command begins before anybody needs it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from landspeed.results.sample_columns import SamplesError
from landspeed.scenario.plan.plan import PATH_FLOW

if TYPE_CHECKING:
    import pyarrow as pa

TEXT_COLUMNS = ("end", "direction", "flow")
NEWER_COLUMNS = frozenset({"marks", "flow"})  # not in old bundles; `flow` not in those of paths
RATE_COLUMNS = ("goodput_bps", "rate_bps")
PARQUET_MAGIC = b"PAR1"


def is_whole_parquet(file: Path) -> bool:
    """Return whether the file has parquet's mark at both ends, so that it was written to its end."""
    try:
        with file.open("rb") as handle:
            begin = handle.read(4)
            handle.seek(-4, 2)
            return begin == PARQUET_MAGIC and handle.read(4) == PARQUET_MAGIC
    except OSError:
        return False


def read_parquet(file: Path, columns: list[str] | None = None) -> pa.Table:
    """A parquet file as a table.

    Raises:
        SamplesError: it cannot be read.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return parquet.read_table(file, columns=columns)
    except (OSError, pa.ArrowException) as error:
        raise SamplesError(f"{file}: {error}") from error


def read_samples(file: Path, columns: list[str]) -> pa.Table:
    """Table of these columns of a file of samples; empty where there is no file, filled where an old bundle lacks one.

    Raises:
        SamplesError: it cannot be read.
    """
    import pyarrow as pa

    if not file.exists():
        kinds = {name: pa.string() for name in TEXT_COLUMNS} | {name: pa.float64() for name in RATE_COLUMNS}
        return pa.schema([(name, kinds.get(name, pa.int64())) for name in columns]).empty_table()
    table = read_parquet(file)
    try:
        for name in NEWER_COLUMNS.intersection(columns).difference(table.column_names):
            filling = [PATH_FLOW] * table.num_rows if name == "flow" else [None] * table.num_rows
            table = table.append_column(name, pa.array(filling, pa.string() if name == "flow" else pa.int64()))
        return table.select(columns)
    except (OSError, pa.ArrowException) as error:
        raise SamplesError(f"{file}: {error}") from error
