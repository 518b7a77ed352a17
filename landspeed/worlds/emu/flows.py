"""The flows of a run in the emulated world: their programs, what these told, and the links' samples in their time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from landspeed.results.flow_result import FlowResult, flow_folder
from landspeed.results.record import RunRecord
from landspeed.results.tool_result import ToolResult, TransferResult
from landspeed.scenario.plan.flow_path import path_of
from landspeed.worlds.emu.guest.job import FlowJob
from landspeed.worlds.emu.guest_answer import GuestAnswer
from landspeed.worlds.engine.command import ENGINE_PORT
from landspeed.worlds.registry import tool

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Flow, Plan

NS_PER_S = 10**9


def flow_jobs(plan: Plan, tool_name: str, out: str) -> list[FlowJob]:
    """The two programs of each flow; receivers on one host have ports side by side.

    Args:
        plan: the work.
        tool_name: which tool makes the flows.
        out: folder of the run as the guest sees it.
    """
    program, receivers = tool(tool_name), Counter[str]()
    found: list[FlowJob] = []
    for flow in plan.flows:
        folder, port, path = flow_folder(plan, flow), ENGINE_PORT + receivers[flow.target], path_of(plan, flow)
        receivers[flow.target] += 1
        receiver, sender = program.commands(path, f"{out}/{folder}".rstrip("/"), port)
        found.append(
            FlowJob(
                flow=flow.name,
                folder=folder,
                receiver_command=receiver,
                sender_command=sender,
                port=port,
                seconds=1 + flow.start_ns // NS_PER_S,
                speaks_ns=program.handshake_ns(path),
            )
        )
    return found


def flows_told(record: RunRecord, plan: Plan, folder: Path, tool_name: str, guest: GuestAnswer) -> RunRecord:
    """The record with what each flow's program told.

    Raises:
        RunFailed: one of them left no result.
    """
    told = [_told(plan, flow, folder, tool_name, guest) for flow in plan.flows]
    starts = [each.tool_result.start_unix_ns for each in told if each.tool_result.start_unix_ns]
    first_ns = min(starts, default=0)
    flows: list[FlowResult] = []
    for flow, planned, result in zip(record.flows, plan.flows, told, strict=True):
        start_ns = result.tool_result.start_unix_ns
        begins_s = None if start_ns is None else (start_ns - first_ns) / NS_PER_S
        told_times = completion(planned, result.tool_result) | {"begins_s": begins_s}
        flows.append(flow.model_copy(update=dict(result) | told_times))
    return record.model_copy(update={"flows": flows})


def completion(flow: Flow, told: ToolResult) -> dict[str, float]:
    """Completion times of a flow that moves a number of bytes: both ends read one clock. Empty if a tool tells none."""
    if flow.transfer.bytes is None or told.last_byte_unix_ns is None:
        return {}
    begins = {"completion_s": told.connect_unix_ns, "completion_from_start_s": told.start_unix_ns}
    return {name: (told.last_byte_unix_ns - ns) / NS_PER_S for name, ns in begins.items() if ns is not None}


def _told(plan: Plan, flow: Flow, folder: Path, tool_name: str, guest: GuestAnswer) -> TransferResult:
    program, path = tool(tool_name), path_of(plan, flow)
    told = program.convert(folder / flow_folder(plan, flow), path)
    if (speaks_ns := program.handshake_ns(path)) is not None:
        told.tool_result.start_unix_ns = _started_ns(guest, flow) + speaks_ns
    return told


def _started_ns(guest: GuestAnswer, flow: Flow) -> int:
    started_ns = guest.statuses.flows[flow.name].started_unix_ns
    assert started_ns is not None
    return started_ns
