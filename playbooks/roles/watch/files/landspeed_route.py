"""The way that a flow's packets take, by its own ports and flow label.

Whatever spreads flows over several links by a hash of these (ECMP) sends a probe of them the way that it sent the data.
While a flow runs, its connections are noted (ss, tcpdump). When it has ended, for each of them a segment of the same
ports is sent for every number of hops. Routers answer by ICMP, and the receiver, who knows no such connection any more,
by RST.
"""

from __future__ import annotations

import contextlib
import re
import select
import socket
import struct
import time
from typing import TypedDict

from landspeed_look import told

MOST_HOPS = 30
MOST_STREAMS = 16  # of a flow; more tell nothing new
WAIT_S = 2.0
IPV6_CHECKSUM = 7  # of <linux/in6.h>
ACK, RST = 0x10, 0x04
MARK = 0x6C730000  # in a probe's sequence number, with the hops: routers quote it
TIME_EXCEEDED = {4: 11, 6: 3}


class Ends(TypedDict):
    """End of a connection at this host."""

    source: str
    source_port: int


class Stream(Ends, total=False):
    """A connection of a flow; `hops` are addresses, None where nobody answers, the receiver's the last if it did."""

    pmtu_bytes: int
    mss_bytes: int
    flow_label: int
    hops: list[str | None]
    reached: bool


def streams(peer: str, port: int) -> list[Stream]:
    """Connections to a receiver now, with what TCP knows of their path's MTU; the control connection is one of them."""
    shown = told("ss", "-Htin", "state", "established", "dst", peer, "dport", "=", f":{port}")
    found: list[Stream] = []
    for line in re.split(r"\n(?=\S)", shown):
        ends = re.search(r"\s\[?([0-9a-fA-F.:]+?)\]?:(\d+)\s+\S+:(\d+)\s", line)
        if not ends:
            continue
        stream: Stream = {"source": ends[1].removeprefix("::ffff:"), "source_port": int(ends[2])}
        if pmtu := re.search(r"\bpmtu:(\d+)", line):
            stream["pmtu_bytes"] = int(pmtu[1])
        if mss := re.search(r"\bmss:(\d+)", line):
            stream["mss_bytes"] = int(mss[1])
        found.append(stream)
    return found[:MOST_STREAMS]


def add_flow_labels(found: list[Stream], port: int) -> None:
    """Note the flow label of each connection of IPv6: only its packets have it."""
    shown = told("timeout", "5", "tcpdump", "-n", "-v", "-c", "64", "-i", "any", f"ip6 and tcp dst port {port}")
    for label, source in re.findall(r"flowlabel (0x[0-9a-f]+)[^\n]*\n?\s*\S+\.(\d+) > ", shown):
        for stream in found:
            if stream["source_port"] == int(source):
                stream["flow_label"] = int(label, 16)


def segment(source_port: int, port: int, hops: int) -> bytes:
    """A TCP segment of a connection that is no more; its checksum is 0."""
    return struct.pack("!HHIIBBHHH", source_port, port, MARK | hops, 0, 5 << 4, ACK, 0, 0, 0)


def with_checksum(data: bytes, source: str, peer: str) -> bytes:
    """Segment with its checksum for IPv4 (RFC 9293, section 3.1)."""
    head = socket.inet_aton(source) + socket.inet_aton(peer) + struct.pack("!BBH", 0, socket.IPPROTO_TCP, len(data))
    total = sum(struct.unpack(f"!{(len(head) + len(data)) // 2}H", head + data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return data[:16] + struct.pack("!H", ~total & 0xFFFF) + data[18:]


def trace(found: list[Stream], peer: str, port: int) -> None:
    """Note the way of each connection, whose flow has ended: `hops` and `reached`.

    Raises:
        OSError: no raw sockets: this is not root.
    """
    version = 6 if ":" in peer else 4
    family = socket.AF_INET6 if version == 6 else socket.AF_INET
    icmp = socket.IPPROTO_ICMPV6 if version == 6 else socket.IPPROTO_ICMP
    answers: dict[int, dict[int, str]] = {stream["source_port"]: {} for stream in found}
    resets: set[int] = set()
    with (
        socket.socket(family, socket.SOCK_RAW, icmp) as heard,
        socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_TCP) as way,
    ):
        if version == 6:
            way.setsockopt(socket.IPPROTO_IPV6, IPV6_CHECKSUM, 16)
        for hops in range(1, MOST_HOPS + 1):
            level, name = (
                (socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS) if version == 6 else (socket.IPPROTO_IP, socket.IP_TTL)
            )
            way.setsockopt(level, name, hops)
            for stream in found:
                data = segment(stream["source_port"], port, hops)
                data = with_checksum(data, stream["source"], peer) if version == 4 else data
                with contextlib.suppress(OSError):  # an ICMP of an earlier one is told here
                    way.sendto(data, (peer, 0))
        last = time.monotonic() + WAIT_S
        while (left_s := last - time.monotonic()) > 0:
            for each in select.select([heard, way], [], [], left_s)[0]:
                with contextlib.suppress(OSError, struct.error, IndexError):
                    data, address = each.recvfrom(2048)
                    if each is heard:
                        _note_router(data, address[0], version, answers)
                    elif (source_port := _reset(data, version, port)) in answers and address[0] == peer:
                        resets.add(source_port)
    for stream in found:
        by_hops = answers[stream["source_port"]]
        routers = [by_hops.get(hops) for hops in range(1, max(by_hops, default=0) + 1)]
        stream["reached"] = stream["source_port"] in resets
        stream["hops"] = [*routers, *([peer] if stream["reached"] else [])]


def _note_router(data: bytes, address: str, version: int, answers: dict[int, dict[int, str]]) -> None:
    """Note what a router quotes of a probe of ours."""
    if version == 4:
        data = data[(data[0] & 15) * 4 :]
    if data[0] != TIME_EXCEEDED[version]:
        return
    quoted = data[8:]
    tcp = quoted[(quoted[0] & 15) * 4 :] if version == 4 else quoted[40:]
    source_port, _, sequence = struct.unpack("!HHI", tcp[:8])
    if source_port in answers and sequence & ~0xFF == MARK:
        answers[source_port].setdefault(sequence & 0xFF, address)


def _reset(data: bytes, version: int, port: int) -> int:
    """The port that a RST from the receiver's port is for; 0: it is something else."""
    tcp = data[(data[0] & 15) * 4 :] if version == 4 else data
    from_port, to_port = struct.unpack("!HH", tcp[:4])
    return to_port if from_port == port and tcp[13] & RST else 0
