"""Faults of the path and of the peers' lives: links that go down, no route, clocks that jump, death at each phase.

Two network namespaces and a veth pair, made and removed here.
"""

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import builds
from tests.support.engine.fixtures import (
    PROTOCOL,
    Bench,
    Program,
    children,
    control_connection,
    end,
    say_hello,
    wait_until,
)

PORT = 5201
NOBODY = "02:00:00:00:00:99"  # nobody has this hardware address


def ip(*words: str) -> None:
    """One iproute2 command."""
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=20)


class Pair:
    """Sender 10.99.0.1 and receiver 10.99.0.2, each in a namespace of its own."""

    def __init__(self, binary: Path, folder: Path) -> None:
        self.binary, self.folder = binary, folder
        self.names = [f"lsp{os.getpid()}{end}" for end in "sr"]
        self.programs: list[Program] = []
        sender, receiver = self.names
        ip("netns", "add", sender)
        ip("netns", "add", receiver)
        ip("link", "add", "e0", "netns", sender, "type", "veth", "peer", "name", "e0", "netns", receiver)
        for number, name in enumerate(self.names):
            ip("-n", name, "addr", "add", f"10.99.0.{number + 1}/24", "dev", "e0")
            ip("-n", name, "link", "set", "e0", "up")
            ip("-n", name, "link", "set", "lo", "up")  # the kernel tells itself over it that a host does not answer

    def start(self, end: int, *words: str) -> Program:
        """The engine in the namespace of the sender (0) or the receiver (1)."""
        command = ["ip", "netns", "exec", self.names[end], str(self.binary), *words]
        program = Program(command, self.folder, f"{words[0]}-{len(self.programs)}")
        self.programs.append(program)
        return program

    def receive(self, *options: str) -> Program:
        """A receiver that listens."""
        receiver = self.start(1, "receive", "--quiet", "--json", str(self.folder / "receive.json"), *options)
        receiver.wait_for("listening")
        return receiver

    def send(self, *options: str) -> Program:
        """A sender with live lines and its result in files."""
        files = ["--live", str(self.folder / "live.jsonl"), "--json", str(self.folder / "send.json")]
        return self.start(0, "send", "10.99.0.2", "--quiet", *files, *options)

    def result(self, command: str = "send") -> dict:
        """The JSON that it left."""
        return json.loads((self.folder / f"{command}.json").read_text())

    def lines(self) -> list[dict]:
        """Live lines so far."""
        file = self.folder / "live.jsonl"
        lines = file.read_text().splitlines(keepends=True) if file.exists() else []
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def moving(self, sender: Program) -> None:
        """Until bytes were acknowledged."""
        wait_until(lambda: True if any(line["bytes"] for line in self.lines()) else None, 30, sender.process)

    def link(self, state: str) -> None:
        """The sender's side of the pair: up, down, or dark: it takes packets and nobody gets them."""
        far = "10.99.0.2"
        if state == "dark":
            ip("-n", self.names[0], "neigh", "replace", far, "lladdr", NOBODY, "dev", "e0", "nud", "permanent")
            return
        ip("-n", self.names[0], "link", "set", "e0", state)
        if state == "up":  # what the link was told in the dark
            words = ["ip", "-n", self.names[0], "neigh", "flush", "dev", "e0", "nud", "permanent"]
            subprocess.run(words, check=True, capture_output=True, timeout=20)

    def close(self) -> None:
        """End all, remove all."""
        for program in self.programs:
            end(program.process)
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True, timeout=20)


@pytest.fixture(name="pair")
def pair_fixture(engine: Path, tmp_path: Path) -> Iterator[Pair]:
    """A pair that is removed in any case."""
    made = Pair(engine, tmp_path)
    try:
        yield made
    finally:
        made.close()


@pytest.mark.root  # network namespaces
@pytest.mark.parametrize("state", ["down", "dark"])
def test_a_link_that_is_down_for_a_second_only_delays(pair: Pair, state: str) -> None:
    receiver = pair.receive("--one-off")
    sender = pair.send("--bytes", "60M", "--pacing", "80M", "--report-interval", "100ms")
    pair.moving(sender)
    pair.link(state)
    before = pair.lines()[-1]
    # Down until lines show a second without progress: as long as the program itself sees it so.
    wait_until(lambda: True if pair.lines()[-1]["time_s"] > before["time_s"] + 1.5 else None, 20, sender.process)
    stalled = [line["goodput_bps"] for line in pair.lines() if line["time_s"] > before["time_s"] + 0.5]
    assert stalled == [0] * len(stalled)
    pair.link("up")
    assert sender.wait() == 0, sender.errors
    assert receiver.wait() == 0, receiver.errors
    result = pair.result()
    assert result["complete"] is True
    assert result["bytes"] == 60_000_000
    assert result["duration_s"] > 60e6 * 8 / 80e6 + 0.8
    if state == "dark":  # a sender whose own link is down knows it and sends nothing that could be lost
        assert result["retransmits"] > 0


