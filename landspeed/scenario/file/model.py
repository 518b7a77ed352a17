"""The scenario file, format 1, as models. The JSON Schema and the reference (make docs) follow these.

A model checks each value by itself; what several keys must agree on (order of hops, one of two keys) is in checks.py,
because those errors point at two places. Every description here is shown to users by their editor, through the schema.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from landspeed.base.loss_units import Loss
from landspeed.base.units import (
    Amount,
    Delay,
    Duration,
    EventSpan,
    EventTime,
    FlowStart,
    Interval,
    Mtu,
    PacketSize,
    Probability,
    Queue,
    Rate,
    Spell,
    Stagger,
    Stall,
    Window,
)
from landspeed.scenario.file.key_names import special
from landspeed.scenario.file.model_links import Framing, HostSection, LinkSection, Name, RouterSection
from landspeed.scenario.file.model_recorded import ContestSection, ExpectSection
from landspeed.scenario.file.section import Section, Text

MOST_HOPS = 255  # the TTL has eight bits (RFC 791, RFC 8200)
MOST_NODES, MOST_LINKS, MOST_FLOWS = 1000, 2000, 1000
KERNEL_PATTERN = r"^\d+\.\d+(\.\d+)?(\+[\w.+-]+)?$"
SLUG_PATTERN = r"^[a-z0-9][a-z0-9-]{0,62}$"

CongestionControl = Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,15}$")]


class TransferSection(Section):
    """Data to send, and how. Exactly one of `bytes` and `duration`."""

    streams: int = Field(1, ge=1, le=128, description="TCP connections in parallel")
    window: Window | None = Field(
        None,
        description="Window of each stream, as asked of the system (SO_RCVBUF, SO_SNDBUF), at most 1 GiB; "
        "default: autotuning",
    )
    window_exact: bool = Field(
        False,
        description="true: the receiver offers exactly `window`; false: what its system makes of it",
    )
    initial_window: int | None = Field(
        None,
        ge=1,
        le=100_000,
        description="Packets that a stream may send at first; default: the system's own (Linux: 10)",
    )
    congestion_control: CongestionControl = Field(
        "cubic", description="Name of the congestion control; the world must have it"
    )
    congestion_controls: list[CongestionControl] | None = special(
        None, min_length=1, max_length=128, description="A list instead of one for all: each stream takes the next one"
    )
    bytes: Amount | None = Field(None, description="How much to send, over all streams. Instead of duration")
    duration: Duration | None = Field(None, description="How long to send. Instead of bytes")
    receive: Literal["discard", "memory", "verify"] = Field(
        "discard",
        description="discard: the kernel drops the data; memory: copied; verify: copied, and every byte checked",
    )
    sample_interval: Interval = Field(
        10**8, description="Time between two samples of the series, at least 10 ms; default 100 ms"
    )
    send: Literal["auto", "write", "sendfile", "splice", "zerocopy", "io_uring"] = special(
        "auto", description="How the payload gets into the socket; auto: chosen by kernel, size and route"
    )
    ecn: bool = special(
        False, description="true: routers may mark instead of drop (RFC 3168), where the discipline can; default false"
    )
    accurate_ecn: bool = special(
        False,
        description="true: ECN whose feedback counts the marks (AccECN, RFC 9768); Linux 7.0 and later; default false",
    )
    protect: Literal["none", "mac", "aead", "ktls"] = special(
        "none",
        description="mac: nobody on the way can change the data unseen; aead: nor read it; ktls: as aead, in records "
        "that the kernels make. With these, receive is memory or verify",
    )
    mptcp: bool = special(
        False,
        description="true: multipath TCP (RFC 8684) over two routes that share no link; only in a network; "
        "default false",
    )
    ping: bool = special(
        False,
        description="true: an echo (ICMP) from sender to receiver at each sample_interval, on slow lines more rarely "
        "(5 % of the rate at most), from before the transfer to its end: delay that other packets meet (bufferbloat), "
        "idle and under load, and round trips a minute (RPM); default false",
    )
    pacing: Rate | None = Field(None, description="Highest sending rate of each stream; default: the system's own")
    start_stagger: Stagger = Field(0, description="Time between the starts of two streams; default 0 s")
    protocol: Literal["tcp", "udp"] = special(
        "tcp",
        description="udp: datagrams at a rate that heeds nobody, for a duration; measured are loss, order, jitter and "
        "one-way delay",
    )
    rate: Rate | None = Field(None, description="With udp: bits of IP packets per second, while it sends")
    packet: PacketSize | None = Field(
        None, description="With udp: size of each IP packet; default: the largest that the path takes"
    )
    active: Spell | None = Field(None, description="With udp and idle: it sends for so long, then rests, in turns")
    idle: Spell | None = Field(None, description="With udp and active: it rests for so long")
    call: Literal["g711"] | None = Field(
        None,
        description="With udp, instead of rate and packet: a voice in one direction, 50 packets a second of 160 B of "
        "speech behind RTP; its mean opinion score (ITU-T G.107) is told",
    )
    stall: Stall | None = Field(
        None,
        description="The transfer is given up when nothing has moved for this long; default: 30 s, or more where the "
        "plan's round trips, queues and outages take longer",
    )


class EventSection(Section):
    """Event on a link during the transfer. Exactly one of the five kinds."""

    at: EventTime = Field(description="Time of the event, since the start of the transfer")
    from_: Name | None = Field(None, alias="from", description="The node at which packets enter the link")
    to: Name | None = Field(None, description="The node at which they leave it: a neighbour of `from`")
    between: list[Name] | None = Field(
        None, min_length=2, max_length=2, description="Instead of from and to: two neighbours, both directions"
    )
    link: Name | None = Field(None, description="In addition: the link's name, where several links join these nodes")
    loss: Loss | None = Field(
        None, description="`3 packets`: the next three; `100 %` with `for`: each packet with that probability"
    )
    line_rate: Rate | None = Field(None, description="The line's new rate")
    one_way_delay: Delay | None = Field(None, description="The new propagation delay (a reroute)")
    down: EventSpan | None = Field(None, description="For this time, every packet that enters the link is lost")
    background: Rate | None = Field(
        None, description="Unresponsive packets of full size enter; bits of IP packets per second"
    )
    for_: EventSpan | None = Field(None, alias="for", description="How long it lasts; then the former value returns")


class CalibrationSection(Section):
    """Tolerances of the measured path against the file; beyond them the transfer is refused."""

    rtt_tolerance: Probability = Field(0.001, description="Allowed error of each round-trip time; default 0.1 %")
    rate_tolerance: Probability = Field(0.01, description="Allowed error of the bottleneck's rate; default 1 %")


class FlowSection(TransferSection):
    """One transfer of a network. Keys that are not here come from the file's `transfer`."""

    name: Name = Field(description="Name of the flow in results")
    from_: Name = Field(alias="from", description="The host that sends")
    to: Name = Field(description="The host that receives")
    start: FlowStart = Field(0, description="When its sender begins to connect, in whole seconds; default 0 s")
    route: list[Name] | None = Field(
        None,
        min_length=2,
        max_length=MOST_HOPS + 1,
        description="Nodes from `from` to `to`, with names of links between them where needed; "
        "default: the route with the least round-trip delay",
    )
    route_back: list[Name] | None = Field(
        None,
        min_length=2,
        max_length=MOST_HOPS + 1,
        description="From `to` to `from`, what its acknowledgments pass: other nodes, or the same over other links, "
        "where these are named; default: the route of a flow that goes this way, else the same links",
    )
    second_route: list[Name] | None = Field(
        None,
        min_length=2,
        max_length=MOST_HOPS + 1,
        description="With mptcp: the other route, written in the same way; default: of the routes that share no link "
        "with the first, that with the least round-trip delay",
    )
    expect: ExpectSection | None = Field(None, description="The wanted result of this flow")


