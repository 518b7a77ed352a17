"""Bundle of a fleet's attempt: each flow judged as the transfer over its path, and all of them together."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from landspeed.base.files import read_object
from landspeed.base.json_form import object_of
from landspeed.judge.judge import judge
from landspeed.results.bundle import BundleWriter, load_record
from landspeed.results.check import Check
from landspeed.results.flow_result import FlowResult, planned_flows
from landspeed.results.record import RunRecord
from landspeed.results.tool_result import TransferResult
from landspeed.scenario.plan.flow_path import path_of
from landspeed.scenario.plan.plan import Flow, Plan
from landspeed.scenario.theory.tolerances import REAL_PATH_RTT_TOLERANCE
from landspeed.worlds.engine.command import engine_commands
from landspeed.worlds.real.archive import unpack
from landspeed.worlds.real.beside_rehearsal import compare
from landspeed.worlds.real.collected import (
    GATE_VARIABLES,
    LOGS,
    RECEIVER_FILES,
    SENDER_FILES,
    calibration_of,
    told_by_engine,
)
from landspeed.worlds.real.fleet import node_names
from landspeed.worlds.real.unchanged import differences, other_figures, rehearsed_otherwise
from landspeed.worlds.real.variables import read_variables
from landspeed.worlds.real.watched import Watched, bytes_checks, keep_watch, path_check, watch_checks

START_MOST_S = 0.010
"""How far the starts may be from the schedule, beyond what the clocks may be off."""


@dataclass(frozen=True)
class Fetched:
    """Files that were fetched of a flow.

    Attributes:
        sent, received: files of both ends, by name.
        began: when its sender began, as it noted it; empty: it did not begin.
    """

    sent: dict[str, bytes]
    received: dict[str, bytes]

    @property
    def began(self) -> dict[str, Any]:
        return read_object(self.sent.get("began.json"))


def make_fleet_bundle(inventory: Path, plan: Plan, attempt: str, runs_dir: Path) -> Path:
    """Make a bundle of an attempt of several flows that was collected.

    Returns:
        its folder.

    Raises:
        RealError, OutputError: the files are missing, or the bundle cannot be written.
    """
    names, folder = node_names(inventory), inventory / "collected" / attempt
    archive = {node: folder / f"{name}.tar" for node, name in names.items()}
    fetched = {
        flow.name: Fetched(*(unpack(archive[end], f"{attempt}.{number}") for end in (flow.source, flow.target)))
        for number, flow in enumerate(plan.flows, start=1)
    }
    own = {node: unpack(file, attempt) for node, file in archive.items()}
    seen = {
        node: read_object(files.get("seen.json")) | {"mesh": read_object(files.get("mesh.json"))}
        for node, files in own.items()
    }
    rehearsal = read_variables(inventory / "group_vars" / "all" / "rehearsal.yml")
    record = _begin(plan, fetched, seen, names, (attempt, rehearsal))
    with BundleWriter(runs_dir, plan.scenario, record) as bundle:
        for flow in plan.flows:
            _keep(bundle.path, flow, fetched[flow.name])
        watched = {node: keep_watch(bundle.path, node, archive[node], attempt) for node in names}
        bundle.write_text("scenario.yaml", (inventory / "scenario.yaml").read_text())
        bundle.write_text("plan.json", plan.to_json(indent=1))
        commands = {flow.name: engine_commands(flow.transfer, ".") for flow in plan.flows}
        job = {name: {"receiver_command": one, "sender_command": two} for name, (one, two) in commands.items()}
        bundle.write_text("job.json", json.dumps(job))
        if record.error:
            bundle.fail(record.error, record)
        else:
            bundle.convert()
            tolerant = replace(plan, calibration=replace(plan.calibration, rtt_tolerance=REAL_PATH_RTT_TOLERANCE))
            judged = judge(tolerant, record, bundle.path)
            otherwise = [*other_figures(inventory, plan, engine=False)]
            _judge(judged, plan, fetched, watched, otherwise)
            _beside(judged, plan, rehearsal, runs_dir)
            bundle.finish(judged)
    return bundle.path


def _begin(
    plan: Plan,
    fetched: Mapping[str, Fetched],
    seen: Mapping[str, dict[str, Any]],
    names: Mapping[str, str],
    named: tuple[str, dict[str, Any]],
) -> RunRecord:
    """Record of what was fetched; `named` are the attempt's name, and its rehearsal as the gate wrote it."""
    attempt, rehearsal = named
    told = {name: told_by_engine(each.sent) for name, each in fetched.items()}
    starts = [
        engine.start_unix_ns
        for name in told
        if (result := told[name][0]) and (engine := result.tool_result).start_unix_ns
    ]
    first_ns = min(starts, default=None)
    errors = [f"flow {name}: {error}" for name, (_, error) in told.items() if error]
    gate = {field: rehearsal.get(name) or None for name, field in GATE_VARIABLES.items()}
    data: dict[str, Any] = {
        "scenario": plan.scenario,
        "title": plan.title,
        "world": "real",
        "clock": "real",
        "seed": plan.seed,
        "tool": "engine",
        "command": ["landspeed", "real", "attempt", "INVENTORY", "--attempt", attempt],
        "started": datetime.fromtimestamp(first_ns / 1e9, UTC).isoformat(timespec="seconds") if first_ns else None,
        "error": "; ".join(errors) or None,
        "plan": plan,
        "flows": [
            _measured(
                plan,
                _flow(flow, told[flow.name][0], first_ns),
                object_of(seen[flow.source]["mesh"].get(names[flow.target])),
            )
            for flow in planned_flows(plan)
        ],
        "world_facts": {
            "world": "real",
            "attempt": attempt,
            "rehearsal": gate,
            "hosts": {
                node: {
                    "name": names[node],
                    **{part: found[part] for part in ("findings", "nic", "unavailable") if found.get(part)},
                }
                for node, found in seen.items()
            },
        },
    }
    return RunRecord.model_validate(data)


