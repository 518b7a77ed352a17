"""A program that sends for a time, as its options slow it down: what the judge of sockets is tested with.

bulk_program.py serve PORT [--rcvbuf BYTES] [--read-rate BYTES_PER_S]
bulk_program.py send HOST PORT --seconds S [--sndbuf BYTES] [--bytes N] [--streams N] [--piece BYTES --pause S]
"""

from __future__ import annotations

import argparse
import socket
import sys
import threading
import time


def read(connection: socket.socket, rate: float) -> None:
    """Read all, no faster than so many bytes a second; 0: as it comes."""
    room = memoryview(bytearray(round(rate / 100) or 1 << 20))
    while connection.recv_into(room, len(room), socket.MSG_WAITALL):
        if rate:
            time.sleep(0.01)


def serve(parsed: argparse.Namespace) -> None:
    """Read from whoever comes."""
    with socket.socket() as server:
        if parsed.rcvbuf:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, parsed.rcvbuf)
        server.bind(("", parsed.port))
        server.listen(16)
        while True:
            connection, _ = server.accept()
            threading.Thread(target=read, args=(connection, parsed.read_rate), daemon=True).start()


def send(parsed: argparse.Namespace) -> None:
    """Send for so long, or so many bytes, over one connection."""
    with socket.socket() as connection:
        if parsed.sndbuf:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, parsed.sndbuf)
        connection.connect((parsed.host, parsed.port))
        data, end_s, left = bytes(parsed.piece), time.monotonic() + parsed.seconds, parsed.bytes
        while time.monotonic() < end_s and left > 0:
            connection.sendall(memoryview(data)[:left])
            left -= len(data)
            if parsed.pause:
                time.sleep(parsed.pause)


def main() -> None:
    """One of the two ends."""
    parser = argparse.ArgumentParser()
    words = parser.add_subparsers(required=True, dest="word")
    server = words.add_parser("serve")
    server.add_argument("port", type=int)
    server.add_argument("--rcvbuf", type=int, default=0)
    server.add_argument("--read-rate", type=float, default=0.0)
    sender = words.add_parser("send")
    sender.add_argument("host")
    sender.add_argument("port", type=int)
    sender.add_argument("--seconds", type=float, default=20.0)
    sender.add_argument("--pause", type=float, default=0.0)
    for name, usual in (("sndbuf", 0), ("bytes", 1 << 40), ("streams", 1), ("piece", 1 << 20)):
        sender.add_argument(f"--{name}", type=int, default=usual)
    parsed = parser.parse_args()
    if parsed.word == "serve":
        serve(parsed)
    threads = [threading.Thread(target=send, args=(parsed,)) for _ in range(parsed.streams)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    sys.exit(main())
