"""Trees of files for tests of the engine's transfers: made, compared, and carried over a faulty wire."""

import contextlib
import os
import shutil
import socket
import stat
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from numpy.random import default_rng

from tests.support import builds
from tests.support.places import PROGRAMS

BLOCK = 1 << 20
RECORD = 48  # bytes of a block's header
SETTLED_S = 60
PARTIAL = ".landspeed-partial"
JOURNAL = ".landspeed-journal"


def write_file(path: Path, size: int, seed: int = 0) -> None:
    """A file of that size with bytes that do not repeat."""
    path.write_bytes(default_rng([*os.fsencode(path.name), size, seed]).bytes(size))


def large_file(folder: Path) -> Path:
    """A file of 64 MB; who asks again has the same, as it takes longer to write than most tests."""
    file = folder / "64-MB"
    if not file.exists():
        file.write_bytes(b"\1" * (64 << 20))
    return file


def slow_disk(folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: int | str) -> None:
    """What is started from now on finds a disk as slow_disk.c says, with DISK_… from the settings."""
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    library = folder / "slow_disk.so"
    source = PROGRAMS / "slow_disk.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    monkeypatch.setenv("LD_PRELOAD", builds.preloaded(library))
    for name, value in settings.items():
        monkeypatch.setenv(f"DISK_{name.upper()}", str(value))


def make_tree(root: Path) -> Path:
    """Sizes around the block's, modes, old times, nothing in a file and in a directory, links, odd names."""
    root.mkdir(parents=True)
    for size in (0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7):
        write_file(root / f"size-{size}", size)
    odd = [
        "with space",
        "new\nline",
        "back\\slash",
        "ümlaut",
        "-dash",
        ".hidden",
        "x" * 255,
        "\udcff\udc80",
        "quote\"'",
    ]
    (root / "odd").mkdir()
    for name in odd:
        write_file(root / "odd" / name, 100)
    (root / "deep" / "deeper" / "deepest").mkdir(parents=True)
    write_file(root / "deep" / "deeper" / "deepest" / "file", 5000)
    (root / "empty").mkdir()
    (root / "inside").symlink_to("deep/deeper")
    (root / "deep" / "up").symlink_to("../size-1")
    with (root / "sparse").open("wb") as file:
        file.truncate(7 * BLOCK + 5)
        file.seek(3 * BLOCK + 17)
        file.write(b"island")
    for number, path in enumerate(sorted(root.rglob("*"))):
        if not path.is_symlink() and path.is_file():
            path.chmod([0o600, 0o644, 0o755, 0o400, 0o777][number % 5])
        os.utime(path, ns=(0, 10**18 + number * 1_000_000_007), follow_symlinks=False)
    (root / "empty").chmod(0o500)
    os.utime(root, ns=(0, 123_456_789_012_345_678))
    return root


def describe(root: Path) -> dict[str, tuple[object, ...]]:
    """All that must be the same at both ends: kind, mode, mtime, and bytes or target, of each path."""
    found: dict[str, tuple[object, ...]] = {}
    for path in [root, *root.rglob("*")]:
        status = path.lstat()
        name = "." if path == root else str(path.relative_to(root))
        if stat.S_ISLNK(status.st_mode):
            found[name] = ("link", status.st_mtime_ns, str(path.readlink()))
        elif stat.S_ISDIR(status.st_mode):
            found[name] = ("directory", stat.S_IMODE(status.st_mode), status.st_mtime_ns)
        elif stat.S_ISREG(status.st_mode):
            content = path.read_bytes()
            found[name] = ("file", stat.S_IMODE(status.st_mode), status.st_mtime_ns, len(content), hash(content))
        else:
            found[name] = ("neither",)
    return found


def block_header(entry: int, block: int, length: int = BLOCK) -> bytes:
    """How the header of a full block begins on the wire."""
    return b"lsf\x01" + struct.pack(">IIIQ", 3, entry, length, block * BLOCK)


def leftovers(root: Path) -> list[Path]:
    """Unfinished files and journals below `root`."""
    return list(root.rglob(".*.landspeed-*"))


class Wire:
    """Carries TCP connections from 127.0.0.2 to the same port of 127.0.0.1, and harms what it carries.

    The engine's data connections go to the port that the receiver announces, at the address of the control
    connection: with the same port numbers at two loopback addresses nothing in the protocol has to be changed.
    """

    def __init__(self, control_port: int, data_port: int) -> None:
        self.data_port = data_port
        self.harmed_headers: list[bytes] = []  # the block after each gets a bit turned over, once
        self.cut_at: int | None = None  # all connections are ended there, once the receiver has `settled`
        self.settled: Callable[[], bool] = lambda: True
        self.carried = 0
        self.lock = threading.Lock()
        self.sockets: list[socket.socket] = []
        self.threads: list[threading.Thread] = []
        for port in (control_port, data_port):
            listener = socket.create_server(("127.0.0.2", port), backlog=64)
            self.sockets.append(listener)
            self._start(self._accept, listener, port)

    def _start(self, body: object, *arguments: object) -> None:
        thread = threading.Thread(target=body, args=arguments, daemon=True)  # pyright: ignore[reportArgumentType]
        self.threads.append(thread)
        thread.start()

    def _accept(self, listener: socket.socket, port: int) -> None:
        while True:
            try:
                near, _ = listener.accept()
                far = socket.create_connection(("127.0.0.1", port))
            except OSError:
                return
            with self.lock:
                self.sockets += [near, far]
            self._start(self._carry, near, far, port == self.data_port)
            self._start(self._carry, far, near, False)

    def _harm(self, chunk: bytes, before: bytes, position: int, targets: list[int]) -> bytes:
        """The chunk at `position` of a connection, of which `before` is what came last."""
        seen = before + chunk
        with self.lock:
            for header in list(self.harmed_headers):
                if (at := seen.find(header)) >= 0:
                    self.harmed_headers.remove(header)
                    targets.append(position - len(before) + at + RECORD + 5000)
            self.carried += len(chunk)
            if self.cut_at is not None and self.carried >= self.cut_at:
                self._await_settled()
                self._reset()
        harmed = bytearray(chunk)
        for at in targets:
            if position <= at < position + len(chunk):
                harmed[at - position] ^= 0x10
        return bytes(harmed)

    def _await_settled(self) -> None:
        """What was carried may be in sockets still; meanwhile nothing more is (the lock is held)."""
        end = time.monotonic() + SETTLED_S
        while not self.settled() and time.monotonic() < end:
            time.sleep(0.01)

    def _reset(self) -> None:
        for each in self.sockets[2:]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)  # also wakes the thread that waits for it

    def _carry(self, source: socket.socket, target: socket.socket, harmed: bool) -> None:
        before, position, targets = b"", 0, []
        try:
            while chunk := source.recv(1 << 16):
                target.sendall(self._harm(chunk, before, position, targets) if harmed else chunk)
                before = (before + chunk)[-RECORD:]
                position += len(chunk)
            target.shutdown(socket.SHUT_WR)
        except (OSError, ValueError):
            return

    def close(self) -> None:
        """End all of it."""
        for each in self.sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(5)
        for each in self.sockets:
            each.close()
