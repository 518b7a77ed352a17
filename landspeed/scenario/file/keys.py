"""The keys of scenario files with what each means, by their dotted names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from landspeed.scenario.file.model import ScenarioFile


def scenario_keys() -> dict[str, str]:
    """Dotted key → what it means: `transfer.window`; what a list or a mapping of names holds stands below `path.N`."""
    schema = ScenarioFile.model_json_schema(by_alias=True)
    found: dict[str, str] = {}
    for key, text in _keys(schema, schema["$defs"], "", ()):
        found.setdefault(key, text)
    return found


def _keys(mapping: Any, defined: dict[str, Any], above: str, within: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for name, value in mapping.get("properties", {}).items():
        key = f"{above}{name}"
        yield key, str(value.get("description", ""))
        for step, kind in _held(value, ""):
            if kind not in within:
                yield from _keys(defined[kind], defined, f"{key}{step}.", (*within, kind))


def _held(value: Any, step: str) -> Iterator[tuple[str, str]]:
    """Parts that a value may hold: (step to it, name of its definition)."""
    if "$ref" in value:
        yield step, value["$ref"].rpartition("/")[2]
    for each in (*value.get("anyOf", ()), *value.get("allOf", ())):
        yield from _held(each, step)
    if isinstance(value.get("items"), dict):
        yield from _held(value["items"], f"{step}.N")
    for named in (value.get("additionalProperties"), *value.get("patternProperties", {}).values()):
        if isinstance(named, dict):
            yield from _held(named, f"{step}.NAME")
