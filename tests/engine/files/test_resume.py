"""Resuming what is large: a terabyte that is there already, claimed block by block, costs no idle line."""

import ctypes
import signal
import struct
from pathlib import Path

import pytest

from tests.support.engine.files_fixtures import BLOCK, JOURNAL, PARTIAL, leftovers, slow_disk, write_file
from tests.support.engine.fixtures import Bench, wait_until
from tests.support.engine.hostile import XXHASH

XXHASH.XXH3_64bits_withSeed.restype = ctypes.c_uint64
XXHASH.XXH3_64bits_withSeed.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
HEADER, CLAIM = 64, 24  # bytes of a journal


def journal(source: Path, blocks: range) -> bytes:
    """What the engine would have written after these blocks of zeros (files/journal.h)."""
    status = source.stat()
    times = [part for ns in (status.st_mtime_ns, status.st_ctime_ns) for part in divmod(ns, 10**9)]
    head = b"lsjrnl\0\1" + struct.pack(">IQQIQI", BLOCK, status.st_size, *times)
    head = head.ljust(HEADER - 8, b"\0")
    guard = XXHASH.XXH3_64bits(head, len(head))
    digest = XXHASH.XXH3_128bits(bytes(BLOCK), BLOCK)
    checksum = struct.pack(">QQ", digest.high, digest.low)
    claims = bytearray(head + struct.pack(">Q", guard))
    for block in blocks:
        claim = struct.pack(">I", block) + checksum
        claims += claim + struct.pack(">I", XXHASH.XXH3_64bits_withSeed(claim, len(claim), guard) & 0xFFFFFFFF)
    return bytes(claims)


@pytest.mark.slow
def test_a_terabyte_that_is_there_costs_no_idle_line(bench: Bench, tmp_path: Path) -> None:
    """All of it is holes but for the last blocks, which are not there yet: they come before a tenth is read back."""
    claimed, missing = 1_000_000, 64
    target = tmp_path / "target"
    target.mkdir()
    source = tmp_path / "file"
    with source.open("wb") as file:
        file.seek(claimed * BLOCK)
        file.write(b"x" * missing * BLOCK)
    with (target / f".file{PARTIAL}").open("wb") as file:
        file.truncate(claimed * BLOCK)
    claims = target / f".file{JOURNAL}"
    claims.write_bytes(journal(source, range(claimed)))
    receiver = bench.receive("--one-off", "--directory", str(target), "--anonymous", "--direct", "off")
    sender = bench.send("--streams", "2", "--files", str(source))
    whole = HEADER + (claimed + missing) * CLAIM
    wait_until(lambda: claims.stat().st_size >= whole or None, 60, sender.process)
    sender.process.send_signal(signal.SIGINT)
    assert sender.wait() == 1
    assert receiver.wait() == 1
    files = bench.result("receive")["files"]
    assert files["blocks_verified"] == missing
    assert files["blocks_resumed"] + files["blocks_unread"] == claimed
    assert files["blocks_unproved"] == 0
    assert files["blocks_unread"] > 0.9 * claimed
    assert bench.result()["files"]["blocks_sent"] == missing


def test_a_name_that_is_locked_late_is_not_anothers_file(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who opens the partial file of one that finishes before the lock is taken leaves that one's file alone."""
    target, gate = tmp_path / "target", tmp_path / "gate"
    target.mkdir()
    sources = {name: tmp_path / name / "file" for name in "ab"}
    for name, source in sources.items():
        source.parent.mkdir()
        write_file(source, 3 * BLOCK + ord(name))
    with monkeypatch.context() as patch:
        slow_disk(tmp_path, patch, lock_gate=str(gate))
        receiver = bench.start("receive", "--directory", str(target), "--anonymous", "--clients", "2")
        receiver.wait_for("listening")
    first = bench.send("--pacing", "16M", "--files", str(sources["a"]))  # 1.5 s
    wait_until(lambda: (target / f".file{PARTIAL}").exists() or None, 20, first.process)
    gate.touch()
    second = bench.send("--files", str(sources["b"]))
    wait_until(lambda: (tmp_path / "gate.reached").exists() or None, 20, second.process)
    assert first.wait() == 0, first.errors
    whole = (target / "file").stat()
    with (target / "file").open("rb") as file:
        gate.unlink()
        assert second.wait() == 0, second.errors
        assert file.read() == sources["a"].read_bytes()  # as the first one was told
    assert (target / "file").read_bytes() == sources["b"].read_bytes()
    assert (target / "file").stat().st_ino != whole.st_ino
    assert leftovers(target) == []
