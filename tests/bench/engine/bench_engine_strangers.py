"""`bench_engine.py strangers`: 10 000 sessions of strangers from 1000 networks, beside clients that mean it.

Strangers are silent, half a frame, garbage, a greeting that stays, a recorded proof; half a hello of a data connection,
one of the sessions that run, one of none, the server's own challenge sent back, a frame that says it has 1 MiB, and
words byte by byte. ENGINE_BENCH_STRANGERS changes their number, ENGINE_BENCH_FAR that of the clients at 264 ms.
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
from tests.support.engine.crowd import PLACES, far
from tests.support.engine.fixtures import CHALLENGE, MAGIC, PROTOCOL, hello

STRANGERS = int(os.environ.get("ENGINE_BENCH_STRANGERS", "10000"))
PORT = 5391
FAR = int(os.environ.get("ENGINE_BENCH_FAR", "100"))
NETWORKS = [f"127.{1 + number // 250}.{number % 250}.2" for number in range(1000)]
ALIVE = len(NETWORKS)  # at once, each from an address of its own
SLOW_S = 0.1  # between two bytes of those that come byte by byte


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
    struct.pack(">I", 1 << 20) + bytes(8000),
    None,
)


class Strangers(threading.Thread):
    """Come one after the other; the last thousand of them stay, and every eleventh says its words byte by byte."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.count, self.stop = 0, threading.Event()
        self.slow: list[tuple[socket.socket, int]] = []
        self.due = 0.0

    def _trickle(self) -> None:
        """The next byte of each that is slow."""
        if time.monotonic() < self.due:
            return
        self.due = time.monotonic() + SLOW_S
        going = []
        for each, said in self.slow:
            with contextlib.suppress(OSError):
                each.send(GREETING[said : said + 1])
                going.append((each, (said + 1) % len(GREETING)))
        self.slow = going

    def run(self) -> None:
        """Until told, or all have been."""
        alive: list[socket.socket] = []
        for number, words in zip(range(STRANGERS), itertools.cycle(WORDS), strict=False):
            if self.stop.is_set():
                break
            with contextlib.suppress(OSError):
                source = (NETWORKS[number % ALIVE], 0)
                alive.append(socket.create_connection(("127.0.0.1", PORT), timeout=5, source_address=source))
                if number % 11 == 10:
                    self.slow.append((alive[-1], 0))
                else:
                    alive[-1].sendall(alive[-1].recv(CHALLENGE) if words is None else words)
                self.count += 1
            self._trickle()
            if len(alive) == ALIVE:
                alive.pop(0).close()
        while not self.stop.wait(SLOW_S):
            self._trickle()
        for each in alive:
            each.close()


def transfer(key: str, *options: str, port: int = PORT) -> tuple[float, float]:
    """Goodput in bit/s, and seconds of the whole program beyond the transfer."""
    begun = time.monotonic()
    words = [str(ENGINE), "send", "127.0.0.1", "--port", str(port), "--key", key, "--quiet", "--json", "-"]
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
            with far(PORT) as port:
                away = [transfer(key, "--bytes", "1M", port=port)[1] for _ in range(FAR)]
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
            f"{FAR} right clients at 264 ms, each at the first try: the longest wait",
            f"{max(away):.2f} s",
            "≤ 3 s",
            max(away) <= 3,
        ),
        Row(
            "memory and descriptors of the server, before and after",
            f"{before[0]} → {after[0]} kB, {before[1]} → {after[1]}",
            "flat: 1 kB for each of 2048 places",
            after[0] - before[0] < PLACES and after[1] <= before[1],
        ),
    ]
