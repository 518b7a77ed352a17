"""Clients that do not keep to what a server allows: for each kind of session one that never ends."""

import contextlib
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.engine.fake_server import frame, take
from tests.support.engine.fixtures import control_connection, say_hello

ALLOWED_S = 1
TCP_MEM = Path("/proc/sys/net/ipv4/tcp_mem")  # pages of all TCP; a network namespace does not tell


REQUEST = {
    "type": "request",
    "kind": "memory",
    "direction": "forward",
    "streams": 1,
    "window_bytes": 0,
    "window_exact": False,
    "bytes": 0,
    "duration_ns": ALLOWED_S * 10**9,
    "receive": "discard",
    "payload_seed": 0,
    "block_bytes": 0,
    "mptcp": False,
    "omit_ns": 0,
}


class Client:
    """A session that has begun, of a client that then does what the test says."""

    def __init__(self, port: int, streams: int = 1, **asked: Any) -> None:
        self.port, self.source = port, asked.pop("source", "127.0.0.1")  # the address that it comes from
        self.control = control_connection(port, self.source)
        greeting = frame({"type": "greeting", "nonce": "00" * 32, "key": False})
        self.control.sendall(greeting + frame(REQUEST | {"streams": streams} | asked))
        self.grant = take(self.control)
        assert self.grant["type"] == "grant", self.grant
        self.data: list[socket.socket] = []

    def connect(self, count: int = 1) -> socket.socket:
        """So many data connections; the first one."""
        for number in range(len(self.data), count):
            to = ("127.0.0.1", self.grant.get("data_port", self.port))
            data = socket.create_connection(to, timeout=60, source_address=(self.source, 0))
            say_hello(data, number, bytes.fromhex(self.grant["token"]), self.grant["session"])
            self.data.append(data)
        return self.data[0]

    def say(self, word: str) -> None:
        """A message without members."""
        self.control.sendall(frame({"type": word}))

    def close(self) -> None:
        """All connections."""
        for connection in (self.control, *self.data):
            connection.close()


def ended_s(act: Callable[[], object]) -> float:
    """How long the act goes on until the server ends it."""
    begun = time.monotonic()
    with contextlib.suppress(OSError, EOFError):
        while time.monotonic() - begun < 60 and act() is not None:
            pass
    return time.monotonic() - begun


def silent(control: socket.socket) -> bool | None:
    """None once the server has said anything, or has gone."""
    control.settimeout(0.1)
    with contextlib.suppress(TimeoutError):
        control.recv(1)
        return None
    return True


def reading(data: socket.socket, *, pause_s: float = 0) -> Callable[[], object]:
    """Reads what comes; None at the end."""

    def act() -> object:
        time.sleep(pause_s)
        return data.recv(1 << 20) or None

    return act


def sends_on(client: Client) -> float:
    """Says go, and a byte now and then for ever; never that it is over."""
    data = client.connect()
    assert take(client.control)["type"] == "ready"
    client.say("go")

    def act() -> object:
        data.sendall(b"x")
        return silent(client.control)

    return ended_s(act)


def reads_on(client: Client) -> float:
    """Reads, and keeps its result to itself."""
    data = client.connect()
    client.say("ready")
    return ended_s(reading(data))


def both_on(client: Client) -> float:
    """Ends what it sends in time, and goes on with what it reads."""
    client.connect(2)
    client.say("ready")
    while take(client.control)["type"] != "ready":
        pass
    client.say("go")
    client.data[0].sendall(bytes(100_000))
    return ended_s(reading(client.data[1]))


def asks_on(client: Client) -> float:
    """Asks, takes the answer, and asks again."""
    data = client.connect()
    assert take(client.control)["type"] == "ready"

    def act() -> object:
        data.sendall(b"x")
        return data.recv(1 << 16) or None

    return ended_s(act)


def datagrams_on(client: Client) -> float:
    """Sends datagrams, and never says how many there were."""
    client.say("go")
    to = ("127.0.0.1", client.grant.get("data_port", client.port))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:

        def act() -> object:
            with contextlib.suppress(ConnectionError):
                udp.sendto(bytes(40), to)
            return silent(client.control)

        return ended_s(act)


def files_on(client: Client) -> float:
    """Says go, and a byte of a record now and then for ever."""
    data = client.connect()
    assert take(client.control)["type"] == "ready"
    client.say("go")
    head = iter(b"lsf\x01" + struct.pack(">IIIQ", 1, 0, 1 << 20, 0) + bytes(1 << 10))

    def act() -> object:
        data.sendall(bytes([next(head)]))
        told = silent(client.control)
        if told is None:
            return None if b"allows" in client.control.recv(1 << 16) else True
        return told

    return ended_s(act)


def gets_on(client: Client) -> float:
    """Takes a little of the files now and then, and says that its disk is busy."""
    data = client.connect()
    client.say("ready")
    return ended_s(reading(data, pause_s=0.05))


PROBE = {"request_bytes": 1, "response_bytes": 1, "fresh": False, "rate_bps": 0, "clock": ""}
KINDS: dict[str, tuple[Callable[[Client], float], dict[str, Any]]] = {
    "memory": (sends_on, {}),
    "memory from the server": (reads_on, {"direction": "reverse"}),
    "memory both ways": (both_on, {"direction": "both"}),
    "round trips": (asks_on, {"kind": "round-trips", "probe": PROBE}),
    "datagrams": (
        datagrams_on,
        {"kind": "datagrams", "probe": PROBE | {"request_bytes": 40, "rate_bps": 1000}},
    ),
    "files": (files_on, {"kind": "files"}),
    "files from the server": (gets_on, {"kind": "files", "direction": "reverse", "paths": ["large"]}),
}