@pytest.mark.root  # network namespaces
def test_a_link_that_never_comes_back_ends_with_a_signal_and_with_what_was_measured(pair: Pair) -> None:
    receiver = pair.receive("--one-off")
    sender = pair.send("--time", "600", "--pacing", "80M", "--report-interval", "100ms")
    pair.moving(sender)
    pair.link("down")
    sender.process.send_signal(signal.SIGINT)  # cannot reach the receiver: it has ten seconds to answer
    sender.process.send_signal(signal.SIGTERM)  # and the second one does not wait for it
    assert sender.wait(9) == 1
    result = pair.result()
    assert result["complete"] is False
    assert result["bytes_source"] == "sender"
    assert result["bytes"] > 0
    receiver.process.send_signal(signal.SIGTERM)
    receiver.wait_for("interrupted by SIGTERM")
    receiver.process.send_signal(signal.SIGTERM)
    assert receiver.wait(9) == 1
    assert pair.result("receive")["bytes"] > 0
    assert pair.result("receive")["signal"] == "SIGTERM"


@pytest.mark.root  # network namespaces
def test_no_route(pair: Pair) -> None:
    sender = pair.start(0, "send", "198.51.100.1", "--quiet", "--json", str(pair.folder / "send.json"))
    assert sender.wait() == 1
    assert pair.result()["error"] == "cannot connect to 198.51.100.1:5201: Network is unreachable"
    assert pair.result()["streams"] == []


@pytest.mark.root  # network namespaces
def test_a_router_that_has_no_way(pair: Pair) -> None:
    ip("-n", pair.names[0], "route", "add", "unreachable", "198.51.100.0/24")
    sender = pair.start(0, "send", "198.51.100.1", "--quiet", "--json", str(pair.folder / "send.json"))
    assert sender.wait() == 1
    assert pair.result()["error"] == "cannot connect to 198.51.100.1:5201: No route to host"


@pytest.mark.root  # network namespaces
def test_a_neighbour_that_does_not_answer(pair: Pair) -> None:
    """EHOSTUNREACH from ARP: the kernel asks three times, a second apart."""
    sender = pair.start(0, "send", "10.99.0.77", "--quiet", "--json", str(pair.folder / "send.json"))
    assert sender.wait() == 1
    assert pair.result()["error"] == "cannot connect to 10.99.0.77:5201: No route to host"


REQUEST = {"kind": "memory", "streams": 1, "window_bytes": 0, "bytes": 1000, "duration_ns": 0, "receive": "discard"}


def frame(message: dict) -> bytes:
    """A frame of the control connection."""
    text = json.dumps({"protocol": PROTOCOL} | message).encode()
    return struct.pack(">I", len(text)) + text


@pytest.mark.parametrize("phase", ["greeting", "request", "connected", "transferring"])
def test_a_peer_that_dies_at_each_phase(bench: Bench, phase: str) -> None:
    receiver = bench.receive("--idle-timeout", "10s")
    with contextlib.ExitStack() as stack:
        dying = [stack.enter_context(control_connection(bench.port))]
        control = dying[0]
        if phase != "greeting":
            control.sendall(frame({"type": "greeting", "nonce": "5a" * 32, "key": False}))
            control.sendall(frame({"type": "request"} | REQUEST))
            length = struct.unpack(">I", control.recv(4, socket.MSG_WAITALL))[0]
            grant = json.loads(control.recv(length, socket.MSG_WAITALL))
            if phase in ("connected", "transferring"):
                data = stack.enter_context(socket.create_connection(("127.0.0.1", bench.port), timeout=20))
                dying.append(data)
                say_hello(data, 0, bytes.fromhex(grant["token"]), grant["session"])
                assert control.recv(65536)
                if phase == "transferring":
                    control.sendall(frame({"type": "go"}))
                    data.sendall(b"x" * 500)
        for connection in dying:  # as the kernel of a killed one
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    receiver.wait_for("Error: session with")
    wait_until(lambda: None if children(receiver) else True, 20, receiver.process)
    after = bench.send("--bytes", "1M")
    assert after.wait() == 0, after.errors


JUMPING = """
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
/* The calendar jumps by an hour, to and fro, at each look at it. */
int clock_gettime(clockid_t id, struct timespec *now)
{
	static int count;
	int status = (int)syscall(SYS_clock_gettime, id, now);
	if (id == CLOCK_REALTIME)
		now->tv_sec += ++count % 2 ? 3600 : -3600;
	return status;
}
"""


@pytest.mark.slow
def test_the_calendar_may_jump(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    source, library = bench.folder / "jumping.c", bench.folder / "jumping.so"
    source.write_text(JUMPING)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True, timeout=60)
    monkeypatch.setenv("LD_PRELOAD", builds.preloaded(library))
    receiver = bench.receive("--one-off")
    sender = bench.send("--time", "1", "--interval", "50ms")
    assert sender.wait() == 0, sender.errors
    assert receiver.wait() == 0, receiver.errors
    result = bench.result()
    assert abs(result["start_unix_ns"] - result["receiver_start_unix_ns"]) < 60e9 or (
        abs(abs(result["start_unix_ns"] - result["receiver_start_unix_ns"]) - 7200e9) < 60e9
    )
    assert abs(abs(result["start_unix_ns"] / 1e9 - time.time()) - 3600) < 120  # the jump was seen
    assert result["duration_s"] == 1.0
    assert 0.9 < result["hosts"]["sender"]["elapsed_s"] < 20
    times = [row["time_ns"] for row in bench.rows("send")]
    assert times == sorted(times)
    assert 10**9 <= times[-1] <= result["hosts"]["sender"]["elapsed_s"] * 1e9
