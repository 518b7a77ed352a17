"""The view `flows` of queries: a row for each flow of each bundle."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from landspeed.results.flow_result import PING_FIGURES, UDP_FIGURES

if TYPE_CHECKING:
    import duckdb

    from landspeed.results.flow_result import FlowResult

FIGURE_COLUMNS = {
    "goodput_bps": "DOUBLE",
    "steady_goodput_bps": "DOUBLE",
    "settled_goodput_bps": "DOUBLE",
    "bytes": "BIGINT",
    "duration_s": "DOUBLE",
    "completion_s": "DOUBLE",
    "completion_from_start_s": "DOUBLE",
    "rtt_ms": "DOUBLE",
    "rtt_loaded_median_ms": "DOUBLE",
    "rtt_loaded_p95_ms": "DOUBLE",
    "rtt_loaded_p99_ms": "DOUBLE",
    "rtt_loaded_max_ms": "DOUBLE",
    **dict.fromkeys(PING_FIGURES, "DOUBLE"),
    **dict.fromkeys(UDP_FIGURES, "DOUBLE"),
    "retransmits": "BIGINT",
    "streams": "INTEGER",
    "congestion_control": "VARCHAR",
}
"""Figures of a whole run and of each flow of it, and their types in SQL."""

FLOW_COLUMNS = {
    "bundle": "VARCHAR",
    "scenario": "VARCHAR",
    "flow": "VARCHAR",
    "source": "VARCHAR",
    "target": "VARCHAR",
    "start_s": "DOUBLE",
    "begins_s": "DOUBLE",
    **FIGURE_COLUMNS,
    "limited_by": "VARCHAR",
    "passed": "BOOLEAN",
}
_BITS = {"BIGINT": 64, "INTEGER": 32}


def make_flows(connection: duckdb.DuckDBPyConnection, rows: Sequence[tuple[dict[str, Any], list[FlowResult]]]) -> None:
    """Make the table, of the rows of `runs` and the flows of each."""
    typed = ", ".join(f'"{name}": "{kind}"' for name, kind in FLOW_COLUMNS.items())
    texts = [json.dumps(_flow_row(run, flow)) for run, flows in rows for flow in flows]
    connection.execute(
        "CREATE TABLE flows AS SELECT row.* FROM "
        f"(SELECT from_json(text, '{{{typed}}}') AS row FROM (SELECT unnest($1::JSON[]) AS text))",
        [texts],
    )


def _flow_row(run: dict[str, Any], flow: FlowResult) -> dict[str, Any]:
    row = {name: getattr(flow, name, None) for name in FLOW_COLUMNS} | {
        "bundle": run["bundle"],
        "scenario": run["scenario"],
        "flow": flow.name,
        "streams": len(flow.streams) or None,
        "congestion_control": next((each.congestion_control for each in flow.streams), None),
    }
    return {name: value if fits(value, FLOW_COLUMNS[name]) else None for name, value in row.items()}


def fits(value: object, kind: str) -> bool:
    """Return whether a value of a JSON file can stand in a column."""
    if value is None or kind in ("JSON", "TIMESTAMP"):
        return True
    if kind == "BOOLEAN" or isinstance(value, bool):
        return kind == "BOOLEAN" and isinstance(value, bool)
    if kind in _BITS:
        return isinstance(value, int) and abs(value) < 1 << _BITS[kind] - 1
    return isinstance(value, (int, float) if kind == "DOUBLE" else str)
