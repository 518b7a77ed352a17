"""`bench_engine.py strangers`: 10 000 sessions of strangers from 64 addresses, beside clients that mean it.

Strangers are silent, half a frame, garbage, a greeting that stays, a recorded proof; half a hello of a data connection,
one of the sessions that run, one of none, and the server's own challenge sent back. ENGINE_BENCH_STRANGERS changes
their number.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import struct
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from tests.bench.bench import Row
from tests.bench.engine.bench_engine_path import ENGINE
from tests.support.engine.fixtures import CHALLENGE, MAGIC, PROTOCOL, hello

STRANGERS = int(os.environ.get("ENGINE_BENCH_STRANGERS", "10000"))
PORT = 5391
ALIVE = 64  # at once, each from an address of its own


def frame(message: dict) -> bytes:
    """Of the control connection."""
    text = json.dumps({"protocol": PROTOCOL} | message).encode()
    return struct.pack(">I", len(text)) + text


GREETING = frame({"type": "greeting", "nonce": "5a" * 32, "share": "09" + "00" * 31, "key": True})
WORDS = (
    b"",
    GREETING[:20],
    os.urandom(300),
    GREETING,
    GREETING + frame({"type": "proof", "proof": "a5" * 32}),
    b"\xff" * 8,
    MAGIC,
    hello(0, bytes(32), bytes(32), 0),
    hello(0, bytes(32), bytes(32), 1 << 31),
    None,
)


class Strangers(threading.Thread):
    """Come one after the other; the last 64 of them stay."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.count, self.stop = 0, threading.Event()

    def run(self) -> None:
        """Until told, or all have been."""
        alive: list[socket.socket] = []
        for number, words in zip(range(STRANGERS), itertools.cycle(WORDS), strict=False):
            if self.stop.is_set():
                break
            with contextlib.suppress(OSError):
                source = (f"127.0.2.{number % ALIVE + 1}", 0)
                alive.append(socket.create_connection(("127.0.0.1", PORT), timeout=5, source_address=source))
                alive[-1].sendall(alive[-1].recv(CHALLENGE) if words is None else words)
                self.count += 1
            if len(alive) == ALIVE:
                alive.pop(0).close()
        self.stop.wait()
        for each in alive:
            each.close()


def transfer(key: str, *options: str) -> tuple[float, float]:
    """Goodput in bit/s, and seconds of the whole program beyond the transfer."""
    begun = time.monotonic()
    words = [str(ENGINE), "send", "127.0.0.1", "--port", str(PORT), "--key", key, "--quiet", "--json", "-"]
    run = subprocess.run([*words, *options], capture_output=True, text=True, check=True)
    result = json.loads(run.stdout)
    return result["goodput_bps"], time.monotonic() - begun - result["duration_s"]


def held(pid: int) -> tuple[int, int]:
    """Kilobytes of memory, and descriptors."""
    status = Path(f"/proc/{pid}/status").read_text()
    memory = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    return memory, len(list(Path(f"/proc/{pid}/fd").iterdir()))


def strangers() -> list[Row]:
    """A paced transfer alone and beside them; short ones of a right client meanwhile; what the server holds."""
    with tempfile.TemporaryDirectory() as folder:
        key = str(Path(folder) / "key")
        subprocess.run([str(ENGINE), "key", key], check=True)
        words = [str(ENGINE), "receive", "--port", str(PORT), "--key", key, "--clients", "4", "--quiet"]
        server = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        try:
            time.sleep(0.5)
            long = ("--time", "10", "--pacing", "1G", "--receive", "memory")
            alone, _ = transfer(key, *long)
            before = held(server.pid)
            crowd = Strangers()
            crowd.start()
            beside: list[float] = []
            runner = threading.Thread(target=lambda: beside.append(transfer(key, *long)[0]))
            runner.start()
            waits = []
            while runner.is_alive() or crowd.count < STRANGERS * 0.99:
                waits.append(transfer(key, "--bytes", "1M")[1])
                if not crowd.is_alive():
                    break
            runner.join()
            crowd.stop.set()
            crowd.join()
            time.sleep(1)
            after = held(server.pid)
        finally:
            server.terminate()
            server.wait()
    share = beside[0] / alone
    return [
        Row(f"{crowd.count} strangers: goodput of a transfer beside them", f"{share:.3f} ×", "≥ 0.95 ×", share >= 0.95),
        Row(
            f"{len(waits)} right clients meanwhile: the longest wait",
            f"{max(waits):.2f} s",
            "≤ 2 s",
            max(waits) <= 2,
        ),
        Row(
            "memory and descriptors of the server, before and after",
            f"{before[0]} → {after[0]} kB, {before[1]} → {after[1]}",
            "flat",
            after[0] - before[0] < 1024 and after[1] <= before[1],
        ),
    ]
