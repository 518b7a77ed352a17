"""Bundle of world `real` from what `collect` fetched: judged and reported like any other."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from landspeed.base.files import last_line, read_object
from landspeed.judge.calibration_checks import calibration_checks
from landspeed.judge.judge import judge
from landspeed.results.bundle import BundleWriter, load_record
from landspeed.results.check import Check
from landspeed.results.facts import RealFacts
from landspeed.results.flow_result import FlowResult, planned_flows
from landspeed.results.record import CalibrationResult, RunRecord
from landspeed.results.tool_result import TransferResult
from landspeed.scenario.plan.plan import Plan
from landspeed.scenario.theory.tolerances import REAL_PATH_RTT_TOLERANCE
from landspeed.worlds.engine.command import engine_commands
from landspeed.worlds.engine.result import ResultError, parse_result
from landspeed.worlds.real.archive import unpack
from landspeed.worlds.real.beside_rehearsal import compare
from landspeed.worlds.real.inventory import read_hosts
from landspeed.worlds.real.unchanged import differences, other_figures, playbooks_sha256, rehearsed_otherwise
from landspeed.worlds.real.variables import read_variables
from landspeed.worlds.real.watched import keep_watch, with_watch

GATE_VARIABLES = {
    "landspeed_rehearsal": "bundle",
    "landspeed_rehearsed_engine_build": "engine_build",
    "landspeed_unrehearsed": "unrehearsed",
}
"""Variables of the inventory that the gate of `landspeed real` writes → members of `GateFacts`."""
SENDER_FILES = {"sender.csv": "sender.csv", "engine.json": "engine.json", "live.jsonl": "live.jsonl"}
RECEIVER_FILES = {"receiver.csv": "receiver.csv", "receiver.json": "receiver.json"}
LOGS = ("before.txt", "after.txt", "send.log", "receive.log", "capture.pcap")


def make_bundle(inventory: Path, plan: Plan, attempt: str, runs_dir: Path) -> Path:
    """Make a bundle of an attempt that was collected.

    Returns:
        its folder.

    Raises:
        RealError, OutputError: the files are missing, or the bundle cannot be written.
    """
    hosts = {role: read_hosts(inventory)[role][0] for role in ("sender", "receiver")}
    folder = inventory / "collected" / attempt
    sent, received = (unpack(folder / f"{hosts[role]}.tar", attempt) for role in ("sender", "receiver"))
    rehearsal = read_variables(inventory / "group_vars" / "all" / "rehearsal.yml")
    record = _begin(plan, hosts, (sent, received), rehearsal, attempt)
    with BundleWriter(runs_dir, plan.scenario, record) as bundle:
        for source, names in ((sent, SENDER_FILES), (received, RECEIVER_FILES)):
            for name, target in names.items():
                if name in source:
                    (bundle.path / target).write_bytes(source[name])
        for role, source in (("sender", sent), ("receiver", received)):
            for name in LOGS:
                if name in source:
                    (bundle.path / "log" / f"{role}-{name}").write_bytes(source[name])
        watched = {role: keep_watch(bundle.path, role, folder / f"{hosts[role]}.tar", attempt) for role in hosts}
        bundle.write_text("scenario.yaml", (inventory / "scenario.yaml").read_text())
        bundle.write_text("plan.json", plan.to_json(indent=1))
        receiving, sending = engine_commands(plan.transfer, ".")
        bundle.write_text("job.json", json.dumps({"receiver_command": receiving, "sender_command": sending}))
        broken = record.error
        if broken:
            bundle.fail(broken, record)
        else:
            bundle.convert()
            tolerant = replace(plan, calibration=replace(plan.calibration, rtt_tolerance=REAL_PATH_RTT_TOLERANCE))
            judged = judge(tolerant, record, bundle.path)
            figures = read_variables(inventory / "group_vars" / "all" / "plan.yml")
            otherwise = [
                *other_figures(inventory, plan, engine=False),
                *_otherwise(plan, (sent, received), rehearsal, figures),
            ]
            made = _beside_rehearsal(judged, plan, rehearsal, runs_dir, otherwise)
            bundle.finish(with_watch(made, watched, min(link.mtu_bytes for link in plan.links)))
    return bundle.path


def _begin(
    plan: Plan,
    hosts: dict[str, str],
    files: tuple[dict[str, bytes], dict[str, bytes]],
    rehearsal: dict[str, Any],
    attempt: str,
) -> RunRecord:
    sent = files[0]
    engine, error = told_by_engine(sent)
    seen = [read_object(found.get("seen.json")) for found in files]
    path: dict[str, Any] = seen[0].get("path") or {}
    start_ns = engine.tool_result.start_unix_ns if engine else None
    started = datetime.fromtimestamp(start_ns / 1e9, UTC).isoformat(timespec="seconds") if start_ns else None
    gate = {field: rehearsal.get(name) or None for name, field in GATE_VARIABLES.items()}
    data: dict[str, Any] = {
        "scenario": plan.scenario,
        "title": plan.title,
        "world": "real",
        "clock": "real",
        "seed": plan.seed,
        "tool": "engine",
        "command": ["landspeed", "real", "attempt", "INVENTORY", "--attempt", attempt],
        "started": started,
        "error": error,
        "plan": plan,
        "flows": [_flow(plan, engine, path)],
        "transfer_wall_s": engine.duration_s if engine else None,
        "world_facts": {
            "world": "real",
            "attempt": attempt,
            "rehearsal": gate,
            "path": path,
            "hosts": {
                role: {
                    "name": hosts[role],
                    **{part: found[part] for part in ("findings", "nic", "unavailable") if found.get(part)},
                }
                for role, found in zip(("sender", "receiver"), seen, strict=True)
            },
        },
    }
    return RunRecord.model_validate(data)


def _flow(plan: Plan, engine: TransferResult | None, path: dict[str, Any]) -> FlowResult:
    """The one flow, as the engine and the pings before it told of it."""
    (flow,) = planned_flows(plan)
    told = dict(engine) if engine else {}
    known = {"begins_s": 0.0, "calibration": calibration_of(plan, path), "rtt_ms": path.get("rtt_ms")}
    return flow.model_copy(update=told | known)


def told_by_engine(sent: dict[str, bytes]) -> tuple[TransferResult | None, str | None]:
    """Read the report of the sender's engine, and the error if there is one."""
    if "engine.json" not in sent:
        return None, "the sender's engine left no result: " + last_line(sent.get("send.log"), "see log/")
    try:
        engine = parse_result(sent["engine.json"], "engine.json")
    except ResultError as error:
        return None, f"the sender's engine left no result: {last_line(sent.get('send.log'), 'see log/')}; {error}"
    if engine.tool_result.error or not engine.tool_result.complete:
        return engine, f"the transfer broke: {engine.tool_result.error or 'it was stopped'}"
    return engine, None


