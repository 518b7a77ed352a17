"""TCP's timers in the guest: each connection is left alone in one way, and what its ends do is written down.

    python timers.py REQUESTS.json ANSWERS.json

All of them run at once, each on a port of its own; the clock is virtual, so a quarter of an hour takes seconds. Nothing
is judged here. Times are of the guest's clock, in ns.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "support" / "programs")]

from emu_probe import inside  # noqa: E402
from talk import INFO, INFO_NAMES, RET_NOTHING, SO_ATTACH_FILTER, TCP_INFO, dropping  # noqa: E402
from wire import Capture  # noqa: E402

FIRST_PORT, SETTLE_S, STEP_S, SURE_S = 7500, 2.0, 0.001, 55
TCP_SYNCNT, TCP_USER_TIMEOUT = 7, 18
SYN, ACK, FIN = 2, 16, 1
FIN_WAIT_2, TIME_WAIT = 5, 6
Answer = dict[str, Any]


def deaf(sock: socket.socket) -> None:
    """From now on it hears nothing that is for its port."""
    kept, program = dropping([RET_NOTHING])
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)
    del kept


class Ends:
    """A port of `omega`, and who connects to it from `alpha`."""

    def __init__(self, address: str, number: int) -> None:
        """Listen, and capture at both."""
        self.address, self.port = address, FIRST_PORT + number
        with inside("omega"):
            self.far = Capture(1, self.port)
            self.listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.listening.bind((address, self.port))
        self.listening.listen(1)
        with inside("alpha"):
            self.near = Capture(0, self.port)
            self.sender = socket.socket(socket.AF_INET, socket.SOCK_STREAM)

    def connect(self) -> socket.socket:
        """Connect; the receiver's end, which is kept open."""
        self.sender.connect((self.address, self.port))
        self.receiver, _ = self.listening.accept()
        return self.receiver

    def error_ns(self) -> int:
        """Wait until the sender's socket breaks."""
        try:
            self.sender.recv(1)
        except OSError:
            return time.time_ns()
        raise RuntimeError("the connection ended without an error")

    def sent(self, capture: Capture, flags: int, *, data: bool | None = None) -> list[int]:
        """When segments left a node: those that have all these flags, with or without payload."""
        found = [each for each in capture.read() if each.out and each.flags & flags == flags]
        return [each.time_ns for each in found if data is None or (each.length > 0) == data]

    def info(self) -> dict[str, int]:
        """TCP_INFO of the sender."""
        told = self.sender.getsockopt(socket.IPPROTO_TCP, TCP_INFO, INFO.size)
        return dict(zip(INFO_NAMES, INFO.unpack(told.ljust(INFO.size, b"\0")), strict=True))


def syn(ends: Ends) -> Answer:
    """Nobody answers the SYN."""
    deaf(ends.listening)
    try:
        ends.sender.connect((ends.address, ends.port))
    except OSError:
        ended_ns = time.time_ns()
        return {"sent_ns": ends.sent(ends.near, SYN), "ended_ns": ended_ns}
    raise RuntimeError("the handshake succeeded")


def syn_ack(ends: Ends) -> Answer:
    """Nobody answers the SYN-ACK, and no second SYN is heard."""
    deaf(ends.sender)
    ends.sender.setblocking(False)
    ends.sender.connect_ex((ends.address, ends.port))
    time.sleep(0.1)
    deaf(ends.listening)
    time.sleep(80)
    return {"sent_ns": ends.sent(ends.far, SYN | ACK)}


def retransmissions(ends: Ends) -> Answer:
    """Data that is never acknowledged, to the end."""
    deaf(ends.connect())
    ends.sender.send(b"x" * 100)
    rto_us = ends.info()["rto_us"]
    ended_ns = ends.error_ns()
    return {"rto_us": rto_us, "sent_ns": ends.sent(ends.near, ACK, data=True), "ended_ns": ended_ns}


def user_timeout(ends: Ends) -> Answer:
    """The same with TCP_USER_TIMEOUT of 10 s."""
    ends.sender.setsockopt(socket.IPPROTO_TCP, TCP_USER_TIMEOUT, 10_000)
    return retransmissions(ends)


