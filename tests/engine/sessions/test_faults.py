"""What goes wrong around the engine: each fault gives a clear message, the right exit status and valid JSON."""

import contextlib
import json
import os
import re
import signal
import socket
import struct
import subprocess

import pytest

from landspeed.base.version import __version__
from tests.support import builds
from tests.support.engine.faults import (
    GREETING,
    REQUEST,
    frame,
)
from tests.support.engine.fixtures import (
    PROTOCOL,
    Bench,
    Program,
    children,
    control_connection,
    only_child,
    say_hello,
    wait_until,
)
from tests.support.stopwatch import one_of_few, undisturbed


def ask(bench: Bench, *parts: bytes) -> bytes:
    """What the receiver answers on its control port before it closes the connection."""
    with control_connection(bench.port) as control:
        for part in parts:
            control.sendall(part)
        answer = b""
        with contextlib.suppress(ConnectionResetError):  # it closes without reading the rest of what it was sent
            while chunk := control.recv(65536):
                answer += chunk
        return answer


def assert_still_serves(bench: Bench) -> None:
    """The receiver takes a transfer as if nothing had been; where it waits a second only, some sender is in time."""

    def attempt(_: int) -> None:
        sender = bench.send("--bytes", "1000000")
        status = sender.wait()
        undisturbed(not re.search("did not begin|within [0-9]", sender.errors), sender.errors)
        assert status == 0, sender.errors
        assert bench.result()["bytes"] == 1_000_000

    one_of_few(attempt)


def running_transfer(bench: Bench, *receive_options: str) -> tuple[Program, Program]:
    """A receiver and a sender in the middle of a long transfer."""
    receiver = bench.receive(*receive_options)
    live = bench.folder / "live.jsonl"
    sender = bench.send("--time", "60", "--streams", "3", "--live", str(live), "--report-interval", "100ms")

    def moving() -> bool | None:
        lines = live.read_text().splitlines(keepends=True) if live.exists() else []
        return any(json.loads(line)["bytes"] for line in lines if line.endswith("\n")) or None

    wait_until(moving, 30, sender.process)
    return receiver, sender


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_sender_with_what_was_read(bench: Bench, number: signal.Signals) -> None:
    receiver, sender = running_transfer(bench)
    sender.process.send_signal(number)
    assert sender.wait(20) == 1
    result = bench.result()
    assert result["complete"] is False
    assert result["signal"] == number.name
    assert result["bytes_source"] == "receiver"
    assert result["bytes"] == sum(stream["bytes"] for stream in result["streams"]) > 0
    assert result["duration_s"] < 59
    receiver.wait_for("stopped by the sender")
    assert_still_serves(bench)


def test_a_second_signal_does_not_wait_for_the_receiver(bench: Bench) -> None:
    receiver, sender = running_transfer(bench)
    session = only_child(receiver)
    os.kill(session, signal.SIGSTOP)
    sender.process.send_signal(signal.SIGINT)
    sender.process.send_signal(signal.SIGTERM)
    try:
        assert sender.wait(8) == 1
    finally:
        os.kill(session, signal.SIGCONT)
    result = bench.result()
    assert result["complete"] is False
    assert result["signal"] in ("SIGINT", "SIGTERM")
    assert result["bytes_source"] == "sender"
    assert result["bytes"] > 0


def test_a_signal_ends_the_receiver_and_the_sender_learns_why(bench: Bench) -> None:
    receiver, sender = running_transfer(bench)
    receiver.process.send_signal(signal.SIGINT)
    assert sender.wait(20) == 1
    assert "the receiver was interrupted by SIGINT" in bench.result()["error"]
    assert bench.result()["bytes_source"] == "receiver"
    assert receiver.wait(20) == 1
    assert bench.result("receive")["signal"] == "SIGINT"
    assert bench.result("receive")["bytes"] == bench.result()["bytes"]


def test_the_receiver_is_killed(bench: Bench) -> None:
    receiver, sender = running_transfer(bench)
    receiver.process.kill()
    assert sender.wait(20) == 1
    result = bench.result()
    assert result["complete"] is False
    assert "control connection" in result["error"] or "was lost" in result["error"]
    assert result["bytes_source"] == "sender"
    assert result["bytes"] > 0
    assert len(result["streams"]) == 3
    assert bench.rows("send")


@pytest.mark.slow
def test_the_sender_is_killed(bench: Bench) -> None:
    receiver, sender = running_transfer(bench)
    sender.process.kill()
    receiver.wait_for("Error: session with .*")
    result = wait_until(lambda: bench.result("receive") if (bench.folder / "receive.json").exists() else None, 20)
    assert result["complete"] is False
    assert result["bytes"] > 0
    assert_still_serves(bench)


