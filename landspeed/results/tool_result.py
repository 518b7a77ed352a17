"""Report of the tool that made a transfer: the engine, iperf3 or the simulator, in the same terms.

Figures that a tool does not tell are null. Members that stand here only in a newer version of a tool are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field


class Open(BaseModel):
    """Known fields are checked, further ones are kept: what is measured may grow."""

    model_config = ConfigDict(extra="allow", defer_build=True)


class Verified(Open):
    """Check of a stream's verified blocks by the receiver."""

    blocks: int = 0
    faults: int = 0


class SubflowResult(Open):
    """One subflow of a stream over MPTCP, the first one first: `bytes` are those acknowledged on it."""

    bytes: int
    retransmits: int
    min_rtt_us: int | None = None
    srtt_us: int | None = None


class StreamResult(Open):
    """One stream of the transfer. `bytes` are those that the receiving application read."""

    stream: int
    goodput_bps: float | None = None
    bytes: int | None = None
    duration_s: float | None = None
    subflows: list[SubflowResult] = Field(default_factory=list[SubflowResult])  # of MPTCP
    retransmits: int | None = None
    bytes_retransmitted: int | None = None
    min_rtt_us: int | None = None
    srtt_us: int | None = None
    mss_bytes: int | None = None
    congestion_control: str | None = None
    busy_us: int | None = None
    rwnd_limited_us: int | None = None
    sndbuf_limited_us: int | None = None
    sender_calls: int | None = None  # system calls that sent data
    verified: Verified | None = None


def bytes_of_subflows(streams: Sequence[StreamResult]) -> list[int]:
    """Bytes that each subflow carried, all streams together, the first subflow first; empty without MPTCP."""
    return [sum(each) for each in zip(*([flow.bytes for flow in stream.subflows] for stream in streams), strict=False)]


class WindowResult(Open):
    """Window asked for, what the kernels made of it, and the bandwidth-delay product it has to hold."""

    asked_bytes: int | None = None
    sender_granted_bytes: int | None = None
    receiver_granted_bytes: int | None = None
    sender_sndbuf_bytes: int | None = None
    receiver_rcvbuf_bytes: int | None = None
    advertised_bytes: int | None = None  # largest window that the sender saw on offer
    bdp_bytes: int | None = None
    warning: str | None = None


class CpuTime(Open):
    """Processor time of one end, in s."""

    user_s: float | None = None
    system_s: float | None = None


class HostUse(Open):
    """Use of a host by the transfer."""

    interrupts: int | None = None
    interrupts_per_s: float | None = None
    cycles_per_byte: float | None = None
    cycles_source: str | None = None  # "estimated": from time and clock rate
    cpu_percent: float | None = None


class ReverseResult(Open):
    """Transfer in the other direction at the same time, if both ends sent: from the server to the client."""

    goodput_bps: float | None = None
    bytes: int | None = None
    duration_s: float | None = None
    retransmits: int | None = None
    streams: list[StreamResult] = Field(default_factory=list[StreamResult])


class DataPath(Open):
    """The way of the data connections: what carried them, beside what was asked for."""

    mptcp: bool | None = None


class ToolResult(Open):
    """Report of a tool on the whole transfer, beside the figures that every record has.

    `cpu` and `hosts` are by end: "sender", "receiver".
    """

    version: str | None = None
    build: str | None = None  # the engine: hash of the sources it was built from
    complete: bool = True
    error: str | None = None
    receive_mode: str | None = None
    early_bytes: int | None = None  # of those delivered, what had come when the clock began: not in the goodput
    goodput_reason: str | None = None  # why there is no goodput: too short for a rate
    connect_unix_ns: int | None = None  # the sender's calendar: the first data connection's SYN
    start_unix_ns: int | None = None  # the same: when it could send data
    last_byte_unix_ns: int | None = None  # the receiver's calendar: the last byte was read, to 1 µs
    packets_sent: int | None = None
    packets_received: int | None = None
    bytes_retransmitted: int | None = None
    direction: str | None = None  # who sent: "forward" the client, "reverse" the server, "both"
    reverse: ReverseResult | None = None
    path: DataPath | None = None
    one_way_delay_steps_ms: list[float] = Field(default_factory=list[float])  # of datagrams: 200 quantiles, to the most
    cpu: dict[str, CpuTime] = Field(default_factory=dict[str, CpuTime])
    hosts: dict[str, HostUse] = Field(default_factory=dict[str, HostUse])


class TransferResult(Open):
    """A transfer as its tool told of it: the figures that every flow has, and the rest."""

    goodput_bps: float | None = None  # payload that the receiver read, over the whole transfer
    bytes: int | None = None  # the same, as an amount
    duration_s: float | None = None  # on the run's clock, first to last byte read
    completion_s: float | None = None  # of `bytes`: from the first SYN until the last byte was read
    completion_from_start_s: float | None = None  # the same from the moment at which the sender could send
    retransmits: int | None = None  # packets that all streams sent again
    streams: list[StreamResult] = Field(default_factory=list[StreamResult])  # one by one
    window: WindowResult = Field(default_factory=WindowResult)  # asked, granted, needed
    udp_sent: int | None = None  # datagrams (transfer.protocol: udp)
    udp_received: int | None = None  # each once
    udp_lost: float | None = None  # share of those sent that never came
    udp_reordered: int | None = None  # came after one that was sent later (RFC 4737)
    udp_duplicates: int | None = None  # came once more
    udp_jitter_ms: float | None = None  # of RFC 3550, as it was at the end: of the last few dozen
    udp_jitter_mean_ms: float | None = None  # the mean that it estimates, over all: how much later than the one before
    udp_delay_min_ms: float | None = None  # one way, from the sender's call until the receiving host had it
    udp_delay_mean_ms: float | None = None
    udp_delay_p50_ms: float | None = None
    udp_delay_p95_ms: float | None = None
    udp_delay_p99_ms: float | None = None
    udp_delay_max_ms: float | None = None
    udp_call_mos: float | None = None  # of a call (transfer.call): mean opinion, 1 to 4.5 (ITU-T G.107)
    tool_result: ToolResult = Field(default_factory=ToolResult)  # what the tool told beside that

    @classmethod
    def of(cls, told: dict[str, Any]) -> Self:
        """Read a tool's JSON in the engine's terms."""
        known = {name: told[name] for name in cls.model_fields if told.get(name) is not None}
        rest = {name: value for name, value in told.items() if name not in (*cls.model_fields, "engine")}
        program: dict[str, Any] = told.get("engine") or {}
        versions = {"version": program.get("version"), "build": program.get("build")}
        return cls.model_validate(known | {"tool_result": versions | rest})
