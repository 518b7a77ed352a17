"""`bench_engine.py files`: files on tmpfs over loopback, beside FDT and EScp where they are to be had.

ENGINE_BENCH_FDT is the command that starts FDT: `java -cp CLASSES:JARS lia.util.net.copy.FDT`, or `java -jar fdt.jar`;
ENGINE_BENCH_ESCP is EScp's program, which starts its other end by a stand-in for ssh that stays on this host.
ENGINE_BENCH_FILE_GB is the size of the one large file (8); source and target need twice as much memory.

All programs are timed by the target's file system: from the first page that it has to the last one. So neither their
start, nor what FDT waits at its end (seconds), nor the engine's last words count. EScp always encrypts and sums, so the
engine does, too, beside it; FDT does neither.
"""

import itertools
import os
import shlex
import shutil
import signal
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.bench.bench import Row
from tests.bench.engine.bench_engine_path import ENGINE, TURNS

FDT = shlex.split(os.environ.get("ENGINE_BENCH_FDT", ""))
ESCP = os.environ.get("ENGINE_BENCH_ESCP", "")
# What ssh would do, without another host: the words after the host's name are the command.
STAND_IN = '#!/bin/sh\nwhile [ "$1" != 127.0.0.1 ]; do shift; done; shift; exec "$@"\n'
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


def transfer(port: int, receive: list[str] | None, send: list[str], target: Path) -> float:
    """Seconds between the first page and the last one at the target; without `receive` the sender starts that end."""
    for left in target.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    watch = Watch(target)
    watch.start()
    server = subprocess.Popen(receive, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) if receive else None
    try:
        while server is not None and not listening(port):
            if server.poll() is not None:
                raise RuntimeError(f"{shlex.join(receive or [])}: status {server.returncode}")
            time.sleep(0.05)
        null = subprocess.DEVNULL
        sender = subprocess.Popen(send, stdin=null, stdout=null, stderr=null, start_new_session=True)
        try:
            if (status := sender.wait(LIMIT_S)) != 0:
                raise RuntimeError(f"{shlex.join(send)}: status {status}")
        finally:
            # What it has started does not always end with it.
            with suppress(ProcessLookupError):
                os.killpg(sender.pid, signal.SIGKILL)
            sender.wait()
    finally:
        if server is not None:
            server.terminate()
            server.wait()
        watch.stop.set()
        watch.join()
    return watch.last_s - watch.first_s


def by_engine(source: Path, target: Path, *key: str) -> float:
    """Whole folders; every block is summed and verified, and encrypted with a key."""
    port = str(next(PORTS))
    trust = key or ["--anonymous"]
    receive = [str(ENGINE), "receive", "--port", port, "--directory", str(target), "--quiet", *trust]
    send = [str(ENGINE), "send", HOST, "--port", port, "--streams", STREAMS, "--quiet", "--files", str(source), *key]
    return transfer(int(port), receive, send, target)


def by_escp(source: Path, target: Path, ssh: Path) -> float | None:
    """As it comes. None: it failed, which happens with many files, or did not end in its time."""
    words = ["--ssh", str(ssh), "--escp", ESCP, "--escp_port", str(next(PORTS)), "--parallel", STREAMS, "--nodirect"]
    try:
        return transfer(0, None, [ESCP, *words, "--recursive", str(source), f"{HOST}:{target}"], target)
    except (subprocess.TimeoutExpired, RuntimeError):
        return None


def by_fdt(source: Path, target: Path) -> float | None:
    """As it comes: nothing is summed. None: it did not end in its time, which happens."""
    port = next(PORTS)
    receive = [*FDT, "-S", "-p", str(port), "-noupdates"]
    words = ["-c", HOST, "-p", str(port), "-noupdates", "-P", STREAMS, "-d", str(target), "-r", str(source)]
    try:
        return transfer(port, receive, [*FDT, *words], target)
    except subprocess.TimeoutExpired:
        return None


def against(name: str, start: str, turns: list[tuple[float, float | None]], figure: str) -> Row:
    """The engine's goodput, and how much longer the other program takes; seconds of both in each turn."""
    ratios = [theirs / ours for ours, theirs in turns if theirs is not None]
    if ratios:
        figure += f"; {statistics.median(ratios):.2f} × {name} ({len(ratios)} turns of {len(turns)} in which it ended)"
    else:
        figure += f"; {name} did not end"
    return Row(start, figure, "≥ 1 ×" if ratios else "shown", not ratios or statistics.median(ratios) >= 1)


def files() -> list[Row]:
    """One large file, many small ones: the engine alone, or against the others in turns."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="landspeed-bench-") as name, memory_disk(Path(name) / "disk") as disk:
        target, ssh, key = Path(name) / "target", Path(name) / "ssh", Path(name) / "key"
        ssh.write_text(STAND_IN)
        ssh.chmod(0o755)
        subprocess.run([str(ENGINE), "key", str(key)], check=True)
        for what, count, size in (
            (f"1 file of {LARGE_BYTES / 1e9:g} GB", 1, LARGE_BYTES),
            (f"{SMALL_FILES} files of {SMALL_BYTES // 1000} kB", SMALL_FILES, SMALL_BYTES),
        ):
            source = fill(disk / "source", count, size)
            gigabits = count * size * 8 / 1e9
            start = f"{what} on tmpfs over loopback, {STREAMS} streams, {TURNS} turns"

            def goodput(seconds: list[float], gigabits: float = gigabits) -> str:
                return f"{statistics.median(gigabits / each for each in seconds):.2f} Gbit/s"

            with memory_disk(target):
                # A virtual machine gets memory when it first touches it: that is not the first program's to wait for.
                shutil.rmtree(fill(target / "before", count, size))
                plain = [(by_engine(source, target), by_fdt(source, target) if FDT else None) for _ in range(TURNS)]
                sealed = [
                    (by_engine(source, target, "--key", str(key)), by_escp(source, target, ssh) if ESCP else None)
                    for _ in range(TURNS)
                ]
            shutil.rmtree(source)
            target.rmdir()
            for kind, program, there, turns in (
                ("in clear", "FDT", FDT, plain),
                ("encrypted", "EScp", ESCP, sealed),
            ):
                figure = goodput([ours for ours, _ in turns])
                told = f"{start}, {kind}: first to last page; against {program}"
                rows.append(against(program, told, turns, figure) if there else Row(told, figure, "shown", True))
    return rows
