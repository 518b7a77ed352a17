"""Queries over all bundles of a folder: DuckDB in memory, the bundles read in place.

Views: `runs` (one row per bundle, from result.json; `result` has the whole of it as JSON), `flows` (one row per flow; a
path has one), `samples` and `links` (the time series of all bundles, with a column `bundle`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from landspeed.base.errors import LandspeedError
from landspeed.base.failures import BundleError
from landspeed.base.json_form import is_array, object_of
from landspeed.base.text import DASH, grouped, percent_of, rate_text, scientific
from landspeed.results.bundle import LINKS, SAMPLES, list_bundles, read_result
from landspeed.results.flow_result import Figures, FlowResult
from landspeed.results.flow_rows import FIGURE_COLUMNS, fits, make_flows
from landspeed.results.flow_totals import whole_of
from landspeed.results.parquet_file import is_whole_parquet
from landspeed.results.record import RunRecord, outcome_of
from landspeed.results.sample_columns import LINK_COLUMNS, SAMPLE_COLUMNS
from landspeed.scenario.plan.plan import PATH_FLOW

if TYPE_CHECKING:
    import duckdb

WIDE = 130  # columns of a terminal that has room for everything
_STYLES = {"passed": "green", "failed": "red", "incomplete": "yellow"}
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
    "outcome": "VARCHAR",
    "error": "VARCHAR",
    **FIGURE_COLUMNS,
    "window_asked_bytes": "BIGINT",
    "score_bit_m_per_s": "DOUBLE",
    "record_score_bit_m_per_s": "DOUBLE",
    "limited_by": "VARCHAR",
    "wall_s": "DOUBLE",
    "path": "VARCHAR",
    "result": "JSON",
}
_FIELDS = {
    name: RunRecord.model_fields[name].default
    for name in _RUN_COLUMNS
    if name in RunRecord.model_fields and name != "started"
}
"""Columns that are a member of result.json as it is, and what stands there when the member is not."""
_TOTALS = [name for name in _RUN_COLUMNS if name in Figures.model_fields and name not in {"passed", "streams"}]
"""Columns that follow from the flows."""


NEWER = {"marks": "NULL::BIGINT", "flow": f"'{PATH_FLOW}'"}
"""Columns that a time series may lack (of an old bundle; `flow`, of a path), and what then stands there."""


class QueryError(LandspeedError):
    """The SQL is wrong; the message is DuckDB's."""


@dataclass(frozen=True)
class QueryResult:
    """Column names and rows of an answer."""

    columns: list[str]
    rows: list[tuple[Any, ...]]

    def dicts(self) -> list[dict[str, Any]]:
        """The rows as dicts."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def to_html(self) -> str:
        """A table for notebooks."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(_plain(value))}</td>" for value in row) + "</tr>" for row in self.rows
        )
        return f"<table><tr>{head}</tr>{rows}</table>"

    def _repr_html_(self) -> str:
        return self.to_html()


