"""No session without progress lasts: whatever a peer leaves undone, the other end goes on to something else."""

import contextlib
import itertools
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import builds
from tests.support.engine.fake_server import asked, frame, take
from tests.support.engine.files_fixtures import BLOCK, write_file
from tests.support.engine.fixtures import Bench, children, say_hello, wait_until
from tests.support.engine.hostile import DATA, LIST, LIST_END, entry, record
from tests.support.engine.stall import (
    REQUEST,
    idle,
    result,
)
from tests.support.stopwatch import one_of_few, undisturbed

LIMIT_S = 0.6
# It is looked at four times within the limit; a program has to be started, and to say what it knows.
LATEST_S = 1.25 * LIMIT_S + 0.75


def in_time(took_s: float) -> None:
    """Never before the limit; soon after it where the machine lets it."""
    assert took_s > 0.9 * LIMIT_S
    undisturbed(took_s < LATEST_S * builds.patience(), f"it took {took_s:.2f} s")


@contextlib.contextmanager
def session(bench: Bench, request: dict) -> Iterator[tuple[socket.socket, socket.socket, float]]:
    """Control and data connection of a session that is told to begin, and a time before that."""
    with asked(bench.port, request) as control:
        grant = take(control)
        with socket.create_connection(("127.0.0.1", bench.port), timeout=20) as data:
            say_hello(data, 0, bytes.fromhex(grant["token"]), grant["session"])
            assert take(control)["type"] == "ready"
            begun = time.monotonic()
            control.sendall(frame({"type": "go"}))
            yield control, data, begun


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["discard", "memory", "verify"])
@pytest.mark.parametrize("first", [b"", b"x"], ids=["nothing", "a byte"])
@pytest.mark.parametrize("limit", [{}, {"duration_ns": 3600 * 10**9}], ids=["bytes", "an hour"])
def test_a_sender_of_memory_that_falls_silent(bench: Bench, mode: str, first: bytes, limit: dict) -> None:
    receiver = bench.receive("--stall", f"{LIMIT_S}s")
    block = {"payload_seed": 1, "block_bytes": 1 << 18}

    def attempt(_: int) -> None:
        with session(bench, REQUEST | {"receive": mode} | block | limit) as (control, data, begun):
            data.sendall(first)
            told = result(control)
            took_s = time.monotonic() - begun
            assert told["complete"] is False
            # The byte may have come before the word to begin was read.
            little = ("less than 100 bit/s", "no data") if first else ("no data",)
            assert told["error"].partition(" came from the sender for 0.6 s")[0] in little
            assert told["bytes"] == len(first)
            # Its place is free, though it has not hung up.
            sender = bench.send("--bytes", "1M")
            assert sender.wait() == 0, sender.errors
        in_time(took_s)

    one_of_few(attempt)
    wait_until(lambda: None if children(receiver) else True, 20, receiver.process)


@pytest.mark.slow
@pytest.mark.parametrize("sent", ["nothing", "half a record", "the list", "a block"])
def test_a_sender_of_files_that_falls_silent(bench: Bench, tmp_path: Path, sent: str) -> None:
    (tmp_path / "target").mkdir()
    bench.receive("--stall", f"{LIMIT_S}s", "--anonymous", "--directory", str(tmp_path / "target"))
    files = record(LIST, 0, entry(b"file", 3 * BLOCK)) + record(LIST_END, 1, offset=3 * BLOCK)
    records = {
        "nothing": b"",
        "half a record": files[:20],
        "the list": files,
        "a block": files + record(DATA, 0, b"x" * BLOCK),
    }

    def attempt(_: int) -> None:
        with session(bench, REQUEST | {"kind": "files", "bytes": 0}) as (control, data, begun):
            data.sendall(records[sent])
            told = result(control)
            in_time(time.monotonic() - begun)
            assert told["complete"] is False
            assert told["error"] == f"no data came from the sender for {LIMIT_S} s"

    one_of_few(attempt)


@pytest.mark.slow
@pytest.mark.parametrize("options", [["--bytes", "1G"], ["--time", "3600"]], ids=["bytes", "an hour"])
def test_a_receiver_of_memory_that_reads_nothing(bench: Bench, options: list[str]) -> None:
    def attempt(_: int) -> None:
        with idle(bench.port):
            begun = time.monotonic()
            sender = bench.send(*options, "--stall", f"{LIMIT_S}s")
            assert sender.wait(20) == 1
            took_s = time.monotonic() - begun
        assert bench.result()["error"] == f"the receiver took no data for {LIMIT_S} s"
        assert bench.result()["bytes_source"] == "sender"
        in_time(took_s)

    one_of_few(attempt)


PROGRESS = frame({"type": "files-progress", "bytes": 0, "resumed": 0, "settled": 0, "busy": False})


