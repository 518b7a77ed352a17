"""Programs that wait without waiting, for tests: `python -S spin_program.py MODE …`; they print times in ns.

serve             answer datagrams at port 9000, one for each, asleep meanwhile
serve-spinning    the same, looking again and again
ask MODE ADDRESS  send three datagrams, and wait for each answer by MODE: block, peek, poll, bytes
yield NS          give way until a time has come, which is looked at after each hundredth time
compute           for ever, without a system call
"""

from __future__ import annotations

import array
import fcntl
import os
import select
import socket
import sys
import termios
import time

PORT = 9000


def await_bytes(end: socket.socket) -> int:
    """Ask how many bytes are there until there are some; how often. No call fails, and none reads the clock."""
    asked, count = 0, array.array("i", [0])
    while not count[0]:
        fcntl.ioctl(end, termios.FIONREAD, count)
        asked += 1
    return asked


def await_poll(end: socket.socket) -> int:
    """The same by poll(2) that waits for no time. Python reads the clock for each."""
    asked, poll = 0, select.poll()
    poll.register(end, select.POLLIN)
    while not poll.poll(0):
        asked += 1
    return asked


def await_peek(end: socket.socket) -> int:
    """The same by recv(2) that fails while nothing is there."""
    asked = 0
    while True:
        try:
            end.recv(10, socket.MSG_DONTWAIT | socket.MSG_PEEK)
        except BlockingIOError:
            asked += 1
        else:
            return asked


AWAIT = {"block": lambda _: 0, "bytes": await_bytes, "poll": await_poll, "peek": await_peek}


def serve(mode: str) -> None:
    """Answer."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.bind(("", PORT))
        while True:
            AWAIT[mode](end)
            data, sender = end.recvfrom(100)
            end.sendto(data, sender)


def ask(mode: str, address: str) -> None:
    """Round trips."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.connect((address, PORT))
        time.sleep(1e-3)  # what Python's start has called depends on the names of folders: count from here
        for _ in range(3):
            begin_ns = time.monotonic_ns()
            end.send(b"?")
            asked = AWAIT[mode](end)
            end.recv(100)
            print(mode, asked, time.monotonic_ns() - begin_ns)


def give_way(duration_ns: int) -> None:
    """Until a time has come."""
    begin_ns = time.monotonic_ns()
    while time.monotonic_ns() < begin_ns + duration_ns:
        for _ in range(100):
            os.sched_yield()
    print(time.monotonic_ns() - begin_ns)


def main(words: list[str]) -> None:
    """As asked."""
    if words[0] == "ask":
        ask(words[1], words[2])
    elif words[0] == "yield":
        give_way(int(words[1]))
    elif words[0] == "compute":
        while True:
            pass
    else:
        serve("bytes" if words[0] == "serve-spinning" else "block")


main(sys.argv[1:])
