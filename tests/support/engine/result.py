"""The JSON result of the C transfer engine (`send --json`), member by member, as tests hold it to its form."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Part(BaseModel):
    """Known members are checked; further ones of a newer engine are kept."""

    model_config = ConfigDict(frozen=True, extra="allow")


class EngineVersion(_Part):
    """Version, and a hash of the sources it was built from."""

    version: str
    build: str


class Window(_Part):
    """Window asked of each stream and what the kernels made of it.

    `granted` is half of what the kernel reads back (`sndbuf`, `rcvbuf`), since Linux doubles what it grants;
    `advertised` is the largest window that the sender saw on offer; `bdp` is goodput × smallest RTT of all streams,
    `stream_bdp` that of the fastest one.
    """

    asked_bytes: int | None = None
    sender_granted_bytes: int | None = None
    receiver_granted_bytes: int | None = None
    sender_sndbuf_bytes: int | None = None
    receiver_rcvbuf_bytes: int | None = None
    advertised_bytes: int | None = None
    bdp_bytes: int = 0
    stream_bdp_bytes: int = 0
    warning: str | None = None


class EngineCpuTime(_Part):
    """Processor time of one end, in seconds."""

    user_s: float
    system_s: float


class Cpu(_Part):
    """Processor time of both ends."""

    sender: EngineCpuTime
    receiver: EngineCpuTime


class Subflow(_Part):
    """One subflow of a stream over MPTCP: what was acknowledged on it, what was sent again there."""

    bytes: int
    retransmits: int
    min_rtt_us: int | None
    srtt_us: int


class Stream(_Part):
    """One stream: bytes are those that the receiving application read.

    `early_bytes` of them had come when its clock began, and are not in the goodput; `goodput_bps` is null, and
    `goodput_reason` says why, where it was too short for a rate (engine/src/telemetry/goodput.h defines it).
    """

    stream: int
    bytes: int
    early_bytes: int = 0
    duration_s: float
    goodput_bps: int | None
    goodput_reason: str | None = None
    subflows: list[Subflow] = Field(default_factory=list[Subflow])
    retransmits: int
    bytes_retransmitted: int
    min_rtt_us: int
    srtt_us: int
    mss_bytes: int
    congestion_control: str
    busy_us: int
    rwnd_limited_us: int
    sndbuf_limited_us: int
    sender_tcp_info: dict[str, Any] = Field(default_factory=dict[str, Any])
    receiver_tcp_info: dict[str, Any] = Field(default_factory=dict[str, Any])


class TransferPath(_Part):
    """The way of the data connections: what was asked for, and what carried them."""

    device: str | None
    qdisc: str | None
    numa_node: int | None
    affinity: str | None
    receiver_affinity: str | None
    mptcp: bool | None
    paced_by: str | None
    stream_pacing_bps: int | None
    warning: str | None
    autotuning_sender_ceiling_bytes: int | None
    autotuning_window_ceiling_bytes: int | None


class ZeroCopy(_Part):
    """Calls that were to copy nothing; of those the kernel has given back, how many it had copied after all."""

    calls: int
    completed: int
    copied: int


class SendMethod(_Part):
    """Way in which the bytes were handed to the kernel, and the reason; `way` is null if nothing was sent.

    `payload_seed`: null, the payload is the zeros of a file that it was given;
    `packet_bytes`: what splice gives the socket for one packet, null when it is another way or not known;
    `block_bytes`: of a full block of verified payload, null without.
    """

    asked: str
    way: str | None
    reason: str | None
    payload_seed: int | None
    pages: str | None
    packet_bytes: int | None = None
    block_bytes: int | None = None
    zerocopy: ZeroCopy | None


class Verification(_Part):
    """Check of verified blocks by the receiver; further members count each kind of fault."""

    blocks: int
    payload_bytes: int
    faults: int
    first: list[dict[str, Any]]


class EngineResult(_Part):
    """A transfer as the sender reports it for both ends.

    `bytes_source` is "receiver" when the receiver's account arrived; otherwise "sender": bytes acknowledged. `files`
    is there when files were sent: the counts of the sender, and in `receiver` those of the receiver. `direction`:
    "forward": the client sent; "reverse": the server did; "both": each did, and `reverse` has what the server sent.
    """

    engine: EngineVersion
    role: Literal["send"]
    complete: bool
    error: str | None
    signal: str | None
    options: dict[str, Any]
    receive_mode: Literal["discard", "memory", "verify", "file"]
    files: dict[str, Any] | None = None
    delivery: bool
    sending: SendMethod
    path: TransferPath
    omitted_s: float
    omitted_bytes: int | None
    verification: Verification | None
    window: Window
    start_unix_ns: int | None
    duration_s: float
    bytes: int
    bytes_source: Literal["receiver", "sender"]
    early_bytes: int = 0
    goodput_bps: int | None
    goodput_reason: str | None = None
    retransmits: int
    bytes_retransmitted: int
    packets_sent: int
    packets_received: int | None
    cpu: Cpu
    streams: list[Stream]
    direction: Literal["forward", "reverse", "both"] = "forward"
    reverse: EngineResult | None = None


def read_result(path: Path) -> EngineResult:
    """Read a result file; what is not as it should be is named by the error."""
    return EngineResult.model_validate_json(path.read_bytes())