def test_an_idle_receiver_ends_on_a_signal(bench: Bench) -> None:
    receiver = bench.receive()
    receiver.process.send_signal(signal.SIGTERM)
    assert receiver.wait(10) == 0


def test_a_one_off_receiver_that_saw_nothing_failed(bench: Bench) -> None:
    receiver = bench.receive("--one-off")
    receiver.process.send_signal(signal.SIGINT)
    assert receiver.wait(10) == 1
    assert bench.result("receive")["signal"] == "SIGINT"


def test_port_in_use(bench: Bench) -> None:
    bench.receive()
    second = bench.start("receive")
    assert second.wait() == 1
    assert "cannot listen on" in second.errors
    assert "Address already in use" in second.errors


def test_nobody_listens(bench: Bench) -> None:
    sender = bench.send()
    assert sender.wait() == 1
    assert bench.result()["error"] == f"cannot connect to 127.0.0.1:{bench.port}: Connection refused"
    assert bench.result()["streams"] == []


def test_no_such_host(bench: Bench) -> None:
    sender = bench.send(host="no-such-host.invalid")
    assert sender.wait() == 1
    assert "cannot find the address of 'no-such-host.invalid'" in bench.result()["error"]


def test_unknown_congestion_control_lists_the_known(bench: Bench) -> None:
    bench.receive()
    sender = bench.send("--congestion", "warp")
    assert sender.wait() == 1
    assert "congestion control 'warp' is not available; available: " in bench.result()["error"]
    assert "reno" in bench.result()["error"]
    assert_still_serves(bench)


@pytest.mark.slow
def test_another_sender_is_told_to_wait(bench: Bench) -> None:
    _, first = running_transfer(bench)
    second = bench.start("send", "--json", "-", host="127.0.0.1")
    assert second.wait() == 1
    assert json.loads(second.output)["error"] == "the peer refused: the receiver is busy with another transfer"
    first.process.send_signal(signal.SIGINT)
    assert first.wait() == 1
    assert bench.result()["signal"] == "SIGINT"


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "it begins with 'GET '"),
        (b"\x00\x00\x10\x01", "control message above 4096 bytes"),
        (b"\x00\x00\x00\x00", "empty control message"),
        (b"\x00\x00\x00\x04junk", "no control message"),
        (frame({"type": "request"}), "without a protocol version"),
        (frame(REQUEST | {"protocol": 2}), "protocol version 2"),
        (frame(REQUEST | {"protocol": PROTOCOL + 1}), f"protocol version {PROTOCOL + 1}"),
        (frame(REQUEST), "'request' where 'greeting' belongs"),
        (GREETING + frame(REQUEST | {"type": "go"}), "'go' where it does not belong"),
        (GREETING + frame(REQUEST | {"streams": 10**6}), "streams must be 1 to 128"),
        (GREETING + frame(REQUEST | {"window_bytes": 1 << 40}), "window_bytes"),
        (GREETING + frame(REQUEST | {"bytes": 0}), "neither bytes nor duration_ns"),
        (GREETING + frame(REQUEST | {"receive": "/etc/passwd"}), "'discard', 'memory' or 'verify'"),
        (
            GREETING + frame(REQUEST | {"kind": "gift"}),
            "kind must be 'memory', 'files', 'round-trips', 'datagrams' or 'third-party'",
        ),
        (GREETING + frame(REQUEST | {"kind": "files"}), "takes no files"),
    ],
)
def test_what_is_no_request_is_refused(bench: Bench, sent: bytes, said: str) -> None:
    receiver = bench.receive("--one-off")
    answer = json.loads(ask(bench, sent)[4:])
    assert answer["type"] == "error"
    assert said in answer["text"]
    receiver.wait_for("Error: session with")
    assert_still_serves(bench)  # a stranger is not the transfer that --one-off waits for
    assert receiver.wait() == 0


def test_random_bytes_on_the_control_port(bench: Bench) -> None:
    bench.receive("--idle-timeout", "20s")
    for _ in range(20):
        ask(bench, os.urandom(300))
    assert_still_serves(bench)


@pytest.mark.slow
def test_a_silent_client_is_dropped(bench: Bench) -> None:
    bench.receive("--idle-timeout", f"{builds.patience()}s")
    assert b"no 'greeting' from the peer" in ask(bench)
    assert b"no 'greeting' from the peer" in ask(bench, GREETING[:20])
    assert b"no 'request' from the peer" in ask(bench, GREETING)
    assert b"no 'request' from the peer" in ask(bench, GREETING, frame(REQUEST)[:20])
    assert_still_serves(bench)


@pytest.mark.slow
def test_streams_that_never_come(bench: Bench) -> None:
    bench.receive("--idle-timeout", f"{builds.patience()}s")
    assert b"1 of 1 streams did not come" in ask(bench, GREETING, frame(REQUEST))
    assert_still_serves(bench)


