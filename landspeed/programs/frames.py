"""Captured packets in words that do not depend on the seed: random ports and sequence numbers are counted from 0."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from landspeed.results.packet_ring import packets

IPV4, IPV6 = 0x0800, 0x86DD
TCP, UDP = 6, 17
FLAGS = ((2, "SYN"), (16, "ACK"), (8, "PSH"), (1, "FIN"), (4, "RST"), (64, "ECE"), (128, "CWR"))
MODULO = 1 << 32
EPHEMERAL = 32768  # ports from here on are the kernel's choice (ip_local_port_range)


@dataclass(frozen=True)
class Frame:
    """A packet.

    Attributes:
        time_ns: since the path was handed over.
        words: what it is.
    """

    time_ns: int
    words: str

    def __str__(self) -> str:
        return f"{self.time_ns / 1e9:.6f} s  {self.words}"


class CaptureReader:
    """Puts the packets of one capture into words; connections are told apart by the order in which they begin."""

    def __init__(self, names: dict[str, str]) -> None:
        """`names`: address → node."""
        self._names = names
        self._first: dict[tuple[str, int, str, int], int] = {}  # the first sequence number of each way
        self._ports: dict[tuple[str, int], str] = {}

    def frames(self, ring: Path, start_unix_ns: int) -> Iterator[Frame]:
        """Decode the packets of a ring (results/packet_ring.py)."""
        for packet in packets(ring, start_unix_ns):
            yield Frame(packet.time_ns, self._words(packet.data, packet.length))

    def _words(self, data: bytes, length: int) -> str:
        (kind,) = struct.unpack_from(">H", data, 12)
        if kind == IPV4:
            protocol, header = data[23], 4 * (data[14] & 15)
            source, target = (str(ipaddress.IPv4Address(data[at : at + 4])) for at in (26, 30))
            payload = struct.unpack_from(">H", data, 16)[0] - header
        elif kind == IPV6:
            protocol, header = data[20], 40
            source, target = (str(ipaddress.IPv6Address(data[at : at + 16])) for at in (22, 38))
            payload = struct.unpack_from(">H", data, 18)[0]
        else:
            return f"{length} B of type {kind:#06x}"
        inner = data[14 + header :]
        if protocol == TCP and len(inner) >= 20:
            return self._tcp(source, target, inner, payload)
        if protocol == UDP and len(inner) >= 8:
            ports = struct.unpack_from(">HH", inner)
            return f"{self._way(source, ports[0], target, ports[1])} UDP, {payload - 8} B"
        return f"{self._name(source)} → {self._name(target)} protocol {protocol}, {payload} B"

    def _tcp(self, source: str, target: str, inner: bytes, payload: int) -> str:
        from_port, to_port, sequence, acknowledged, offset, flags, window = struct.unpack_from(">HHIIBBH", inner)
        there, back = (source, from_port, target, to_port), (target, to_port, source, from_port)
        if flags & 2:  # SYN
            self._first[there] = sequence
        told = [name for bit, name in FLAGS if flags & bit]
        at = (sequence - self._first.setdefault(there, sequence)) % MODULO
        said = f"{self._way(*there)} TCP {' '.join(told)} seq {at}"
        if flags & 16:
            said += f" ack {(acknowledged - self._first.setdefault(back, acknowledged)) % MODULO}"
        return f"{said} win {window}, {payload - 4 * (offset >> 4)} B"

    def _way(self, source: str, from_port: int, target: str, to_port: int) -> str:
        return (
            f"{self._name(source)}:{self._port(source, from_port)} → {self._name(target)}:{self._port(target, to_port)}"
        )

    def _port(self, address: str, port: int) -> str:
        if port < EPHEMERAL:
            return str(port)
        return self._ports.setdefault((address, port), f"#{1 + len(self._ports)}")

    def _name(self, address: str) -> str:
        return self._names.get(address, address)


@dataclass(frozen=True)
class CaptureDifference:
    """First difference of two captures.

    Attributes:
        number: of the packet, from 1.
        one, other: what it is in each; None: there is none any more.
    """

    number: int
    one: Frame | None
    other: Frame | None


def first_difference(one: list[Frame], other: list[Frame], *, later_ns: int | None = None) -> CaptureDifference | None:
    """The first packet that is another one; with `later_ns`, also the same at a time that differs by more than that."""
    for number in range(max(len(one), len(other))):
        mine = one[number] if number < len(one) else None
        theirs = other[number] if number < len(other) else None
        if mine is None or theirs is None or mine.words != theirs.words:
            return CaptureDifference(number + 1, mine, theirs)
        if later_ns is not None and abs(mine.time_ns - theirs.time_ns) > later_ns:
            return CaptureDifference(number + 1, mine, theirs)
    return None