def calibration_of(plan: Plan, path: dict[str, Any]) -> CalibrationResult | None:
    """RTT and MTU as pings found them right before the attempt."""
    if path.get("rtt_ms") is None:
        return None
    wanted, mtu = plan.physics.rtt_ns / 1e6, min(link.mtu_bytes for link in plan.links)
    measured = CalibrationResult(
        rtt_ms=path["rtt_ms"],
        rtt_expected_ms=wanted,
        tolerance=REAL_PATH_RTT_TOLERANCE,
        rtt_floor_ms=0.0,
        path_mtu_bytes=path.get("path_mtu_bytes"),
        mtu_expected_bytes=mtu,
    )
    checks = calibration_checks(plan, measured)
    failures = [check.text for check in checks if not check.ok]
    return measured.model_copy(update={"checks": checks, "passed": not failures, "failures": failures})


def _otherwise(
    plan: Plan, files: tuple[dict[str, bytes], dict[str, bytes]], rehearsal: dict[str, Any], figures: dict[str, Any]
) -> list[str]:
    """Differences between what was made and the plan of the inventory, in words."""
    build = str(rehearsal.get("landspeed_rehearsed_engine_build") or "") or None
    found = differences(plan, build, parse_result(files[0]["engine.json"], "engine.json").tool_result)
    digest = figures.get("landspeed_figures_sha256")
    playbooks = playbooks_sha256()
    for end, each in zip(("sender", "receiver"), files, strict=True):
        seen = read_object(each.get("seen.json"))
        if seen.get("figures_sha256", digest) != digest:
            found.append(f"the plays' figures at the {end} were others")
        if seen.get("playbooks_sha256", playbooks) != playbooks:
            found.append(f"the playbooks at the {end} were others than these")
    return found


def _beside_rehearsal(
    judged: RunRecord, plan: Plan, rehearsal: dict[str, Any], runs_dir: Path, otherwise: list[str]
) -> RunRecord:
    """Put in front of the verdicts what the rehearsal says, and what was not as it should have been."""
    name = rehearsal.get("landspeed_rehearsal")
    more: list[Check] = []
    if name:
        try:
            rehearsed = load_record(runs_dir / name)
        except ValueError as error:
            more.append(Check("rehearsal", None, f"rehearsed in {name}, which is not compared: {error}"))
        else:
            otherwise += rehearsed_otherwise(rehearsed, plan, judged.tool_result.build or "")
            same = "same plan and options, same build of the engine"
            more = [Check("rehearsal", True, f"rehearsed in {name}, {same}"), compare(rehearsed, judged)]
    else:
        reason = rehearsal.get("landspeed_unrehearsed") or "no reason was given"
        more.append(Check("rehearsal", None, f"UNREHEARSED: {reason}"))
    if otherwise:
        text = "; ".join([f"not what was rehearsed in {name}" if name else "not what the plan asks for", *otherwise])
        more = [Check("rehearsal", False, text), *more[1:]] if name else [*more, Check("plan", False, text)]
    facts = judged.world_facts
    assert isinstance(facts, RealFacts)
    for end, host in facts.hosts.items():
        if host.unavailable:
            more.append(Check(f"settings of the {end}", None, f"not in force: {'; '.join(host.unavailable)}"))
    (flow,) = judged.flows
    flow.verdicts = [*more, *flow.verdicts]
    flow.passed = bool(flow.passed) and not otherwise
    return judged