def _ip_version(value: int) -> int:
    if value not in (4, 6):
        raise PydanticCustomError("ip", "IP version {value} does not exist", {"value": value, "right": "write 4 or 6"})
    return value


def _format(value: int) -> int:
    if value != 1:
        raise PydanticCustomError(
            "format", "format {value} is not known here", {"value": value, "right": "write format: 1"}
        )
    return value


def _kernel(value: Any) -> str:
    """Text: YAML's numbers have no zeros at their end, and 6.10 is not 6.1."""
    if isinstance(value, str) and re.fullmatch(KERNEL_PATTERN, value):
        return value
    right = 'write a series or a release of Linux as text, in quotes: kernel: "6.12"'
    raise PydanticCustomError("kernel", "'{value}' is not a version of Linux", {"value": value, "right": right})


def _hops(value: list[LinkSection]) -> list[LinkSection]:
    if len(value) > MOST_HOPS:
        raise PydanticCustomError(
            "hops",
            "a path of {count} links is longer than the TTL of an IP packet allows",
            {"count": len(value), "right": f"write at most {MOST_HOPS} links (RFC 791)"},
        )
    return value


class ScenarioFile(Section):
    """A scenario file: hosts, the path hop by hop, the transfer, and the result to expect.

    A network has `links` and `flows` instead of the path.
    """

    format: Annotated[int, AfterValidator(_format)] = Field(
        description="Version of the format", json_schema_extra={"const": 1}
    )
    extends: Text | None = Field(None, description="Another file, relative to this one, on which this one builds")
    name: Annotated[str, Field(pattern=SLUG_PATTERN)] = Field(
        description="Short name; names of result folders begin with it"
    )
    title: Text = Field(description="One line")
    description: Text | None = Field(None, description="What it is and what it shows")
    ip: Annotated[int, AfterValidator(_ip_version)] = Field(
        4, description="Version of IP", json_schema_extra={"enum": [4, 6]}
    )
    fidelity: Literal["packets", "super-packets"] = Field(
        "packets",
        description="packets: each is handled separately; "
        "super-packets: up to 180 KB (IPv6: 64 KB) are handled as one, which is faster",
    )
    mtu: Mtu = Field(1500, description="Largest IP packet of links that do not say; default 1500 B")
    framing: Framing = Field("ethernet", description="Framing of links that do not say")
    line_rate: Rate | None = Field(None, description="Line rate of links that do not say")
    queue: Queue | None = Field(None, description="Queue of links that do not say; default 1 BDP")
    send_jitter: Delay | None = Field(
        None,
        description="Each packet leaves its host up to this much earlier or later, by chance, in order, as from real "
        "machines; at most the delay of the host's link; default 0 s",
    )
    hosts: dict[Name, HostSection] = Field(
        {}, max_length=MOST_NODES, description="The two ends of a path, by name; of a network: notes on its hosts"
    )
    routers: dict[Name, RouterSection] = Field({}, max_length=MOST_NODES, description="Notes on routers, by name")
    path: Annotated[list[LinkSection], AfterValidator(_hops)] = Field(
        [], description="The links in order from sender to receiver", json_schema_extra={"maxItems": MOST_HOPS}
    )
    links: list[LinkSection] = Field(
        [], max_length=MOST_LINKS, description="Instead of path: the links of a network, between any nodes"
    )
    transfer: TransferSection = Field(
        default_factory=lambda: TransferSection.model_validate({}),
        description="What is sent; in a network: values for flows that do not say them",
    )
    flows: list[FlowSection] = Field(
        [], max_length=MOST_FLOWS, description="With links: who sends what to whom, and from when"
    )
    events: list[EventSection] = Field([], max_length=1000, description="What happens to links during the transfer")
    calibration: CalibrationSection = Field(
        default_factory=lambda: CalibrationSection.model_validate({}),
        description="How exact the path must be before the transfer counts",
    )
    expect: ExpectSection | None = Field(None, description="The recorded or wanted result; a run that misses it fails")
    contest: ContestSection | None = Field(None, description="For records: the facts that the contest's rules ask for")
    vary: dict[str, Any] | None = Field(
        None,
        description="Dotted key → list or range of values, written as for --set: the file is every combination. "
        "`zip`: keys that change together; `cases`: named sets of keys; `seeds`: how many, or which",
    )
    sources: list[Text] = Field([], max_length=100, description="Documents from which the figures come")
    assumptions: list[Text] = Field(
        [], max_length=100, description="What the file assumes because the documents do not say it"
    )
    seed: int = Field(1, ge=0, le=2**53 - 1, description="Seed of everything random; --seed sets another")
    kernel: Annotated[str, BeforeValidator(_kernel), Field(pattern=KERNEL_PATTERN, examples=["6.12"])] | None = special(
        None, description="Series or release of Linux on all nodes, in quotes; default: the one that is installed"
    )

    @property
    def is_network(self) -> bool:
        """True if the file has links and flows instead of a path."""
        return bool(self.links or self.flows)

    @property
    def all_links(self) -> list[LinkSection]:
        """The links of the path or of the network."""
        return self.links if self.is_network else self.path

    @property
    def links_key(self) -> str:
        """The key under which they stand."""
        return "links" if self.is_network else "path"
