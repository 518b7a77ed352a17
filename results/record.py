"""The record of one run: `result.json` as a model.

Every rate is in bit/s, every time in s unless the name says otherwise, sizes in bytes. Goodput is what the receiving
application read. Figures that were not measured are null, never zero.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

RECORD_SCHEMA_VERSION = 1

LimitedBy = Literal[
    "window",
    "bus",
    "bus (fitted)",
    "framing",
    "pacing",
    "loss",
    "receiver",
    "sender",
    "application",
    "slow start",
    "unknown",
]


class _Open(BaseModel):
    """Known fields are checked, further ones are kept: what a world measures may grow."""

    model_config = ConfigDict(extra="allow")


class StreamResult(_Open):
    """One stream of the transfer, as the engine's JSON gives it."""

    stream: int
    goodput_bps: float | None = None
    bytes: int | None = None
    duration_s: float | None = None
    retransmits: int | None = None
    bytes_retransmitted: int | None = None
    min_rtt_us: int | None = None
    srtt_us: int | None = None
    mss_bytes: int | None = None
    congestion_control: str | None = None
    busy_us: int | None = None
    rwnd_limited_us: int | None = None
    sndbuf_limited_us: int | None = None


class WindowResult(_Open):
    """Window asked for, what the kernels made of it, and the bandwidth-delay product it has to hold."""

    asked_bytes: int | None = None
    sender_granted_bytes: int | None = None
    receiver_granted_bytes: int | None = None
    sender_sndbuf_bytes: int | None = None
    receiver_rcvbuf_bytes: int | None = None
    bdp_bytes: int | None = None
    warning: str | None = None


class CalibrationResult(_Open):
    """What the built path measured before the transfer, against the plan.

    `hops` and `reverse_hops` have `ttl`, `node`, `address`, `rtt_ms` and `expected_ms`; `queue` has `link`,
    `direction`, `expected_bytes` and `measured_bytes`.
    """

    rtt_ms: float | None = None
    rtt_expected_ms: float | None = None
    tolerance: float | None = None
    hops: list[dict[str, Any]] = Field(default_factory=list)
    reverse_hops: list[dict[str, Any]] = Field(default_factory=list)
    path_mtu_bytes: int | None = None
    mtu_expected_bytes: int | None = None
    rate_bps: float | None = None
    rate_expected_bps: float | None = None
    rate_reverse_bps: float | None = None
    rate_reverse_expected_bps: float | None = None
    rate_tolerance: float | None = None
    queue: list[dict[str, Any]] | None = None
    passed: bool | None = None
    failures: list[str] = Field(default_factory=list)


class EventResult(_Open):
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


class Verdict(BaseModel):
    """One comparison of measured with wanted; `ok` is null when there was nothing to compare."""

    model_config = ConfigDict(extra="forbid")

    name: str
    ok: bool | None
    measured: float | None = None
    wanted: float | None = None
    tolerance: float | None = None  # relative, 0…1; null: exact, or not a number
    text: str


class RuleCheck(BaseModel):
    """One rule of the contest, and whether the run meets it."""

    model_config = ConfigDict(extra="forbid")

    name: str
    rule: str
    state: Literal["met", "not met", "not shown"]
    evidence: str


class RunRecord(BaseModel):
    """Everything known about one run; the content of `result.json`."""

    model_config = ConfigDict(extra="forbid")

    schema_version: int = RECORD_SCHEMA_VERSION
    complete: bool = False
    error: str | None = None
    scenario: str
    title: str = ""
    world: Literal["sim", "emu", "real"] = "emu"
    clock: Literal["virtual", "real"] = "virtual"
    seed: int = 0
    fidelity: str | None = None
    tool: str = "engine"
    command: list[str] = Field(default_factory=list)  # what the user typed, seed included: repeats the run
    started: str | None = None  # ISO 8601 wall time, UTC

    wall_s: float | None = None  # the whole command
    build_s: float | None = None  # wall time: guest and network
    calibrate_s: float | None = None  # wall time
    transfer_wall_s: float | None = None

    goodput_bps: float | None = None
    steady_goodput_bps: float | None = None  # from the tenth second on
    bytes: int | None = None
    duration_s: float | None = None  # on the run's clock, first to last byte read
    rtt_ms: float | None = None  # calibrated, end to end
    retransmits: int | None = None
    streams: list[StreamResult] = Field(default_factory=list)
    score_bit_m_per_s: float | None = None
    limited_by: LimitedBy | None = None
    limited_by_why: str | None = None
    events: list[EventResult] = Field(default_factory=list)
    verdicts: list[Verdict] = Field(default_factory=list)
    passed: bool | None = None
    rules: list[RuleCheck] = Field(default_factory=list)  # of the contest, for scenarios with a `contest` section

    engine: dict[str, Any] = Field(default_factory=dict)  # the engine's JSON without its streams
    window: WindowResult = Field(default_factory=WindowResult)
    calibration: CalibrationResult | None = None
    guest: dict[str, Any] = Field(default_factory=dict)  # kernel, mem, qdiscs, sysctls, offloads, addresses
    versions: dict[str, str] = Field(default_factory=dict)
    host: dict[str, Any] = Field(default_factory=dict)  # cpu, cores, kernel
    plan: dict[str, Any] | None = None


def command_json(record: RunRecord, bundle: object) -> dict[str, Any]:
    """The one object that `landspeed run --json` prints: the record without plan and guest, and the bundle's folder."""
    data = record.model_dump(mode="json", exclude={"plan", "guest"})
    return {**data, "bundle": str(bundle)}
