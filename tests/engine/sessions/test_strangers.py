"""Crowds of strangers from many addresses, beside a client that is far away and has the key."""

from __future__ import annotations

import contextlib
import json
import queue
import resource
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator

import pytest

from tests.support.engine.faults import frame
from tests.support.engine.fixtures import (  # noqa: F401  (fixtures)
    CHALLENGE,
    PROTOCOL,
    Bench,
    Program,
    bench_fixture,
    engine_fixture,
    wait_until,
)

PLACES = 2048  # server/pending_clients.h
RTT_S = 0.264
RATE = 400  # connections a second
TRIES = 6
GREETING = {"type": "greeting", "protocol": PROTOCOL, "nonce": "5a" * 32, "share": "09" + "00" * 31, "key": True}


class Strangers(threading.Thread):
    """Fill all places, then come at the rate; each address has a /24 of its own, or they share a few."""

    def __init__(self, port: int, addresses: list[str], words: bytes) -> None:
        super().__init__(daemon=True)
        self.port, self.addresses, self.words = port, addresses, words
        self.count, self.stop, self.full = 0, threading.Event(), threading.Event()
        self.alive: deque[socket.socket] = deque()

    def _come(self) -> None:
        address = (self.addresses[self.count % len(self.addresses)], 0)
        each = socket.create_connection(("127.0.0.1", self.port), timeout=20, source_address=address)
        if self.words:
            each.sendall(self.words)
        self.alive.append(each)
        self.count += 1
        if len(self.alive) > PLACES + 100:
            self.alive.popleft().close()

    def run(self) -> None:
        """Until told."""
        due = 0.0
        while not self.stop.is_set():
            with contextlib.suppress(OSError):
                self._come()
            if self.count < PLACES:
                continue
            due = due or time.monotonic()
            self.full.set()
            due += 1 / RATE
            self.stop.wait(max(due - time.monotonic(), 0))
        for each in self.alive:
            each.close()


@contextlib.contextmanager
def far(port: int) -> Iterator[int]:
    """Another port from which all goes on to that one, half a round trip later each way."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)

    def read(source: socket.socket, way: queue.SimpleQueue[tuple[float, bytes]]) -> None:
        part = b"-"
        while part:
            try:
                part = source.recv(1 << 16)
            except OSError:
                part = b""
            way.put((time.monotonic() + RTT_S / 2, part))

    def write(target: socket.socket, way: queue.SimpleQueue[tuple[float, bytes]]) -> None:
        with contextlib.suppress(OSError):
            while (item := way.get())[1]:
                time.sleep(max(item[0] - time.monotonic(), 0))
                target.sendall(item[1])
            target.shutdown(socket.SHUT_WR)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                there = socket.create_connection(("127.0.0.1", port))
                for source, target in ((near, there), (there, near)):
                    way: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
                    threading.Thread(target=read, args=(source, way), daemon=True).start()
                    threading.Thread(target=write, args=(target, way), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


@pytest.fixture(name="descriptors")
def descriptors_fixture() -> Iterator[None]:
    """As many as both ends of a crowd take."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2 * PLACES:
        pytest.skip(f"needs {2 * PLACES} descriptors (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


CROWDS = {
    "two-hundred": [f"127.{1 + number}.7.7" for number in range(200)],
    "one-network": [f"127.9.9.{1 + number}" for number in range(200)],
    "a-thousand": [f"127.{1 + number // 200}.{number % 200}.7" for number in range(1000)],
}


@pytest.mark.slow
@pytest.mark.parametrize("words", [b"", frame(GREETING)], ids=["silent", "greeted"])
@pytest.mark.parametrize("addresses", list(CROWDS.values()), ids=list(CROWDS))
@pytest.mark.usefixtures("descriptors")
def test_strangers_do_not_keep_out_who_is_far_away(bench: Bench, addresses: list[str], words: bytes) -> None:
    """Each place of theirs is taken from them; the client's own is not, at the first try."""
    key = bench.folder / "key"
    subprocess.run([str(bench.binary), "key", str(key)], check=True)
    server = bench.start("receive", "--quiet", "--key", str(key), "--clients", "4")
    server.wait_for("listening")
    crowd = Strangers(bench.port, addresses, words)
    crowd.start()
    try:
        with far(bench.port) as port:
            assert crowd.full.wait(60)
            begun, before = time.monotonic(), crowd.count
            for _ in range(TRIES):
                far_words = ["send", "127.0.0.1", "--port", str(port), "--key", str(key), "--bytes", "1M"]
                run = subprocess.run(
                    [str(bench.binary), *far_words, "--quiet", "--json", "-"],
                    capture_output=True,
                    text=True,
                    timeout=60,
                    check=False,
                )
                assert run.returncode == 0, run.stderr
                assert json.loads(run.stdout)["bytes"] == 1_000_000
            assert crowd.count - before >= 0.8 * RATE * (time.monotonic() - begun)
    finally:
        crowd.stop.set()
        crowd.join(20)
    assert "too many connections" in server.errors
