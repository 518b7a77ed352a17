"""Evidence of a run on the host's side: its captures cut to whole packets and decoded by tshark; the programs it needs.

The guest takes it (guest/evidence_captures.py).
"""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

from landspeed.results.bundle import EVIDENCE

PROGRAMS = ("ip", "tc", "tcpdump", "tshark", "ping", "traceroute")
GUEST_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # guest/agent.py
ENDS = ("sender", "receiver")
FIRST_PACKETS = 40
LONGEST_LINE = 200
_GLOBAL_HEADER, _RECORD_HEADER = 24, 16


def missing_programs(needed: Sequence[str] = PROGRAMS) -> list[str]:
    """Programs that evidence needs and this host has not."""
    return [program for program in needed if not shutil.which(program, path=GUEST_PATH)]


def finish_evidence(folder: Path) -> dict[str, int]:
    """Cut each capture to whole packets, and decode its first ones beside it.

    Args:
        folder: of the bundle, or of a flow in it.

    Returns:
        packets in each capture, by end or hop.
    """
    found: dict[str, int] = {}
    for capture in sorted((folder / EVIDENCE).glob("capture-*.pcap"), key=_place):
        end = capture.stem.removeprefix("capture-")
        found[end] = cut_to_whole_packets(capture)
        if end not in ENDS:
            continue
        first = capture.with_name(f"first-{FIRST_PACKETS}-{end}.pcap")
        first.write_bytes(first_packets(capture.read_bytes(), FIRST_PACKETS))
        for suffix, lines in zip(("-lines", ""), _decoded(first), strict=True):
            text = "\n".join(line[:LONGEST_LINE] for line in lines)
            (first.with_name(f"{first.stem}{suffix}.txt")).write_text(text + "\n")
    return found


def _decoded(capture: Path) -> tuple[list[str], list[str]]:
    """A line for each packet, and all of its headers: of one start of tshark, which takes longer than its reading.

    The line of a packet comes before its headers, which begin with those of the frame.
    """
    words = ["tshark", "-n", "-r", str(capture), "-o", "tcp.desegment_tcp_streams:FALSE"]
    words += ["-P", "-O", "frame,eth,ip,ipv6,tcp"]
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    lines = done.stdout.splitlines()
    heads = {before for before, line in enumerate(lines[1:]) if re.match(r"Frame \d+: ", line)}
    return [lines[each] for each in sorted(heads)], [line for each, line in enumerate(lines) if each not in heads]


def _place(capture: Path) -> tuple[bool, bool, int, str]:
    """Sort the sender first, then the hops by their number, then the receiver."""
    end = capture.stem.removeprefix("capture-")
    number = end.removeprefix("hop")
    return end == "receiver", end != "sender", int(number) if number.isdecimal() else 0, end


def cut_to_whole_packets(path: Path) -> int:
    """Cut a pcap file behind its last whole packet; the number of packets."""
    content = path.read_bytes()
    ends = packet_ends(content)
    with path.open("r+b") as handle:
        handle.truncate(ends[-1] if ends else min(len(content), _GLOBAL_HEADER))
    return len(ends)


def first_packets(content: bytes, count: int) -> bytes:
    """Cut the file to at most `count` packets."""
    ends = packet_ends(content)[:count]
    return content[: ends[-1] if ends else _GLOBAL_HEADER]


def packet_ends(content: bytes) -> list[int]:
    """Offset behind each whole packet of a pcap file (format: pcap-savefile(5))."""
    if len(content) < _GLOBAL_HEADER:
        return []
    order = "<" if content[:1] in (b"\xd4", b"\x4d") else ">"
    ends: list[int] = []
    at = _GLOBAL_HEADER
    while at + _RECORD_HEADER <= len(content):
        (length,) = struct.unpack_from(order + "I", content, at + 8)
        at += _RECORD_HEADER + length
        if at > len(content):
            break
        ends.append(at)
    return ends
