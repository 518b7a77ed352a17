"""The keys of scenario files with what each means, by their dotted names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from landspeed.scenario.file.capabilities import CONGESTION_CONTROLS
from landspeed.scenario.file.disciplines import Discipline
from landspeed.scenario.file.model import ScenarioFile


def scenario_keys() -> dict[str, str]:
    """Dotted key → what it means: `transfer.window`; what a list or a mapping of names holds stands below `path.N`."""
    return {key: str(value.get("description", "")) for key, value in _all_keys().items()}


def values_of_keys() -> dict[str, list[str]]:
    """Dotted key → the values that it may have, where these are few and fixed; else none."""
    named: dict[str, list[str]] = {
        "congestion_control": [*CONGESTION_CONTROLS],
        "discipline": list(Discipline.model_fields),
    }
    return {key: named.get(key.rpartition(".")[2]) or list(_fixed(value)) for key, value in _all_keys().items()}


@cache
def _all_keys() -> dict[str, Any]:
    """Dotted key → its part of the schema, which is made once: that takes 50 ms."""
    schema = ScenarioFile.model_json_schema(by_alias=True)
    found: dict[str, Any] = {}
    for key, value in _keys(schema, schema["$defs"], "", ()):
        found.setdefault(key, value)
    return found


def _fixed(value: Any) -> Iterator[str]:
    if value.get("type") == "boolean":
        yield from ("true", "false")
    if "const" in value:
        yield str(value["const"])
    yield from map(str, value.get("enum", ()))
    for each in value.get("anyOf", ()):
        yield from _fixed(each)


def _keys(mapping: Any, defined: dict[str, Any], above: str, within: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for name, value in mapping.get("properties", {}).items():
        key = f"{above}{name}"
        yield key, value
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
