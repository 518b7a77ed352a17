"""Plans of schemas 1 and 2, in bundles and inventories made up to November 2026, as plans of today."""

from __future__ import annotations

from typing import Any, cast

from landspeed.scenario.plan.schema1 import to_schema_2

PATH_FLOW = "transfer"  # the name that schema 3 gives the one flow of a path

OF_THE_FLOW = ("transfer", "expect", "physics")
"""Members that stood beside nodes and links while a plan was a path."""


def upgraded(data: dict[str, Any]) -> dict[str, Any]:
    """A plan of schema 1 or 2 as one of schema 3; what is wrong in it stays, for the reader to name."""
    if data["schema_version"] == 1:
        data = to_schema_2(data)
    kept = {key: value for key, value in data.items() if key not in OF_THE_FLOW}
    flow = {key: data[key] for key in OF_THE_FLOW if key in data}
    names = [_name(node) for node in _listed(data, "nodes")] or [None]
    route = list(range(len(_listed(data, "links"))))
    ends = {"name": PATH_FLOW, "source": names[0], "target": names[-1], "route": route}
    return kept | {"schema_version": 3, "flows": [ends | flow]}


def _listed(data: dict[str, Any], key: str) -> list[Any]:
    found = data.get(key)
    return cast(list[Any], found) if isinstance(found, list) else []


def _name(node: Any) -> Any:
    return cast(dict[str, Any], node).get("name") if isinstance(node, dict) else None
