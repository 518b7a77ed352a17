"""Comparison of what runs with what was rehearsed: figures of the inventory, and the engine's own account."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from landspeed.base.json_form import object_of
from landspeed.results.record import RunRecord
from landspeed.results.tool_result import ToolResult
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.real.errors import RealError
from landspeed.worlds.real.fleet import fleet_variables, node_names
from landspeed.worlds.real.inventory import FREE, OF_A_MACHINE, plan_variables, read_hosts
from landspeed.worlds.real.runner import PLAYBOOKS
from landspeed.worlds.real.shaping import LATE_TIMERS_NS
from landspeed.worlds.real.variables import AGAIN, read_variables, variable_files, variable_names

OWN_PLACES = ("landspeed_scenario_file",)  # also depends on the folder in which a command is given


def check_figures(folder: Path, plan: Plan) -> None:
    """See that an inventory's variables are the plan's: those of `group_vars/all/plan.yml`, and no others anywhere.

    Raises:
        RealError: one is another, is missing, or is said elsewhere; the message has file, values and remedy.
    """
    for text in other_figures(folder, plan):
        raise RealError(f"{text}; change the scenario, not the inventory, and rehearse it; {AGAIN}")


def other_figures(folder: Path, plan: Plan, *, engine: bool = True) -> Iterator[str]:
    """Figures of an inventory that are not the plan's, in words.

    Args:
        folder: of the inventory.
        plan: its plan.
        engine: those of the engine that is here, too.
    """
    file = folder / "group_vars" / "all" / "plan.yml"
    found = read_variables(file)
    late_s = found.get("landspeed_late_timers_s")
    late_ns = round(late_s * 1e9) if isinstance(late_s, (int, float)) else LATE_TIMERS_NS
    shaped = bool(read_hosts(folder)["shaper"])
    figures = (
        plan_variables(plan, shaped=shaped, late_timers_ns=late_ns)
        if plan.is_path
        else fleet_variables(plan, node_names(folder))
    )
    for name, value in figures.items():
        of_engine = "_engine_" in name or name == "landspeed_figures_sha256"
        if name in OWN_PLACES or name in FREE or (of_engine and not engine):
            continue
        if name not in found or found[name] != value:
            there = f"{name} is {_short(found[name])}" if name in found else f"{name} is missing"
            anew = "; has the engine been built anew?" if of_engine else ""
            yield f"{file}: {there}, by the plan and the engine here it is {_short(value)}{anew}"
    named = {*figures} - {*FREE} - {*OF_A_MACHINE}
    for other in (folder / "hosts.yml", *variable_files(folder)):
        for name in () if other == file else variable_names(other):
            if name in named:
                yield f"{other}: {name} is the plan's figure, and stands in plan.yml alone"


def differences(plan: Plan, build: str | None, engine: ToolResult) -> list[str]:
    """Options of the plan, and the build of the engine, that the transfer was not made with; in words.

    Args:
        plan: the plan.
        build: the engine's that was rehearsed; None: any.
        engine: the account of the engine that sent.
    """
    transfer, told = plan.transfer, engine.model_extra or {}
    options = object_of(told.get("options"))
    asked: dict[str, Any] = {
        "streams": transfer.streams,
        "window_bytes": transfer.window_bytes,
        "bytes": transfer.bytes,
        "time_s": transfer.duration_ns / 1e9 if transfer.duration_ns is not None else None,
        "receive": transfer.receive,
        "interval_s": transfer.sample_interval_ns / 1e9,
        "pacing_bps": transfer.pacing_rate_bps,
        "stagger_s": transfer.start_stagger_ns / 1e9,
        "congestion": ",".join(transfer.congestion_controls or [transfer.congestion_control]),
    }
    found = [
        f"{name} {options.get(name)}, the plan's {value}" for name, value in asked.items() if options.get(name) != value
    ]
    if (send := object_of(told.get("sending")).get("asked")) != transfer.send:
        found.append(f"send {send}, the plan's {transfer.send}")
    if build and engine.build != build:
        found.append(f"engine {engine.build}, rehearsed with {build}")
    return found


def playbooks_sha256() -> str:
    """Digest of the playbooks as an attempt notes it: by their own filter."""
    return runpy.run_path(str(PLAYBOOKS / "filter_plugins" / "landspeed.py"))["landspeed_digest"](PLAYBOOKS)


def rehearsed_otherwise(rehearsal: RunRecord, plan: Plan, build: str) -> list[str]:
    """Differences between a rehearsal and what was made, in words."""
    found: list[str] = []
    if rehearsal.plan is None or rehearsal.plan.sha256 != plan.sha256:
        found.append("it has another plan")
    if rehearsal.tool_result.build != build:
        found.append(f"it has another engine ({rehearsal.tool_result.build})")
    return found


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
