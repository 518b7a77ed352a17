"""Goodput by the kernel's clock: what a capture at the receiver says of a transfer in the guest.

The capture has each packet with the time at which the kernel took it from the device, so it needs nothing of the
engine. In the guest a read costs no time: what has come is read at that time, or when the next packet comes.
"""

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.engine.fixtures import HELLO
from tests.support.engine.guest import ENGINE, INSIDE, perform

LINE_BPS = 100e6
# Payload of a full packet with timestamps, of MTU 1500, beside what it takes of the line, preamble and gap included.
PAYLOAD, PACKET = 1448, 1538
NANOSECONDS, COOKED = 0xA1B23C4D, 276  # pcap-savefile(5); LINKTYPE_LINUX_SLL2
COOKED_BYTES = 20
# From a packet's arrival until it has been read, at most: what is too little to wake the reader is read with the end of
# the connection, a short packet later. Less than the time of a full packet, so that it tells which has been read.
READ_NS = 20_000


@dataclass(frozen=True)
class Cell:
    """One transfer, as the engine tells it and as the kernel had it.

    Attributes:
        told: the engine's result.
        arrivals: time in ns, and the payload that had come in order by then, of each packet that brought some.
    """

    told: dict[str, Any]
    arrivals: list[tuple[int, int]]

    @property
    def begun_ns(self) -> int:
        """When the engine's clock began: by its own duration before the last byte came."""
        return self.arrivals[-1][0] - round(self.told["duration_s"] * 1e9)

    def come_by(self, time_ns: int) -> int:
        """Payload that the kernel had by then."""
        return max((count for at_ns, count in self.arrivals if at_ns <= time_ns), default=0)

    def nearest_ns(self, time_ns: int) -> int:
        """How far a time is from the arrival next to it."""
        return min(abs(at_ns - time_ns) for at_ns, _ in self.arrivals)

    @property
    def kernel_bps(self) -> float:
        """What was delivered after the clock began, by the time until the last byte."""
        begun_ns = self.begun_ns
        counted = self.arrivals[-1][1] - self.come_by(begun_ns + READ_NS)
        return counted * 8e9 / (self.arrivals[-1][0] - begun_ns)


def frames(file: Path) -> Iterator[tuple[int, bytes]]:
    """Time in ns and the first bytes of each packet, from the IP header on."""
    content = file.read_bytes()
    magic, kind = struct.unpack_from("<I", content)[0], struct.unpack_from("<I", content, 20)[0]
    assert (magic, kind) == (NANOSECONDS, COOKED)
    at = 24
    while at + 16 <= len(content):
        seconds, nanoseconds, kept, _ = struct.unpack_from("<IIII", content, at)
        if at + 16 + kept > len(content):
            return
        yield seconds * 10**9 + nanoseconds, content[at + 16 + COOKED_BYTES : at + 16 + kept]
        at += 16 + kept


def segments(file: Path) -> dict[int, list[tuple[int, int, int]]]:
    """Of each connection, by its source port: time, sequence number and bytes of what came; a SYN has one."""
    found: dict[int, list[tuple[int, int, int]]] = {}
    for time_ns, packet in frames(file):
        assert packet[0] >> 4 == 4
        header = (packet[0] & 15) * 4
        length = struct.unpack_from(">H", packet, 2)[0]
        source, _, sequence = struct.unpack_from(">HHI", packet, header)
        syn = packet[header + 13] >> 1 & 1
        payload = length - header - (packet[header + 12] >> 4) * 4
        found.setdefault(source, []).append((time_ns, sequence, syn or payload))
    return found


def in_order(came: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """Time and payload in order by then, whatever was lost and came again; the hello is no payload."""
    begin = came[0][1]
    waiting: dict[int, int] = {}
    reached, counts = 0, list[tuple[int, int]]()
    for time_ns, sequence, length in came:
        at = sequence - begin & 0xFFFFFFFF
        waiting[at] = max(length, waiting.get(at, 0))
        before = reached
        while any(start + more > reached >= start for start, more in waiting.items()):
            reached = max(start + more for start, more in waiting.items() if start <= reached)
            waiting = {start: more for start, more in waiting.items() if start + more > reached}
        payload = reached - 1 - HELLO
        if reached > before and payload > 0:
            counts.append((time_ns, payload))
    return counts


def cells(folder: Path, rtt_ms: float, sizes: list[str]) -> dict[str, Cell]:
    """A transfer of each size over the line with that round trip, one after the other in one guest."""
    capture = ["tcpdump", "-i", "any", "-n", "-U", "-s", "140", "-B", "65536", "-Z", "root", "-Q", "in"]
    capture += ["--time-stamp-precision=nano", "-w", str(INSIDE / "capture.pcap"), "tcp dst port 5201"]
    acts: list[list[Any]] = [["receive", "capture", capture], ["receive", "r", [ENGINE, "receive", "--quiet"]]]
    for size in sizes:
        words = [ENGINE, "send", "HOST", "--bytes", size, "--quiet", "--json", str(INSIDE / f"{size}.json")]
        acts += [["send", size, words], ["wait", size]]
    link = {"one_way_delay": f"{rtt_ms / 2} ms", "line_rate": f"{LINE_BPS / 1e6:g} Mbit/s"}
    links = [link, {"one_way_delay": "0 s", "line_rate": "100 Gbit/s"}]
    ended = perform(folder, [*acts, ["sleep", 3]], links=links, mtu="1500 B", queue="4 MB", nic="100 Gbit/s")
    assert {ended[size]["status"] for size in sizes} == {0}
    came = [in_order(each) for each in segments(folder / "capture.pcap").values()]
    found = {}
    for size in sizes:
        told = json.loads((folder / f"{size}.json").read_text())
        (arrivals,) = (each for each in came if each and each[-1][1] == told["bytes"])
        found[size] = Cell(told, arrivals)
    return found
