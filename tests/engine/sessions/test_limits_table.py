"""The manual page's table of limits, walked with a hostile client for each cell."""

import contextlib
import json
import os
import re
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support import builds
from tests.support.engine.auth import make_key
from tests.support.engine.fake_server import frame, take
from tests.support.engine.files_fixtures import large_file
from tests.support.engine.fixtures import (
    ENGINE_FOLDER,
    PACED,
    Bench,
    Program,
    children,
    control_connection,
    only_child,
    wait_until,
)
from tests.support.engine.hostile import entry, listed
from tests.support.engine.limits_hostile import ALLOWED_S, KINDS, PROBE, REQUEST, TCP_MEM, Client
from tests.support.engine.third_party import Three

GRACE_S = 5  # ADMISSION_GRACE_NS: round trips of a client that keeps to its time
LATE_S = 1.5 * builds.patience()
RATE_BPS, PACED_BYTES = 10_000_000, 4_000_000
SEGMENT_BYTES = 65_483  # of the loopback device
NAMES = {
    "send": "memory",
    "reverse": "memory from the server",
    "bidir": "memory both ways",
    "rr": "round trips",
    "udp": "datagrams",
    "files": "files",
    "get": "files from the server",
}
COMMANDS = {
    "send": ["send", "--time", "1", "--receive", "memory"],
    "reverse": ["send", "--reverse", "--time", "1"],
    "bidir": ["send", "--bidir", "--time", "1"],
    "rr": ["rr", "--time", "1"],
    "udp": ["udp", "--time", "1"],
    "files": ["send", "--files", str(Path(__file__))],
    "get": ["get", "large"],
}


def table() -> dict[tuple[str, str], str]:
    """What each limit does with each kind, as the manual page says."""
    text = (ENGINE_FOLDER / "landspeed-engine.1").read_text().replace("\\-", "-")
    lines = re.findall(r"^\.SH LIMITS\n.*?^\.TS\n(.*?)^\.TE", text, re.M | re.S)[0].splitlines()
    head, *rows = (line.split(";") for line in lines if ";" in line and not line.endswith(");"))
    return {(name, kind): cell for name, *cells in rows for kind, cell in zip(head[1:], cells, strict=True)}


TABLE = table()


def cells(*words: str) -> Any:
    """The cells with one of these words, as parameters of a test."""
    return pytest.mark.parametrize(("limit", "kind"), [cell for cell, word in TABLE.items() if word in words])


def test_each_cell_has_a_word() -> None:
    assert set(TABLE.values()) == {"no", "ends", "paced", "told", "-"}
    assert {kind for _, kind in TABLE} == {*NAMES, "third"}
    assert {limit for (limit, _), word in TABLE.items() if word == "ends"} == set(ENDING)


