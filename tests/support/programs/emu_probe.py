"""Runs inside the guest: packet trains between any two nodes, each packet with its sending and its arrival time.

    python emu_probe.py REQUESTS.json RESULT.json

All nodes share one virtual clock, so one-way times are exact. Packets are captured as frames (AF_PACKET) at the target,
so that corrupted ones are seen too. Sizes are bytes of the IP packet.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CLONE_NEWNET = 0x40000000
ETH_P_ALL = 3
PACKET_OUTGOING = 4
SOL_PACKET, PACKET_AUXDATA = 263, 8
SO_RCVBUFFORCE, SO_SNDBUFFORCE, SO_TIMESTAMPNS_NEW, UDP_SEGMENT = 33, 32, 64, 103
PORT = 7777
SETTLED_S = 5.0
STAMP = struct.Struct("!QQ")  # sequence number, sending time
HEADERS = {4: 28, 6: 48}
MODERATION = Path("/sys/module/sch_netem/parameters/moderation_ns")  # of patch 0011
_libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def inside(node: str) -> Iterator[None]:
    """Sockets made in the block belong to the node."""
    here, there = (os.open(path, os.O_RDONLY) for path in ("/proc/thread-self/ns/net", f"/run/netns/{node}"))
    try:
        if _libc.setns(there, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {node}")
        yield
    finally:
        _libc.setns(here, CLONE_NEWNET)
        os.close(here)
        os.close(there)


def train(request: dict[str, Any]) -> dict[str, Any]:
    """Send packets and see what arrives.

    The request: `origin`, `target`, `size` (IP packet), `count`, `gap_ns` (0: as fast as it goes), `address` (of the
    target), `together` (packets with the same sending time: reading the clock takes 256 ns of virtual time),
    `segmented` (those go to the kernel in one call, UDP_SEGMENT), `whole` (compare the content of what arrives),
    `moderation_ns` (interrupt moderation of busy links; 0 as it comes), `ecn` (two bits of the IP header, RFC 3168),
    `settle_s` (how long to wait for the last one).
    A router takes what comes from a host through an IFB, which a capture there does not see: aim beyond it.

    Returns:
        `sent`: their number; `arrived`: [sequence, sent_ns, arrived_ns, frame bytes, payload bits that differ, ECN].
    """
    MODERATION.write_text(str(request.get("moderation_ns", 0)))
    version = 6 if ":" in request["address"] else 4
    family = socket.AF_INET if version == 4 else socket.AF_INET6
    together, gap_ns = request.get("together", 1), request.get("gap_ns", 0)
    payload_bytes = request["size"] - HEADERS[version]
    filling = bytes(index * 7 & 255 for index in range(payload_bytes - STAMP.size))
    with inside(request["target"]):
        capture = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        sink = socket.socket(family, socket.SOCK_DGRAM)  # so that no "port unreachable" goes back
        sink.bind((request["address"], PORT))
    with inside(request["origin"]):
        sender = socket.socket(family, socket.SOCK_DGRAM)
    sender.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 30)
    capture.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 30)
    capture.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS_NEW, 1)
    capture.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    sender.connect((request["address"], PORT))
    if request.get("segmented"):
        sender.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, payload_bytes)
    if ecn := request.get("ecn"):
        ip, option = (socket.IPPROTO_IP, socket.IP_TOS) if version == 4 else (socket.IPPROTO_IPV6, socket.IPV6_TCLASS)
        sender.setsockopt(ip, option, ecn)
    start = time.time_ns()
    for first in range(0, request["count"], together):
        if gap_ns:
            wait = start + gap_ns * (first // together) - time.time_ns()
            time.sleep(max(wait, 0) / 1e9)
        now = time.time_ns()
        packets = [STAMP.pack(first + index, now) + filling for index in range(together)]
        for packet in [b"".join(packets)] if request.get("segmented") else packets:
            sender.send(packet)
    time.sleep(request.get("settle_s", SETTLED_S))  # nobody reads meanwhile: that would take virtual time
    arrived = _collect(capture, 14 + HEADERS[version], payload_bytes, filling if request.get("whole") else b"")
    for each in (capture, sink, sender):
        each.close()
    return {"sent": request["count"], "arrived": arrived}


def _collect(capture: socket.socket, offset: int, payload_bytes: int, filling: bytes) -> list[list[int]]:
    """Everything that was captured; the content is compared where there is a filling."""
    arrived: list[list[int]] = []
    capture.setblocking(False)
    room = offset + STAMP.size + len(filling)
    while True:
        try:
            frame, control, _, address = capture.recvmsg(room, 64, socket.MSG_TRUNC)
        except BlockingIOError:
            return arrived
        seconds, nanoseconds, frame_bytes = 0, 0, 0
        for level, kind, data in control:
            if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS_NEW):
                seconds, nanoseconds = struct.unpack("qq", data)
            elif (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
                frame_bytes = struct.unpack_from("II", data)[1]
        if address[2] == PACKET_OUTGOING or frame_bytes < offset + payload_bytes:
            continue
        sequence, sent_ns = STAMP.unpack_from(frame, offset)
        content = frame[offset + STAMP.size :]
        difference = int.from_bytes(content, "big") ^ int.from_bytes(filling, "big")
        arrived_ns = seconds * 1_000_000_000 + nanoseconds
        ecn = frame[15] & 3 if frame[12:14] == b"\x08\x00" else frame[15] >> 4 & 3
        arrived.append([sequence, sent_ns, arrived_ns, frame_bytes, difference.bit_count(), ecn])


def main() -> None:
    """Do what is asked, in order."""
    requests = json.loads(Path(sys.argv[1]).read_text())
    Path(sys.argv[2]).write_text(json.dumps([train(request) for request in requests]))


if __name__ == "__main__":
    main()
