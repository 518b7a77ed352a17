"""The plan: a scenario resolved to plain numbers, the same for every world.

The plan is what crosses every process boundary, as JSON. All numbers are SI; nanoseconds, bytes and bits per second are
integers; the unit is in the name. `Plan.model_validate_json` reads it, `Plan.model_dump_json` writes it.
"""

from __future__ import annotations

import hashlib
import json
from typing import Literal

from pydantic import BaseModel, ConfigDict

PLAN_SCHEMA_VERSION = 1


class _Part(BaseModel):
    """A part of the plan: immutable, and nothing unknown in it."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Node(_Part):
    """A host (first and last) or a router."""

    name: str
    kind: Literal["host", "router"]
    place: str | None = None
    label: str | None = None  # name of the recorded router or host
    address_note: str | None = None
    latitude_deg: float | None = None  # WGS 84, north positive
    longitude_deg: float | None = None  # east positive
    nic_rate_bps: int | None = None  # hosts; line rate of the network interface
    bus_rate_bps: int | None = None  # hosts; bits of IP packets the machine can move per second
    bus_fitted: bool = False  # the bus rate was computed from the recorded result
    bus_why: str | None = None


class Direction(_Part):
    """One direction of a link: a queue drained at the line rate, then the propagation delay."""

    delay_ns: int
    rate_bps: int  # line rate, framing included
    queue_bytes: int
    limit_packets: int  # netem's limit: in flight and queued, in the smallest sensible packets
    can_queue: bool  # False only when proved: whatever can arrive, arrives no faster than it leaves
    loss: float = 0.0  # probabilities, 0…1
    corrupt: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    jitter_ns: int = 0
    discipline: Literal["fifo", "red", "fq_codel"] = "fifo"  # parameters of red and fq_codel: physics.py
    seed: int = 0  # derived from the plan's seed, the link's index and the direction


class Link(_Part):
    """Link `index` joins nodes[index] (`a`) and nodes[index + 1] (`b`); forward is from sender to receiver."""

    index: int
    a: str
    b: str
    mtu_bytes: int
    framing: Literal["ethernet", "pos"]
    framing_bytes: int
    distance_m: int | None = None
    forward: Direction
    reverse: Direction


class Transfer(_Part):
    """What is sent and how. Exactly one of `bytes` (total of all streams) and `duration_ns` is set."""

    streams: int
    window_bytes: int | None = None  # per stream, as asked of the system; None: autotuning
    window_exact: bool = False  # the receiver offers window_bytes to the byte
    initial_window_packets: int | None = None  # None: the system's own
    congestion_control: str
    congestion_controls: list[str] | None = None  # each stream takes the next one; None: the one above for all
    bytes: int | None = None
    duration_ns: int | None = None
    receive: Literal["discard", "memory", "verify"]
    send: Literal["auto", "write", "sendfile", "splice", "zerocopy", "io_uring"] = "auto"
    sample_interval_ns: int
    pacing_rate_bps: int | None = None  # per stream
    start_stagger_ns: int = 0


class Event(_Part):
    """What happens to a link during the transfer; which fields are set follows from `kind`.

    loss: the next `packets` IP packets that enter the link are lost, or, if `packets` is null, each one that enters
    within `duration_ns` with `probability`. rate, delay: `rate_bps` or `delay_ns` replaces the plan's figure from then
    on, for `duration_ns` if that is set. down: whatever enters within `duration_ns` is lost. background: IP packets of
    the link's MTU at `rate_bps` (bits of IP packets per second) enter for `duration_ns` at the link's near node and
    leave at its far node; no router or host beyond sees them.
    """

    at_ns: int  # since the transfer's start
    kind: Literal["loss", "rate", "delay", "down", "background"]
    link: int
    direction: Literal["forward", "reverse", "both"]
    packets: int | None = None
    duration_ns: int | None = None
    probability: float | None = None
    rate_bps: int | None = None
    delay_ns: int | None = None

    @property
    def directions(self) -> tuple[str, ...]:
        """The directions that it touches."""
        return ("forward", "reverse") if self.direction == "both" else (self.direction,)


class Calibration(_Part):
    """How far the measured path may be from the plan before a transfer is refused (0…1)."""

    rtt_tolerance: float = 0.001
    rate_tolerance: float = 0.01


class RecordedHop(_Part):
    """A line of a recorded traceroute."""

    label: str
    rtt_ms: list[float]
    below: bool = False  # recorded as "<1 ms": rtt_ms are upper bounds


class Expect(_Part):
    """The recorded or wanted result, and where the figures come from."""

    goodput_bps: int | None = None
    goodput_tolerance: float | None = None  # 0…1
    goodput_from_s: float = 0.0  # 0: whole run; 10: from the tenth second on
    bytes: int | None = None
    duration_ns: int | None = None
    rtt_ns: int | None = None
    retransmits: int | None = None
    streams_goodput_bps: list[int] | None = None
    distance_m: int | None = None
    score_bit_m_per_s: int | None = None
    source: str
    host_limits_fitted: bool = False  # a host's bus was fitted to this very result
    forward_traceroute: list[RecordedHop] = []
    reverse_traceroute: list[RecordedHop] = []


class PreviousRecord(_Part):
    """The record of the same class that was beaten; one of score and improvement is known."""

    score_bit_m_per_s: int | None = None
    improvement: float | None = None  # 0.12: by 12 %
    what: str


class Contest(_Part):
    """What a record's documents say on the contest's rules."""

    date: str  # ISO 8601, a day or a month
    basis: Literal["documents", "public", "what if"] = "documents"
    networks: str | None = None
    payload: str | None = None
    bound_by: Literal["window", "framing", "host", "not stated"] = "not stated"
    bound_why: str | None = None
    previous: PreviousRecord | None = None


class Limit(_Part):
    """One thing that bounds the goodput of the whole transfer."""

    name: str  # begins with "window", "bus", "framing", "pacing" or "loss"
    goodput_bps: int


class Physics(_Part):
    """What theory says about the plan. Formulae and sources are in physics.py."""

    rtt_ns: int
    distance_m: int | None
    bdp_bytes: int  # of the slowest link's line rate
    mss_bytes: int
    framing_limit_bps: int
    window_limit_bps: int | None  # None: autotuning
    bus_limit_bps: int | None  # None: no host has a bus limit
    expected_goodput_bps: int  # least of `limits`
    expected_bottleneck: str
    guest_memory_bytes: int
    limits: list[Limit]


class Plan(_Part):
    """A scenario resolved for one world and one seed."""

    schema_version: int = PLAN_SCHEMA_VERSION
    scenario: str
    title: str
    scenario_file: str
    seed: int
    ip_version: Literal[4, 6]
    fidelity: Literal["packets", "super-packets"]
    nodes: list[Node]
    links: list[Link]
    transfer: Transfer
    events: list[Event] = []  # in the order in which they happen
    calibration: Calibration
    expect: Expect | None = None
    contest: Contest | None = None
    physics: Physics

    @property
    def sha256(self) -> str:
        """Hash of the canonical JSON without the file's path: two plans with the same hash are the same work."""
        data = self.model_dump(mode="json", exclude={"scenario_file"})
        return hashlib.sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