class Server:
    """One with everything allowed but for what the limit says."""

    def __init__(self, bench: Bench, *limits: str, leave: bool = True, descriptors: int = 0) -> None:
        self.bench = bench
        taken, handed = bench.folder / "taken", bench.folder / "handed"
        for each in (taken, handed):
            each.mkdir()
        (handed / "large").hardlink_to(large_file(bench.folder.parent))
        (handed / "paced").write_bytes(b"\1" * PACED_BYTES)
        given = ["--directory", str(taken), "--serve-directory", str(handed), "--may-send"] if leave else []
        trust = [] if "--key" in limits or not leave else ["--anonymous"]
        few = ["prlimit", f"--nofile={descriptors}"] if descriptors else []
        words = [*few, str(bench.binary), "receive", "--port", str(bench.port), "--quiet", *given, *trust, *limits]
        self.program = Program(words, bench.folder, "server")
        bench.programs.append(self.program)
        self.program.wait_for("listening")

    def refuses(self, kind: str, **asked: Any) -> str:
        """Why a session of that kind is not to be had."""
        with control_connection(self.bench.port) as control:
            greeting = frame({"type": "greeting", "nonce": "00" * 32, "key": False})
            with contextlib.suppress(OSError):
                control.sendall(greeting + frame(REQUEST | KINDS[NAMES[kind]][1] | asked))
            answer = take(control)
        assert answer["type"] == "error", answer
        return answer["text"]

    def begins(self, kind: str, **asked: Any) -> Client:
        """A session of that kind."""
        return Client(self.bench.port, **KINDS[NAMES[kind]][1] | asked)

    def ends(self, client: Client, within_s: float) -> float:
        """The session: its client is told, or cut; after how many seconds."""
        begun = time.monotonic()
        client.control.settimeout(within_s)
        with contextlib.suppress(ConnectionError, struct.error):  # at its end there is no message
            while take(client.control)["type"] not in ("error", "result", "account"):
                pass
        return time.monotonic() - begun

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A client of the engine itself."""
        command, *options = words
        where = [] if command == "third-party" else ["127.0.0.1", "--port", str(self.bench.port)]
        return subprocess.run(
            [str(self.bench.binary), command, *where, *options],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            cwd=self.bench.folder,
        )

    def third(self, *options: str) -> subprocess.CompletedProcess[str]:
        """A client that asks this host to send to itself."""
        key = ["--key", str(self.bench.folder / "key")]
        ends = ["--from", "127.0.0.1", "--from-port", str(self.bench.port)]
        ends += ["--to", "127.0.0.1", "--to-port", str(self.bench.port)]
        return self.run("third-party", *ends, *key, *options)


# Limits: options of the server, what a request beyond them has, and what is said of it.
BEYOND: dict[str, tuple[list[str], dict[str, Any], str]] = {
    "--max-streams": (["--max-streams", "1"], {"streams": 2}, "this receiver allows 1 stream, not "),
    "--max-window": (
        ["--max-window", "1M"],
        {"window_bytes": 1_000_001},
        "allows a window of 1000000 bytes, not 1000001",
    ),
    "tcp_mem": (["--clients", "64"], {"window_bytes": 1 << 30}, "bytes for all streams of a client without a key"),
    "--max-rate": (
        ["--max-rate", "1M"],
        {"probe": PROBE | {"request_bytes": 40, "rate_bps": 2_000_000}},
        "this receiver allows 1000000 bit/s, not 2000000",
    ),
    "--max-time, asked": (
        ["--max-time", "1s"],
        {"duration_ns": 10**10},
        "this receiver allows 1.000 s: ask for --time 1.000",
    ),
    "--max-bytes": (["--max-bytes", "1M"], {"bytes": 1_000_001}, "takes 1000000 bytes of files in a transfer, not"),
    "--allow": (["--allow", "discard"], {"receive": "memory"}, "this receiver does not allow --receive memory"),
    "ulimit -n": ([], {"streams": 20}, "this receiver allows 10 streams, not "),
}
LEAVE = {
    "reverse": "this server sends nothing: start it with --may-send",
    "bidir": "this server sends nothing: start it with --may-send",
    "rr": "this server answers nothing: start it with --may-send",
    "files": "this receiver takes no files: start it with --directory DIR",
    "get": "this server hands out no files: start it with --serve-directory DIR",
}


@contextlib.contextmanager
def held(server: Server) -> Iterator[None]:
    """Its one place, by a session that goes on."""
    client = Client(server.bench.port, duration_ns=30 * 10**9)
    try:
        client.connect()
        assert take(client.control)["type"] == "ready"
        client.say("go")
        yield
    finally:
        client.close()


# Of a third party: options of this host, what is ordered beyond them, and what is said of it.
ORDERS: dict[str, tuple[list[str], list[str], str]] = {
    "--max-streams": (["1"], ["--streams", "2"], "this receiver allows 1 stream, not 2"),
    "--max-window": (["1M"], ["--window", "2M"], "allows a window of 1000000 bytes, not 2000000"),
    "--allow": (["discard"], ["--reverse", "--receive", "memory"], "does not allow --receive memory"),
    "--protect": (["aead"], ["--receive", "memory"], "wants --protect aead, not none"),
    "ulimit -n": ([], ["--streams", "20"], "this receiver allows 10 streams, not 20"),
}


def refused_by_command(bench: Bench, limit: str, kind: str) -> None:
    """Those that need a key: the engine's own clients ask."""
    key = ["--key", str(make_key(bench))]
    if kind != "third":
        run = Server(bench, *key, "--protect", "aead").run(*COMMANDS[kind], *key, *weak(kind))
        assert "wants --protect aead, not none" in run.stderr
    elif limit in ORDERS:
        most, beyond, said = ORDERS[limit]
        told = [limit, *most] if most else []
        server = Server(bench, *key, "--third-party", "--clients", "2", *told, descriptors=0 if most else 64)
        run = server.third(*beyond)
        assert said in json.loads(run.stdout)["error"] if run.stdout else said in run.stderr
    elif limit == "leave":
        run = Server(bench, *key).third()
        assert "this host sends for nobody: start it with --third-party" in run.stderr
    else:
        server = Server(bench, *key, "--third-party", limit, "1", *(["--clients", "4"] if "per" in limit else []))
        live = bench.folder / "live.jsonl"  # has a line when the session began: a child may not have its place yet
        sender = bench.send("--quiet", "--time", "600", "--pacing", "10M", "--live", str(live), *key)
        try:
            wait_until(lambda: True if live.exists() and live.read_text() else None, 20)
            run = server.third()
        finally:
            sender.process.terminate()
            sender.wait()
        said = "too many connections from this address" if "per" in limit else "busy with another transfer"
        assert said in run.stderr
    assert run.returncode == 1


