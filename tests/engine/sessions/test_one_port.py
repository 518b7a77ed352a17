"""Control and data on one port: a firewall opens one, a forwarded one has another number."""

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engine.fake_server import take
from tests.support.engine.faults import GREETING, REQUEST, frame
from tests.support.engine.fixtures import (
    Bench,
    Program,
    children,
    control_connection,
    free_port,
    only_child,
    say_hello,
    wait_until,
)

LISTENS = "0A"  # /proc/net/tcp


def sockets(pid: int) -> set[str]:
    """Inodes of a process's sockets."""
    found = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            if (target := str(entry.readlink())).startswith("socket:["):
                found.add(target[8:-1])
    return found


def listeners(pids: list[int]) -> set[int]:
    """The TCP ports that these processes listen on."""
    inodes = set().union(*map(sockets, pids))
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == LISTENS and words[9] in inodes:
                ports.add(int(words[1].rpartition(":")[2], 16))
    return ports


def result(program: Program) -> dict:
    """What it printed."""
    assert program.wait() == 0, program.errors
    return json.loads(program.output)


def start(bench: Bench, *options: str, command: str = "send") -> Program:
    """A client with its result on standard output."""
    quiet = ["--quiet"] if command == "send" else []
    return bench.start(command, "--json", "-", *quiet, *options, host="127.0.0.1")


@contextlib.contextmanager
def forwarded(port: int) -> Iterator[int]:
    """Another port from which all connections go on to that one, as a router at the border does."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)

    def copy(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while part := source.recv(1 << 16):
                target.sendall(part)
            target.shutdown(socket.SHUT_WR)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection(("127.0.0.1", port))
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=copy, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


@pytest.mark.parametrize(
    "options", [[], ["--window", "1M", "--streams", "3"], ["--reverse"], ["--bidir", "--streams", "2"]], ids="+".join
)
def test_nobody_listens_elsewhere_meanwhile(bench: Bench, options: list[str]) -> None:
    server = bench.start("receive", "--may-send", "--quiet")
    server.wait_for("listening")
    start(bench, "--time", "60", "--pacing", "10M", *options)
    wait_until(lambda: True if len(children(server)) == 1 else None, 20, server.process)
    session = only_child(server)
    wait_until(lambda: True if listeners([server.process.pid, session]) == {bench.port} else None, 20, server.process)
    # All of them are there, or it would listen still, if it did.
    streams = 1 + sum(int(options[place + 1]) for place, word in enumerate(options) if word == "--streams")
    wait_until(lambda: True if len(sockets(session)) > streams else None, 20, server.process)
    assert listeners([server.process.pid, session]) == {bench.port}


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["send", "--bytes", "3M", "--streams", "5", "--window", "500k"],
        ["send", "--bytes", "3M", "--bidir"],
        ["rr", "--time", "0.3"],
        ["rr", "--time", "0.3", "--connect"],
    ],
    ids=" ".join,
)
def test_a_forwarded_port_may_have_another_number(bench: Bench, words: list[str]) -> None:
    bench.start("receive", "--may-send", "--quiet").wait_for("listening")
    command, *options = words
    with forwarded(bench.port) as port:
        client = start(bench, "--port", str(port), *options, command=command)
        assert result(client)["complete"] is True


@pytest.mark.slow
def test_a_port_of_its_own_where_it_is_asked_for(bench: Bench) -> None:
    other = free_port()
    server = bench.start("receive", "--quiet", "--may-send", "--data-port", str(other))
    server.wait_for("listening")
    for command, options in (("send", ["--bytes", "1M"]), ("rr", ["--time", "0.2", "--connect"])):
        assert result(start(bench, *options, command=command))["complete"] is True
    with control_connection(bench.port) as control:
        control.sendall(GREETING + frame(REQUEST))
        assert take(control)["data_port"] == other


@pytest.mark.slow
def test_a_window_is_of_its_session_alone(bench: Bench) -> None:
    """Before, beside and after it the kernel chooses the buffer of the others, and changes it."""
    bench.start("receive", "--quiet", "--clients", "8").wait_for("listening")
    plain = ["--bytes", "300M", "--receive", "memory"]
    small = 65536

    def buffer(options: list[str]) -> dict:
        return result(start(bench, *options))["window"]

    before = buffer(plain)
    assert before["receiver_rcvbuf_bytes"] > 4 * small  # it has grown
    assert buffer([*plain, "--window", str(small)])["receiver_rcvbuf_bytes"] == 2 * small
    assert buffer(plain)["receiver_rcvbuf_bytes"] > 4 * small
    assert buffer([*plain, "--window", "2M"])["advertised_bytes"] > 4 * small
    with contextlib.ExitStack() as stack:
        # It stays for as long as its data connections have not come.
        waits = stack.enter_context(control_connection(bench.port))
        waits.sendall(GREETING + frame(REQUEST | {"window_bytes": small}))
        grant = take(waits)
        assert grant["rcvbuf_bytes"] == 2 * small
        beside = buffer(plain)
        assert beside["receiver_rcvbuf_bytes"] > 4 * small
        assert beside["advertised_bytes"] > 2 * small  # what 16 bits could not say
        larger = buffer([*plain, "--window", str(2 * small), "--streams", "2"])
        assert larger["receiver_rcvbuf_bytes"] == 4 * small
        data = stack.enter_context(socket.create_connection(("127.0.0.1", bench.port), timeout=20))
        say_hello(data, 0, bytes.fromhex(grant["token"]), grant["session"])
        assert take(waits)["type"] == "ready"
    with control_connection(bench.port) as waits:  # one that the kernel is to choose for
        waits.sendall(GREETING + frame(REQUEST))
        assert take(waits)["type"] == "grant"
        beside = buffer([*plain, "--window", "2M"])
        assert beside["receiver_rcvbuf_bytes"] == 4_000_000
        # The scale of the small window's listener could not say so much. How much of the buffer is offered hangs on how
        # full the segments' memory is (Linux's scaling_ratio), which a slow receiver changes: half of it, or a quarter.
        assert 4 * small < beside["advertised_bytes"] < 4_000_000


@pytest.mark.slow
def test_two_sessions_of_datagrams_at_once(bench: Bench) -> None:
    """The first has the port's number, the second another one."""
    bench.start("receive", "--quiet", "--clients", "2").wait_for("listening")
    words = ["--rate", "1M", "--size", "1000", "--time", "1"]
    clients = [start(bench, *words, command="udp") for _ in range(2)]
    for client in clients:
        told = result(client)
        assert told["received"] == told["sent"] > 0


