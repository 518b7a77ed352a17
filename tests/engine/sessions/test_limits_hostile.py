"""What a server allows binds clients that do not keep to it: beyond the manual's table (test_limits_table.py)."""

import contextlib
import json
import os
import socket
import threading
import time

import pytest

from tests.support import builds
from tests.support.engine.auth import make_key
from tests.support.engine.fake_server import frame, take
from tests.support.engine.fixtures import Bench, children, numbered, wait_until
from tests.support.engine.limits_hostile import ALLOWED_S, PROBE, TCP_MEM, Client
from tests.support.stopwatch import contention, one_of_few, undisturbed

SESSIONS = 64  # CHILDREN_LIMIT


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

    def attempt(_: int) -> None:
        before = contention()
        client = Client(bench.port, streams, kind="round-trips", probe=probe, duration_ns=10 * 10**9)
        try:
            client.connect(streams)
            assert take(client.control)["type"] == "ready"
            told = answered_bps(client, answer_bytes)
        finally:
            client.close()
        # An answer may be ahead of the rate, up to the ten segments of a connection that Linux does not pace.
        assert told <= 10e6 + streams * min(answer_bytes, 10 * 65483) * 8 / 2
        # Each small answer waits for two processes to have their turn.
        slower = max(before, contention()) * builds.patience()
        undisturbed(told * slower > 7e6, f"{told:.3g} bit/s beside a contention of {slower:.2f}")

    one_of_few(attempt)


@pytest.mark.skipif(not TCP_MEM.exists(), reason="a network namespace does not tell what the kernel has")
@pytest.mark.parametrize("who", ["stranger", "with a key", "as the server says"])
def test_strangers_windows_leave_half_of_the_kernels_memory(bench: Bench, who: str) -> None:
    """Buffers are twice as large as windows; those of all clients at once have half of tcp_mem."""
    clients, streams = 64, 4
    key = ["--key", str(make_key(bench))] if who == "with a key" else []
    said = ["--max-window", "1Gi"] if who == "as the server says" else []
    bench.start("receive", "--clients", str(clients), *key, *said).wait_for("listening")
    most = int(TCP_MEM.read_text().split()[-1]) * os.sysconf("SC_PAGESIZE") // 4 // clients
    window = most // streams

    def ask(window: int) -> int:
        words = ["--quiet", "--streams", str(streams), "--window", str(window), "--bytes", "1M"]
        return bench.send(*words, *key).wait()

    assert ask(window) == 0
    beyond = ask(window + 1)
    if who == "stranger":
        told = f"windows of {most} bytes for all streams of a client without a key, not {window + 1} each"
        assert told in bench.result()["error"]
    assert beyond == (who == "stranger")


def test_answers_on_new_connections_keep_to_the_rate(bench: Bench) -> None:
    """`rr --connect` gets no more than the rate either."""
    bench.receive("--may-send", "--max-rate", "10M")

    def attempt(_: int) -> None:
        before = contention()
        rr = bench.start("rr", "--connect", "--response", "10k", "--time", "2", "--json", "-", host="127.0.0.1")
        assert rr.wait() == 0, rr.errors
        trips, slower = json.loads(rr.output)["round_trips"], max(before, contention()) * builds.patience()
        assert trips <= 252
        undisturbed(trips * slower >= 180, f"{trips} round trips beside a contention of {slower:.2f}")

    one_of_few(attempt)


@pytest.mark.slow
@pytest.mark.parametrize("fresh", [False, True], ids=["kept", "new"])
@pytest.mark.parametrize("read_bytes", [0, 1000], ids=["nothing", "trickle"])
def test_who_asks_for_much_and_takes_little_of_it_is_ended(bench: Bench, fresh: bool, read_bytes: int) -> None:
    """16 MiB for a byte, again and again: what waits to be read keeps no session alive."""
    server = bench.receive(
        "--may-send", "--max-time", f"{ALLOWED_S}s", *(["--stall", f"{ALLOWED_S}s"] if not read_bytes else [])
    )
    probe = PROBE | {"response_bytes": 1 << 24, "fresh": fresh}
    client = Client(bench.port, kind="round-trips", probe=probe, duration_ns=ALLOWED_S * 10**9)
    try:
        data = client.connect()
        assert take(client.control)["type"] == "ready"
        if fresh:
            data = socket.create_connection(("127.0.0.1", bench.port), timeout=20)
            client.data.append(data)
            data.sendall(numbered(bytes.fromhex(client.grant["token"]), 1, client.grant["session"]))
        data.sendall(b"x" * 100)
        begun = time.monotonic()

        def gone() -> bool | None:
            with contextlib.suppress(OSError):
                data.recv(read_bytes, socket.MSG_DONTWAIT) if read_bytes else None
            return None if children(server) else True

        # By --stall where nothing moves; else by --max-time, with what it leaves for round trips (ADMISSION_GRACE_NS).
        most_s = 1.5 * ALLOWED_S if not read_bytes else ALLOWED_S + 5
        wait_until(gone, most_s + 1.5, server.process)
        assert time.monotonic() - begun >= 0.5 * ALLOWED_S
    finally:
        client.close()


@pytest.mark.parametrize("kind", ["round-trips", "datagrams"])
def test_who_has_its_result_and_stays_holds_no_place(bench: Bench, kind: str) -> None:
    """The one place is another's at once; what is over waits beside it for its farewell."""
    bench.receive("--may-send")
    client = Client(bench.port, kind=kind, probe=PROBE | {"request_bytes": 40, "rate_bps": 1000})
    try:
        if kind == "round-trips":
            client.connect()
            assert take(client.control)["type"] == "ready"
            client.say("stop")
        else:
            client.control.sendall(frame({"type": "account", "sent": 0}))
        assert take(client.control)["type"] == "result"
        sender = bench.send("--quiet", "--bytes", "1M")
        assert sender.wait() == 0, sender.errors
    finally:
        client.close()


def test_sessions_that_are_over_make_room(bench: Bench) -> None:
    """Clients that have their result and do not go: more of them than a server has sessions keep nobody out."""
    bench.receive()
    clients = list[Client]()
    try:
        for number in range(SESSIONS + 6):
            client = Client(bench.port, source=f"127.0.1.{1 + number % 8}", bytes=1)
            clients.append(client)
            data = client.connect()
            assert take(client.control)["type"] == "ready"
            client.say("go")
            data.sendall(b"x")
            assert take(client.control)["type"] == "result"
        sender = bench.send("--quiet", "--bytes", "1M")
        assert sender.wait() == 0, sender.errors
    finally:
        for client in clients:
            client.close()
