"""What a server allows binds clients that do not keep to it: for each kind of session one that never ends."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine.fake_server import take
from tests.support.engine.fixtures import Bench, bench_fixture, control_connection, engine_fixture, say_hello  # noqa: F401  (fixtures)
from tests.support.engine.limits_hostile import (
    ALLOWED_S,
    Client,
)

GRACE_S = 5  # ADMISSION_GRACE_NS: round trips of a client that keeps to its time
LATE_S = 1.5  # of a busy machine


def ended_s(act: Callable[[], object]) -> float:
    """How long the act goes on until the server ends it."""
    begun = time.monotonic()
    with contextlib.suppress(OSError, EOFError):
        while time.monotonic() - begun < 60 and act() is not None:
            pass
    return time.monotonic() - begun


def silent(control: socket.socket) -> bool | None:
    """None once the server has said anything, or has gone."""
    control.settimeout(0.1)
    with contextlib.suppress(TimeoutError):
        control.recv(1)
        return None
    return True


def reading(data: socket.socket, *, pause_s: float = 0) -> Callable[[], object]:
    """Reads what comes; None at the end."""

    def act() -> object:
        time.sleep(pause_s)
        return data.recv(1 << 20) or None

    return act


def sends_on(client: Client) -> float:
    """Says go, and a byte now and then for ever; never that it is over."""
    data = client.connect()
    assert take(client.control)["type"] == "ready"
    client.say("go")

    def act() -> object:
        data.sendall(b"x")
        return silent(client.control)

    return ended_s(act)


def reads_on(client: Client) -> float:
    """Reads, and keeps its result to itself."""
    data = client.connect()
    client.say("ready")
    return ended_s(reading(data))


def both_on(client: Client) -> float:
    """Ends what it sends in time, and goes on with what it reads."""
    client.connect(2)
    client.say("ready")
    while take(client.control)["type"] != "ready":
        pass
    client.say("go")
    client.data[0].sendall(bytes(100_000))
    return ended_s(reading(client.data[1]))


def asks_on(client: Client) -> float:
    """Asks, takes the answer, and asks again."""
    data = client.connect()
    assert take(client.control)["type"] == "ready"

    def act() -> object:
        data.sendall(b"x")
        return data.recv(1 << 16) or None

    return ended_s(act)


def datagrams_on(client: Client) -> float:
    """Sends datagrams, and never says how many there were."""
    client.say("go")
    to = ("127.0.0.1", client.grant.get("data_port", client.port))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:

        def act() -> object:
            with contextlib.suppress(ConnectionError):
                udp.sendto(bytes(40), to)
            return silent(client.control)

        return ended_s(act)


def files_on(client: Client) -> float:
    """Says go, and a byte of a record now and then for ever."""
    data = client.connect()
    assert take(client.control)["type"] == "ready"
    client.say("go")
    head = iter(b"lsf\x01" + struct.pack(">IIIQ", 1, 0, 1 << 20, 0) + bytes(1 << 10))

    def act() -> object:
        data.sendall(bytes([next(head)]))
        told = silent(client.control)
        if told is None:
            return None if b"allows" in client.control.recv(1 << 16) else True
        return told

    return ended_s(act)


def gets_on(client: Client) -> float:
    """Takes a little of the files now and then, and says that its disk is busy."""
    data = client.connect()
    client.say("ready")
    return ended_s(reading(data, pause_s=0.05))


PROBE = {"request_bytes": 1, "response_bytes": 1, "fresh": False, "rate_bps": 0, "clock": ""}
KINDS: dict[str, tuple[Callable[[Client], float], dict[str, Any]]] = {
    "memory": (sends_on, {}),
    "memory from the server": (reads_on, {"direction": "reverse"}),
    "memory both ways": (both_on, {"direction": "both"}),
    "round trips": (asks_on, {"kind": "round-trips", "probe": PROBE}),
    "datagrams": (
        datagrams_on,
        {"kind": "datagrams", "probe": PROBE | {"request_bytes": 40, "rate_bps": 1000}},
    ),
    "files": (files_on, {"kind": "files"}),
    "files from the server": (gets_on, {"kind": "files", "direction": "reverse", "paths": ["large"]}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_of_session_outlasts_what_is_allowed(bench: Bench, tmp_path: Path, kind: str) -> None:
    """--max-time: the server ends it, whatever the client says or does not say."""
    taken = tmp_path / "taken"
    handed = tmp_path / "handed"
    taken.mkdir()
    handed.mkdir()
    with (handed / "large").open("wb") as file:
        for _ in range(64):
            file.write(b"\1" * (1 << 20))
    files = ["--anonymous", "--directory", str(taken), "--serve-directory", str(handed)] if "files" in kind else []
    bench.receive("--may-send", "--max-time", f"{ALLOWED_S}s", "--max-rate", "80M", *files)
    act, asked = KINDS[kind]
    client = Client(bench.port, **asked)
    try:
        assert act(client) < ALLOWED_S + GRACE_S + LATE_S
    finally:
        client.close()


def answered_bps(client: Client, answer_bytes: int, *, span_s: float = 2) -> float:
    """The rate of answers to a client that asks as fast as it can, on all of its connections."""
    read = [0] * len(client.data)
    begun = time.monotonic()

    def ask(number: int, data: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while time.monotonic() - begun < span_s:
                data.sendall(b"x")
                left = answer_bytes
                while left and time.monotonic() - begun < span_s:
                    count = len(data.recv(min(left, 1 << 16)))
                    left -= count
                    read[number] += count

    threads = [threading.Thread(target=ask, args=each) for each in enumerate(client.data)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(read) * 8 / (time.monotonic() - begun)


@pytest.mark.parametrize(("streams", "answer_bytes"), [(1, 1 << 24), (1, 1000), (4, 100_000)])
def test_answers_keep_to_the_rate(bench: Bench, streams: int, answer_bytes: int) -> None:
    """--max-rate holds for what is answered on all connections together, in large answers and in many small ones."""
    bench.receive("--may-send", "--max-rate", "10M")
    probe = PROBE | {"response_bytes": answer_bytes}
    client = Client(bench.port, streams, kind="round-trips", probe=probe, duration_ns=10 * 10**9)
    try:
        client.connect(streams)
        assert take(client.control)["type"] == "ready"
        # An answer may be ahead of the rate, up to the ten segments of a connection that Linux does not pace.
        ahead = streams * min(answer_bytes, 10 * 65483) * 8 / 2
        assert 7e6 < answered_bps(client, answer_bytes) <= 10e6 + ahead
    finally:
        client.close()


def test_answers_on_new_connections_keep_to_the_rate(bench: Bench) -> None:
    """`rr --connect` gets no more than the rate either."""
    bench.receive("--may-send", "--max-rate", "10M")
    rr = bench.start("rr", "--connect", "--response", "10k", "--time", "2", "--json", "-", host="127.0.0.1")
    assert rr.wait() == 0, rr.errors
    assert 180 <= json.loads(rr.output)["round_trips"] <= 252
