"""Transfers over the loopback device with a given build of the engine; needs only the standard library.

Run by `meson test`, also in sanitizer builds, where any report of a sanitizer is a failure. The wider tests are in
tests/test_engine_*.py.
"""

from __future__ import annotations

import json
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

claims: list[socket.socket] = []


def free_port() -> int:
    """A free port below those that the kernel gives away, claimed as tests/support/engine/fixtures.py does."""
    while True:
        port = random.SystemRandom().randrange(12_000, 32_000)
        claims.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        try:
            claims[-1].bind(f"\0landspeed-test-port/{port}")
            with socket.socket() as probe:
                probe.bind(("", port))
        except OSError:
            continue
        return port


def receiver_start(engine: str, port: int, *options: str) -> subprocess.Popen[str]:
    """A receiver that listens already."""
    receiver = subprocess.Popen(
        [engine, "receive", "--port", str(port), *options], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert receiver.stderr is not None
    line = receiver.stderr.readline()
    assert "listening" in line, line
    return receiver


def transfer(engine: str, folder: Path, host: str, *options: str) -> dict[str, Any]:
    """One transfer to its end; both ends must be content."""
    port = free_port()
    receiver = receiver_start(engine, port, "--one-off", "--samples", str(folder / "r.csv"))
    sent = subprocess.run(
        [engine, "send", host, "--port", str(port), "--json", "-", "--samples", str(folder / "s.csv"), *options],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    _, errors = receiver.communicate(timeout=60)
    assert sent.returncode == 0, sent.stderr + errors
    assert receiver.returncode == 0, errors
    return json.loads(sent.stdout)


def moving(live: Path) -> bool:
    """Whether the sender's progress tells of bytes."""
    lines = live.read_text().splitlines(keepends=True) if live.exists() else []
    return any(json.loads(line).get("bytes") for line in lines if line.endswith("\n"))


def interrupted(engine: str, folder: Path) -> None:
    """A signal in the middle of a transfer: valid JSON, status 1, and the receiver goes on."""
    port = free_port()
    receiver = receiver_start(engine, port)
    live = folder / "live.jsonl"
    words = ["--time", "60", "--json", "-", "--streams", "3", "--live", str(live)]
    sender = subprocess.Popen(
        [engine, "send", "127.0.0.1", "--port", str(port), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not moving(live) and sender.poll() is None:
        time.sleep(0.02)
    sender.send_signal(signal.SIGINT)
    out, errors = sender.communicate(timeout=60)
    assert sender.returncode == 1, errors
    result = json.loads(out)
    assert result["signal"] == "SIGINT"
    assert result["complete"] is False
    assert result["bytes"] > 0
    assert receiver.stderr is not None
    assert "stopped by the sender" in receiver.stderr.readline()
    while Path(f"/proc/{receiver.pid}/task/{receiver.pid}/children").read_text():
        time.sleep(0.02)  # the session's process ends; the receiver goes on
    receiver.send_signal(signal.SIGTERM)
    _, errors = receiver.communicate(timeout=60)
    assert receiver.returncode == 0, errors
    assert "Sanitizer" not in errors, errors


def main(engine: str) -> None:
    """All of them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for mode in ("discard", "memory"):
            result = transfer(engine, folder, "127.0.0.1", "--bytes", "100000007", "--streams", "3", "--receive", mode)
            assert result["bytes"] == 100000007, result["bytes"]
            assert [s["bytes"] for s in result["streams"]] == [33333336, 33333336, 33333335]
        result = transfer(
            engine, folder, "127.0.0.1", "--time", "0.5", "--streams", "4", "--window", "1M", "--interval", "10ms"
        )
        assert result["duration_s"] == 0.5, result
        assert result["bytes"] > 0
        assert result["complete"]
        interrupted(engine, folder)


if __name__ == "__main__":
    main(sys.argv[1])
