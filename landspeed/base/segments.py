"""TCP segments of a packet capture: what the headers say, of every link layer that hosts capture on."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from landspeed.base.captures import Capture, CaptureError

TCP, UDP = 6, 17
_ETHERNET, _NULL, _COOKED, _LOOP, _COOKED2 = 1, 0, 113, 108, 276
_HEADER_BYTES = {
    _ETHERNET: 14, _NULL: 4, _LOOP: 4, _COOKED: 16, _COOKED2: 20, 12: 0, 14: 0, 101: 0, 228: 0, 229: 0,
}  # fmt: skip
"""Bytes before IP: Ethernet, BSD's loopback, Linux's cooked forms, raw IP."""
_VLAN = (b"\x81\x00", b"\x88\xa8", b"\x91\x00")
_WORDS = struct.Struct(">IIBBH").unpack_from


class Segment(NamedTuple):
    """A segment of TCP.

    Attributes:
        interface: of the capture.
        ends: source and target address, then both ports, as in the headers: 12 bytes of IPv4, 36 of IPv6.
        payload: its length.
        options: as in the header.
    """

    time_ns: int
    interface: int
    ends: bytes
    sequence: int
    acknowledged: int
    flags: int
    window: int
    payload: int
    options: bytes


class SegmentReader:
    """Reader of a capture's TCP segments. `udp` counts the other packets that a transfer may consist of."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.udp = self.packets = 0

    def __iter__(self) -> Iterator[Segment]:
        """Yield each segment.

        Raises:
            CaptureError: the file is broken, or was captured on a link layer that is not known.
        """
        for time_ns, interface, link_type, length, data in self.capture:
            self.packets += 1
            at = _HEADER_BYTES.get(link_type, -1)
            if at < 0:
                raise CaptureError(
                    f"{self.capture.file}: captured on link type {link_type}, which is not known; capture on an "
                    "interface of Ethernet, with `-i any`, or raw IP"
                )
            if link_type == _ETHERNET:
                while data[at - 2 : at] in _VLAN:
                    at += 4
            try:
                found = self._segment(time_ns, interface, at, length, data)
            except (IndexError, struct.error):  # fewer bytes were kept than the headers take
                continue
            if found is not None:
                yield found

    def _segment(self, time_ns: int, interface: int, at: int, length: int, data: bytes) -> Segment | None:
        version = data[at] >> 4
        if version == 4:
            if (data[at + 6] & 0x1F) or data[at + 7]:  # a later fragment
                return None
            inner, protocol = at + 4 * (data[at] & 15), data[at + 9]
            total = data[at + 2] << 8 | data[at + 3]
            ends = data[at + 12 : at + 20] + data[inner : inner + 4]
            end = at + total if total else length  # 0: joined to more than 64 KiB
        elif version == 6:
            inner, protocol = at + 40, data[at + 6]
            total = data[at + 4] << 8 | data[at + 5]
            ends = data[at + 8 : at + 44]
            end = inner + total if total else length
        else:
            return None
        if protocol != TCP:
            self.udp += protocol == UDP
            return None
        sequence, acknowledged, offset, flags, window = _WORDS(data, inner + 4)
        header = (offset >> 4) * 4
        if header < 20 or end < inner + header:
            return None
        return Segment(
            time_ns, interface, ends, sequence, acknowledged, flags, window, end - inner - header,
            data[inner + 20 : inner + header],
        )  # fmt: skip


def other_way(ends: bytes) -> bytes:
    """The ends, the other one first."""
    size = (len(ends) - 4) // 2
    return ends[size : 2 * size] + ends[:size] + ends[-2:] + ends[-4:-2]


def options_of(raw: bytes) -> dict[int, bytes]:
    """TCP's options by their kind (RFC 9293 section 3.1); what is no option ends them."""
    found: dict[int, bytes] = {}
    at = 0
    while at < len(raw) and raw[at] != 0:
        if raw[at] == 1:
            at += 1
            continue
        if at + 2 > len(raw) or raw[at + 1] < 2:
            break
        found[raw[at]] = raw[at + 2 : at + raw[at + 1]]
        at += raw[at + 1]
    return found
