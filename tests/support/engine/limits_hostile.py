"""Shared by tests: what test_limits_hostile and others use."""

from __future__ import annotations

import socket
from typing import Any

from tests.support.engine.fake_server import frame, take
from tests.support.engine.fixtures import Bench, bench_fixture, control_connection, engine_fixture, say_hello  # noqa: F401  (fixtures)

ALLOWED_S = 1


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
        self.port = port
        self.control = control_connection(port)
        greeting = frame({"type": "greeting", "nonce": "00" * 32, "key": False})
        self.control.sendall(greeting + frame(REQUEST | {"streams": streams} | asked))
        self.grant = take(self.control)
        assert self.grant["type"] == "grant", self.grant
        self.data: list[socket.socket] = []

    def connect(self, count: int = 1) -> socket.socket:
        """So many data connections; the first one."""
        for number in range(len(self.data), count):
            data = socket.create_connection(("127.0.0.1", self.grant.get("data_port", self.port)), timeout=60)
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
