"""The record of one run: `result.json` as a model.

Every rate is in bit/s, every time in s unless the name says otherwise, sizes in bytes. Goodput is what the receiving
application read. Figures that were not measured are null, never zero. A path's run has one flow; figures of the whole
stand nowhere but in the flows, and `Total`s of the record are taken from them (flow_totals.py).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from landspeed.base.limits import RunLimit
from landspeed.results.calibration_result import CalibrationResult
from landspeed.results.check import Check
from landspeed.results.facts import EmuFacts, GuestFacts, WorldFacts
from landspeed.results.flow_result import Figures, FlowResult, LimitPhase
from landspeed.results.flow_totals import Total, whole_of
from landspeed.results.tool_result import Open, StreamResult, ToolResult, WindowResult
from landspeed.scenario.plan.plan import Plan, PlanError

RECORD_SCHEMA_VERSION = 4


class EventResult(Open):
    """An event of the plan, as it happened. Times are since the transfer's start."""

    kind: str
    link: int
    direction: str
    planned_s: float
    at_s: float | None = None  # null: the transfer was over before
    until_s: float | None = None  # null: it stays, or is over at once, or the transfer was over before
    packets_lost: int | None = None
    packets_sent: int | None = None  # of background traffic
    note: str | None = None


class QueueDelay(Open):
    """Queueing delay of the packets that came while the transfer was settled (as `rtt_loaded_median_ms`).

    That is the time that the line takes to send what stands in the queue: what a packet waits in a FIFO.
    """

    link: int
    direction: str  # of the link
    source: str  # node in which the queue stands
    target: str  # node to which its line leads
    median_ms: float  # half of the time it was no longer
    p95_ms: float
    p99_ms: float
    max_ms: float


class RuleCheck(BaseModel):
    """One rule of the contest, and whether the run meets it."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    name: str
    rule: str
    state: Literal["met", "not met", "not shown"]
    evidence: str


class _AsPlanJson:
    """A field that is a plan in memory and, in JSON, what plan.json has: the plan's own reader checks it."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self._plan,
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda plan: None if plan is None else plan.to_dict()
            ),
        )

    @staticmethod
    def _plan(value: Any) -> Plan | None:
        try:
            return value if value is None or isinstance(value, Plan) else Plan.from_dict(value)
        except PlanError as error:
            raise PydanticCustomError("plan", "{why}", {"why": str(error).removeprefix("plan: ")}) from error


