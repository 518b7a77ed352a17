"""Replies over a new connection each: `server`, or `client HOST PATIENCE_S SIZE…`, which prints size, bytes read, s."""

import socket
import sys
import time

PORT = 7000


def serve() -> None:
    """Send as many bytes as the request says, and keep the connection open."""
    kept: list[socket.socket] = []
    with socket.create_server(("", PORT)) as door:
        while True:
            talk, _ = door.accept()
            talk.sendall(b"x" * int(talk.recv(100)))
            kept.append(talk)


def fetch(host: str, patience_s: float, size: int) -> tuple[int, float]:
    """(Bytes read, seconds from the first SYN until the last of them, or until patience ends)."""
    began, count = time.monotonic(), 0
    with socket.create_connection((host, PORT)) as talk:
        talk.sendall(b"%d" % size)
        while count < size:
            left_s = began + patience_s - time.monotonic()
            if left_s <= 0:
                break
            talk.settimeout(left_s)
            try:
                count += len(talk.recv(size))
            except TimeoutError:
                break
    return count, time.monotonic() - began


if sys.argv[1] == "server":
    serve()
for each in map(int, sys.argv[4:]):
    print(each, *fetch(sys.argv[2], float(sys.argv[3]), each), flush=True)
