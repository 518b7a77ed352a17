"""Plans of schema 1, in bundles and inventories made up to November 2026, as plans of schema 2."""

from __future__ import annotations

from typing import Any, cast


def to_schema_2(data: dict[str, Any]) -> dict[str, Any]:
    """The plan of schema 1 as one of schema 2; what is wrong in it stays, for the reader to name.

    Gone are netem's limit of packets (where the scenario had asked for one, that is forgotten), the guest's memory and
    the expected bottleneck; a limit's name becomes kind, place and whether it was fitted.
    """
    plan = data | {"schema_version": 2}
    if isinstance(data.get("links"), list):
        plan["links"] = [_link(link) for link in cast(list[Any], data["links"])]
    if isinstance(data.get("physics"), dict):
        physics = _without(data["physics"], "expected_bottleneck", "guest_memory_bytes")
        if isinstance(physics.get("limits"), list):
            physics["limits"] = [_limit(limit) for limit in cast(list[Any], physics["limits"])]
        plan["physics"] = physics
    return plan


def _link(link: Any) -> Any:
    if not isinstance(link, dict):
        return link
    parts = cast(dict[str, Any], link)
    return parts | {way: _without(parts[way], "limit_packets") for way in ("forward", "reverse") if way in parts}


def _limit(limit: Any) -> Any:
    """`bus of geneva (fitted)`, `framing of links 2 a–b, 3 b–c`, `loss (square-root law)`, `window`, `pacing`."""
    name = cast(dict[str, Any], limit).get("name") if isinstance(limit, dict) else None
    if not isinstance(name, str):
        return cast(Any, limit)
    what, _, place = name.removesuffix(" (fitted)").partition(" of ")
    kind = what.split(maxsplit=1)[0] if what else what
    parts = {"kind": kind, "place": place or None, "fitted": name.endswith(" (fitted)")}
    return parts | _without(limit, "name")


def _without(part: Any, *keys: str) -> Any:
    if not isinstance(part, dict):
        return part
    return {key: value for key, value in cast(dict[str, Any], part).items() if key not in keys}
