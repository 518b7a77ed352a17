"""Messages of the control connection that come in one piece are all heard at once: what is read wakes nobody twice."""

import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine.fake_server import TOKEN, asked, frame, take
from tests.support.engine.files_fixtures import write_file
from tests.support.engine.fixtures import MAGIC, Bench, say_hello
from tests.support.engine.stall import REQUEST, result

LONG = "600s"  # nothing but the second message ends the session within the test


@pytest.mark.parametrize("kind", ["memory", "files"])
def test_a_receiver_hears_that_it_shall_stop_as_it_shall_begin(bench: Bench, tmp_path: Path, kind: str) -> None:
    """As of a sender that is interrupted while it begins."""
    (tmp_path / "target").mkdir()
    bench.receive("--stall", LONG, "--idle-timeout", LONG, "--anonymous", "--directory", str(tmp_path / "target"))
    request = REQUEST | {"kind": kind, "bytes": 0 if kind == "files" else 1 << 53}
    with asked(bench.port, request) as control:
        grant = take(control)
        with socket.create_connection(("127.0.0.1", bench.port), timeout=20) as data:
            say_hello(data, 0, bytes.fromhex(grant["token"]), grant["session"])
            assert take(control)["type"] == "ready"
            control.sendall(frame({"type": "go"}) + frame({"type": "stop"}))
            assert result(control)["error"] == "stopped by the sender"


@pytest.mark.parametrize("kind", ["memory", "files"])
def test_a_sender_hears_a_refusal_that_comes_with_the_word_to_begin(bench: Bench, tmp_path: Path, kind: str) -> None:
    write_file(tmp_path / "file", 3)
    over = threading.Event()

    def receive(listener: socket.socket, data: socket.socket) -> None:
        control, _ = listener.accept()
        assert [take(control)["type"], take(control)["type"]] == ["greeting", "request"]
        grant: dict[str, Any] = {"data_port": data.getsockname()[1], "session": 0, "token": TOKEN}
        grant |= {"rcvbuf_bytes": 1 << 20, "pacing_bps": 0}
        control.sendall(frame({"type": "grant"} | grant))
        stream, _ = data.accept()
        stream.sendall(MAGIC + bytes(32))
        assert len(stream.recv(48, socket.MSG_WAITALL)) == 48
        control.sendall(frame({"type": "ready"}) + frame({"type": "error", "text": "out of tape"}))
        over.wait(60)
        stream.close()
        control.close()

    with socket.create_server(("127.0.0.1", bench.port)) as listener, socket.create_server(("127.0.0.1", 0)) as data:
        thread = threading.Thread(target=receive, args=(listener, data), daemon=True)
        thread.start()
        what = ["--bytes", "1G"] if kind == "memory" else ["--files", str(tmp_path / "file")]
        try:
            sender = bench.send("--stall", LONG, *what)
            assert sender.wait(20) == 1
        finally:
            over.set()
            thread.join(20)
    assert bench.result()["error"].startswith("the peer refused: out of tape")
