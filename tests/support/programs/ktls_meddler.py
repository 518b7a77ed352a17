"""Runs inside the guest: passes an engine's connections on, and changes what the data connections carry.

    python ktls_meddler.py PORT HOST HOST_PORT HARM KEPT

Records are TLS's: type (1), version (2), length (2), as many bytes. HARM is done to the sixth of each connection;
what came goes to the file KEPT. It ends with whoever started it.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

CHALLENGE, HELLO, HEAD, AT = 40, 48, 5, 5
Harm = Callable[[bytes, bytes], list[bytes]]  # the record, and the one before it

HARMS: dict[str, Harm] = {
    "none": lambda record, _: [record],
    "flip": lambda record, _: [record[:1000], bytes([record[1000] ^ 16]), record[1001:]],
    "flip the tag": lambda record, _: [record[:-1], bytes([record[-1] ^ 1])],
    "flip the head": lambda record, _: [record[:1], bytes([record[1] ^ 1]), record[2:]],
    "repeat": lambda record, _: [record, record],
    "leave out": lambda _record, _: [],
    "move": lambda record, before: [record, before],
}


def exactly(near: socket.socket, count: int) -> bytes:
    """So many bytes, or those before the end."""
    found = b""
    while len(found) < count and (part := near.recv(count - len(found))):
        found += part
    return found


def pump(near: socket.socket, far: socket.socket) -> None:
    """Everything, unchanged."""
    try:
        while part := near.recv(1 << 16):
            far.sendall(part)
        far.shutdown(socket.SHUT_WR)
    except OSError:
        far.close()


def meddle(near: socket.socket, far: socket.socket, harm: str, kept: Path) -> None:
    """Records of a data connection: `cut` ends it after five as if it were whole."""
    number, held = 0, b""
    with kept.open("ab") as keeper:
        try:
            while len(head := exactly(near, HEAD)) == HEAD:
                record = head + exactly(near, int.from_bytes(head[3:], "big"))
                keeper.write(record)
                if harm == "cut" and number == AT:
                    break
                if harm == "move" and number == AT - 1:
                    held = record
                else:
                    for piece in HARMS.get(harm, HARMS["none"])(record, held) if number == AT else [record]:
                        far.sendall(piece)
                number += 1
            far.shutdown(socket.SHUT_WR)
        except OSError:
            near.close()
            far.close()


def serve(near: socket.socket, host: str, port: int, harm: str, kept: Path) -> None:
    """One connection: its first bytes tell which it is (engine/src/control/hello.h)."""
    far = socket.create_connection((host, port))
    threading.Thread(target=pump, args=(far, near), daemon=True).start()
    first = near.recv(1, socket.MSG_PEEK)
    if first in (b"", b"\0"):
        pump(near, far)
        return
    far.sendall(exactly(near, HELLO))
    meddle(near, far, harm, kept)


def main(port: str, host: str, host_port: str, harm: str, kept: str) -> None:
    """Serve for ever."""
    with socket.create_server(("", int(port)), backlog=64) as listener:
        print("listening", file=sys.stderr, flush=True)
        while True:
            near, _ = listener.accept()
            words = (near, host, int(host_port), harm, Path(kept))
            threading.Thread(target=serve, args=words, daemon=True).start()


if __name__ == "__main__":
    main(*sys.argv[1:])
