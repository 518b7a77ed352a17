"""Result of one flow of a run, and the place of its files in the bundle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from landspeed.base.limits import ProbeLimit, RunLimit
from landspeed.results.calibration_result import CalibrationResult
from landspeed.results.check import Check
from landspeed.results.tool_result import Open, TransferResult

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Flow, Plan


class LimitPhase(Open):
    """A time in which one thing held a transfer, in s since the flow's start; of several streams the first one's."""

    state: ProbeLimit  # a program's own only in a probe
    begin_s: float
    end_s: float


def phases_text(phases: Sequence[LimitPhase]) -> str:
    """Words for what held a transfer in turn: "slow start to 3.1 s, then line rate"."""
    told = [f"{phase.state} to {phase.end_s:.3g} s" for phase in phases[:-1]]
    return ", then ".join([*told, phases[-1].state])


class Figures(TransferResult):
    """Figures of a flow, or of all flows of a run together."""

    steady_goodput_bps: float | None = None  # from the tenth second of the flow on
    settled_goodput_bps: float | None = None  # of the time that is judged: from 10 s on, or of the second half
    rtt_ms: float | None = None  # calibrated, end to end, of the idle path
    rtt_loaded_median_ms: float | None = None  # under load: TCP's own, all streams, from 10 s on or of the second half
    rtt_loaded_p95_ms: float | None = None  # 95 % of that time it was no longer
    rtt_loaded_p99_ms: float | None = None
    rtt_loaded_max_ms: float | None = None
    ping_idle_median_ms: float | None = None  # of echoes (transfer.ping) before the first flow began
    ping_idle_p95_ms: float | None = None
    ping_idle_p99_ms: float | None = None
    ping_idle_max_ms: float | None = None
    ping_loaded_median_ms: float | None = None  # of echoes sent from 10 s on, or in the second half
    ping_loaded_p95_ms: float | None = None
    ping_loaded_p99_ms: float | None = None
    ping_loaded_max_ms: float | None = None
    ping_lost: float | None = None  # share of these that never came back
    ping_call_mos: float | None = None  # of a call whose packets fare as these: mean opinion, 1 to 4.5 (ITU-T G.107)
    rpm: float | None = None  # round trips a minute: of these and of TCP's own, without the longest 5 %
    limited_by: RunLimit | None = None  # what bound it
    limited_by_why: str | None = None  # the figures that say so
    limit_shares: dict[str, float] = Field(default_factory=dict[str, float])  # of the judged time, what held it
    limit_phases: list[LimitPhase] = Field(default_factory=list[LimitPhase])  # what held it in turn, from its start on
    verdicts: list[Check] = Field(default_factory=list[Check])  # measured against wanted
    passed: bool | None = None  # no verdict failed
    calibration: CalibrationResult | None = None  # the path before the transfer


PING_FIGURES = tuple(name for name in Figures.model_fields if name.startswith("ping_") or name == "rpm")
"""Figures of the echoes beside a transfer."""
UDP_FIGURES = tuple(name for name in Figures.model_fields if name.startswith("udp_"))
"""Figures of a flow of datagrams."""


class FlowResult(Figures):
    """One flow of a run. Times are in s since the run's start: the first instant at which any flow could send data."""

    name: str
    source: str
    target: str
    start_s: float  # as planned: when its sender begins to connect
    begins_s: float | None = None  # when it could send data
    second_calibration: CalibrationResult | None = None  # of MPTCP's second route


def flow_folder(plan: Plan, flow: Flow) -> str:
    """Folder of a flow's files, relative to the bundle's folder: a path's one flow has its files there."""
    return "" if plan.is_path else f"flows/{flow.name}"


def planned_flows(plan: Plan) -> list[FlowResult]:
    """Describe a plan's flows before they begin."""
    return [
        FlowResult(name=flow.name, source=flow.source, target=flow.target, start_s=flow.start_ns / 1e9)
        for flow in plan.flows
    ]
