"""Shared by tests: what test_stall and others use."""

import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.support.engine.fake_server import Begun, frame, pretended, take

REQUEST = {
    "type": "request",
    "kind": "memory",
    "streams": 1,
    "window_bytes": 0,
    "bytes": 1 << 53,
    "duration_ns": 0,
    "receive": "discard",
}


def result(control: socket.socket) -> dict:
    """The result, whatever the receiver says before it."""
    while (message := take(control))["type"] != "result":
        assert message["type"].startswith("files-"), message
    return message


@dataclass
class Idle:
    """What a receiver that takes no data did.

    Attributes:
        pause_s: the longest time from one act to the next, as far as this machine let it act.
    """

    pause_s: float = 0.0


@contextlib.contextmanager
def idle(port: int, act: Callable[[socket.socket], object] = id) -> Iterator[Idle]:
    """A receiver that grants, is ready, and then does only what the test says, again and again."""
    done = Idle()

    def live(begun: Begun) -> None:
        begun.control.sendall(frame({"type": "ready"}))
        assert take(begun.control)["type"] == "go"
        with contextlib.suppress(OSError):
            before = time.monotonic()
            while not begun.over.wait(0.05):
                act(begun.control)
                done.pause_s, before = max(done.pause_s, time.monotonic() - before), time.monotonic()

    with pretended(port, live):
        yield done
