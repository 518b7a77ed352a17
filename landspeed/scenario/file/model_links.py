"""The scenario file's hosts, routers and links, with the directions of a link, as models."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from landspeed.base.loss_units import LossShare
from landspeed.base.units import Delay, Distance, Mtu, Probability, Queue, Rate
from landspeed.scenario.file.disciplines import Discipline
from landspeed.scenario.file.key_names import special
from landspeed.scenario.file.netem_line import Distribution, NetemWords
from landspeed.scenario.file.position import Position
from landspeed.scenario.file.section import Section, Text
from landspeed.scenario.traces.trace_file import TraceSource

NAME_PATTERN = r"^[a-z][a-z0-9-]{0,30}$"

Name = Annotated[str, Field(pattern=NAME_PATTERN, examples=["chicago"])]
Framing = Literal[
    "ethernet", "pos", "vlan", "qinq", "mpls", "pppoe", "gre", "vxlan", "wireguard", "ipsec",
    "ipoa-vcmux", "ipoa-llcsnap", "bridged-vcmux", "bridged-llcsnap", "pppoa-vcmux", "pppoa-llc", "pppoe-vcmux",
    "pppoe-llcsnap", "conservative", "pppoe-ptm", "bridged-ptm", "docsis",
]  # fmt: skip


class BusSection(Section):
    """Capacity of the machine behind the network interface: limits by PCI-X, memory, one CPU."""

    rate: Rate = Field(description="Bits of IP packets per second")
    fitted: bool = Field(
        False, description="true: computed from the recorded result, so it predicts nothing; reports say so"
    )
    why: Text | None = Field(None, description="Where the figure comes from")


class HostSection(Section):
    """An end of the path, or a node of a network at which flows begin or end. It forwards nothing."""

    role: Literal["sender", "receiver"] | None = Field(
        None, description="sender (the first node) or receiver; only in a path, not in a network"
    )
    place: Text | None = Field(None, description="City, for the table and the report")
    position: Position | None = Field(
        None, description="Latitude and longitude; distances and the map are computed from them"
    )
    label: Text | None = Field(None, description="Recorded name of the machine")
    address_note: Text | None = Field(None, description="Recorded address; the worlds choose their own")
    nic: Rate | None = Field(
        None,
        description="Line rate of the network interface; default: that of the host's link. Not lower than that",
    )
    bus: BusSection | None = Field(
        None, description="How much the machine behind the interface can move, if that is a limit"
    )
    paced: bool | None = special(
        None,
        description="Whether the host's queue discipline spaces the packets of each TCP flow. true: it does, as fq. "
        "false: it does not, as fq_codel and pfifo_fast, most distributions' defaults; BBR and `pacing` then pace "
        "by themselves. Default: true where it is emulated; where it is simulated, true for flows that share a link",
    )
    send_jitter: Delay | None = Field(
        None, description="Instead of the file's send_jitter: how much the times vary at which this host sends"
    )
    hardware: Text | None = Field(None, description="Note: machine, CPU, network interface")
    software: Text | None = Field(None, description="Note: operating system, program, versions")


class RouterSection(Section):
    """Notes on a router of the path. A router without an entry here is allowed."""

    place: Text | None = Field(None, description="City, for the table and the report")
    position: Position | None = Field(
        None, description="Latitude and longitude; distances and the map are computed from them"
    )
    label: Text | None = Field(None, description="Recorded name of the router")
    address_note: Text | None = Field(None, description="Recorded address; the worlds choose their own")


class DirectionSection(Section):
    """Keys of a link's direction. On a link they mean both directions unless `reverse` says otherwise."""

    one_way_delay: Delay | None = Field(None, description="Propagation delay of this direction")
    line_rate: Rate | None = Field(
        None, description="Rate of the line, framing included, up to 1 Tbit/s; default: the file's line_rate"
    )
    queue: Queue | None = Field(
        None,
        description="Buffer before the line, in bytes or BDP, without packets in flight; in BDP, at least 10 packets. "
        "A host has none before its own line, and its sockets wait; under `reverse` of the receiver's link it gets one",
    )
    discipline: Discipline | None = Field(
        None, description="How the queue is managed: a name, or a name with its parameters; default fifo"
    )
    trace: TraceSource | None = Field(
        None,
        description="Rate, delay and loss over time, in place of these keys: a file, or a mapping; none: no trace",
    )
    packet_limit: int | None = Field(
        None,
        ge=1,
        le=2**32 - 1,
        description="Packets in flight and in the queue that the emulation may hold; default: computed, with a reserve",
    )
    loss: LossShare | None = Field(
        None,
        description="Probability that a packet is lost; or `{every: N}`: each N-th packet is, counted from the start "
        "of the transfer; or `{bit_error_rate: 1e-12}`: as many as full frames (where no data goes, acknowledgments) "
        "with their framing have a bit in error",
    )
    loss_burst: float | None = Field(
        None,
        ge=1,
        le=1000,
        description="Mean number of packets lost in a row (Gilbert's chain of two states); `loss` is still the share "
        "of all packets; default: losses are independent",
    )
    corrupt: Probability | None = Field(None, description="Probability that a bit of a packet is flipped")
    duplicate: Probability | None = Field(None, description="Probability that a packet arrives twice")
    reorder: Probability | None = Field(None, description="Probability that a packet skips the delay")
    jitter: Delay | None = Field(
        None,
        description="The delay varies by up to this, up and down; at most the delay; packets keep their order, so that "
        "on a busy line the mean delay grows",
    )
    jitter_distribution: Distribution | None = Field(
        None,
        description="normal, pareto or paretonormal, of tc-netem(8); or a file with a table, as tc's .dist, relative "
        "to this file. `jitter` is then the scale (the standard deviation, where the table is of 1); default: uniform",
    )
    netem: NetemWords | None = Field(
        None,
        description="Instead of delay, loss and jitter: what stands after `netem` in a line of tc, read as tc reads it "
        "(tc-netem(8)). Without `rate` packets overtake each other by jitter; `limit` is 1000 packets unless it is "
        "said; the correlation of a delay is netem's own, which is none for jitters of less than a second",
    )


