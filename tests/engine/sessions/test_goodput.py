"""Goodput is payload by the time that it took (telemetry/goodput.h), against the kernel's counters and clock."""

import contextlib
import json
import math
import os
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from landspeed.results.record import RunRecord
from tests.support.emu_fixtures import plan_of, scenario, transfer
from tests.support.engine.fake_server import TOKEN, frame, take
from tests.support.engine.fixtures import MAGIC, Bench, only_child
from tests.support.engine.limits_hostile import Client
from tests.support.stopwatch import one_of_few, undisturbed

LINE_BPS = 400e6  # of the sender that keeps to a rate


def paced(data: socket.socket, most: float, stop: threading.Event, pauses: list[float]) -> None:
    """Sends so many bytes at the line's rate, whatever the reader does: its window is large. It tells its pauses."""
    begun, sent = time.monotonic(), 0
    before = begun
    data.setblocking(False)
    while not stop.is_set() and sent < most:
        pauses.append(time.monotonic() - before)
        before += pauses[-1]
        due = int(min((time.monotonic() - begun) * LINE_BPS / 8, most)) - sent
        try:
            sent += data.send(bytes(due)) if due > 0 else 0
        except BlockingIOError:
            pass
        except OSError:
            return
        time.sleep(0.0005)
    with contextlib.suppress(OSError):
        data.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("limit", [{"duration_ns": 500_000_000}, {"bytes": 25_000_000, "duration_ns": 0}])
@pytest.mark.parametrize("omit_ns", [0, 20_000_000])
@pytest.mark.parametrize("late_s", [0, 0.3])
def test_a_reader_that_comes_late_is_not_above_the_line(
    bench: Bench, late_s: float, omit_ns: int, limit: dict[str, int]
) -> None:
    """What had come before its clock began is delivered, and counts at no time."""

    def attempt(_number: int) -> None:
        result = late_reader(bench, late_s, omit_ns, limit)
        goodput = (result["bytes"] - result["early_bytes"]) * 8e9 / result["duration_ns"]
        # What the sender's longest pause kept back came at once after it, at most all of it in the reader's time.
        assert goodput < 1.01 * LINE_BPS * (1 + result["pause_s"] * 1e9 / result["duration_ns"])
        # What comes between the end of the warm-up and the read after it, which may be late too, is left out. A sender
        # that this machine lets wait keeps to no rate.
        undisturbed((0.7 if omit_ns else 0.97) * LINE_BPS < goodput, f"{goodput:.0f} bit/s")
        if late_s and not omit_ns:
            early = result["early_bytes"] / (late_s * LINE_BPS / 8)
            undisturbed(0.9 <= early <= 1.1, f"{early:.3f} of what was sent meanwhile came early")

    one_of_few(attempt)


def late_reader(bench: Bench, late_s: float, omit_ns: int, limit: dict[str, int]) -> dict[str, Any]:
    """The result of a receiver that stands still for `late_s` from go on."""
    receiver = bench.receive()
    client = Client(bench.port, receive="memory", window_bytes=64 << 20, omit_ns=omit_ns, **limit)
    stop = threading.Event()
    try:
        data = client.connect()
        assert take(client.control)["type"] == "ready"
        child = only_child(receiver)
        if late_s:
            os.kill(child, signal.SIGSTOP)
        client.say("go")
        thread = threading.Thread(target=paced, args=(data, limit.get("bytes", math.inf), stop, pauses := [0.0]))
        thread.start()
        time.sleep(late_s)
        os.kill(child, signal.SIGCONT)
        client.control.settimeout(20)
        result = take(client.control)
    finally:
        stop.set()
        client.close()
        receiver.process.terminate()  # the next try has one of its own
        receiver.process.wait(20)
    thread.join()
    assert result["complete"] is True, result
    return result | {"pause_s": max(pauses)}


