"""Simulator's results of each flow, as fields of the record; and the place of each flow's samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from landspeed.judge.calibration_checks import with_checks
from landspeed.results.bundle import RAW_SAMPLES
from landspeed.results.flow_result import FlowResult, flow_folder
from landspeed.results.flow_totals import with_flows
from landspeed.results.record import CalibrationResult, RunRecord
from landspeed.results.tool_result import TransferResult
from landspeed.scenario.plan.flow_path import path_of
from landspeed.scenario.plan.plan import Flow, Plan
from landspeed.worlds.sim.calibration_facts import calibration

NS_PER_S = 10**9
# Of a transfer; the rest is of the simulator itself.
_TOLD = ("complete", "error", "bytes_retransmitted", "early_bytes", "goodput_reason")
_ELSEWHERE = (*TransferResult.model_fields, *_TOLD, "name", "calibration", "event_packets", "flows")


def collect_samples(plan: Plan, out: Path, bundle: Path) -> None:
    """Move each flow's series from the simulator's folder to where every bundle has them."""
    for number, flow in enumerate(plan.flows):
        for name in RAW_SAMPLES:
            if (source := out / "flows" / str(number) / name).exists():
                target = bundle / flow_folder(plan, flow) / name
                target.parent.mkdir(parents=True, exist_ok=True)
                source.replace(target)


def simulator_facts(plan: Plan, result: dict[str, Any]) -> dict[str, Any]:
    """Facts that the simulator reports; of a path, also those of its one flow that the record does not have."""
    told = (_only_flow(result) if plan.is_path else {}) | result
    return {name: value for name, value in told.items() if name not in _ELSEWHERE}


def with_results(record: RunRecord, plan: Plan, result: dict[str, Any]) -> RunRecord:
    """The record with what the simulator told of the flows, as far as it came.

    Args:
        record: of the run.
        plan: what was simulated.
        result: the simulator's result; empty if it left none.
    """
    version = result.get("ns3_version")
    if plan.is_path:
        told = _only_flow(result) | {name: result[name] for name in ("complete", "error") if name in result}
        fields = _transfer(told, version).fields
        if measured := _calibration(plan, told):
            fields |= {"calibration": measured, "rtt_ms": measured.rtt_ms}
        return record.model_copy(update=fields)
    if not result.get("flows"):
        return record
    begins_ns = result.get("start_ns", -1)
    flows = [
        _flow(plan, flow, told, begins_ns, version) for flow, told in zip(plan.flows, result["flows"], strict=True)
    ]
    failures = [f"{each.name}: {why}" for each in flows if each.calibration for why in each.calibration.failures]
    whole = with_flows(record, flows)
    whole.tool_result.error = result.get("error") or whole.tool_result.error
    return whole.model_copy(update={"calibration": CalibrationResult(passed=not failures, failures=failures)})


def _only_flow(result: dict[str, Any]) -> dict[str, Any]:
    flows: list[dict[str, Any]] = result.get("flows") or [{}]
    return flows[0]


def _flow(plan: Plan, flow: Flow, told: dict[str, Any], run_ns: int, version: str | None) -> FlowResult:
    """One flow; `run_ns`: the run's start in simulated time, below 0 if no flow could send."""
    start_ns = told.get("start_ns", -1)
    measured = _calibration(path_of(plan, flow), told)
    return FlowResult(
        name=flow.name,
        source=flow.source,
        target=flow.target,
        start_s=flow.start_ns / NS_PER_S,
        begins_s=None if start_ns < 0 else (start_ns - run_ns) / NS_PER_S,
        calibration=measured,
        rtt_ms=measured.rtt_ms if measured else None,
        **_transfer(told, version).fields,
    )


def _transfer(told: dict[str, Any], version: str | None) -> TransferResult:
    """Convert the simulator's report on a flow."""
    found = TransferResult.of({name: told[name] for name in (*TransferResult.model_fields, *_TOLD) if name in told})
    found.tool_result.version = version
    return found


def _calibration(path: Plan, told: dict[str, Any]) -> CalibrationResult | None:
    measured = told.get("calibration")
    return with_checks(path, CalibrationResult.model_validate(calibration(path, measured))) if measured else None