def query(sql: str, runs_dir: Path) -> QueryResult:
    """Answer a query over the bundles of a folder.

    Args:
        sql: any DuckDB SQL over the views runs, flows, samples and links.
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
    """A DuckDB connection in memory with the four views over the folder's bundles.

    Bundles whose `result.json` cannot be read are left out; time series cut short (a run that died) too.
    """
    import duckdb

    connection = duckdb.connect(":memory:")
    found = list(_run_rows(runs_dir, with_result=True))
    rows = [row for row, _ in found]
    # One column as one list of JSON texts: a statement for each row took most of the time of a query.
    typed = ", ".join(f'"{name}": "{kind}"' for name, kind in _RUN_COLUMNS.items())
    connection.execute(
        "CREATE TABLE runs AS SELECT row.* FROM "
        f"(SELECT from_json(text, '{{{typed}}}') AS row FROM (SELECT unnest($1::JSON[]) AS text))",
        [[json.dumps(row) for row in rows]],
    )
    make_flows(connection, found)
    bundles = [Path(row["path"]) for row in rows]
    _series_view(
        connection, "samples", bundles, SAMPLES, ["end VARCHAR", *SAMPLE_COLUMNS, "goodput_bps DOUBLE", "flow VARCHAR"]
    )
    _series_view(connection, "links", bundles, LINKS, [*LINK_COLUMNS, "rate_bps DOUBLE"])
    return connection


def show_runs(runs_dir: Path) -> str:
    """The table of all runs, for a terminal or, tab-separated, for a pipe."""
    known = [row for row, _ in _run_rows(runs_dir)]
    found = sorted(known, key=lambda row: (row["started"] is None, row["started"] or "", row["bundle"]))
    if not found:
        return f"no runs in {runs_dir} yet; `landspeed run FILE` makes one"
    header = ["bundle", "goodput", "retransmits", "score (bit·m/s)", "of record", "bound by", "result"]
    rows = [
        [
            row["bundle"],
            rate_text(row["goodput_bps"]),
            grouped(row["retransmits"]),
            scientific(row["score_bit_m_per_s"]),
            percent_of(row["score_bit_m_per_s"], row["record_score_bit_m_per_s"]),
            row["limited_by"] or DASH,
            row["outcome"],
        ]
        for row in found
    ]
    return _laid_out(header, rows, right=range(1, 5), if_wide={2, 3})


def show_sql(sql: str, runs_dir: Path) -> str:
    """The answer to a query: a table for a terminal, tab-separated lines for a pipe (NULL is empty there).

    Raises:
        QueryError: DuckDB refuses the SQL.
    """
    answer = query(sql, runs_dir)
    figures = [
        number
        for number in range(len(answer.columns))
        if all(isinstance(row[number], int | float | None) for row in answer.rows)
    ]
    return _laid_out(answer.columns, [[_plain(value) for value in row] for row in answer.rows], right=figures)


def _laid_out(header: list[str], rows: list[list[str]], *, right: Sequence[int], if_wide: Collection[int] = ()) -> str:
    """A table as wide as the terminal; for anything else one line a row, with tabs.

    Args:
        header: names of the columns.
        rows: cells.
        right: columns set to the right.
        if_wide: columns left out of a narrow terminal.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if not console.is_terminal:
        return "\n".join("\t".join(row) for row in [header, *rows])
    table = Table(header_style="bold", box=box.SIMPLE_HEAD)
    kept = [number for number in range(len(header)) if console.width >= WIDE or number not in if_wide]
    for number in kept:
        table.add_column(Text(header[number]), justify="right" if number in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(row[number], style=_STYLES.get(row[number], "")) for number in kept))
    with console.capture() as capture:
        console.print(table)
    return capture.get().rstrip("\n")


def _run_rows(runs_dir: Path, *, with_result: bool = False) -> Iterator[tuple[dict[str, Any], list[FlowResult]]]:
    """A row for each bundle whose `result.json` can be read, and its flows, without the cost of a checked plan.

    Args:
        runs_dir: folder of bundles.
        with_result: with the whole of `result.json` as JSON.
    """
    for bundle in list_bundles(runs_dir):
        try:
            data = read_result(bundle)
            flows = [FlowResult.model_validate(each) for each in data["flows"]] if is_array(data.get("flows")) else []
        except (BundleError, ValidationError):
            continue
        row = _run_row(bundle, data, flows)
        if all(fits(row[name], kind) for name, kind in _RUN_COLUMNS.items()):
            yield row | ({"result": data} if with_result else {}), flows