def keepalive(ends: Ends) -> Answer:
    """Idle for 10 s, three probes 5 s apart."""
    for option, value in ((socket.TCP_KEEPIDLE, 10), (socket.TCP_KEEPINTVL, 5), (socket.TCP_KEEPCNT, 3)):
        ends.sender.setsockopt(socket.IPPROTO_TCP, option, value)
    ends.sender.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    deaf(ends.connect())
    ended_ns = ends.error_ns()
    begun_ns, *later = ends.sent(ends.near, ACK, data=False)
    probes = [sent_ns for sent_ns in later if begun_ns + SETTLE_S * 1e9 < sent_ns < ended_ns - SETTLE_S * 1e9]
    return {"sent_ns": [begun_ns, *probes], "ended_ns": ended_ns}


def fin_wait_2(ends: Ends) -> Answer:
    """Closed, acknowledged, and the other end never closes."""
    receiver = ends.connect()
    ends.sender.close()
    time.sleep(SETTLE_S)
    gone_ns = until_gone(ends.port, FIN_WAIT_2)
    heard = [each.time_ns for each in ends.near.read() if not each.out and each.flags & ACK]
    receiver.close()
    return {"begun_ns": heard[-1], "ended_ns": gone_ns}


def time_wait(ends: Ends) -> Answer:
    """Both close; who closed first waits."""
    receiver = ends.connect()
    ends.sender.close()
    time.sleep(SETTLE_S)
    receiver.close()
    time.sleep(SETTLE_S)
    heard = [each.time_ns for each in ends.near.read() if not each.out and each.flags & FIN]
    return {"begun_ns": heard[-1], "ended_ns": until_gone(ends.port, TIME_WAIT)}


def linger(ends: Ends) -> Answer:
    """SO_LINGER of 5 s, and data that nobody acknowledges: how long close() waits."""
    deaf(ends.connect())
    ends.sender.send(b"x" * 100)
    ends.sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 5))
    begun_ns = time.time_ns()
    ends.sender.close()
    return {"begun_ns": begun_ns, "ended_ns": time.time_ns()}


def delayed_ack(ends: Ends) -> Answer:
    """A segment alone, once the receiver has left its quick mode."""
    receiver = ends.connect()
    receiver.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
    ends.sender.send(b"x" * 100)
    time.sleep(SETTLE_S)
    (came_ns,) = [each.time_ns for each in ends.far.read() if not each.out and each.length]
    return {"begun_ns": came_ns, "ended_ns": ends.sent(ends.far, ACK)[-1]}


def until_gone(port: int, state: int) -> int:
    """When `alpha` has no socket of the port in that state any more; it must have one now."""
    wanted, there = f":{port:04X} {state:02X} ", False
    time.sleep(SURE_S)  # each look is a file to be read
    while wanted in Path("/proc/thread-self/net/tcp").read_text():
        there = True
        time.sleep(STEP_S)
    if not there:
        raise RuntimeError(f"no socket of port {port} is in state {state}")
    return time.time_ns()


def jiffies() -> int:
    """The kernel's count of ticks."""
    lines = Path("/proc/timer_list").read_text().splitlines()
    return next(int(line.split()[-1]) for line in lines if line.strip().startswith("jiffies:"))


KINDS: dict[str, Callable[[Ends], Answer]] = {
    each.__name__: each
    for each in (
        syn, syn_ack, retransmissions, user_timeout, keepalive, fin_wait_2, time_wait, linger, delayed_ack,
    )
}  # fmt: skip


def main() -> None:
    """Answer all, at once."""
    requests = json.loads(Path(sys.argv[1]).read_text())
    answers: list[Any] = [None] * len(requests)

    def answer(number: int, asked: dict[str, Any]) -> None:
        ends = Ends(asked["address"], number)
        with inside("alpha"):
            answers[number] = KINDS[asked["kind"]](ends)

    # The tick comes at whole milliseconds of the monotonic clock.
    clock = {"jiffies": jiffies(), "time_ns": time.time_ns() - time.monotonic_ns() % 10**6}
    threads = [threading.Thread(target=answer, args=each) for each in enumerate(requests)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    if None in answers:
        sys.exit("a timer was not answered")
    Path(sys.argv[2]).write_text(json.dumps({"clock": clock, "answers": answers}))


if __name__ == "__main__":
    main()
