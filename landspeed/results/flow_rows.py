"""The view `flows` of queries: a row for each flow of each bundle."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from landspeed.base.json_form import is_array, is_object, object_of
from landspeed.scenario.plan.plan import PATH_FLOW

if TYPE_CHECKING:
    import duckdb

FLOW_COLUMNS = {
    "bundle": "VARCHAR",
    "scenario": "VARCHAR",
    "flow": "VARCHAR",
    "source": "VARCHAR",
    "target": "VARCHAR",
    "start_s": "DOUBLE",
    "begins_s": "DOUBLE",
    "goodput_bps": "DOUBLE",
    "steady_goodput_bps": "DOUBLE",
    "bytes": "BIGINT",
    "duration_s": "DOUBLE",
    "rtt_ms": "DOUBLE",
    "rtt_loaded_median_ms": "DOUBLE",
    "rtt_loaded_p95_ms": "DOUBLE",
    "rtt_loaded_p99_ms": "DOUBLE",
    "rtt_loaded_max_ms": "DOUBLE",
    "retransmits": "BIGINT",
    "streams": "INTEGER",
    "congestion_control": "VARCHAR",
    "limited_by": "VARCHAR",
    "passed": "BOOLEAN",
}
_NUMBERS = ("DOUBLE", "BIGINT", "INTEGER")


def make_flows(connection: duckdb.DuckDBPyConnection, rows: Sequence[dict[str, Any]]) -> None:
    """Make the table, of rows that have `bundle` and the whole of `result.json` as `result`."""
    typed = ", ".join(f'"{name}": "{kind}"' for name, kind in FLOW_COLUMNS.items())
    texts = [json.dumps(flow) for row in rows for flow in _flows(row["bundle"], row["result"])]
    connection.execute(
        "CREATE TABLE flows AS SELECT row.* FROM "
        f"(SELECT from_json(text, '{{{typed}}}') AS row FROM (SELECT unnest($1::JSON[]) AS text))",
        [texts],
    )


def _flows(bundle: str, data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    listed = data.get("flows")
    flows = [each for each in listed if is_object(each)] if is_array(listed) else []
    for flow in flows or [_only(data)]:
        told = flow.get("streams")
        streams = [each for each in told if is_object(each)] if is_array(told) else []
        row = {name: flow.get(name) for name in FLOW_COLUMNS} | {
            "bundle": bundle,
            "scenario": data.get("scenario"),
            "flow": flow.get("name"),
            "streams": len(streams) or None,
            "congestion_control": next((each.get("congestion_control") for each in streams), None),
        }
        yield {name: value if _fits(value, FLOW_COLUMNS[name]) else None for name, value in row.items()}


def _only(data: dict[str, Any]) -> dict[str, Any]:
    """The one flow of a path: it is the run."""
    nodes = object_of(data.get("plan")).get("nodes")
    names = [object_of(node).get("name") for node in nodes] if is_array(nodes) and nodes else [None]
    return {**data, "name": PATH_FLOW, "source": names[0], "target": names[-1], "start_s": 0.0, "begins_s": 0.0}


def _fits(value: object, kind: str) -> bool:
    if value is None:
        return True
    if kind in _NUMBERS:
        whole = isinstance(value, int) and abs(value) < 1 << 31 + 32 * (kind != "INTEGER")
        return not isinstance(value, bool) and (whole if kind != "DOUBLE" else isinstance(value, (int, float)))
    return isinstance(value, bool) if kind == "BOOLEAN" else isinstance(value, str)
