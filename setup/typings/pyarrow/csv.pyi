from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from . import DataType, Table

class ReadOptions:
    def __init__(self, *, use_threads: bool = True) -> None: ...

class ConvertOptions:
    def __init__(
        self,
        *,
        column_types: Mapping[str, DataType] | None = None,
        include_columns: Sequence[str] | None = None,
        null_values: Sequence[str] | None = None,
    ) -> None: ...

def read_csv(
    input_file: BinaryIO, read_options: ReadOptions | None = None, *, convert_options: ConvertOptions | None = None
) -> Table: ...
def write_csv(data: Table, output_file: str | Path) -> None: ...
