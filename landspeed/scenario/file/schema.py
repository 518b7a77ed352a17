"""The JSON Schema of scenario files, made from the models: `landspeed schema` prints it.

It is for editors (completion, hints) and for other tools. The models and checks rule: what several keys must agree on
cannot be said in a schema. A file that extends another may leave everything out, so keys are required only at the top
of a file that extends nothing, and in list entries, which are never merged.
"""

from __future__ import annotations

import json
from typing import Any, cast

from landspeed.scenario.file.model import ScenarioFile
from landspeed.scenario.file.model_links import NAME_PATTERN

MERGED = (
    "BusSection",
    "HostSection",
    "RouterSection",
    "ReverseSection",
    "TransferSection",
    "CalibrationSection",
    "ExpectSection",
    "ContestSection",
)


def scenario_schema() -> dict[str, Any]:
    """The schema (draft 2020-12)."""
    schema = ScenarioFile.model_json_schema(by_alias=True)
    for name in MERGED:
        schema["$defs"][name].pop("required", None)
    required = schema.pop("required")
    _tidy(schema)
    for key in ("hosts", "routers"):
        schema["properties"][key]["propertyNames"] = {"pattern": NAME_PATTERN}
        schema["properties"][key].pop("minProperties", None)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "if": {"required": ["extends"]},
        "else": {"required": required},
    }


def schema_text() -> str:
    """The schema as it is printed."""
    return json.dumps(scenario_schema(), indent=2, ensure_ascii=False) + "\n"


def _tidy(node: Any) -> None:
    """Drop the titles that pydantic makes of names, and say `X or null` shortly (null takes away what a base has)."""
    if isinstance(node, dict):
        node = cast(dict[str, Any], node)
        properties: dict[str, dict[str, Any]] = node.get("properties") or {}
        for value in properties.values():
            value.pop("title", None)
            choices: list[dict[str, Any]] = [choice for choice in value.get("anyOf", ()) if choice != {"type": "null"}]
            if len(choices) == 1 and isinstance(choices[0].get("type"), str):
                del value["anyOf"]
                value.update({k: v for k, v in choices[0].items() if k not in value})
                value["type"] = [value["type"], "null"]
                if "enum" in value:
                    value["enum"] = [*value["enum"], None]
            if value.get("default", 0) is None:
                del value["default"]
        for part in node.values():
            _tidy(part)
    elif isinstance(node, list):
        for part in cast(list[Any], node):
            _tidy(part)
