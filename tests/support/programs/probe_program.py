"""A program with a window of its own, or with many round trips: what `landspeed probe` is tested with.

    probe_program.py serve PORT
    probe_program.py call HOST PORT --window 65536 --bytes 10000000 [--at receiver] [--down] [--piece BYTES]
    probe_program.py call HOST PORT --turns 20 [--request 100] [--response 1000]

A window at the sender: it never has more sent than the receiver's program has told to have read. At the receiver: the
sender sends only what was granted before. Both are told of in pieces.
"""

from __future__ import annotations

import argparse
import json
import socket
import struct
import sys
import threading
from typing import Any

GRANT = struct.Struct(">Q")
PIECES = 8  # of a window


def send(connection: socket.socket, told: dict[str, Any]) -> None:
    """Send so many bytes, never more than the window allows."""
    total, window, piece = told["bytes"], told["window"], told["piece"]
    data = memoryview(bytes(max(piece, 1)))
    sent, allowed, rest = 0, (0 if told["at"] == "receiver" else window), b""
    while allowed < total + window:  # the last grant: all was read
        room = min(allowed - sent, piece, total - sent)
        if room > 0:
            connection.sendall(data[:room])
            sent += room
            continue
        more = connection.recv(1 << 16)
        if not more:
            return
        rest += more
        while len(rest) >= GRANT.size:
            allowed, rest = GRANT.unpack_from(rest)[0], rest[GRANT.size :]


def receive(connection: socket.socket, told: dict[str, Any]) -> None:
    """Read so many bytes, and tell after each piece how many the sender may have sent in all."""
    total, window, piece = told["bytes"], told["window"], told["piece"]
    room, got, granted = bytearray(1 << 20), 0, window
    if told["at"] == "receiver":
        connection.sendall(GRANT.pack(granted))
    while got < total:
        count = connection.recv_into(room)
        if not count:
            return
        got += count
        if got + window >= granted + piece or got == total:
            granted = got // piece * piece + window if got < total else total + window
            connection.sendall(GRANT.pack(granted))


def exactly(connection: socket.socket, count: int) -> None:
    """Read so many bytes."""
    while count:
        count -= len(connection.recv(min(count, 1 << 20)))


def converse(connection: socket.socket, told: dict[str, Any], *, serves: bool) -> None:
    """Do what was told, as one of the two ends."""
    if told["turns"]:
        for _ in range(told["turns"]):
            if serves:
                exactly(connection, told["request"])
                connection.sendall(bytes(told["response"]))
            else:
                connection.sendall(bytes(told["request"]))
                exactly(connection, told["response"])
    elif serves == told["down"]:
        send(connection, told)
    else:
        receive(connection, told)


def answer(connection: socket.socket) -> None:
    """Serve one connection."""
    with connection, connection.makefile("rb", buffering=0) as lines:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        converse(connection, json.loads(lines.readline()), serves=True)


def main() -> None:
    """One of the two ends."""
    parser = argparse.ArgumentParser()
    words = parser.add_subparsers(required=True, dest="word")
    words.add_parser("serve").add_argument("port", type=int)
    call = words.add_parser("call")
    call.add_argument("host")
    call.add_argument("port", type=int)
    for name, usual in (("bytes", 0), ("window", 0), ("piece", 0), ("turns", 0), ("request", 100), ("response", 1000)):
        call.add_argument(f"--{name}", type=int, default=usual)
    call.add_argument("--at", choices=("sender", "receiver"), default="sender")
    call.add_argument("--down", action="store_true")
    parsed = parser.parse_args()
    if parsed.word == "serve":
        with socket.create_server(("", parsed.port)) as server:
            while True:
                threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()
    told = vars(parsed) | {"piece": parsed.piece or max(parsed.window // PIECES, 1)}
    with socket.create_connection((parsed.host, parsed.port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(json.dumps(told).encode() + b"\n")
        converse(connection, told, serves=False)


if __name__ == "__main__":
    sys.exit(main())
