"""The plan: a scenario resolved to plain numbers, the same for every world.

The plan is the work and what is told of it, and crosses every process boundary as JSON. All numbers are SI;
nanoseconds, bytes and bits per second are integers; the unit is in the name. `Plan.from_json` reads it, `Plan.to_json`
writes it, both strictly. The guest reads it while its clock stands still, so importing this module must stay cheap.
"""

# The guest imports this: dataclasses and typing are guest/stdlib_stand_ins there.
from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from landspeed.scenario.plan.direction import Direction
from landspeed.scenario.plan.limits import Physics
from landspeed.scenario.plan.recorded import Contest, Expect
from landspeed.scenario.plan.trace import Trace

PLAN_SCHEMA_VERSION = 4
PATH_FLOW = "transfer"  # name of the one flow of a path


class PlanError(ValueError):
    """JSON that is no plan; the message names the key path, what stands there, and what would be right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A host, where flows begin and end, or a router. Hosts forward nothing."""

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
    paced: bool | None = None  # hosts; whether their discipline spaces TCP's packets; None: the world's own way

    @property
    def host_nic_bps(self) -> int:
        """`nic_rate_bps` of a host.

        Raises:
            ValueError: a router has none.
        """
        if self.nic_rate_bps is None:
            raise ValueError(f"{self.name} has no network interface of its own: it is a {self.kind}")
        return self.nic_rate_bps


