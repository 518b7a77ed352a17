"""Simulator's results of each flow, in the record; and the place of each flow's samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from landspeed.judge.calibration_checks import with_checks
from landspeed.results.bundle import RAW_PINGS, RAW_SAMPLES
from landspeed.results.datagram_result import datagram_result
from landspeed.results.flow_result import FlowResult, flow_folder
from landspeed.results.record import CalibrationResult, RunRecord
from landspeed.results.tool_result import TransferResult
from landspeed.scenario.plan.flow_path import path_of
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.sim.calibration_facts import calibration

NS_PER_S = 10**9
_OF_RUN = ("complete", "error", "event_packets", "flows")
"""Members of the simulator's result that are told of the run; the rest is of the simulator itself."""
_OF_FLOW = ("name", "start_ns", "calibration")
"""Members of a flow's that are told of the flow; the rest is of its transfer."""


def collect_samples(plan: Plan, out: Path, bundle: Path) -> None:
    """Move each flow's series from the simulator's folder to where every bundle has them."""
    for number, flow in enumerate(plan.flows):
        for name in (*RAW_SAMPLES, RAW_PINGS):
            if (source := out / "flows" / str(number) / name).exists():
                target = bundle / flow_folder(plan, flow) / name
                target.parent.mkdir(parents=True, exist_ok=True)
                source.replace(target)


def simulator_facts(result: dict[str, Any]) -> dict[str, Any]:
    """Facts that the simulator reports of itself."""
    return {name: value for name, value in result.items() if name not in _OF_RUN}


def with_results(record: RunRecord, plan: Plan, result: dict[str, Any]) -> RunRecord:
    """The record with what the simulator told of the flows, as far as it came.

    Args:
        record: of the run.
        plan: what was simulated.
        result: the simulator's result; empty if it left none.
    """
    if not (told := result.get("flows")):
        return record
    each_flow = zip(record.flows, plan.flows, told, strict=True)
    flows = [_flow(flow, path_of(plan, planned), own, result) for flow, planned, own in each_flow]
    return record.model_copy(update={"flows": flows})


def _flow(flow: FlowResult, path: Plan, told: dict[str, Any], result: dict[str, Any]) -> FlowResult:
    start_ns, measured = told.get("start_ns", -1), _calibration(path, told)
    of_transfer = {name: value for name, value in told.items() if name not in _OF_FLOW}
    datagrams = path.transfer.protocol == "udp"
    found = datagram_result(of_transfer) if datagrams else TransferResult.of(of_transfer)
    found.tool_result.version = result.get("ns3_version")
    if not found.tool_result.complete:
        found.tool_result.error = result.get("error")
    return flow.model_copy(
        update=dict(found)
        | _completion(path, told)
        | {
            "begins_s": None if start_ns < 0 else (start_ns - result.get("start_ns", -1)) / NS_PER_S,
            "calibration": measured,
            "rtt_ms": measured.rtt_ms if measured else None,
        }
    )


def _completion(path: Plan, told: dict[str, Any]) -> dict[str, float]:
    """Completion times of a flow that moved a number of bytes. Its first SYN leaves when it is to start."""
    last_ns = max((each.get("last_byte_ns") or -1 for each in told.get("streams", [])), default=-1)
    if path.transfer.bytes is None or not told.get("complete") or last_ns < 0:
        return {}
    opening_ns = told["start_ns"] - path.flow.start_ns
    return {"completion_s": (opening_ns + last_ns) / NS_PER_S, "completion_from_start_s": last_ns / NS_PER_S}


def _calibration(path: Plan, told: dict[str, Any]) -> CalibrationResult | None:
    measured = told.get("calibration")
    return with_checks(path, CalibrationResult.model_validate(calibration(path, measured))) if measured else None