class RunRecord(BaseModel):
    """Record of one run; the content of `result.json`."""

    model_config = ConfigDict(extra="forbid", ignored_types=(Total,), defer_build=True)

    schema_version: int = RECORD_SCHEMA_VERSION  # of this table
    complete: bool = False  # whether the run came to its end
    error: str | None = None  # why it did not
    scenario: str  # its name
    title: str = ""  # its title
    world: str = "emu"  # a name of worlds/registry.py, or of somebody else's world
    clock: str = "virtual"  # "virtual" or "real"
    seed: int = 0  # of everything random
    fidelity: str | None = None  # packets or super-packets
    tool: str = "engine"  # program that made the transfer
    command: list[str] = Field(default_factory=list[str])  # what the user typed, seed included: repeats the run
    started: str | None = None  # ISO 8601 wall time, UTC

    wall_s: float | None = None  # the whole command
    build_s: float | None = None  # wall time: guest and network
    calibrate_s: float | None = None  # wall time
    transfer_wall_s: float | None = None  # wall time

    flows: list[FlowResult] = Field(default_factory=list[FlowResult])  # one by one; of a path one
    jain_index: float | None = None  # of TCP's flows while all of them ran: 1 is equal shares; of one: null
    queue_delays: list[QueueDelay] = Field(default_factory=list[QueueDelay])  # of queues in which anything waited
    score_bit_m_per_s: float | None = None  # of one flow: goodput × terrestrial distance
    events: list[EventResult] = Field(default_factory=list[EventResult])  # as they happened
    rules: list[RuleCheck] = Field(default_factory=list[RuleCheck])  # of the contest, where a scenario has one

    versions: dict[str, str] = Field(default_factory=dict[str, str])  # of landspeed, Python, the kernel, …
    world_facts: WorldFacts | None = None  # the machinery that made the run
    plan: Annotated[Plan | None, _AsPlanJson()] = None  # the work, as in plan.json

    goodput_bps = Total[float | None]()
    steady_goodput_bps = Total[float | None]()
    settled_goodput_bps = Total[float | None]()
    bytes = Total[int | None]()
    duration_s = Total[float | None]()
    completion_s = Total[float | None]()
    completion_from_start_s = Total[float | None]()
    rtt_ms = Total[float | None]()
    rtt_loaded_median_ms = Total[float | None]()
    rtt_loaded_p95_ms = Total[float | None]()
    rtt_loaded_p99_ms = Total[float | None]()
    rtt_loaded_max_ms = Total[float | None]()
    ping_idle_median_ms = Total[float | None]()
    ping_idle_p95_ms = Total[float | None]()
    ping_idle_p99_ms = Total[float | None]()
    ping_idle_max_ms = Total[float | None]()
    ping_loaded_median_ms = Total[float | None]()
    ping_loaded_p95_ms = Total[float | None]()
    ping_loaded_p99_ms = Total[float | None]()
    ping_loaded_max_ms = Total[float | None]()
    ping_lost = Total[float | None]()
    ping_call_mos = Total[float | None]()
    rpm = Total[float | None]()
    udp_sent = Total[int | None]()
    udp_received = Total[int | None]()
    udp_lost = Total[float | None]()
    udp_reordered = Total[int | None]()
    udp_duplicates = Total[int | None]()
    udp_jitter_ms = Total[float | None]()
    udp_jitter_mean_ms = Total[float | None]()
    udp_delay_min_ms = Total[float | None]()
    udp_delay_mean_ms = Total[float | None]()
    udp_delay_p50_ms = Total[float | None]()
    udp_delay_p95_ms = Total[float | None]()
    udp_delay_p99_ms = Total[float | None]()
    udp_delay_max_ms = Total[float | None]()
    udp_call_mos = Total[float | None]()
    retransmits = Total[int | None]()
    streams = Total[list[StreamResult]]()
    limited_by = Total[RunLimit | None]()
    limited_by_why = Total[str | None]()
    limit_shares = Total[dict[str, float]]()
    limit_phases = Total[list[LimitPhase]]()
    verdicts = Total[list[Check]]()
    tool_result = Total[ToolResult]()
    window = Total[WindowResult]()
    calibration = Total[CalibrationResult | None]()

    @property
    def whole(self) -> Figures:
        """Figures of all flows together."""
        return whole_of(self.flows)

    @property
    def passed(self) -> bool | None:
        """True if no verdict failed; False of a run that broke, None before it is judged."""
        return False if self.error is not None else self.whole.passed

    @property
    def outcome(self) -> str:
        """Say how it ended, in a word; a run of which nothing was expected has passed nothing."""
        wanted = self.plan is not None and any(flow.expect for flow in self.plan.flows)
        return outcome_of(complete=self.complete, passed=self.passed, wanted=wanted)

    def alone(self, flow: FlowResult) -> RunRecord:
        """The record of a run that had nothing but this flow."""
        return self.model_copy(update={"flows": [flow], "jain_index": None})

    def with_flow(self, **figures: Any) -> RunRecord:
        """The record with these figures of its one flow."""
        (flow,) = self.flows
        return self.model_copy(update={"flows": [flow.model_copy(update=figures)]})

    @property
    def guest(self) -> GuestFacts:
        """The guest of the emulated world; of another world, one of which nothing is known."""
        return self.world_facts.guest if isinstance(self.world_facts, EmuFacts) else GuestFacts()


def outcome_of(*, complete: bool, passed: bool | None, wanted: bool) -> str:
    """The word for how a run ended; `wanted`: its scenario says what is to be reached."""
    if not complete:
        return "incomplete"
    return {True: "passed" if wanted else "completed", False: "failed", None: "not judged"}[passed]


def command_json(record: RunRecord, bundle: object) -> dict[str, Any]:
    """The one object that `landspeed run --json` prints: the record without plan and guest, its totals, the folder."""
    data = record.model_dump(mode="json", exclude={"plan": True, "world_facts": {"guest"}})
    totals = record.whole.model_dump(mode="json", include=set(Figures.model_fields)) | {"passed": record.passed}
    return {**data, **totals, "bundle": str(bundle)}
