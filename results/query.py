"""Queries over all bundles of a folder: DuckDB in memory, the bundles read in place.

Views: `runs` (one row per bundle, from result.json; `result` has the whole of it as JSON), `samples` and `links` (the
time series of all bundles, with a column `bundle`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .bundle import LINKS, SAMPLES, list_bundles, load_record
from .record import RunRecord
from .samples import LINK_COLUMNS, SAMPLE_COLUMNS
from .wording import percent_of, rate_text, scientific

if TYPE_CHECKING:
    import duckdb
    from rich.console import Console

_RUN_COLUMNS = {
    "bundle": "VARCHAR",
    "started": "TIMESTAMP",
    "scenario": "VARCHAR",
    "title": "VARCHAR",
    "world": "VARCHAR",
    "clock": "VARCHAR",
    "seed": "BIGINT",
    "fidelity": "VARCHAR",
    "tool": "VARCHAR",
    "complete": "BOOLEAN",
    "passed": "BOOLEAN",
    "error": "VARCHAR",
    "goodput_bps": "DOUBLE",
    "steady_goodput_bps": "DOUBLE",
    "bytes": "BIGINT",
    "duration_s": "DOUBLE",
    "rtt_ms": "DOUBLE",
    "retransmits": "BIGINT",
    "streams": "INTEGER",
    "congestion_control": "VARCHAR",
    "window_asked_bytes": "BIGINT",
    "score_bit_m_per_s": "DOUBLE",
    "record_score_bit_m_per_s": "DOUBLE",
    "limited_by": "VARCHAR",
    "wall_s": "DOUBLE",
    "path": "VARCHAR",
    "result": "JSON",
}
_FIELDS = [name for name in _RUN_COLUMNS if name in RunRecord.model_fields and name not in {"streams", "started"}]
_PARQUET_MAGIC = b"PAR1"


class QueryError(Exception):
    """The SQL is wrong; the message is DuckDB's."""


@dataclass(frozen=True)
class QueryResult:
    """Column names and rows of an answer."""

    columns: list[str]
    rows: list[tuple[Any, ...]]

    def dicts(self) -> list[dict[str, Any]]:
        """The rows as dicts."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def query(sql: str, runs_dir: Path) -> QueryResult:
    """Answer a query over the bundles of a folder.

    Args:
        sql: any DuckDB SQL over the views runs, samples and links.
        runs_dir: folder of bundles; a missing one is an empty one.

    Raises:
        QueryError: DuckDB refuses the SQL.
    """
    import duckdb

    with connect(runs_dir) as connection:
        try:
            answer = connection.execute(sql)
            columns = [column[0] for column in answer.description or []]
            return QueryResult(columns, answer.fetchall() if columns else [])
        except duckdb.Error as error:
            raise QueryError(str(error)) from error


def connect(runs_dir: Path) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection in memory with the three views over the folder's bundles.

    Bundles whose `result.json` cannot be read are left out; time series cut short (a run that died) too.
    """
    import duckdb

    connection = duckdb.connect(":memory:")
    columns = ", ".join(f'"{name}" {kind}' for name, kind in _RUN_COLUMNS.items())
    connection.execute(f"CREATE TABLE runs ({columns})")
    bundles: list[Path] = []
    for bundle in list_bundles(runs_dir):
        try:
            record = load_record(bundle)
        except ValueError:
            continue
        bundles.append(bundle)
        row = _run_row(bundle, record)
        marks = ", ".join("?" * len(row))
        connection.execute(f"INSERT INTO runs VALUES ({marks})", row)
    _series_view(connection, "samples", bundles, SAMPLES, ["end VARCHAR", *SAMPLE_COLUMNS, "goodput_bps DOUBLE"])
    _series_view(connection, "links", bundles, LINKS, [*LINK_COLUMNS, "rate_bps DOUBLE"])
    return connection


def show_runs(runs_dir: Path) -> str:
    """The table of all runs, as it fits the terminal that standard output is."""
    return _captured(None, runs_dir)


def show_sql(sql: str, runs_dir: Path) -> str:
    """The answer to a query: a table for a terminal, tab-separated lines for a pipe.

    Raises:
        QueryError: DuckDB refuses the SQL.
    """
    return _captured(sql, runs_dir)


def _captured(sql: str | None, runs_dir: Path) -> str:
    from rich.console import Console

    console = Console()
    with console.capture() as capture:
        print_results(sql, runs_dir, console)
    return capture.get().rstrip("\n")


