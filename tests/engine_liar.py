"""A server that lies: it says go and sends, or not, what the test says; with what a client must make of that."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

from engine_fixtures import MAGIC, Bench
from test_engine_last_words import TOKEN, frame, take


class Liar:
    """A server that grants and opens one stream, waits until it is read, says go, and does what the test says."""

    def __init__(self, port: int, act: Callable[[socket.socket, socket.socket], object], *, go: bool) -> None:
        self.go = go
        self.act, self.stop, self.errors = act, threading.Event(), list[BaseException]()
        self.listener = socket.create_server(("127.0.0.1", port))
        self.data = socket.create_server(("127.0.0.1", 0))
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self) -> None:
        """One session, held until the test ends."""
        try:
            control, _ = self.listener.accept()
            assert [take(control)["type"], take(control)["type"]] == ["greeting", "request"]
            grant = {
                "data_port": self.data.getsockname()[1],
                "session": 0,
                "token": TOKEN,
                "rcvbuf_bytes": 1,
                "pacing_bps": 0,
            }
            control.sendall(frame({"type": "grant"} | grant))
            data, _ = self.data.accept()
            data.sendall(MAGIC + bytes(32))
            assert len(data.recv(48, socket.MSG_WAITALL)) == 48
            assert take(control)["type"] == "ready"
            if self.go:
                control.sendall(frame({"type": "go"}))
            with contextlib.suppress(OSError):
                self.act(control, data)
            self.stop.wait(30)
            control.close()
            data.close()
        except BaseException as error:
            self.errors.append(error)

    def close(self) -> None:
        """End it."""
        self.stop.set()
        self.thread.join(20)
        self.listener.close()
        self.data.close()
        assert self.errors == []


@contextlib.contextmanager
def liar(bench: Bench, act: Callable[[socket.socket, socket.socket], object], *, go: bool = True) -> Iterator[None]:
    """It, for as long as the test needs it."""
    made = Liar(bench.port, act, go=go)
    try:
        yield
    finally:
        made.close()
