"""What a connection does with a payload of zeros, line by line: `run` (of pages, patch 0036) or `pages` (as before it).

For a Linux with root's rights and a network namespace of its own. A line is of one read or write: its time in ns, the
bytes, and what the kernel says of the connection then. Its loopback delays packets of up to 180 kB and loses some, and
the receiver is slow: they are queued, merged after losses, and counted against its memory.
"""

import os
import socket
import sys
import threading
import time

from splices import FILE_BYTES, memory_file, set_up_loopback

BYTES = 48 << 20
PIPE_BYTES = 15 * 4096  # what a pipe takes of pages, one by one
READ_BYTES = 48_000
READ_EACH_S = 200e-6
TCP_INFO_BYTES = 512  # at most; the kernel gives what it has


def taken_at_twice(file: int) -> int:
    """Bytes that a pipe of 16 pieces takes of a file by two calls: a run is one piece, however many pages it has."""
    out, into = os.pipe()
    taken = sum(os.splice(file, into, PIPE_BYTES, offset_src=0, flags=os.SPLICE_F_NONBLOCK) for _ in range(2))
    os.close(out)
    os.close(into)
    return taken


def main() -> None:
    """Send and receive."""
    set_up_loopback()
    # Bytes anywhere in a file make each page of it one of its own.
    file, _ = memory_file({} if sys.argv[1] == "run" else {FILE_BYTES - 1: b"x"})
    print(f"a pipe takes {taken_at_twice(file)} B")
    lines: dict[str, list[str]] = {"sent": [], "read": []}
    begun = time.monotonic_ns()
    with socket.create_server(("127.0.0.1", 5201)) as server:
        sender = socket.create_connection(server.getsockname())
        receiver, _ = server.accept()

    def note(side: str, connection: socket.socket, size: int) -> None:
        told = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES)
        lines[side].append(f"{time.monotonic_ns() - begun} {size} {told.hex()}")

    def receive() -> None:
        while part := receiver.recv(READ_BYTES):
            note("read", receiver, len(part))
            time.sleep(READ_EACH_S)

    thread = threading.Thread(target=receive)
    thread.start()
    out, into = os.pipe()
    left = BYTES
    while left:
        moved = os.splice(file, into, min(left, PIPE_BYTES), offset_src=(BYTES - left) % (FILE_BYTES - 2 * PIPE_BYTES))
        left -= moved
        while moved:
            moved -= (sent := os.splice(out, sender.fileno(), moved))
            note("sent", sender, sent)
    sender.shutdown(socket.SHUT_WR)
    thread.join()
    for side, said in lines.items():
        print(side, len(said))
        print("\n".join(said))


main()
