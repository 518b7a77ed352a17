"""Evidence of measuring programs on a path, in one form. Times in s, rates in bit/s, sizes in bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from landspeed.base.errors import LandspeedError


class MeasurementError(LandspeedError):
    """A file that tells no measurement; the message names it, says what is wrong, and what would be right."""


@dataclass(frozen=True)
class Figure:
    """A figure with its source; the truth may be `minus` below it and `plus` above."""

    value: float
    source: str
    minus: float = 0.0
    plus: float = 0.0

    @property
    def certain(self) -> float:
        """The larger uncertainty as a share of the value."""
        return max(self.minus, self.plus) / abs(self.value) if self.value else 0.0


@dataclass(frozen=True)
class GoodputInterval:
    """A part of a transfer, all streams together; what was not told is None.

    Attributes:
        rate_bps: payload.
        rtt_s: the kernel's smoothed round-trip time at its end, mean of the streams.
        window_bytes: sum of what the receiver offered.
        cwnd_bytes: sum of the congestion windows.
    """

    start_s: float
    end_s: float
    rate_bps: float
    rtt_s: float | None = None
    window_bytes: int | None = None
    retransmits: int | None = None
    cwnd_bytes: int | None = None


@dataclass(frozen=True)
class MeasuredTransfer:
    """One transfer. What was asked for has `asked_` before it.

    Attributes:
        source: the file's name.
        goodput_bps: payload that the receiver got.
        sender_ports: of the connections that carried it.
        lost, packets, packet_bytes, offered_bps: of a transfer over UDP: the payload of each packet, and what was sent.
        captured_at: which end, of a packet capture; `captured_packets` of data, of which `overtaken` came before
            others that were sent earlier, and `needless` were sent again although they had come.
        guessed_control: from what was in flight, with the reason.
        busy: times in which a queue stood without a break, where packets tell it.
    """

    source: str
    program: str
    goodput_bps: float
    bytes: int
    duration_s: float
    sender: str = ""
    receiver: str = ""
    sender_ports: tuple[int, ...] = ()
    udp: bool = False
    ip_version: int = 4
    streams: int = 1
    congestion_control: str | None = None
    mss_bytes: int | None = None
    mtu_bytes: int | None = None
    asked_s: float | None = None
    asked_bytes: int | None = None
    asked_window_bytes: int | None = None
    asked_pacing_bps: float | None = None
    retransmits: int | None = None
    packets: int | None = None
    lost: int | None = None
    packet_bytes: int | None = None
    offered_bps: float | None = None
    min_rtt_s: float | None = None
    max_rtt_s: float | None = None
    intervals: tuple[GoodputInterval, ...] = ()
    busy: tuple[GoodputInterval, ...] = ()
    when: str = ""
    captured_at: str = ""
    captured_packets: int = 0
    overtaken: int = 0
    needless: int = 0
    guessed_control: str | None = None
    guess_why: str = ""

    @property
    def packets_sent(self) -> int | None:
        """Packets of full size, those that were sent again counted."""
        if self.packets is not None:
            return self.packets
        return None if not self.mss_bytes else round(self.bytes / self.mss_bytes) + (self.retransmits or 0)


@dataclass(frozen=True)
class TracerouteHop:
    """A line of a traceroute; one that did not answer has neither name nor times."""

    label: str
    rtts_ms: tuple[float, ...]


@dataclass(frozen=True)
class Traceroute:
    """A traceroute. `reached`: its last line is the target, whose address is "" where it is not told.

    `mtu_bytes`: of the path, where it was probed.
    """

    source: str
    target: str
    hops: tuple[TracerouteHop, ...]
    reached: bool
    address: str = ""
    mtu_bytes: int | None = None


@dataclass(frozen=True)
class Probes:
    """Small packets there and back, or, with `one_way`, there."""

    source: str
    what: str
    min_s: float | None
    sent: int
    lost: int
    one_way: bool = False
    clock_error_s: float = 0.0
    address: str = ""


@dataclass(frozen=True)
class Socket:
    """A TCP connection as the sending kernel tells of it (ss -ti). The peer is an address, without its port.

    `least_of`: what the least round trip is, in the words of its program. `window_limited`: share of its busy time in
    which the receiver's window held it back.
    """

    source: str
    peer: str
    local_port: int | None = None
    min_rtt_s: float | None = None
    rtt_s: float | None = None
    mss_bytes: int | None = None
    mtu_bytes: int | None = None
    window_bytes: int | None = None
    congestion_control: str | None = None
    packets: int | None = None
    retransmits: int | None = None
    least_of: str = "minrtt"
    window_limited: float | None = None


@dataclass(frozen=True)
class MeasuredDiscipline:
    """A queueing discipline on the path as it is configured (tc). Its rate counts frames without preamble and gap.

    Attributes:
        place: the device.
        dropped, packets: since it was made; those that were sent are in `packets`.
    """

    source: str
    kind: str
    place: str
    rate_bps: float | None = None
    limit_bytes: int | None = None
    limit_packets: int | None = None
    loss: float | None = None
    dropped: int = 0
    packets: int = 0


@dataclass(frozen=True)
class MeasuredHost:
    """Settings of a host (sysctl, ethtool, ip link)."""

    source: str
    congestion_control: str | None = None
    send_buffer_bytes: int | None = None
    receive_buffer_bytes: int | None = None
    nic_bps: float | None = None
    mtu_bytes: int | None = None


@dataclass
class PathEvidence:
    """All that is known of one path. `notes`: what a reader left out, and why."""

    transfers: list[MeasuredTransfer] = field(default_factory=list[MeasuredTransfer])
    traces: list[Traceroute] = field(default_factory=list[Traceroute])
    probes: list[Probes] = field(default_factory=list[Probes])
    sockets: list[Socket] = field(default_factory=list[Socket])
    disciplines: list[MeasuredDiscipline] = field(default_factory=list[MeasuredDiscipline])
    hosts: list[MeasuredHost] = field(default_factory=list[MeasuredHost])
    notes: list[str] = field(default_factory=list[str])

    def add(self, more: PathEvidence) -> None:
        """Add the evidence of another file."""
        self.transfers += more.transfers
        self.traces += more.traces
        self.probes += more.probes
        self.sockets += more.sockets
        self.disciplines += more.disciplines
        self.hosts += more.hosts
        self.notes += more.notes

    def __bool__(self) -> bool:
        return bool(self.transfers or self.traces or self.probes or self.sockets or self.disciplines or self.hosts)

    def sources(self) -> Iterator[str]:
        """Each file once, with what measured it."""
        told: dict[str, str] = {}
        for transfer in self.transfers:
            told.setdefault(transfer.source, f"{transfer.program}{f', {transfer.when}' if transfer.when else ''}")
        for trace in self.traces:
            told.setdefault(trace.source, f"traceroute to {trace.target}")
        for probe in self.probes:
            told.setdefault(probe.source, probe.what)
        for socket in self.sockets:
            told.setdefault(socket.source, "ss -ti")
        for discipline in self.disciplines:
            told.setdefault(discipline.source, "tc -s qdisc")
        for host in self.hosts:
            told.setdefault(host.source, "settings of a host")
        yield from (f"{name}: {what}" for name, what in told.items())
