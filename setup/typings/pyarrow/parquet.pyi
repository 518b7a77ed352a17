from collections.abc import Sequence
from pathlib import Path

from . import Table

def read_table(
    source: str | Path,
    *,
    columns: Sequence[str] | None = None,
    filters: Sequence[tuple[str, str, object]] | None = None,
) -> Table: ...
def write_table(
    table: Table, where: str | Path, row_group_size: int | None = None, *, compression: str = ...
) -> None: ...