def weak(kind: str) -> list[str]:
    """What asks for no protection; files, and memory, ask for it by a word."""
    return ["--protect", "none"] if kind in ("files", "get") else []


@cells("no")
def test_who_asks_for_more_is_refused(bench: Bench, limit: str, kind: str) -> None:
    """With the reason, before anything moves."""
    if kind == "third" or limit == "--protect":
        refused_by_command(bench, limit, kind)
    elif limit == "leave":
        assert LEAVE[kind] in Server(bench, leave=False).refuses(kind)
    elif limit == "--clients":
        server = Server(bench, limit, "1")
        with held(server):
            assert "busy with another transfer" in server.refuses(kind)
    elif limit == "--per-address":
        server = Server(bench, limit, "1", "--clients", "4")
        with held(server):
            assert "too many connections from this address" in server.refuses(kind)
    else:
        if limit == "tcp_mem" and not TCP_MEM.exists():
            pytest.skip("a network namespace does not tell what the kernel has")
        options, asked, said = BEYOND[limit]
        server = Server(bench, *options, descriptors=64 if limit == "ulimit -n" else 0)
        assert said in server.refuses(kind, **asked)


def begin_and_rest(client: Client, kind: str) -> None:
    """All that a session needs, and then nothing more."""
    if kind == "udp":
        client.say("go")
        return
    client.connect(2 if kind == "bidir" else 1)
    if kind in ("reverse", "bidir", "get"):
        client.say("ready")
    if kind in ("send", "bidir", "files", "rr"):
        while take(client.control)["type"] != "ready":
            pass
    if kind in ("send", "bidir", "files"):
        client.say("go")


def trickle(client: Client, kind: str) -> None:
    """A byte now and then, so that something moves."""
    head = iter(b"lsf\1" + struct.pack(">IIIQ", 1, 0, 1 << 20, 0) + bytes(1 << 10))
    with contextlib.suppress(OSError):
        while True:
            time.sleep(0.1)
            if kind in ("send", "bidir", "files"):
                client.data[0].sendall(bytes([next(head)]) if kind == "files" else b"x")
            if kind in ("reverse", "bidir", "get"):
                client.data[-1].recv(1000)


def goes_on(server: Server, limit: str, kind: str) -> None:
    """A session of that kind, whose client does not end it; the server does."""
    asked = {"duration_ns": (ALLOWED_S if limit == "--max-time, taken" else 60) * 10**9}
    client = server.begins(kind, **asked)
    try:
        if limit == "--max-time, taken":
            assert KINDS[NAMES[kind]][0](client) < ALLOWED_S + GRACE_S + LATE_S, kind
            return
        if limit != "--idle-timeout":
            begin_and_rest(client, kind)
        if limit == "--max-files":
            client.data[0].sendall(listed(entry(b"one"), entry(b"two")))
        if limit == "--min-rate":
            threading.Thread(target=trickle, args=(client, kind), daemon=True).start()
        most_s = {"--max-files": 0, "--idle-timeout": 1, "--stall": 1.5, "--min-rate": 2.5}[limit] * ALLOWED_S
        lasted = server.ends(client, most_s + LATE_S)
        assert min(most_s, 0.5 * ALLOWED_S) <= lasted <= most_s + LATE_S, kind
    finally:
        client.close()


ENDING = {
    "--max-time, taken": ["--max-time", f"{ALLOWED_S}s", "--max-rate", "80M"],
    "--max-files": ["--max-files", "1"],
    "--idle-timeout": ["--idle-timeout", f"{ALLOWED_S}s"],
    "--stall": ["--stall", f"{ALLOWED_S}s"],
    "--min-rate": ["--stall", f"{ALLOWED_S}s", "--min-rate", "10M"],
}


