"""Sends blocks, and waits for an answer when so many are not answered: what many programs do without knowing it.

python3 blocks.py server                          answers each block of 64 KiB with one byte
python3 blocks.py client HOST BLOCKS SECONDS      sends, with at most BLOCKS unanswered; prints the rate in bit/s
"""

import socket
import sys
import time

BLOCK = 65536
PORT = 5000


def serve() -> None:
    """One client after the other."""
    with socket.create_server(("", PORT)) as listener:
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            held = 0
            while data := connection.recv(1 << 20):
                held += len(data)
                connection.sendall(b"." * (held // BLOCK))
                held %= BLOCK


def send(host: str, blocks: int, seconds: float) -> None:
    """Keep so many blocks on the way; count what was answered in the second half."""
    with socket.create_connection((host, PORT)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        block = bytes(BLOCK)
        begun, half = time.monotonic(), None
        waiting = answered = 0
        while (now := time.monotonic()) < begun + seconds:
            if half is None and now >= begun + seconds / 2:
                half = (now, answered)
            while waiting < blocks:
                connection.sendall(block)
                waiting += 1
            count = len(connection.recv(65536))
            waiting -= count
            answered += count
        assert half is not None
        print(round(8 * BLOCK * (answered - half[1]) / (now - half[0])))


if sys.argv[1] == "server":
    serve()
else:
    send(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