def _run_row(bundle: Path, data: dict[str, Any], flows: list[FlowResult]) -> dict[str, Any]:
    whole, expect, started = whole_of(flows), expect_of(data), data.get("started")
    members = {name: data.get(name, default) for name, default in _FIELDS.items()}
    return (
        members
        | {name: getattr(whole, name) for name in _TOTALS}
        | {
            "bundle": bundle.name,
            "started": _wall_time(started),
            "passed": False if members["error"] is not None else whole.passed,
            "outcome": outcome_of(complete=bool(members["complete"]), passed=whole.passed, wanted=_wanted(data)),
            "streams": len(whole.streams) or None,
            "congestion_control": next((each.congestion_control for each in whole.streams), None),
            "window_asked_bytes": whole.window.asked_bytes,
            "record_score_bit_m_per_s": expect.get("score_bit_m_per_s"),
            "path": str(bundle.resolve()),
            "result": None,
        }
    )


def expect_of(data: dict[str, Any]) -> dict[str, Any]:
    """Return the expectations for a path's transfer from the content of a result.json."""
    flows = object_of(data.get("plan")).get("flows")
    return object_of(object_of(flows[0]).get("expect")) if is_array(flows) and len(flows) == 1 else {}


def _wanted(data: dict[str, Any]) -> bool:
    """Return whether any flow of a result.json's plan has an expectation."""
    flows = object_of(data.get("plan")).get("flows")
    return is_array(flows) and any(object_of(flow).get("expect") for flow in flows)


def _wall_time(text: object) -> str | None:
    """UTC as DuckDB reads it; None for what is no time."""
    try:
        return datetime.fromisoformat(str(text)).astimezone(UTC).replace(tzinfo=None).isoformat()
    except (ValueError, OverflowError):
        return None


def _series_view(
    connection: duckdb.DuckDBPyConnection, name: str, bundles: list[Path], file: str, columns: list[str]
) -> None:
    """A view over the parquet files of all bundles; an empty table of the same columns if there are none."""
    files = [str((bundle / file).resolve()) for bundle in bundles if is_whole_parquet(bundle / file)]
    if not _readable(connection, files, columns):
        files = [each for each in files if _readable(connection, [each], columns)]
    if not files:
        typed = [column if " " in column else f"{column} BIGINT" for column in columns]
        typed = ["direction VARCHAR" if column == "direction BIGINT" else column for column in typed]
        quoted = ", ".join('"{}" {}'.format(*column.split()) for column in typed)
        connection.execute(f"CREATE TABLE {name} (bundle VARCHAR, {quoted})")
        return
    lacking = _lacking(connection, files, columns)
    added = "".join(f", {NEWER[column]} AS {column}" for column in lacking)
    path_flow = "" if "flow" in lacking or name != "samples" else f" REPLACE (coalesce(flow, {NEWER['flow']}) AS flow)"
    connection.execute(
        f"CREATE VIEW {name} AS SELECT parse_filename(parse_dirpath(filename)) AS bundle, "
        f"* EXCLUDE (filename){path_flow}{added} FROM {_parquet(files)}"
    )


def _parquet(files: list[str]) -> str:
    listed = ", ".join("'" + path.replace("'", "''") + "'" for path in files)
    return f"read_parquet([{listed}], filename = true, union_by_name = true)"


def _columns(connection: duckdb.DuckDBPyConnection, files: list[str]) -> set[str]:
    """The columns of the files together."""
    described = connection.execute(f"DESCRIBE SELECT * FROM {_parquet(files)}").fetchall()
    return {row[0] for row in described} - {"filename"}


def _lacking(connection: duckdb.DuckDBPyConnection, files: list[str], columns: list[str]) -> list[str]:
    """Columns that none of the files has: all are older."""
    return sorted({column.split()[0] for column in columns} - _columns(connection, files))


def _readable(connection: duckdb.DuckDBPyConnection, files: list[str], columns: list[str]) -> bool:
    """Return whether DuckDB finds the columns of the files, and they are those of a time series."""
    import duckdb

    wanted = {column.split()[0] for column in columns}
    try:
        found = _columns(connection, files) if files else wanted
    except duckdb.Error:
        return False
    return wanted - NEWER.keys() <= found <= wanted


def _plain(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.10g}" if isinstance(value, float) else str(value)