@pytest.mark.slow
def test_a_stream_needs_the_token(bench: Bench) -> None:
    bench.receive("--idle-timeout", "20s")
    with control_connection(bench.port) as control:
        control.sendall(GREETING + frame(REQUEST))
        length = struct.unpack(">I", control.recv(4, socket.MSG_WAITALL))[0]
        grant = json.loads(control.recv(length, socket.MSG_WAITALL))
        for token in (bytes(32), bytes.fromhex(grant["token"])):
            with socket.create_connection(("127.0.0.1", bench.port), timeout=20) as data:
                say_hello(data, 0, token, grant["session"])
                if token == bytes(32):
                    assert data.recv(1) == b""  # closed without a word
                    continue
                length = struct.unpack(">I", control.recv(4, socket.MSG_WAITALL))[0]
                assert json.loads(control.recv(length, socket.MSG_WAITALL))["type"] == "ready"
    assert_still_serves(bench)


def test_a_sender_that_ends_too_early_is_seen(bench: Bench) -> None:
    receiver = bench.receive("--one-off")
    with control_connection(bench.port) as control:
        control.sendall(GREETING + frame(REQUEST))
        grant = json.loads(control.recv(65536)[4:])
        with socket.create_connection(("127.0.0.1", bench.port), timeout=20) as data:
            say_hello(data, 0, bytes.fromhex(grant["token"]), grant["session"])
            data.sendall(b"x" * 999)
            data.shutdown(socket.SHUT_WR)
            while b'"result"' not in (said := control.recv(65536)):
                assert said
    assert b"the sender ended after 999 bytes" in said
    assert receiver.wait() == 1
    assert bench.result("receive")["bytes"] == 999


def test_a_signal_after_a_session_that_failed_of_itself_is_no_failure_of_the_server(bench: Bench) -> None:
    """Its process is still saying farewell to the sender when the server is told to end."""
    receiver = bench.receive()
    with control_connection(bench.port) as control:
        control.sendall(GREETING + frame(REQUEST))
        grant = json.loads(control.recv(65536)[4:])
        with socket.create_connection(("127.0.0.1", bench.port), timeout=20) as data:
            say_hello(data, 0, bytes.fromhex(grant["token"]), grant["session"])
            data.sendall(b"x" * 999)
            data.shutdown(socket.SHUT_WR)
            receiver.wait_for("the sender ended after 999 bytes")
            assert children(receiver)
            receiver.process.send_signal(signal.SIGTERM)
            assert receiver.wait(9) == 0  # it does not wait for a sender that never closes


@pytest.mark.parametrize(
    ("option", "path"), [("--samples", "/no/such/folder/x"), ("--json", "/no/such/folder/x"), ("--live", "/no/such/x")]
)
def test_a_file_that_cannot_be_written_is_said_before_the_transfer(bench: Bench, option: str, path: str) -> None:
    bench.receive()
    sender = bench.start("send", option, path, host="127.0.0.1")
    assert sender.wait() == 1
    assert f"'{path}': No such file or directory" in sender.errors


def test_a_full_disk_is_an_error_and_the_figures_are_kept(bench: Bench) -> None:
    bench.receive()
    sender = bench.send("--bytes", "1M", "--samples", "/dev/full")
    assert sender.wait() == 1
    result = bench.result()
    assert "cannot write samples: No space left on device" in result["error"]
    assert result["complete"] is False
    assert result["bytes"] == 1_000_000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "usage: landspeed-engine COMMAND"),
        (["fly"], "'fly' is not a command"),
        (["send"], "send needs the HOST"),
        (["send", "h", "--streams", "0"], "--streams: '0' is not a number of streams from 1 to 128"),
        (["send", "h", "--window", "2G"], "above the 1 GiB"),
        (["receive", "--speed"], "'--speed' is not an option of 'receive'"),
    ],
)
def test_wrong_usage(bench: Bench, words: list[str], said: str) -> None:
    run = subprocess.run([str(bench.binary), *words], capture_output=True, text=True, check=False, timeout=20)
    assert run.returncode == 2
    assert said in run.stderr
    assert run.stdout == ""


def test_help_and_version(bench: Bench) -> None:
    for words in (["--help"], ["send", "--help"], ["receive", "--help"]):
        run = subprocess.run([str(bench.binary), *words], capture_output=True, text=True, check=False, timeout=20)
        assert run.returncode == 0
        assert run.stdout.startswith("usage: landspeed-engine")
    run = subprocess.run([str(bench.binary), "--version"], capture_output=True, text=True, check=False, timeout=20)
    assert run.stdout.startswith(f"landspeed-engine {__version__} (build ")
