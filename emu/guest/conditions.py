"""What a session waits for: a port that somebody listens on, a line of output, a command that succeeds."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .nodes import Node
    from .started import Started

TABLES = ("tcp", "tcp6", "udp", "udp6")
LISTENS = {"tcp": "0A", "udp": "07"}  # states of /proc/net: LISTEN; of UDP, not connected


def listening(node: Node) -> list[tuple[str, int]]:
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


def unsent(node: Node) -> bool:
    """Whether a TCP socket of a node has something that is not sent, or not acknowledged."""
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


def has_line(program: Started, pattern: str) -> bool:
    """Whether a line of either output matches; only the last 64 KiB are looked at."""
    return any(re.search(pattern.encode(), each.tail, re.MULTILINE) for each in program.outputs)
