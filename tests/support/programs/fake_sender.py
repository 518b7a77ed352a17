"""A server that lies: it says go and sends, or not, what the test says; with what a client must make of that."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager

from tests.support.engine.fake_server import Begun, frame, pretended, take
from tests.support.engine.fixtures import Bench


def liar(
    bench: Bench, act: Callable[[socket.socket, socket.socket], object], *, go: bool = True
) -> AbstractContextManager[None]:
    """A server that opens one stream, waits until it is read, says go, and does what the test says."""

    def live(begun: Begun) -> None:
        assert take(begun.control)["type"] == "ready"
        if go:
            begun.control.sendall(frame({"type": "go"}))
        with contextlib.suppress(OSError):
            act(begun.control, begun.data)
        begun.over.wait(30)

    return pretended(bench.port, live, rcvbuf_bytes=1)
