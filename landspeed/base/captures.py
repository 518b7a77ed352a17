"""Packet captures: the packets of a pcap or pcapng file, in either byte order, in µs or ns, whole or cut off.

Formats: draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng. Nothing of a packet is decoded here.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from landspeed.base.errors import LandspeedError

MAGICS = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
"""First bytes of a pcap file → byte order, and ns of its fraction."""
SECTION = b"\x0a\x0d\x0d\x0a"
"""First bytes of a pcapng file."""
LONGEST = 2**20  # bytes of a packet; super-packets have 180 000
_ORDERS = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
_INTERFACE, _OBSOLETE, _SIMPLE, _PACKET = 1, 2, 3, 6
_IF_TSRESOL, _IF_TSOFFSET = 9, 14
_FILE_HEADER, _RECORD = 24, 16

CapturedPacket: TypeAlias = tuple[int, int, int, int, bytes]
"""Time in ns since 1970, interface, link type, length on the wire, bytes that were kept."""


class CaptureError(LandspeedError):
    """A file that is no capture; the message says where it breaks and what would be right."""


class Capture:
    """A capture's packets, as the file has them; `is_cut` once its end was reached in the middle of one."""

    def __init__(self, file: Path, content: bytes | None = None) -> None:
        """Take a file.

        Args:
            file: its path, for messages too.
            content: of it, where it was read already (such as of a compressed one).
        """
        self.file = file
        self.is_cut = False
        self._content = content

    def __iter__(self) -> Iterator[CapturedPacket]:
        """Yield each packet.

        Raises:
            CaptureError: it is no capture, or broken.
            OSError: it cannot be read.
        """
        if self._content is not None:
            yield from self._packets(self._content)
            return
        with self.file.open("rb") as opened:
            if not opened.seek(0, 2):
                raise CaptureError(f"{self.file}: empty; give what `tcpdump -w` wrote")
            with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
                yield from self._packets(content)

    def _packets(self, content: bytes | mmap.mmap) -> Iterator[CapturedPacket]:
        first = content[:4]
        if first in MAGICS:
            return self._pcap(content, *MAGICS[first])
        if first == SECTION:
            return self._pcapng(content)
        raise CaptureError(f"{self.file}: no capture in the form of pcap or pcapng; give what `tcpdump -w` wrote")

    def _pcap(self, content: bytes | mmap.mmap, order: str, fraction_ns: int) -> Iterator[CapturedPacket]:
        if len(content) < _FILE_HEADER:
            self.is_cut = True
            return
        link_type = struct.unpack_from(order + "I", content, 20)[0] & 0xFFFF
        record, at, size = struct.Struct(order + "IIII").unpack_from, _FILE_HEADER, len(content)
        while at + _RECORD <= size:
            seconds, fraction, kept, length = record(content, at)
            if kept > LONGEST:
                raise self._broken(at, f"a packet of {kept} bytes")
            at += _RECORD + kept
            if at > size:
                break
            yield seconds * 1_000_000_000 + fraction * fraction_ns, 0, link_type, length, content[at - kept : at]
        self.is_cut = at != size

    def _broken(self, at: int, what: str) -> CaptureError:
        return CaptureError(
            f"{self.file}: byte {at}: {what}, so the capture is broken here; give what `tcpdump -w` wrote"
        )

    def _pcapng(self, content: bytes | mmap.mmap) -> Iterator[CapturedPacket]:
        at, size, order, before = 0, len(content), "<", 0
        interfaces: list[tuple[int, int, int, int]] = []  # link type, units a second as (base, exponent), offset in ns
        while at + 12 <= size:
            if content[at : at + 4] == SECTION:
                order = _ORDERS.get(content[at + 8 : at + 12], "")
                if not order:
                    raise self._broken(at, "a section without its mark of byte order")
                before += len(interfaces)
                interfaces.clear()
            kind, total = struct.unpack_from(order + "II", content, at)
            if total < 12 or total % 4 or total > 16 * LONGEST:
                raise self._broken(at, f"a block of {total} bytes")
            if at + total > size:
                break
            if kind == _INTERFACE and total >= 20:
                interfaces.append(_interface(content[at : at + total - 4], order))
            elif kind == _SIMPLE:
                raise self._broken(at, "a packet without its time (a Simple Packet Block)")
            elif kind in (_PACKET, _OBSOLETE) and total >= 32:
                number: int = struct.unpack_from(order + ("I" if kind == _PACKET else "H"), content, at + 8)[0]
                high, low, kept, length = struct.unpack_from(order + "IIII", content, at + 12)
                if number >= len(interfaces):
                    raise self._broken(at, f"a packet of interface {number}, which the file does not describe")
                if kept > total - 32:
                    raise self._broken(at, f"a packet of {kept} bytes in a block of {total}")
                link_type, base, exponent, offset_ns = interfaces[number]
                units = (high << 32 | low) * 1_000_000_000
                time_ns = (units // 10**exponent if base == 10 else units >> exponent) + offset_ns
                yield time_ns, before + number, link_type, length, content[at + 28 : at + 28 + kept]
            at += total
        self.is_cut = at != size


def _interface(block: bytes, order: str) -> tuple[int, int, int, int]:
    """Link type, base and exponent of its clock's resolution, offset in ns."""
    (link_type,) = struct.unpack_from(order + "H", block, 8)
    base, exponent, offset_ns, at = 10, 6, 0, 16
    while at + 4 <= len(block):
        code, length = struct.unpack_from(order + "HH", block, at)
        value = block[at + 4 : at + 4 + length]
        if code == 0 or len(value) < length:
            break
        if code == _IF_TSRESOL and length == 1:
            base, exponent = (2, value[0] & 0x7F) if value[0] & 0x80 else (10, min(value[0], 30))
        if code == _IF_TSOFFSET and length == 8:
            offset_ns = struct.unpack(order + "q", value)[0] * 1_000_000_000
        at += 4 + length + -length % 4
    return link_type, base, exponent, offset_ns