class ReverseSection(DirectionSection):
    """The direction from receiver to sender, where it differs from the forward one."""


def _parallel(value: object) -> object:
    """Take `3 of 4`, which spread() made of a number (parallel.py); a number that is still there could not be taken."""
    if isinstance(value, str) and re.fullmatch(r"[1-9][0-9]? of [1-9][0-9]?", value):
        return value
    right = "write 2 to 64, on a link of a network (links and flows) that has a name"
    raise PydanticCustomError("parallel", "'{value}' parallel links are none", {"value": str(value), "right": right})


class LinkSection(DirectionSection):
    """A link between two neighbouring nodes; its own keys describe the forward direction, from `from` to `to`."""

    from_: Name = Field(alias="from", description="The node nearer to the sender; of a network: either end")
    to: Name = Field(description="The node nearer to the receiver; of a network: the other end")
    name: Name | None = Field(None, description="Distinguishes links of a network between the same two nodes")
    rtt: Delay | None = Field(None, description="Instead of one_way_delay: both directions together, split evenly")
    distance: Distance | None = Field(None, description="Terrestrial distance, for the score")
    mtu: Mtu | None = Field(
        None,
        description="Largest IP packet, 576 B (IPv6: 1280 B) to 65535 B; default: the file's. A path has the smallest",
    )
    framing: Framing | None = Field(
        None,
        description="Bytes beside the IP packet: ethernet 38, pos 9 (PPP over SONET/SDH); on Ethernet, through IPv4: "
        "vlan and mpls 42, qinq and pppoe 46, gre 62, vxlan 88, ipsec (ESP, AES-GCM) 92, wireguard 98; mtu is inside. "
        "By the names of tc-cake(8), on DSL in cells of ATM (53 B for 48): ipoa-vcmux, ipoa-llcsnap, bridged-vcmux, "
        "bridged-llcsnap, pppoa-vcmux, pppoa-llc, pppoe-vcmux, pppoe-llcsnap, conservative; in PTM (65 for 64): "
        "pppoe-ptm, bridged-ptm; on cable docsis (18, 64 at least)",
    )
    parallel: Annotated[int | str, BeforeValidator(_parallel)] | None = Field(
        None,
        description="In a network, with `name`: so many links alike, NAME-1, NAME-2 …, 2 to 64. What goes to one host "
        "takes one of them, by a hash of the host and the seed, as of routers with equal ways and bundles of lines",
    )
    hash: Literal["hosts", "ports"] | None = Field(
        None,
        description="With parallel, of what: hosts, the destination (the default); ports: each connection has a way of "
        "its own, there and back, so that a flow of several streams is as many flows, NAME-1, NAME-2 …",
    )
    reverse: ReverseSection | None = Field(None, description="The other direction, where it differs")
