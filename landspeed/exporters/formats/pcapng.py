"""A pcapng file of a run's captures: both ends on one clock, with the queues of the path at each packet as its comment.

Format: draft-ietf-opsawg-pcapng. The captures are the run's evidence (`landspeed run --evidence`), of the transfer's
first megabytes; the queues are the samples of the links, so a comment says what stood there at the sample before. A
profile of Wireshark lies beside it, which shows these comments as a column.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

from landspeed.base.captures import Capture, CapturedPacket, CaptureError
from landspeed.base.text import bytes_text
from landspeed.base.version import __version__
from landspeed.exporters.exporter import Exported, Exporter, ExportError
from landspeed.results.bundle import EVIDENCE
from landspeed.results.flow_result import flow_folder

ENDS = ("sender", "sender-back", "receiver", "receiver-back")
SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
ETHERNET = 1
COMMENT, APPLICATION, IF_NAME, IF_TSRESOL = 1, 4, 2, 9

PREFERENCES = """\
gui.column.format: "No.", "%m", "Time", "%Cus:frame.time_relative:0:R", "End", "%Cus:frame.interface_name:0:R",
\t"Source", "%s", "Destination", "%d", "Sequence", "%Cus:tcp.seq:0:R", "Acknowledged", "%Cus:tcp.ack:0:R",
\t"In flight", "%Cus:tcp.analysis.bytes_in_flight:0:R", "Queues and drops", "%Cus:frame.comment:0:R", "Info", "%i"
"""
COLOURS = """\
@Dropped since the packet before@frame.comment contains "dropped"@[65535,51400,51400][0,0,0]
@Marked since the packet before@frame.comment contains "marked"@[65535,60000,45000][0,0,0]
@A queue stands@frame.comment contains "queue"@[57000,61000,65535][0,0,0]
"""


def _write(exported: Exported) -> dict[str, str | bytes]:
    found: dict[str, str | bytes] = {}
    plan, bundle = exported.plan, exported.samples.bundle
    for flow in plan.flows:
        folder = bundle / flow_folder(plan, flow) / EVIDENCE
        captures = {end: file for end in ENDS if (file := folder / f"capture-{end}.pcap").is_file()}
        if captures:
            suffix = "" if plan.is_path else f".{flow.name}"
            found[f"{suffix}.pcapng"] = b"".join(_blocks(exported, captures))
    if not found:
        raise ExportError(f"{exported.name}: this run kept no captures; run it again with --evidence")
    return found | {".wireshark-profile/preferences": PREFERENCES, ".wireshark-profile/colorfilters": COLOURS}


def _blocks(exported: Exported, captures: dict[str, Path]) -> Iterator[bytes]:
    by = _option(APPLICATION, f"landspeed {__version__}".encode())
    yield _block(SECTION, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + by + _option(0, b""))
    merged: list[tuple[int, int, int, bytes]] = []
    for number, (end, file) in enumerate(captures.items()):
        packets = _packets(file)
        link_type = packets[0][2] if packets else ETHERNET
        told = _option(IF_NAME, end.encode()) + _option(IF_TSRESOL, b"\x09")
        yield _block(INTERFACE, struct.pack("<HHI", link_type, 0, 0) + told + _option(0, b""))
        merged += [(time_ns, number, length, data) for time_ns, _, _, length, data in packets]
    story = _Story(exported)
    for time_ns, number, length, data in sorted(merged, key=lambda each: each[:2]):
        body = struct.pack("<IIIII", number, time_ns >> 32, time_ns & 0xFFFFFFFF, len(data), length) + _padded(data)
        comment = story.until(time_ns - exported.start_unix_ns)
        yield _block(PACKET, body + (_option(COMMENT, comment.encode()) + _option(0, b"") if comment else b""))


class _Story:
    """Queues, drops and marks of the links as packets pass, told in the order of time."""

    def __init__(self, exported: Exported) -> None:
        self._names = {
            (link.index, way): f"{a} → {b}"
            for link in exported.plan.links
            for way, a, b in (("forward", link.a, link.b), ("reverse", link.b, link.a))
        }
        self._times: dict[tuple[int, str], list[int]] = {}
        self._rows: dict[tuple[int, str], list[tuple[int, int, int]]] = {}
        columns = ("link", "direction", "time_ns", "backlog_bytes", "drops", "marks")
        for link, way, time_ns, backlog, drops, marks in exported.samples.rows("links", *columns):
            self._times.setdefault((link, way), []).append(time_ns)
            self._rows.setdefault((link, way), []).append((backlog or 0, drops or 0, marks or 0))
        self._told = {key: rows[0][1:] for key, rows in self._rows.items()}

    def until(self, time_ns: int) -> str:
        """Comment at a packet: queues as they stand, and drops and marks since the packet before."""
        parts: list[str] = []
        for key, times in self._times.items():
            place = bisect_right(times, time_ns)
            if not place:
                continue
            backlog, drops, marks = self._rows[key][place - 1]
            parts += [f"queue {self._names[key]}: {bytes_text(backlog)}"] if backlog else []
            for word, now, before in (("dropped", drops, self._told[key][0]), ("marked", marks, self._told[key][1])):
                parts += [f"{now - before} {word} at {self._names[key]}"] if now > before else []
            self._told[key] = (drops, marks)
        return "; ".join(parts)


def _packets(file: Path) -> list[CapturedPacket]:
    """Packets of a capture; a last one cut short is left out.

    Raises:
        ExportError: it is no capture.
    """
    try:
        return list(Capture(file))
    except CaptureError as error:
        raise ExportError(f"{error}; run the scenario again with --evidence") from error


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _block(kind: int, body: bytes) -> bytes:
    total = len(body) + 12
    return struct.pack("<II", kind, total) + body + struct.pack("<I", total)


EXPORTER = Exporter(
    "pcapng", "the captures of both ends on one clock, with queues and drops as comments", "run", _write,
    "tshark -r FILE -T fields -e frame.number -e frame.comment",
)  # fmt: skip
