"""Death in the last phase: all data have come, and the peer dies before, in or instead of its result."""

import contextlib
import os
import signal
import socket
import struct
from pathlib import Path

import pytest

from tests.support.engine.fake_server import TOKEN, Begun, frame, pretended, take
from tests.support.engine.files_fixtures import BLOCK, JOURNAL, describe, write_file
from tests.support.engine.fixtures import (
    Bench,
    children,
    control_connection,
    hello,
    only_child,
    say_hello,
    wait_until,
)

TOTAL = 1_000_000
LOOPBACK_MSS = 65_536 - 40


def abort(connection: socket.socket) -> None:
    """As the kernel of a killed process does."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


class Dying:
    """A receiver that takes all data of one stream and then says `last`, and dies."""

    def __init__(self, last: bytes, *, reset: bool) -> None:
        self.last, self.reset, self.got = last, reset, 0

    def __call__(self, begun: Begun) -> None:
        """The whole of its life."""
        assert begun.hello == hello(0, bytes.fromhex(TOKEN), bytes(32))
        begun.control.sendall(frame({"type": "ready"}))
        assert take(begun.control)["type"] == "go"
        while chunk := begun.data.recv(1 << 20):
            self.got += len(chunk)
        begun.control.sendall(self.last)
        (abort if self.reset else socket.socket.close)(begun.control)


WHOLE = frame({"type": "result", "complete": True, "bytes": TOTAL})


@pytest.mark.parametrize(
    ("last", "reset", "said"),
    [
        (b"", False, "closed the control connection"),
        (b"", True, "Connection reset by peer"),
        (WHOLE[:40], False, "closed the control connection"),
        (b"\0\0\0\x08nonsense", False, "no control message"),
        (WHOLE, False, "the receiver's result is not as it should be"),
    ],
    ids=["silent", "reset", "cut", "garbage", "empty"],
)
def test_a_receiver_dies_before_its_result_is_whole(bench: Bench, last: bytes, reset: bool, said: str) -> None:
    receiver = Dying(last, reset=reset)
    with pretended(bench.port, receiver):
        sender = bench.send("--bytes", str(TOTAL))
        assert sender.wait(20) == 1
    assert receiver.got == TOTAL
    result = bench.result()
    assert said in result["error"]
    assert result["complete"] is False
    assert result["bytes_source"] == "sender"
    # Acknowledged, as far as the sender knows: the receiver may have put off its last answer, to two segments at most.
    assert TOTAL - 2 * LOOPBACK_MSS <= result["bytes"] <= TOTAL
    assert len(result["streams"]) == 1


def test_a_sender_dies_before_it_takes_the_result(bench: Bench) -> None:
    """The receiver has all bytes, says so in its own result, and serves on."""
    receiver = bench.receive()
    request = {"kind": "memory", "streams": 1, "window_bytes": 0, "bytes": 1000, "duration_ns": 0, "receive": "memory"}
    with contextlib.ExitStack() as stack:
        control = stack.enter_context(control_connection(bench.port))
        control.sendall(frame({"type": "greeting", "nonce": "5a" * 32, "key": False}))
        control.sendall(frame({"type": "request"} | request))
        grant = take(control)
        data = stack.enter_context(socket.create_connection(("127.0.0.1", bench.port), timeout=20))
        say_hello(data, 0, bytes.fromhex(grant["token"]), grant["session"])
        assert take(control)["type"] == "ready"
        control.sendall(frame({"type": "go"}))
        os.kill(only_child(receiver), signal.SIGSTOP)  # so that we die before it has read the last byte
        data.sendall(b"x" * 1000)
        data.shutdown(socket.SHUT_WR)
        session = only_child(receiver)
        abort(control)
        os.kill(session, signal.SIGCONT)
    wait_until(lambda: None if children(receiver) else True, 20, receiver.process)
    told = bench.result("receive")
    assert told["bytes"] in (0, 1000)  # its loop may see the end of the control connection first
    assert told["complete"] is (told["error"] is None)
    sender = bench.send("--bytes", str(TOTAL))
    assert sender.wait() == 0, sender.errors


@pytest.mark.slow
def test_two_signals_end_a_transfer_of_files_at_once_and_it_resumes(bench: Bench, tmp_path: Path) -> None:
    """The second one does not wait for a receiver that does not answer."""
    source, target = tmp_path / "tree", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    write_file(source / "file", 64 * BLOCK)
    receiver = bench.receive("--directory", str(target), "--anonymous")
    sender = bench.send("--pacing", "400M", "--files", str(source))
    journal = target / "tree" / f".file{JOURNAL}"
    wait_until(lambda: (journal.exists() and journal.stat().st_size > 64 + 24) or None, 20, sender.process)
    session = only_child(receiver)
    os.kill(session, signal.SIGSTOP)
    try:
        sender.process.send_signal(signal.SIGINT)
        sender.process.send_signal(signal.SIGTERM)
        assert sender.wait(8) == 1
    finally:
        os.kill(session, signal.SIGCONT)
    result = bench.result()
    assert result["complete"] is False
    assert result["signal"] in ("SIGINT", "SIGTERM")
    assert result["files"]["outcomes"] is None or result["files"]["outcomes"] == []
    receiver.wait_for("Error: session with")
    wait_until(lambda: None if children(receiver) else True, 20, receiver.process)
    again = bench.send("--files", str(source))
    assert again.wait() == 0, again.errors
    files = bench.result()["files"]
    assert files["blocks_skipped"] >= 2
    assert files["blocks_sent"] == 64 - files["blocks_skipped"]
    assert describe(target / "tree") == describe(source)
