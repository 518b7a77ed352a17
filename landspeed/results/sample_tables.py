"""Tables of a bundle's samples, read once for all of its flows, and their parts: a filter of Arrow's takes 0.3 ms.

pyarrow is imported inside the functions, because a command begins before anybody needs it.
"""

from __future__ import annotations

import functools
import itertools
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landspeed.results.bundle import LINKS, SAMPLES
from landspeed.results.parquet_file import read_samples
from landspeed.results.sample_columns import LINK_COLUMNS, SAMPLE_COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa


class SampleTables:
    """The tables of one bundle. A file that is not there is an empty table; one that cannot be read a SamplesError."""

    def __init__(self, bundle: Path) -> None:
        """Keep the folder; open nothing yet."""
        self._bundle = bundle

    @cached_property
    def samples(self) -> pa.Table:
        """All of `samples.parquet`."""
        return read_samples(self._bundle / SAMPLES, ["end", *SAMPLE_COLUMNS, "goodput_bps", "flow"])

    @cached_property
    def links(self) -> pa.Table:
        """All of `links.parquet`."""
        return read_samples(self._bundle / LINKS, [*LINK_COLUMNS, "rate_bps"])

    @cached_property
    def lanes(self) -> dict[tuple[int, str], pa.Table]:
        """The rows of each direction of a link."""
        return _parts(self.links, "link", "direction")

    def of_end(self, flow: str | None, end: str) -> pa.Table:
        """The rows of an end, of one flow or of all."""
        import pyarrow as pa

        parts = [rows for key, rows in self._ends.items() if key[1] == end and flow in (None, key[0])]
        return pa.concat_tables([self.samples.slice(0, 0), *parts])

    @cached_property
    def _ends(self) -> dict[tuple[str, str], pa.Table]:
        return _parts(self.samples, "flow", "end")


def _parts(table: pa.Table, *columns: str) -> dict[Any, pa.Table]:
    """The rows of each combination of values of some columns, in their order."""
    import pyarrow as pa
    import pyarrow.compute as pc

    call, before, after = pc.call_function, table.slice(0, max(len(table) - 1, 0)), table.slice(1)
    changed = [call("not_equal", [after[name], before[name]]) for name in columns]
    places = call("indices_nonzero", [functools.reduce(lambda one, other: call("or", [one, other]), changed)])
    begins = [0, *(place + 1 for place in places.to_pylist())] if len(table) else []
    keys = table.select(columns).take(pa.array(begins, pa.int64())).to_pylist()
    runs = dict[Any, list[pa.Table]]()
    for key, (begin, end) in zip(keys, itertools.pairwise([*begins, len(table)]), strict=True):
        runs.setdefault(tuple(key.values()), []).append(table.slice(begin, end - begin))
    return {key: pa.concat_tables(parts) for key, parts in runs.items()}