def test_a_time_limit_is_the_time_of_streams_that_brought_nothing_too(bench: Bench) -> None:
    """One of two streams ends with its first byte, the other one is silent until the time is over."""
    bench.receive()
    client = Client(bench.port, streams=2, bytes=1000, duration_ns=500_000_000)
    try:
        data = client.connect(2)
        assert take(client.control)["type"] == "ready"
        client.say("go")
        data.sendall(b"x")
        data.shutdown(socket.SHUT_WR)
        result = take(client.control)
    finally:
        client.close()
    assert (result["complete"], result["bytes"], result["duration_ns"]) == (True, 1, 500_000_000)


@pytest.mark.parametrize("direction", [[], ["--reverse"]])
@pytest.mark.parametrize("size", ["1", "100", "100k"])
def test_what_is_too_short_has_no_rate(bench: Bench, size: str, direction: list[str]) -> None:
    """No figure, and the reason, in the result of both ends and in the line for people; the bytes are all there."""
    bench.receive("--may-send")
    send = bench.send("--bytes", size, "--window", "64M", *direction)
    assert send.wait() == 0, send.errors
    result = bench.result()
    assert result["bytes"] == int(size.replace("k", "000"))
    if result["goodput_bps"] is not None:  # 100 kB that came in several reads, over longer than an RTT
        assert size == "100k"
        counted = result["bytes"] - result["early_bytes"]
        assert result["goodput_bps"] == pytest.approx(counted * 8 / result["duration_s"], rel=1e-2)
        return
    assert result["goodput_reason"].startswith("too short for a rate")
    assert "too short for a rate" in send.errors


def finished(tmp_path: Path, **wanted: Any) -> RunRecord:
    """The record of a transfer over 100 Mbit/s and 10 ms, in the emulated world."""
    content = scenario([{"one_way_delay": "5 ms", "line_rate": "100 Mbit/s"}], transfer=wanted)
    record, _ = transfer(plan_of(tmp_path, content), tmp_path / "out")
    return record


@pytest.mark.guest
@pytest.mark.parametrize("size", ["100 B", "14480 B", "100 kB", "1 MB", "10 MB"])
def test_no_size_is_above_the_line(tmp_path: Path, size: str) -> None:
    record = finished(tmp_path, bytes=size)
    number, unit = size.split()
    assert record.bytes == int(number) * {"B": 1, "kB": 1000, "MB": 1_000_000}[unit]
    assert record.goodput_bps is None or record.goodput_bps <= 100e6 * 1448 / 1538 * 1.001
    if size in ("100 B", "14480 B"):
        assert record.goodput_bps is None
        assert (record.tool_result.goodput_reason or "").startswith("too short for a rate")


@pytest.mark.parametrize("span_s", [0.5, 2])
def test_datagrams_that_came_for_longer_than_they_were_sent(bench: Bench, span_s: float) -> None:
    """Behind a queue they come at the line's rate: by the time for which they came, and without the first."""

    def attempt(_: int) -> None:
        with (
            socket.create_server(("127.0.0.1", bench.port)) as listener,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as elsewhere,
        ):
            elsewhere.bind(("127.0.0.1", 0))
            udp = bench.start("udp", "--rate", "800k", "--size", "1000", "--time", "1", "--json", "-", host="127.0.0.1")
            control, _ = listener.accept()
            with control:
                control.sendall(MAGIC + bytes(32))
                assert [take(control)["type"], take(control)["type"]] == ["greeting", "request"]
                port = elsewhere.getsockname()[1]
                grant = {"data_port": port, "session": 0, "token": TOKEN, "pacing_bps": 0, "rcvbuf_bytes": 1 << 20}
                control.sendall(frame({"type": "grant"} | grant))
                assert take(control)["type"] == "go"
                sent = take(control)["sent"]
                counted = {"received": sent, "span_ns": int(span_s * 1e9)}
                control.sendall(frame({"type": "result", "counted": counted}))
                assert udp.wait() == 0, udp.errors
        assert sent == 100
        result = json.loads(udp.output)
        assert result["sent_bps"] <= 800_000
        undisturbed(result["sent_bps"] == 800_000, f"{result['sent_bps']} bit/s: the machine gave the sender no turn")
        assert result["goodput_bps"] == (result["sent_bps"] if span_s < 1 else 99 * 8000 / span_s)

    one_of_few(attempt)
