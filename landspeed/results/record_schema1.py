"""Records of schema 1 (landspeed up to November 2026) in the terms of schema 2.

Schema 1 kept three open dicts: `engine` (the tool's JSON), `guest` and `host`. The real world kept its own facts in
`guest`, the simulator its own in `engine`.
"""

from __future__ import annotations

from typing import Any

from landspeed.results.tool_result import record_fields

SIMULATOR = (
    "program", "scenario", "seed", "fidelity", "fidelity_asked", "ns3_version", "scheduler", "collapse", "events",
    "wall_s", "cpu_s", "simulated_s", "start_ns", "lanes", "words",
)  # fmt: skip
GATE_VARIABLES = {
    "landspeed_rehearsal": "bundle",
    "landspeed_rehearsed_engine_build": "engine_build",
    "landspeed_unrehearsed": "unrehearsed",
}
"""Variables of the inventory that the gate of `landspeed real` writes → members of `GateFacts`."""
OLDER_NAMES = {"mem_bytes": "memory_bytes", "mem_touched_bytes": "memory_touched_bytes"}


def to_schema_2(data: dict[str, Any]) -> dict[str, Any]:
    """The content of a `result.json` of schema 1 as one of schema 2; what is given stays as it is."""
    kept = {name: value for name, value in data.items() if name not in ("engine", "guest", "host")}
    engine, guest, host = (dict(data.get(name) or {}) for name in ("engine", "guest", "host"))
    verdicts: list[dict[str, Any]] = data.get("verdicts") or []
    world = data.get("world", "emu")
    if world == "sim":
        simulator = {name: engine.pop(name) for name in SIMULATOR if name in engine}
        facts = {"host": host, "simulator": simulator}
    elif world == "real":
        facts = {"hosts": host, **guest, "rehearsal": _gate(guest.get("rehearsal") or {})}
    else:
        facts = {"host": host, "guest": {OLDER_NAMES.get(name, name): value for name, value in guest.items()}}
    return {
        **kept,
        "schema_version": 2,
        "tool_result": record_fields(engine)["tool_result"],
        "verdicts": [_check(dict(verdict)) for verdict in verdicts],
        "world_facts": {"world": world, **facts},
    }


def _gate(rehearsal: dict[str, Any]) -> dict[str, Any]:
    return {GATE_VARIABLES.get(name, name): value or None for name, value in rehearsal.items()}


def _check(verdict: dict[str, Any]) -> dict[str, Any]:
    """A verdict of schema 1, whose tolerance was relative."""
    expected, tolerance = verdict.get("wanted"), verdict.get("tolerance")
    allowed = None if expected is None or tolerance is None else tolerance * expected
    kept = {name: verdict.get(name) for name in ("name", "ok", "text", "measured")}
    return {**kept, "expected": expected, "allowed": allowed}