def print_results(sql: str | None, runs_dir: Path, console: Console) -> None:
    """Print the answer to a query, or without one the table of all runs.

    Raises:
        QueryError: DuckDB refuses the SQL.
    """
    from rich.table import Table
    from rich.text import Text

    if sql is None:
        _print_runs(runs_dir, console)
        return
    answer = query(sql, runs_dir)
    if not console.is_terminal:  # one row a line, tab-separated: for other programs
        for row in [tuple(answer.columns), *answer.rows]:
            console.out("\t".join(_plain(value) for value in row), highlight=False)
        return
    table = Table(header_style="bold")
    for name in answer.columns:
        table.add_column(Text(name))
    for row in answer.rows:
        table.add_row(*(Text(_plain(value)) for value in row))
    console.print(table)


def _print_runs(runs_dir: Path, console: Console) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    sql = (
        "SELECT bundle, goodput_bps, retransmits, score_bit_m_per_s,"
        " record_score_bit_m_per_s, limited_by, complete, passed FROM runs ORDER BY runs.started, bundle"
    )
    found = query(sql, runs_dir).dicts()
    if not found:
        console.print(f"no runs in {runs_dir} yet; `landspeed run FILE` makes one", markup=False, soft_wrap=True)
        return
    header = ["bundle", "goodput", "retransmits", "score (bit·m/s)", "of record", "bound by", "result"]
    rows = [
        [
            row["bundle"],
            rate_text(row["goodput_bps"]),
            _plain(row["retransmits"]),
            scientific(row["score_bit_m_per_s"]),
            percent_of(row["score_bit_m_per_s"], row["record_score_bit_m_per_s"]),
            row["limited_by"] or "–",
            "incomplete" if not row["complete"] else "passed" if row["passed"] else "failed",
        ]
        for row in found
    ]
    if not console.is_terminal:
        for row in [header, *rows]:
            console.out("\t".join(row), highlight=False)
        return
    kept = [number for number in range(len(header)) if console.width >= 130 or number not in {2, 3}]
    table = Table(header_style="bold", box=box.SIMPLE_HEAD)
    for number in kept:
        table.add_column(header[number], justify="right" if 1 <= number <= 4 else "left", overflow="fold")
    styles = {"passed": "green", "failed": "red", "incomplete": "yellow"}
    for row in rows:
        table.add_row(*(Text(row[number], style=styles.get(row[number], "")) for number in kept))
    console.print(table)


def _run_row(bundle: Path, record: RunRecord) -> list[Any]:
    expect = (record.plan or {}).get("expect") or {}
    data: dict[str, Any] = {name: getattr(record, name) for name in _FIELDS}
    known = {
        "bundle": bundle.name,
        "started": record.started.removesuffix("Z").split("+")[0] if record.started else None,
        "streams": len(record.streams) or None,
        "congestion_control": next((each.congestion_control for each in record.streams), None),
        "window_asked_bytes": record.window.asked_bytes,
        "record_score_bit_m_per_s": expect.get("score_bit_m_per_s"),
        "path": str(bundle.resolve()),
        "result": json.dumps(record.model_dump(mode="json")),
    }
    return [{**data, **known}[name] for name in _RUN_COLUMNS]


def _series_view(
    connection: duckdb.DuckDBPyConnection, name: str, bundles: list[Path], file: str, columns: list[str]
) -> None:
    """A view over the parquet files of all bundles; an empty table of the same columns if there are none."""
    files = [str((bundle / file).resolve()) for bundle in bundles if _is_whole_parquet(bundle / file)]
    if not files:
        typed = [column if " " in column else f"{column} BIGINT" for column in columns]
        typed = ["direction VARCHAR" if column == "direction BIGINT" else column for column in typed]
        quoted = ", ".join('"{}" {}'.format(*column.split()) for column in typed)
        connection.execute(f"CREATE TABLE {name} (bundle VARCHAR, {quoted})")
        return
    listed = ", ".join("'" + path.replace("'", "''") + "'" for path in files)
    connection.execute(
        f"CREATE VIEW {name} AS SELECT parse_filename(parse_dirpath(filename)) AS bundle, * EXCLUDE (filename) "
        f"FROM read_parquet([{listed}], filename = true, union_by_name = true)"
    )


def _is_whole_parquet(file: Path) -> bool:
    """Whether the file has parquet's mark at both ends: it was written to its end."""
    try:
        with file.open("rb") as handle:
            begin = handle.read(4)
            handle.seek(-4, 2)
            return begin == _PARQUET_MAGIC and handle.read(4) == _PARQUET_MAGIC
    except OSError:
        return False


def _plain(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.10g}" if isinstance(value, float) else str(value)