@pytest.mark.slow
@pytest.mark.parametrize("limit", ENDING)
def test_the_server_ends_who_goes_on(bench: Bench, limit: str) -> None:
    """Whatever the client says or leaves out: no session outlives its limit. All kinds at once, as each takes time."""
    kinds = [kind for kind in NAMES if TABLE[limit, kind] == "ends"]
    server = Server(bench, "--clients", "8", *ENDING[limit])
    with ThreadPoolExecutor(len(kinds)) as pool:
        for end in [pool.submit(goes_on, server, limit, kind) for kind in kinds]:
            end.result()
    wait_until(lambda: None if children(server.program) else True, LATE_S, server.program.process)
    assert limit != "--max-files" or "beyond the 1 files, directories and links" in server.program.errors


@pytest.mark.slow
@pytest.mark.parametrize("limit", [name for (name, kind), word in TABLE.items() if (kind, word) == ("third", "ends")])
def test_a_host_ends_its_order(bench: Bench, limit: str) -> None:
    """Sent to a receiver that takes all, says nothing, or stands still; the order itself would wait for longer."""
    three = Three(bench, "--third-party", limit.removesuffix(", taken"), f"{ALLOWED_S}s")
    long = ["--time", "60", *PACED, "--stall", "60s", "--answer-timeout", "60s", "--connect-timeout", "60s"]
    most_s = {"--max-time, taken": ALLOWED_S + GRACE_S, "--stall": 1.5 * ALLOWED_S}.get(limit, ALLOWED_S) + LATE_S
    try:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            begun = time.monotonic()
            other = ["--to-port", str(silent.getsockname()[1])] if limit == "--idle-timeout" else []
            client = three.ask(*long, *other)
            if limit == "--stall":
                wait_until(lambda: three.moving() or None, 20, client.process)
                os.kill(only_child(three.receiver), signal.SIGSTOP)
                begun = time.monotonic()
            client.wait()
        assert 0.5 * ALLOWED_S <= time.monotonic() - begun <= most_s
    finally:
        three.b.close()


def check_rate(count: int, seconds: float) -> None:
    """So much came in that time: at the rate, but for the ten segments that Linux sends before it paces."""
    at_once = 10 * SEGMENT_BYTES * 8
    assert count * 8 <= RATE_BPS * seconds + at_once
    assert builds.sanitized() or 0.7 * RATE_BPS * seconds <= count * 8


@pytest.mark.slow
@cells("paced")
def test_what_the_server_sends_is_paced(bench: Bench, limit: str, kind: str) -> None:
    if kind == "third":
        key = ["--key", str(make_key(bench))]
        server = Server(bench, *key, "--third-party", "--clients", "2", limit, str(RATE_BPS))
        run = server.third("--bytes", str(PACED_BYTES))
        assert run.returncode == 0, run.stderr
        check_rate(PACED_BYTES, json.loads(run.stdout)["duration_s"])
        return
    server = Server(bench, limit, str(RATE_BPS))
    if kind == "get":  # whoever takes no part in it gets a list, and no file
        run = server.run("get", "paced", "--json", "-")
        assert run.returncode == 0, run.stderr
        check_rate(PACED_BYTES, json.loads(run.stdout)["duration_s"])
        return
    long = {"probe": PROBE | {"response_bytes": 1 << 16}} if kind == "rr" else {}
    client = server.begins(kind, duration_ns=10 * 10**9, **long)
    try:
        begun = time.monotonic()
        begin_and_rest(client, kind)
        data, count = client.data[-1], 0

        def read() -> int:
            if kind == "rr":
                data.sendall(b"x")
                return len(data.recv(1 << 16, socket.MSG_WAITALL))
            return len(data.recv(1 << 16))

        while time.monotonic() < begun + 3:
            count += read()
        check_rate(count, time.monotonic() - begun)
    finally:
        client.close()


@cells("told")
def test_the_client_is_told_its_pace(bench: Bench, limit: str, kind: str) -> None:
    server = Server(bench, limit, str(RATE_BPS))
    client = server.begins(kind, streams=4)
    client.close()
    assert client.grant["pacing_bps"] == RATE_BPS // 4
