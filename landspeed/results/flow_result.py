"""Result of one flow of a network's run, and the place of its files in the bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from landspeed.base.limits import RunLimit
from landspeed.results.calibration_result import CalibrationResult
from landspeed.results.check import Check
from landspeed.results.tool_result import Open, StreamResult, ToolResult, WindowResult

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Flow, Plan


class LimitPhase(Open):
    """A time in which one thing held a transfer, in s since the flow's start; of several streams the first one's."""

    state: RunLimit
    begin_s: float
    end_s: float


class FlowResult(Open):
    """One flow of a network; what has the name of a figure of the whole run is that of this flow alone.

    Times are in s since the run's start: the first instant at which any flow could send data.
    """

    name: str
    source: str
    target: str
    start_s: float  # as planned: when its sender begins to connect
    begins_s: float | None = None  # when it could send data
    goodput_bps: float | None = None
    steady_goodput_bps: float | None = None  # from its own tenth second on
    bytes: int | None = None
    duration_s: float | None = None
    rtt_ms: float | None = None  # of the idle path
    rtt_loaded_median_ms: float | None = None  # under load: TCP's own, from its own tenth second on
    rtt_loaded_p95_ms: float | None = None
    rtt_loaded_p99_ms: float | None = None
    rtt_loaded_max_ms: float | None = None
    retransmits: int | None = None
    streams: list[StreamResult] = Field(default_factory=list[StreamResult])
    limited_by: RunLimit | None = None
    limited_by_why: str | None = None
    limit_shares: dict[str, float] = Field(default_factory=dict[str, float])
    limit_phases: list[LimitPhase] = Field(default_factory=list[LimitPhase])
    verdicts: list[Check] = Field(default_factory=list[Check])
    passed: bool | None = None
    tool_result: ToolResult = Field(default_factory=ToolResult)
    window: WindowResult = Field(default_factory=WindowResult)
    calibration: CalibrationResult | None = None
    second_calibration: CalibrationResult | None = None  # of MPTCP's second route


def flow_folder(plan: Plan, flow: Flow) -> str:
    """Folder of a flow's files, relative to the bundle's folder: a path's one flow has its files there."""
    return "" if plan.is_path else f"flows/{flow.name}"


def planned_flows(plan: Plan) -> list[FlowResult]:
    """Describe a network's flows before they begin. A path's one flow is the run itself."""
    if plan.is_path:
        return []
    return [
        FlowResult(name=flow.name, source=flow.source, target=flow.target, start_s=flow.start_ns / 1e9)
        for flow in plan.flows
    ]