def padded_bytes(whole_bytes: int, cells: Literal["atm", "ptm"] | None) -> int:
    """Count what a packet with its framing takes in cells of ATM (48 of 53 B), in PTM (64 of 65), or in none."""
    if cells == "atm":
        return -(-whole_bytes // 48) * 53
    return whole_bytes - (-whole_bytes // 64) if cells == "ptm" else whole_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Link `index` of the plan joins the nodes `a` and `b`; forward is from `a` to `b`.

    On a path it joins nodes[index] and nodes[index + 1], and forward is from sender to receiver.
    """

    index: int
    name: str | None = None  # tells links between the same nodes apart
    a: str
    b: str
    mtu_bytes: int
    framing: str
    framing_bytes: int  # beside each IP packet
    cells: Literal["atm", "ptm"] | None = None  # in which packets go, padded
    least_bytes: int = 0  # of a packet with its framing
    distance_m: int | None = None
    forward: Direction
    reverse: Direction

    def line_bytes(self, packet_bytes: int) -> int:
        """Count what an IP packet takes of the line, as Linux's CAKE does (sch_cake.c, cake_calc_overhead).

        ATM: cells of 53 B for 48 B each (ITU-T I.361, AAL5: I.363.5); PTM: a byte for each 64 (IEEE 802.3 clause 61).
        """
        return padded_bytes(max(packet_bytes + self.framing_bytes, self.least_bytes), self.cells)

    def framing_of(self, packet_bytes: int) -> int:
        """Count what the line takes beside an IP packet of that size."""
        return self.line_bytes(packet_bytes) - packet_bytes

    @property
    def pads(self) -> bool:
        """True if what it takes beside a packet is not the same for all."""
        return self.cells is not None or self.least_bytes > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """Data to send, and how. Exactly one of `bytes` (total of all streams) and `duration_ns` is set."""

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
    ecn: bool = False  # both hosts negotiate explicit congestion notification
    accurate_ecn: bool = False  # the accurate one, which counts marks
    protect: Literal["none", "mac", "aead", "ktls"] = "none"  # who makes records of the data, and which
    mptcp: bool = False  # over both routes of the flow
    ping: bool = False  # echoes beside the data
    ping_interval_ns: int | None = None  # between two of them
    pacing_rate_bps: int | None = None  # per stream
    start_stagger_ns: int = 0
    protocol: Literal["tcp", "udp"] = "tcp"  # udp: datagrams, one stream, for `duration_ns`
    rate_bps: int | None = None  # of their IP packets, while it sends
    packet_bytes: int | None = None  # of each IP packet
    active_ns: int | None = None  # it sends for so long, and
    idle_ns: int | None = None  # rests for so long, in turns; None: it never rests
    call: Literal["g711"] | None = None  # they carry speech
    stall_ns: int | None = None  # given up when nothing has moved for so long; None: 30 s


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Event on a link during the transfer; which fields are set follows from `kind`.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Tolerances of the measured path against the plan (0…1); beyond them a transfer is refused."""

    rtt_tolerance: float = 0.001
    rate_tolerance: float = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """One transfer from a host to another. What it sends goes over `route`, what is answered the same way back.

    Attributes:
        source, target: names of hosts.
        route: indexes of links, in the order in which data passes them.
        route_back: those that its acknowledgments pass, in their order, if some are others; None: the same links.
        second_route: of MPTCP's second subflow, in the same way; it shares no link with `route`.
        own_way: routers know it by itself, so that it may take other links than what else goes to its hosts.
        start_ns: when its sender begins to connect, after that of the first flow.
    """

    name: str
    source: str
    target: str
    route: list[int]
    route_back: list[int] | None = None
    second_route: list[int] | None = None
    own_way: bool = False
    start_ns: int = 0
    transfer: Transfer
    expect: Expect | None = None
    physics: Physics


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A scenario resolved for one world and one seed: a network and its flows. A path is a network with one flow.

    What concerns one flow is computed on the plan of its path alone (flow_path.py), which has the nodes and links of
    its route in order, and that flow. `transfer`, `expect` and `physics` are those of that flow.
    """

    schema_version: int = PLAN_SCHEMA_VERSION
    scenario: str
    title: str
    scenario_file: str
    seed: int
    ip_version: Literal[4, 6]
    fidelity: Literal["packets", "super-packets"]
    nodes: list[Node]
    links: list[Link]
    flows: list[Flow]  # at least one
    events: list[Event] = field(default_factory=list[Event])  # in the order in which they happen
    calibration: Calibration
    contest: Contest | None = None
    kernel: str | None = None  # of Linux at both ends, as asked: series, release or build; None: any
    spin_cost_ns: int | None = None  # of a system call of a program that spins, if asked for; None: such a run is ended

    @property
    def is_path(self) -> bool:
        """True if there is one flow, over all links in their order."""
        if len(self.flows) != 1 or self.flows[0].route != list(range(len(self.links))) or self.flows[0].route_back:
            return False
        names = [node.name for node in self.nodes]
        ends = [[link.a, link.b] for link in self.links]
        return len(names) == len(ends) + 1 and all(end == names[i : i + 2] for i, end in enumerate(ends))

    @property
    def hops(self) -> int:
        """Links that the data passes of a flow's path; where answers pass other nodes, theirs follow (flow_path.py)."""
        return len(self.flow.route) if self.flow.route_back else len(self.links)

    @property
    def returned(self) -> list[Link]:
        """Links of a flow's path that answers pass, in the order in which they do; `reverse` is theirs."""
        return [self.links[index] for index in self.flow.route_back] if self.flow.route_back else self.links[::-1]

    @property
    def flow(self) -> Flow:
        """The flow of a path; of a network, the first."""
        return self.flows[0]

    @property
    def transfer(self) -> Transfer:
        """Transfer of the flow of a path."""
        return self.flow.transfer

    @property
    def expect(self) -> Expect | None:
        """Expectations for the flow of a path."""
        return self.flow.expect

    @property
    def physics(self) -> Physics:
        """Theory for the flow of a path."""
        return self.flow.physics

    @property
    def changes(self) -> bool:
        """True if links change while the transfer runs: by events, a trace, or losses by count."""
        return bool(self.events) or any(
            direction.trace or direction.loss_every for link in self.links for direction in (link.forward, link.reverse)
        )

    @property
    def sha256(self) -> str:
        """Hash of the work: plans with equal hashes describe the same transfer over the same path.

        In it are the nodes' names, kinds, and rates of NIC and bus; the links with all figures of both directions; the
        flows; the events; the tolerances of the calibration; IP version, fidelity and seed; a kernel and what spinning
        costs, if they are asked for. Not in it is what is told of the work (work.py): titles, places,
        distances, what was recorded, and what follows from the rest.
        """
        # saves 15 ms where it is not needed
        import hashlib

        # saves 0.5 ms where it is not needed
        from landspeed.scenario.plan.work import work_of

        work = work_of(self, NOT_WORK, WORK_IF_ASKED)
        return hashlib.sha256(json.dumps(work, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Lists, dictionaries and plain values, every field in its place."""
        # saves 38 ms where it is not needed
        from landspeed.base.json_form import to_plain

        return to_plain(self)

    @classmethod
    def from_dict(cls, data: object) -> Plan:
        """The plan of such values.

        Raises:
            PlanError: it is of another schema, a key is unknown or missing, or has a value of another type.
        """
        # saves 31 ms where it is not needed
        from landspeed.base.json_form import FormError, from_plain

        if isinstance(data, dict):
            version = cast(dict[str, Any], data).get("schema_version", PLAN_SCHEMA_VERSION)
            if isinstance(version, int) and version != PLAN_SCHEMA_VERSION:
                read = f"this landspeed reads {PLAN_SCHEMA_VERSION}: make the plan again from its scenario"
                raise PlanError(f"plan: schema_version: {version}; {read}")
        try:
            return from_plain(cast(Any, data), cls)
        except FormError as error:
            raise PlanError(f"plan: {error}") from error

    def to_json(self, indent: int | None = None) -> str:
        """Convert to text, without needless spaces or with `indent` spaces a level."""
        separators = (",", ":") if indent is None else None
        return json.dumps(self.to_dict(), indent=indent, separators=separators, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Plan:
        """The plan that `to_json` wrote.

        Raises:
            PlanError: the text is no JSON, or no plan.
        """
        try:
            data = json.loads(text)
        except ValueError as error:
            raise PlanError(f"plan: not JSON: {error}") from error
        return cls.from_dict(data)


NOT_WORK: dict[type, frozenset[str]] = {
    Plan: frozenset(("schema_version", "scenario", "title", "scenario_file", "contest")),
    Flow: frozenset(("expect", "physics")),
    Node: frozenset(("place", "label", "address_note", "latitude_deg", "longitude_deg", "bus_fitted", "bus_why")),
    Link: frozenset(("distance_m",)),
    Direction: frozenset(("can_queue",)),
    Trace: frozenset(("file",)),
    Transfer: frozenset(("stall_ns",)),
}
"""Fields that do not count for `Plan.sha256`: a better proof, or another patience, does not make another plan."""

WORK_IF_ASKED: dict[type, frozenset[str]] = {
    Plan: frozenset(("kernel", "spin_cost_ns")),
    Node: frozenset(("paced",)),
    Direction: frozenset(("netem",)),
    Link: frozenset(("cells", "least_bytes")),
    Flow: frozenset(("route_back", "second_route", "own_way")),
    Transfer: frozenset(
        (
            *("mptcp", "ping", "ping_interval_ns", "protect"),
            *("protocol", "rate_bps", "packet_bytes", "active_ns", "idle_ns", "call"),
        )
    ),
}
"""Fields that count only where they are asked for: who asks for nothing has the plan of a time before they could be."""