def _flow(flow: FlowResult, engine: TransferResult | None, first_ns: int | None) -> FlowResult:
    told = dict(engine) if engine else {}
    start_ns = engine.tool_result.start_unix_ns if engine else None
    begins_s = (start_ns - first_ns) / 1e9 if start_ns and first_ns else None
    return flow.model_copy(update=told | {"begins_s": begins_s})


def _measured(plan: Plan, flow: FlowResult, pair: dict[str, Any]) -> FlowResult:
    """The flow with its calibration, as pings between its ends found the path right before."""
    (planned,) = (each for each in plan.flows if each.name == flow.name)
    path = path_of(plan, planned)
    mtu_bytes = min(link.mtu_bytes for link in path.links)
    found = {"rtt_ms": pair.get("rtt_ms"), "path_mtu_bytes": mtu_bytes if pair.get("mtu") else None}
    return flow.model_copy(update={"calibration": calibration_of(path, found), "rtt_ms": found["rtt_ms"]})


def _keep(bundle: Path, flow: Flow, fetched: Fetched) -> None:
    """Put the files of a flow into its folder of the bundle."""
    own = bundle / "flows" / flow.name
    own.mkdir(parents=True)
    for source, names in ((fetched.sent, SENDER_FILES), (fetched.received, RECEIVER_FILES)):
        for name, target in {**names, "began.json": "began.json"}.items():
            if name in source:
                (own / target).write_bytes(source[name])
    for role, source in (("sender", fetched.sent), ("receiver", fetched.received)):
        for name in LOGS:
            if name in source:
                (bundle / "log" / f"{flow.name}-{role}-{name}").write_bytes(source[name])


def _judge(
    record: RunRecord, plan: Plan, fetched: Mapping[str, Fetched], watched: Mapping[str, Watched], otherwise: list[str]
) -> None:
    """Put the verdicts on schedule, hosts and bytes behind the others of each flow; on a host in its first flow."""
    told: set[str] = set()
    for planned, flow in zip(plan.flows, record.flows, strict=True):
        result = flow.tool_result
        own = [*otherwise, *differences(path_of(plan, planned), None, result)]
        checks = [Check("plan", False, f"not what the plan asks for: {'; '.join(own)}")] if own else []
        checks += [start_check(fetched[planned.name].began)]
        for node, way, role in ((planned.source, "tx", "sender"), (planned.target, "rx", "receiver")):
            if node in told:
                continue
            told.add(node)
            checks += watch_checks(node, watched[node])
            all_of_it = sum(each.bytes or 0 for each in record.flows if node in (each.source, each.target))
            again = sum(
                each.tool_result.bytes_retransmitted or 0 for each in record.flows if node in (each.source, each.target)
            )
            checks += bytes_checks(f"{role} {node}", watched[node], way, (all_of_it, again))
        if ways := watched[planned.source].ways.get(planned.name):
            mtu_bytes = min(link.mtu_bytes for link in path_of(plan, planned).links)
            checks.append(path_check(planned.name, ways, mtu_bytes))
        flow.verdicts = [*flow.verdicts, *checks]
        flow.passed = bool(flow.passed) and all(check.ok is not False for check in checks)


def start_check(began: Mapping[str, Any]) -> Check:
    """Compare when a flow's sender began with the schedule, by its host's own clock."""
    if not began:
        return Check("start", False, "its sender noted no start")
    late_s = began["began_unix_s"] - began["planned_unix_s"]
    at = datetime.fromtimestamp(began["planned_unix_s"], UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    text = f"began {late_s * 1e3:+.3f} ms from the schedule, {at}, by its host's clock"
    return Check("start", abs(late_s) <= START_MOST_S, text, 0.0, late_s, START_MOST_S, "s")


def _beside(record: RunRecord, plan: Plan, rehearsal: dict[str, Any], runs_dir: Path) -> None:
    """Put in front of each flow's verdicts what the rehearsal says of it."""
    name = rehearsal.get("landspeed_rehearsal")
    if not name:
        reason = rehearsal.get("landspeed_unrehearsed") or "no reason was given"
        for flow in record.flows:
            flow.verdicts = [Check("rehearsal", None, f"UNREHEARSED: {reason}"), *flow.verdicts]
        return
    try:
        rehearsed = load_record(runs_dir / name)
    except ValueError as error:
        for flow in record.flows:
            text = f"rehearsed in {name}, which is not compared: {error}"
            flow.verdicts = [Check("rehearsal", None, text), *flow.verdicts]
        return
    before = {flow.name: flow for flow in rehearsed.flows}
    for flow in record.flows:
        otherwise = rehearsed_otherwise(rehearsed, plan, flow.tool_result.build or "")
        text = "; ".join([f"not what was rehearsed in {name}", *otherwise]) if otherwise else f"rehearsed in {name}"
        more = [Check("rehearsal", not otherwise, text)]
        if flow.name in before:
            more.append(compare(rehearsed.alone(before[flow.name]), record.alone(flow)))
        flow.verdicts = [*more, *flow.verdicts]
        flow.passed = bool(flow.passed) and not otherwise