def test_more_streams_than_one_address_may_have_connections(bench: Bench) -> None:
    bench.start("receive", "--quiet", "--per-address", "1").wait_for("listening")
    assert result(start(bench, "--bytes", "10M", "--streams", "128"))["complete"] is True


@pytest.mark.slow
def test_streams_come_through_a_crowd_of_all_addresses(bench: Bench) -> None:
    """All places are taken by silent connections, some of the client's own address among them."""
    bench.start("receive", "--quiet", "--idle-timeout", "60s").wait_for("listening")
    with contextlib.ExitStack() as stack:
        for number in range(260):
            source = ("127.0.0.1" if number % 8 == 0 else f"127.0.3.{number % 64 + 1}", 0)
            place = ("127.0.0.1", bench.port)
            stack.enter_context(socket.create_connection(place, timeout=20, source_address=source))
        for _ in range(3):
            assert result(start(bench, "--bytes", "10M", "--streams", "64"))["complete"] is True


def test_nothing_is_left_of_data_connections_that_nobody_waits_for(bench: Bench) -> None:
    server = bench.start("receive", "--quiet")
    server.wait_for("listening")
    before = sockets(server.process.pid)
    for number in range(50):
        with socket.create_connection(("127.0.0.1", bench.port), timeout=20) as data:
            say_hello(data, 0, bytes(32), number)
            assert data.recv(1) == b""
    assert sockets(server.process.pid) == before


def test_a_session_that_is_gone_takes_no_connection(bench: Bench) -> None:
    server = bench.start("receive", "--quiet")
    server.wait_for("listening")
    with control_connection(bench.port) as control:
        control.sendall(GREETING + frame(REQUEST))
        grant = take(control)
    wait_until(lambda: None if children(server) else True, 20, server.process)
    with socket.create_connection(("127.0.0.1", bench.port), timeout=20) as data:
        say_hello(data, 0, bytes.fromhex(grant["token"]), grant["session"])
        assert data.recv(1) == b""
    assert result(start(bench, "--bytes", "1M"))["complete"] is True


def test_a_server_of_before_says_which_version_it_has(bench: Bench) -> None:
    """It sends no challenge, but the frame with which it refuses."""
    with socket.create_server(("127.0.0.1", bench.port)) as listener:
        client = bench.send("--bytes", "1000")
        connection, _ = listener.accept()
        with connection:
            connection.sendall(frame({"protocol": 8, "type": "error", "text": "another version"}))
            assert client.wait(20) == 1
    assert "the peer speaks protocol version 8" in bench.result()["error"]
