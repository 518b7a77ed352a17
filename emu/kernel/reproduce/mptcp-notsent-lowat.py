"""Linux's MPTCP with a small TCP_NOTSENT_LOWAT carries next to nothing: bytes of half a second, with and without.

    python3 emu/kernel/reproduce/mptcp-notsent-lowat.py

It runs on any Linux with MPTCP, both ends on the loopback interface. On 6.18, with 2 s: TCP 4.4 GB and 3.9 GB, MPTCP
885 MB and 217 kB. With TCP the mark only limits what waits in the socket. On a socket of MPTCP, what counts as not sent
is what the subflows have not taken yet, so that poll() and send() seldom find room below the mark.
"""

from __future__ import annotations

import select
import socket
import threading
import time

MPTCP = 262  # IPPROTO_MPTCP
NOTSENT_LOWAT = 25  # TCP_NOTSENT_LOWAT
SECONDS, PIECE, MARKS = 0.5, bytes(65536), (0, 1)


def read_all(listener: socket.socket, read: list[int]) -> None:
    """Count what arrives on one connection."""
    connection, _ = listener.accept()
    while piece := connection.recv(1 << 20):
        read[0] += len(piece)
    connection.close()


def carried(protocol: int, mark: int) -> int:
    """Bytes that one connection carries in half a second; the sender writes whenever poll() says that there is room."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    read = [0]
    reader = threading.Thread(target=read_all, args=(listener, read))
    reader.start()
    sender = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
    sender.connect(listener.getsockname())
    if mark:
        sender.setsockopt(socket.IPPROTO_TCP, NOTSENT_LOWAT, mark)
    sender.setblocking(False)
    poll = select.poll()
    poll.register(sender, select.POLLOUT)
    end = time.monotonic() + SECONDS
    while (left := end - time.monotonic()) > 0:
        if poll.poll(left * 1000):
            try:
                sender.send(PIECE)
            except BlockingIOError:
                time.sleep(0.001)
    sender.close()
    reader.join()
    listener.close()
    return read[0]


for name, protocol in (("TCP", socket.IPPROTO_TCP), ("MPTCP", MPTCP)):
    for mark in MARKS:
        print(f"{name}, mark {mark}: {carried(protocol, mark)}", flush=True)
