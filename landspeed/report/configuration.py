"""The exact configuration of a run as text: scenario, what the guest said of itself, versions, plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from landspeed.base.json_form import is_array, is_object
from landspeed.results.record import RunRecord


def configuration(bundle: Path, record: RunRecord) -> list[tuple[str, str, bool]]:
    """Title, text, and whether it is short enough to print, of each part of the exact configuration."""
    found: list[tuple[str, str, bool]] = []
    if (bundle / "scenario.yaml").exists():
        found.append(
            ("Scenario, with everything it extends", (bundle / "scenario.yaml").read_text(errors="replace"), False)
        )
    facts = record.world_facts.model_dump(mode="json", exclude_none=True) if record.world_facts else {}
    guest = facts.get("guest", {})
    if directions := facts.get("simulator", {}).pop("lanes", None):
        found.append(("Lanes of the simulation", _as_text(directions), False))
    for name, title in (
        ("qdiscs", "Queueing disciplines"),
        ("sysctls", "Kernel settings (sysctl)"),
        ("offloads", "Offloads"),
    ):
        if guest.get(name):
            found.append((title, _as_text(guest.pop(name)), False))
    found.append(
        (
            "Versions, kernel, host, addresses",
            _as_text({"versions": record.versions, **facts}),
            True,
        )
    )
    if record.plan is not None:
        found.append(("Plan", record.plan.to_json(indent=1), False))
    return found


def _as_text(value: Any, pad: str = "") -> str:
    """Nested settings as indented lines; long texts as they are."""
    if is_array(value):
        return "\n".join(_as_text(each, pad) for each in value)
    if not is_object(value):
        return "\n".join(pad + line for line in str(value).strip("\n").split("\n"))
    lines: list[str] = []
    for name, each in value.items():
        plain = not isinstance(each, dict | list) and "\n" not in str(each)
        lines.append(f"{pad}{name}: {each}" if plain else f"{pad}{name}:\n{_as_text(each, pad + '  ')}")
    return "\n".join(lines)


def scenario_data(bundle: Path) -> dict[str, Any]:
    """The bundle's copy of the scenario; empty where it has none that can be read."""
    file = bundle / "scenario.yaml"
    if not file.exists():
        return {}
    from ruamel.yaml import YAML, YAMLError

    try:
        data = YAML(typ="safe").load(file)
    except (YAMLError, OSError, UnicodeDecodeError):
        return {}
    return data if is_object(data) else {}
