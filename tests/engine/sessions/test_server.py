"""`receive` as a server: many clients, a queue, limits, strangers that cost little, the service manager."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import builds
from tests.support.engine.fixtures import Bench, Program, children, control_connection, only_child, wait_until
from tests.support.stopwatch import one_of_few, undisturbed


def start(bench: Bench, *options: str) -> Program:
    """A sender with its result on standard output."""
    return bench.start("send", "--json", "-", *options, host="127.0.0.1")


def result(program: Program) -> dict:
    """What it printed."""
    return json.loads(program.output)


def serve(bench: Bench, *options: str) -> Program:
    """A server that listens already."""
    server = bench.start("receive", "--quiet", *options)
    server.wait_for("listening")
    return server


def end(server: Program) -> None:
    """Nothing is left of it."""
    left = children(server)
    server.process.terminate()
    server.wait(20)
    for pid in left:
        assert not Path(f"/proc/{pid}").exists()


def running(server: Program, count: int) -> None:
    """Until it has that many sessions."""
    wait_until(lambda: True if len(children(server)) == count else None, 20, server.process)


@pytest.mark.slow
def test_two_clients_at_once_and_a_third_that_waits(bench: Bench) -> None:
    server = serve(bench, "--clients", "2", "--queue", "1")
    first = start(bench, "--time", "60", "--pacing", "50M")
    running(server, 1)
    second = start(bench, "--time", "60", "--pacing", "50M")
    running(server, 2)
    third = start(bench, "--bytes", "1M")
    third.wait_for("the receiver is busy: waiting at place 1")
    fourth = start(bench, "--bytes", "1M")
    assert fourth.wait() == 1
    assert result(fourth)["error"] == "the peer refused: the receiver is busy with 2 transfers, and 1 wait already"
    assert third.process.poll() is None
    first.process.send_signal(signal.SIGINT)
    assert first.wait() == 1
    assert result(first)["bytes_source"] == "receiver"
    assert third.wait() == 0, third.errors
    assert result(third)["bytes"] == 1_000_000
    second.process.send_signal(signal.SIGINT)
    assert second.wait() == 1
    assert result(second)["bytes"] > 0
    end(server)


@pytest.mark.slow
def test_sessions_that_end_at_once_write_a_result_each(bench: Bench) -> None:
    """--json FILE: each writes a file of its own until it is whole; FILE has one of them."""
    told = bench.folder / "told.json"
    server = serve(bench, "--clients", "8", "--per-address", "100", "--json", str(told))
    for _ in range(6):
        senders = [start(bench, "--time", "0.2", "--pacing", "8M") for _ in range(8)]
        assert [sender.wait() for sender in senders] == [0] * 8
    assert "cannot write the result" not in server.errors
    end(server)
    assert json.loads(told.read_text())["complete"] is True
    assert list(bench.folder.glob("told.json.*")) == []


def test_who_waits_may_leave(bench: Bench) -> None:
    server = serve(bench, "--queue", "2")
    first = start(bench, "--time", "60", "--pacing", "50M")
    running(server, 1)
    second = start(bench, "--bytes", "1M")
    second.wait_for("waiting at place 1")
    third = start(bench, "--bytes", "1M")
    third.wait_for("waiting at place 2")
    second.process.send_signal(signal.SIGINT)
    assert second.wait() == 1
    assert result(second)["signal"] == "SIGINT"
    server.wait_for("the peer closed the control connection")
    first.process.send_signal(signal.SIGINT)
    assert first.wait() == 1
    assert third.wait() == 0
    end(server)


def test_who_waits_is_told_that_the_receiver_ends(bench: Bench) -> None:
    server = serve(bench, "--queue", "2")
    first = start(bench, "--time", "60", "--pacing", "50M")
    running(server, 1)
    second = start(bench, "--bytes", "1M")
    second.wait_for("waiting at place 1")
    server.process.terminate()
    assert second.wait() == 1
    assert result(second)["error"] == "the peer refused: the receiver ends"
    assert first.wait() == 1
    assert "the receiver was interrupted by SIGTERM" in result(first)["error"]
    assert result(first)["bytes_source"] == "receiver"
    assert server.wait() == 1


@pytest.mark.parametrize(
    ("limit", "options", "said"),
    [
        (["--max-streams", "2"], ["--streams", "3"], "this receiver allows 2 streams, not 3"),
        (["--max-time", "5s"], ["--time", "6"], "this receiver allows 5.000 s: ask for --time 5.000"),
        (["--max-time", "5s"], ["--bytes", "1M"], "this receiver allows 5.000 s: ask for --time 5.000"),
        (
            ["--max-window", "1M"],
            ["--window", "1000001"],
            "this receiver allows a window of 1000000 bytes, not 1000001",
        ),
        (["--allow", "memory"], ["--receive", "discard"], "this receiver does not allow --receive discard"),
    ],
)
def test_what_is_not_allowed_is_refused_with_the_reason(
    bench: Bench, limit: list[str], options: list[str], said: str
) -> None:
    server = serve(bench, *limit)
    sender = start(bench, *options)
    assert sender.wait() == 1
    assert result(sender)["error"] == f"the peer refused: {said}"
    within = start(bench, "--streams", "2", "--time", "1", "--bytes", "1M", "--receive", "memory")
    assert within.wait() == 0, within.errors
    end(server)


@pytest.mark.slow
def test_a_ceiling_of_the_rate_is_kept(bench: Bench) -> None:
    server = serve(bench, "--max-rate", "160M")

    def attempt(_: int) -> None:
        sender = start(bench, "--time", "2", "--streams", "2", "--interval", "10ms")
        assert sender.wait() == 0
        goodput_bps, limits = result(sender)["goodput_bps"], {each["limited_by"] for each in result(sender)["streams"]}
        assert goodput_bps < 1.1 * 160e6
        undisturbed(goodput_bps > 0.9 * 160e6 or builds.sanitized(), f"{goodput_bps / 1e6:.1f} Mbit/s")
        undisturbed(limits == {"pacing"} or builds.sanitized(), f"limited by {limits}")

    one_of_few(attempt)
    end(server)


def test_strangers_do_not_keep_a_transfer_out(bench: Bench) -> None:
    server = serve(bench, "--idle-timeout", "20s")
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(control_connection(bench.port))
        for _ in range(30):
            stack.enter_context(control_connection(bench.port))
        sender = start(bench, "--bytes", "1M")
        assert sender.wait() == 0
        # They cost no process, and that of the transfer goes, if not always before its sender.
        wait_until(lambda: None if children(server) else True, 20, server.process)
        for _ in range(2):
            stack.enter_context(control_connection(bench.port))
        # The one that has been silent for longest made room.
        assert b"too many connections from this address" in first.recv(4096)
        assert start(bench, "--bytes", "1M").wait() == 0
    sender = wait_until(lambda: succeeded(bench), 20, server.process)
    end(server)


def succeeded(bench: Bench) -> Program | None:
    """A sender that was served, or None."""
    sender = start(bench, "--bytes", "1M")
    return sender if sender.wait() == 0 else None


@pytest.mark.slow
def test_a_slow_loris_has_one_deadline_for_all_its_bytes(bench: Bench) -> None:
    server = serve(bench, "--idle-timeout", "600ms")
    with control_connection(bench.port) as stranger:
        stranger.settimeout(0.05)
        answer = b""
        frame = b"\x00\x00\x0f\x00" + b" " * 4000
        for position in range(400):
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                stranger.sendall(frame[position : position + 1])
            with contextlib.suppress(TimeoutError):
                answer = stranger.recv(4096)
                break
    # Each byte by itself is in time: only a deadline for all of them answers before the last.
    assert b"no 'greeting' from the peer within 0.6 s" in answer
    end(server)


@pytest.mark.slow
def test_a_session_that_dies_takes_nobody_along(bench: Bench) -> None:
    server = serve(bench, "--clients", "2")
    first = start(bench, "--time", "60", "--pacing", "50M")
    running(server, 1)
    victim = only_child(server)
    second = start(bench, "--time", "2", "--pacing", "50M")
    running(server, 2)
    os.kill(victim, signal.SIGKILL)
    assert first.wait() == 1
    assert result(first)["bytes_source"] == "sender"
    assert second.wait() == 0
    end(server)


@pytest.mark.slow
def test_sessions_die_with_a_server_that_is_killed(bench: Bench) -> None:
    server = serve(bench)
    sender = start(bench, "--time", "60")
    running(server, 1)
    session = only_child(server)
    server.process.kill()
    assert sender.wait() == 1
    wait_until(lambda: None if Path(f"/proc/{session}").exists() else True, 10)


@pytest.mark.slow
def test_nothing_is_left_after_many_sessions(bench: Bench) -> None:
    server = serve(bench)
    folder = Path(f"/proc/{server.process.pid}/fd")
    before = len(list(folder.iterdir()))
    for _ in range(10):
        assert start(bench, "--bytes", "100000").wait() == 0
    wait_until(lambda: True if len(list(folder.iterdir())) == before else None, 10, server.process)
    wait_until(lambda: None if children(server) else True, 10, server.process)
    end(server)


def test_a_json_log(bench: Bench) -> None:
    server = serve(bench, "--log", "json")
    assert start(bench, "--bytes", "1M").wait() == 0
    with control_connection(bench.port) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
        stranger.recv(4096)
    server.wait_for("refused")
    end(server)
    lines = [json.loads(line) for line in server.errors.splitlines()]
    assert [line["event"] for line in lines] == ["listening", "session", "end", "refused"]
    assert lines[0]["address"].endswith(f":{bench.port}")
    assert lines[2]["complete"] is True
    assert lines[2]["bytes"] == 1_000_000
    assert "it begins with 'GET '" in lines[3]["message"]
    assert all(line["time"].endswith("Z") and line["pid"] > 0 for line in lines)


def test_the_service_manager_is_told(bench: Bench) -> None:
    path = bench.folder / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(path))
        manager.settimeout(20)
        words = [str(bench.binary), "receive", "--port", str(bench.port)]
        with subprocess.Popen(
            words, env=os.environ | {"NOTIFY_SOCKET": str(path)}, stderr=subprocess.DEVNULL
        ) as server:
            assert manager.recv(100) == b"READY=1"
            server.terminate()
            assert manager.recv(100) == b"STOPPING=1"
            assert server.wait(20) == 0


def activated(bench: Bench, listener: socket.socket, count: str = "1") -> subprocess.Popen[str]:
    """A server with that socket in the place where a service manager puts it."""
    script = (
        "import os, sys; os.dup2(int(sys.argv[1]), 3);"
        "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=sys.argv[2]);"
        "os.execv(sys.argv[3], sys.argv[3:])"
    )
    engine = [str(bench.binary), "receive", "--quiet", "--one-off"]
    return subprocess.Popen(
        [sys.executable, "-c", script, str(listener.fileno()), count, *engine],
        pass_fds=[listener.fileno()],
        stderr=subprocess.PIPE,
        text=True,
    )


def test_socket_activation(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", bench.port)) as listener:
        server = activated(bench, listener)
        sender = start(bench, "--bytes", "1M")
        assert sender.wait() == 0, sender.errors
        assert server.communicate(timeout=20)[1].startswith(f"landspeed-engine: listening on 127.0.0.1:{bench.port}")
        assert server.returncode == 0


@pytest.mark.parametrize(("kind", "count", "said"), [("udp", "1", "does not listen"), ("tcp", "2", "passed 2 sockets")])
def test_a_socket_that_is_no_listener(bench: Bench, kind: str, count: str, said: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM) as passed:
        server = activated(bench, passed, count)
        assert said in server.communicate(timeout=20)[1]
        assert server.returncode == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--clients", "0"], "--clients: '0' is not a number of clients from 1 to 64"),
        (["--allow", "discard,gift"], "--allow: 'discard,gift' is not a list of receive modes"),
        (["--log", "xml"], "--log: 'xml' is not 'text' or 'json'"),
        (["--clients", "2", "--samples", "x"], "files of one transfer at a time"),
    ],
)
def test_wrong_usage(bench: Bench, options: list[str], said: str) -> None:
    server = bench.start("receive", *options)
    assert server.wait() == 2
    assert said in server.errors
