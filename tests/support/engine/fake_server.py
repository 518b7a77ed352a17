"""A server that only pretends: it begins one session as the engine does, and then the test says what happens."""

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.support.engine.fixtures import MAGIC, PROTOCOL, control_connection

TOKEN = "a5" * 32


def frame(message: dict) -> bytes:
    """A frame of the control connection."""
    text = json.dumps({"protocol": PROTOCOL} | message).encode()
    return struct.pack(">I", len(text)) + text


def asked(port: int, request: dict) -> socket.socket:
    """A control connection of somebody without a key, who has greeted and made this request."""
    control = control_connection(port)
    control.sendall(frame({"type": "greeting", "nonce": "00" * 32, "key": False}) + frame(request))
    return control


def take(control: socket.socket) -> dict:
    """One message."""
    length = struct.unpack(">I", control.recv(4, socket.MSG_WAITALL))[0]
    return json.loads(control.recv(length, socket.MSG_WAITALL))


@dataclass
class Begun:
    """A session whose one data connection is open.

    Attributes:
        hello: the client's proof on the data connection (48 B).
        over: set when the test needs the session no more.
    """

    control: socket.socket
    data: socket.socket
    hello: bytes
    over: threading.Event


@contextlib.contextmanager
def pretended(port: int, live: Callable[[Begun], object], *, rcvbuf_bytes: int = 1 << 20) -> Iterator[None]:
    """Grant a session with one stream, open it, and do what `live` says with it, in a thread; its errors are raised."""
    over, errors = threading.Event(), list[BaseException]()

    def serve() -> None:
        try:
            control, _ = listener.accept()
            with control:
                assert [take(control)["type"], take(control)["type"]] == ["greeting", "request"]
                grant = {"data_port": elsewhere.getsockname()[1], "session": 0, "token": TOKEN, "pacing_bps": 0}
                control.sendall(frame({"type": "grant", "rcvbuf_bytes": rcvbuf_bytes} | grant))
                data, _ = elsewhere.accept()
                with data:
                    data.sendall(MAGIC + bytes(32))
                    hello = data.recv(48, socket.MSG_WAITALL)
                    assert len(hello) == 48
                    live(Begun(control, data, hello, over))
        except BaseException as error:
            errors.append(error)

    with socket.create_server(("127.0.0.1", port)) as listener, socket.create_server(("127.0.0.1", 0)) as elsewhere:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(20)
    assert errors == []
