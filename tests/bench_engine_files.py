"""`bench_engine.py files`: files on tmpfs over loopback, beside FDT (Fast Data Transfer) where it is to be had.

ENGINE_BENCH_FDT is the command that starts FDT: `java -cp CLASSES:JARS lia.util.net.copy.FDT`, or `java -jar fdt.jar`.
ENGINE_BENCH_FILE_GB is the size of the one large file (8); source and target need twice as much memory.

Both programs are timed by the target's file system: from the first page that it has to the last one. So neither FDT's
start, nor what it waits at its end (seconds each), nor the engine's last words count.
"""

from __future__ import annotations

import itertools
import os
import shlex
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import Row
from bench_engine_path import ENGINE, TURNS

FDT = shlex.split(os.environ.get("ENGINE_BENCH_FDT", ""))
LARGE_BYTES = int(float(os.environ.get("ENGINE_BENCH_FILE_GB", "8")) * 1e9)
SMALL_FILES, SMALL_BYTES = 10_000, 64_000
STREAMS = "4"
HOST = "127.0.0.1"  # FDT asks for the names of addresses, and in a namespace of its own nobody answers
PORTS = itertools.count(54321)  # each transfer has one of its own: of the last one something may be left
LIMIT_S = 120


@contextmanager
def memory_disk(at: Path) -> Iterator[Path]:
    """A tmpfs of its own."""
    at.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=95%", "landspeed-bench", str(at)], check=True)
    try:
        yield at
    finally:
        subprocess.run(["umount", str(at)], check=True)


def fill(folder: Path, count: int, size: int) -> Path:
    """As many files of that size; their bytes do not matter to either program."""
    folder.mkdir()
    part = os.urandom(1 << 20)
    for number in range(count):
        with (folder / f"file-{number}").open("wb") as file:
            for left in range(size, 0, -len(part)):
                file.write(part[:left])
    return folder


class Watch(threading.Thread):
    """When the file system at `place` got its first page and its last one."""

    def __init__(self, place: Path) -> None:
        super().__init__(daemon=True)
        self.place, self.stop = place, threading.Event()
        self.empty, self.most = self.used(), 0
        self.first_s = self.last_s = 0.0

    def used(self) -> int:
        """Pages."""
        now = os.statvfs(self.place)
        return now.f_blocks - now.f_bfree

    def run(self) -> None:
        """Until told."""
        while not self.stop.wait(0.002):
            used, now_s = self.used(), time.monotonic()
            if used > self.empty and self.first_s == 0:
                self.first_s = now_s
            if used > self.most:
                self.most, self.last_s = used, now_s


def listening(port: int) -> bool:
    """Does somebody listen on the port?"""
    return bool(subprocess.run(["ss", "-Hltn", f"sport = :{port}"], capture_output=True, check=True).stdout)


def transfer(port: int, receive: list[str], send: list[str], target: Path) -> float:
    """Seconds between the first page and the last one at the target."""
    for left in target.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    watch = Watch(target)
    watch.start()
    server = subprocess.Popen(receive, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not listening(port):
            if server.poll() is not None:
                raise RuntimeError(f"{shlex.join(receive)}: status {server.returncode}")
            time.sleep(0.05)
        subprocess.run(send, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT_S)
    finally:
        server.terminate()
        server.wait()
        watch.stop.set()
        watch.join()
    return watch.last_s - watch.first_s


def by_engine(source: Path, target: Path) -> float:
    """Whole folders; every block is summed and verified."""
    port = next(PORTS)
    receive = [str(ENGINE), "receive", "--port", str(port), "--directory", str(target), "--anonymous", "--quiet"]
    send = [str(ENGINE), "send", HOST, "--port", str(port), "--streams", STREAMS, "--quiet", "--files", str(source)]
    return transfer(port, receive, send, target)


def by_fdt(source: Path, target: Path) -> float | None:
    """As it comes: nothing is summed. None: it did not end in its time, which happens."""
    port = next(PORTS)
    receive = [*FDT, "-S", "-p", str(port), "-noupdates"]
    words = ["-c", HOST, "-p", str(port), "-noupdates", "-P", STREAMS, "-d", str(target), "-r", str(source)]
    try:
        return transfer(port, receive, [*FDT, *words], target)
    except subprocess.TimeoutExpired:
        return None


def files() -> list[Row]:
    """One large file, many small ones: the engine alone, or against FDT in turns."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="landspeed-bench-") as name, memory_disk(Path(name) / "disk") as disk:
        target = Path(name) / "target"
        for what, count, size in (
            (f"1 file of {LARGE_BYTES / 1e9:g} GB", 1, LARGE_BYTES),
            (f"{SMALL_FILES} files of {SMALL_BYTES // 1000} kB", SMALL_FILES, SMALL_BYTES),
        ):
            source = fill(disk / "source", count, size)
            with memory_disk(target):
                turns = [(by_engine(source, target), by_fdt(source, target) if FDT else None) for _ in range(TURNS)]
            shutil.rmtree(source)
            target.rmdir()
            gigabits = count * size * 8 / 1e9
            own = statistics.median(gigabits / turn[0] for turn in turns)
            ratios = [theirs / ours for ours, theirs in turns if theirs is not None]
            against = (
                f"; {statistics.median(ratios):.2f} × FDT ({len(ratios)} turns in which it ended)" if ratios else ""
            )
            against = against or ("; FDT did not end" if FDT else "; FDT: ENGINE_BENCH_FDT is not set")
            rows.append(
                Row(
                    f"{what} on tmpfs over loopback, {STREAMS} streams, {TURNS} turns: first to last page; against FDT",
                    f"{own:.2f} Gbit/s{against}",
                    "≥ 1 ×" if ratios else "shown",
                    not ratios or statistics.median(ratios) >= 1,
                )
            )
    return rows
