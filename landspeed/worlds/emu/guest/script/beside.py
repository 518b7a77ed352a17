"""Programs of ours beside a script, in namespaces of its nodes: begun there, ended with the net or with the guest."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Generator
from typing import Any

from landspeed.worlds.emu.guest.network import namespaces
from landspeed.worlds.emu.guest.spawn import SpawnedProgram

RUNNING = "/run/beside"  # a file for each, named by its process
PATIENCE_S = 1.5  # libpcap gives tcpdump what the kernel has kept each second, and not at its end


def place_of(node: Any) -> str:
    """Path of a node's network namespace, which its shell is in."""
    return f"/proc/{node.pid}/ns/net"


@contextlib.contextmanager
def inside_node(node: Any) -> Generator[None]:
    """Run a block in a node's namespace: sockets made and programs started there belong to it for good."""
    with open(place_of(node), "rb") as handle, namespaces.inside(handle.fileno()):  # noqa: PTH123
        yield


def begin(words: list[str], log: str, node: Any | None = None) -> SpawnedProgram:
    """Begin a program; if the script never ends it, the guest does (`end_all`).

    Raises:
        OSError: it is not there, or the log cannot be written.
    """
    with open(log, "wb") as output, inside_node(node) if node else contextlib.nullcontext():  # noqa: PTH123
        program = SpawnedProgram(words, output.fileno())
    os.makedirs(RUNNING, exist_ok=True)  # noqa: PTH103
    open(f"{RUNNING}/{program.pid}", "w").close()  # noqa: PTH123
    return program


def end(program: SpawnedProgram) -> None:
    """End a program, and wait until what it has is written."""
    program.send_signal(signal.SIGTERM)
    program.wait()
    with contextlib.suppress(OSError):
        os.unlink(f"{RUNNING}/{program.pid}")  # noqa: PTH108


def end_all() -> None:
    """End what the script did not end, and wait until it is written; not from the process that began it."""
    left: list[int] = []
    for name in os.listdir(RUNNING) if os.path.isdir(RUNNING) else ():  # noqa: PTH112, PTH208
        with contextlib.suppress(OSError):  # the script ended it
            left.append(os.pidfd_open(int(name)))
    if left:
        time.sleep(PATIENCE_S)
    for program in left:
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(program, signal.SIGTERM)
        select.select([program], [], [])
