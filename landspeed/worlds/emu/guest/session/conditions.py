"""Conditions that a session waits for: a listening port, a line of output, a command that succeeds."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from landspeed.worlds.emu.guest.network.nodes import GuestNode
    from landspeed.worlds.emu.guest.session.session_programs import SessionProgram

TABLES = ("tcp", "tcp6", "udp", "udp6")
LISTENS = {"tcp": "0A", "udp": "07"}  # states of /proc/net: LISTEN; of UDP, not connected


def listening(node: GuestNode) -> list[tuple[str, int]]:
    """Protocol and port of every socket of a node that waits for strangers, in order."""
    found: set[tuple[str, int]] = set()
    with node.inside():
        for table in TABLES:
            path, protocol = f"/proc/thread-self/net/{table}", table[:3]
            if not os.path.exists(path):  # noqa: PTH110
                continue
            with open(path) as handle:  # noqa: PTH123
                for line in list(handle)[1:]:
                    words = line.split()
                    if words[3] == LISTENS[protocol]:
                        found.add((protocol, int(words[1].rpartition(":")[2], 16)))
    return sorted(found)


def unsent(node: GuestNode) -> bool:
    """Return whether a TCP socket of a node has data that is not sent, or not acknowledged."""
    with node.inside():
        for table in ("tcp", "tcp6"):
            path = f"/proc/thread-self/net/{table}"
            if not os.path.exists(path):  # noqa: PTH110
                continue
            with open(path) as handle:  # noqa: PTH123
                for line in list(handle)[1:]:
                    words = line.split()
                    if words[3] != LISTENS["tcp"] and int(words[4].partition(":")[0], 16):
                        return True
    return False


def orphans(known: Collection[int]) -> dict[int, str]:
    """Process and name of all that was left to PID 1 by who started it, with what they started themselves.

    Args:
        known: processes that PID 1 started itself.
    """
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for each in os.listdir("/proc"):  # noqa: PTH208
        if not each.isdigit() or int(each) == 1:
            continue
        try:
            with open(f"/proc/{each}/stat") as handle:  # noqa: PTH123
                head, _, tail = handle.read().rpartition(")")
        except (FileNotFoundError, ProcessLookupError):  # it has ended
            continue
        state, parent = tail.split()[:2]
        if state not in ("Z", "X"):
            parents[int(each)], names[int(each)] = int(parent), head.partition("(")[2]
    left: dict[int, str] = {}
    for pid in parents:
        above = pid
        while parents.get(above, 0) > 1:
            above = parents[above]
        if parents.get(above) == 1 and above not in known:
            left[pid] = names[pid]
    return left


def has_line(program: SessionProgram, pattern: str) -> bool:
    """Return whether a line of either output matches; only the last 64 KiB are searched."""
    return any(re.search(pattern.encode(), each.tail, re.MULTILINE) for each in program.outputs)
