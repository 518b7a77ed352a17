"""Captures of a session: the kernel's ring of packets, as the guest wrote it, as packets and as a pcap file."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SLOT_BYTES = 256  # worlds/emu/guest/session/packet_ring.py
NANOSECONDS, ETHERNET = 0xA1B23C4D, 1
_HEADER = struct.Struct("<IIIHHII")  # struct tpacket2_hdr, up to the time


@dataclass(frozen=True)
class Packet:
    """A packet as it passed an interface.

    Attributes:
        time_ns: since the capture's start.
        length: bytes of the frame, also those that were not kept.
        data: the first of them.
    """

    time_ns: int
    length: int
    data: bytes


def packets(ring: Path, start_unix_ns: int = 0) -> Iterator[Packet]:
    """Read the packets of a ring in the order of arrival; times since `start_unix_ns`. Empty if there is no file."""
    content = ring.read_bytes() if ring.exists() else b""
    for at in range(0, len(content), SLOT_BYTES):
        status, length, kept, start, _, seconds, nanoseconds = _HEADER.unpack_from(content, at)
        if status == 0:
            return
        yield Packet(seconds * 10**9 + nanoseconds - start_unix_ns, length, content[at + start : at + start + kept])


def write_pcap(ring: Path, target: Path, start_unix_ns: int = 0) -> int:
    """Write a ring as a pcap file with nanoseconds (pcap-savefile(5)); the number of packets."""
    parts = [struct.pack("<IHHiIII", NANOSECONDS, 2, 4, 0, 0, SLOT_BYTES, ETHERNET)]
    for packet in packets(ring, start_unix_ns):
        seconds, nanoseconds = divmod(packet.time_ns, 10**9)
        parts += [struct.pack("<IIII", seconds, nanoseconds, len(packet.data), packet.length), packet.data]
    target.write_bytes(b"".join(parts))
    return len(parts) // 2
