"""What the guest sees of TCP on its interfaces: every segment at the sender and at the receiver, with its time.

Runs in the guest: the standard library only.
"""

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

ETH_P_ALL, ETH_HEADER, PACKET_OUTGOING = 3, 14, 4
SO_RCVBUFFORCE, SO_TIMESTAMPNS_NEW = 33, 64
SNAPPED = 160  # bytes of a frame: Ethernet, IPv6, and all of TCP's header
SACK_OPTION = 5


class Segment(NamedTuple):
    """A TCP segment that passed an interface; sequence numbers are absolute.

    Attributes:
        at: 0 at the sender's host, 1 at the receiver's.
        out: whether it left that host.
        time_ns: of the guest's clock.
        length: payload bytes; several segments that the host handles as one count as one here.
        window: as it stands in the header, not scaled.
        sacks: edges of the blocks, left and right in turn.
        ecn: the two bits of the IP header.
    """

    at: int
    out: int
    time_ns: int
    seq: int
    ack: int
    length: int
    flags: int
    window: int
    sacks: tuple[int, ...]
    ecn: int


class Capture:
    """Every frame of a node, kept by the kernel until it is asked for."""

    def __init__(self, at: int, port: int | None) -> None:
        """Begin; to be called inside the node's namespace. Without a port nothing is kept."""
        self._at, self._port = at, port
        self.segments: list[Segment] = []
        if port is None:
            return
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 30)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS_NEW, 1)
        self._socket.setblocking(False)

    def read(self) -> list[Segment]:
        """All segments of the connection's port so far."""
        while self._port is not None:
            try:
                frame, control, _, address = self._socket.recvmsg(SNAPPED, 64)
            except BlockingIOError:
                return self.segments
            seconds, nanoseconds = struct.unpack("qq", control[0][2])
            time_ns = seconds * 1_000_000_000 + nanoseconds
            out = int(address[2] == PACKET_OUTGOING)
            if (found := parse(frame, self._at, out, time_ns, self._port)) is not None:
                self.segments.append(found)
        return self.segments

    def close(self) -> None:
        """No more."""
        if self._port is not None:
            self._socket.close()


def parse(frame: bytes, at: int, out: int, time_ns: int, port: int) -> Segment | None:
    """The segment of a frame; None: it is no TCP, or of another port."""
    kind = struct.unpack_from("!H", frame, 12)[0]
    if kind == 0x0800 and frame[ETH_HEADER + 9] == socket.IPPROTO_TCP:
        ip_header = (frame[ETH_HEADER] & 15) * 4
        inside = struct.unpack_from("!H", frame, ETH_HEADER + 2)[0] - ip_header
        ecn = frame[ETH_HEADER + 1] & 3
    elif kind == 0x86DD and frame[ETH_HEADER + 6] == socket.IPPROTO_TCP:
        ip_header = 40
        inside = struct.unpack_from("!H", frame, ETH_HEADER + 4)[0]
        ecn = (frame[ETH_HEADER + 1] >> 4) & 3
    else:
        return None
    start = ETH_HEADER + ip_header
    source, target, seq, ack, packed, window = struct.unpack_from("!HHIIHH", frame, start)
    if port not in (source, target):
        return None
    header = (packed >> 12) * 4
    options = frame[start + 20 : start + header]
    return Segment(at, out, time_ns, seq, ack, inside - header, packed & 0x1FF, window, _sacks(options), ecn)


def _sacks(options: bytes) -> tuple[int, ...]:
    """Edges of the SACK blocks (RFC 2018)."""
    place = 0
    while place < len(options) and options[place] != 0:
        if options[place] == 1:
            place += 1
            continue
        if place + 1 >= len(options) or options[place + 1] < 2:
            break
        if options[place] == SACK_OPTION:
            return struct.unpack_from(f"!{(options[place + 1] - 2) // 4}I", options, place + 2)
        place += options[place + 1]
    return ()