@pytest.mark.slow
@pytest.mark.parametrize("said", [b"", PROGRESS], ids=["silent", "the same for ever"])
def test_a_receiver_of_files_that_reads_nothing(bench: Bench, tmp_path: Path, said: bytes) -> None:
    write_file(tmp_path / "file", 64 * BLOCK)

    def attempt(_: int) -> None:
        with idle(bench.port, lambda control: control.sendall(said)):
            begun = time.monotonic()
            sender = bench.send("--stall", f"{LIMIT_S}s", "--files", str(tmp_path / "file"))
            assert sender.wait(20) == 1
            took_s = time.monotonic() - begun
        assert bench.result()["error"] == f"the receiver took no data for {LIMIT_S} s (run again to resume)"
        in_time(took_s)

    one_of_few(attempt)


@pytest.mark.slow
def test_a_receiver_whose_disk_is_at_work_is_waited_for(bench: Bench, tmp_path: Path) -> None:
    write_file(tmp_path / "file", 64 * BLOCK)
    busy = PROGRESS.replace(b": false}", b": true} ")

    def attempt(_: int) -> None:
        with idle(bench.port, lambda control: control.sendall(busy)) as receiver:
            sender = bench.send("--stall", f"{LIMIT_S}s", "--files", str(tmp_path / "file"))
            with contextlib.suppress(subprocess.TimeoutExpired):
                sender.process.wait(4 * LIMIT_S)
            undisturbed(receiver.pause_s < LIMIT_S / 2, f"the receiver said nothing for {receiver.pause_s:.2f} s")
            assert sender.process.poll() is None, sender.errors
            sender.process.terminate()
            sender.process.terminate()

    one_of_few(attempt)


@pytest.mark.slow
def test_what_moves_slowly_is_no_stall(bench: Bench) -> None:
    """A short packet now and then, each well within the limit, and then all of them have come."""
    bench.receive("--stall", f"{LIMIT_S}s")

    def attempt(_: int) -> None:
        with session(bench, REQUEST | {"bytes": 1200}) as (control, data, begun):
            data.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            pause_s, before = 0.0, begun
            with contextlib.suppress(OSError):  # it has hung up
                for _ in range(12):
                    data.sendall(b"x" * 100)
                    pause_s, before = max(pause_s, time.monotonic() - before), time.monotonic()
                    time.sleep(LIMIT_S / 4)
            undisturbed(pause_s < LIMIT_S / 2, f"nothing was sent for {pause_s:.2f} s")
            told = result(control)
        assert (told["complete"], told["bytes"]) == (True, 1200)

    one_of_few(attempt)


RECORD = b"lsf\x01" + bytes(1000)  # how one begins


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "part_bytes", "least"),
    [("memory", 1, "100"), ("memory", 10_000, "1000000"), ("files", 1, "100")],
    ids=["a byte now and then", "less than asked", "a byte of a record"],
)
def test_no_trickle_holds_a_place(bench: Bench, kind: str, part_bytes: int, least: str) -> None:
    """What moves less than --min-rate (100, unless given) over a whole --stall has come to rest, too."""
    limit_s = 2.0
    (bench.folder / "target").mkdir()
    files = ["--anonymous", "--directory", str(bench.folder / "target")] if kind == "files" else []
    bench.receive("--stall", f"{limit_s}s", *(["--min-rate", least] if least != "100" else []), *files)

    def attempt(_: int) -> None:
        with session(bench, REQUEST | {"kind": kind, "bytes": 0 if files else 1 << 50}) as (control, data, begun):
            data.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            over = threading.Event()

            def trickle() -> None:
                parts = (RECORD[at : at + 1] if files else b"x" * part_bytes for at in itertools.count())
                with contextlib.suppress(OSError):  # it has hung up
                    while not over.wait(limit_s / 3):
                        data.sendall(next(parts))

            thread = threading.Thread(target=trickle)
            thread.start()
            try:
                told = result(control)
                took_s = time.monotonic() - begun
            finally:
                over.set()
                thread.join()
        assert told["error"] == f"less than {least} bit/s came from the sender for {limit_s:g} s (--min-rate)"
        assert took_s > 0.9 * limit_s
        undisturbed(took_s < 1.25 * limit_s + 0.75, f"it took {took_s:.2f} s")

    one_of_few(attempt)


@pytest.mark.parametrize("command", ["send", "receive"])
def test_wrong_usage(bench: Bench, command: str) -> None:
    program = bench.start(command, "--stall", "1ms", host="127.0.0.1" if command == "send" else None)
    assert program.wait() == 2
    assert "--stall: '1ms' is not a duration from 100ms to 1 day such as 30s" in program.errors
