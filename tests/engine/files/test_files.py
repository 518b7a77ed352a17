"""Transfers of files over the loopback device: trees arrive as they were; interrupted transfers are resumed."""

import contextlib
import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support import builds
from tests.support.engine.files_fixtures import (
    BLOCK,
    JOURNAL,
    PARTIAL,
    Wire,
    block_header,
    describe,
    leftovers,
    make_tree,
    slow_disk,
    write_file,
)
from tests.support.engine.fixtures import Bench, Program, free_port, wait_until
from tests.support.engine.result import read_result
from tests.support.stopwatch import one_of_few, undisturbed


@pytest.fixture(name="target")
def target_fixture(tmp_path: Path) -> Path:
    folder = tmp_path / "target"
    folder.mkdir()
    return folder


def send_files(bench: Bench, *words: object, host: str = "127.0.0.1") -> Program:
    return bench.send("--files", *map(str, words), host=host)


def transfer(bench: Bench, target: Path, *words: object, receive: tuple[str, ...] = ()) -> dict[str, Any]:
    """One transfer that both ends are content with; the member "files" of the sender's result."""
    receiver = bench.receive("--one-off", "--directory", str(target), "--anonymous", *receive)
    sender = send_files(bench, *words)
    assert sender.wait() == 0, sender.errors + receiver.errors
    assert receiver.wait() == 0, receiver.errors
    result = bench.result()
    assert result["complete"] is True
    assert bench.result("receive")["files"]["blocks_verified"] == result["files"]["receiver"]["blocks_verified"]
    return result["files"]


def blocks_of(*paths: Path) -> int:
    return sum(-(-path.stat().st_size // BLOCK) for path in paths)


def all_files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]


@pytest.mark.parametrize("streams", [1, 4])
def test_a_tree_arrives_as_it_was(bench: Bench, tmp_path: Path, target: Path, streams: int) -> None:
    source = make_tree(tmp_path / "tree")
    files = transfer(bench, target, source, "--streams", streams)
    assert describe(target / "tree") == describe(source)
    assert leftovers(target) == []
    blocks = blocks_of(*all_files(source))
    assert files["blocks_sent"] == blocks
    assert files["blocks_zero"] == 7  # of the sparse file's eight
    assert files["receiver"]["blocks_verified"] == blocks
    assert files["receiver"]["faults"] == 0
    assert files["receiver"]["files_done"] == len(all_files(source))
    assert files["receiver"]["symlinks"] == 2
    assert files["receiver"]["directories"] == 6
    assert files["bytes"] == sum(path.stat().st_size for path in all_files(source))
    assert {row["outcome"] for row in files["outcomes"]} == {"done"}
    assert (target / "tree" / "sparse").stat().st_blocks * 512 < 2 * BLOCK


def test_one_file_many_files_and_the_contents_of_a_directory(bench: Bench, tmp_path: Path, target: Path) -> None:
    source = make_tree(tmp_path / "tree")
    for name in ("one", "two"):
        write_file(tmp_path / name, 2 * BLOCK + 1)
    transfer(bench, target, tmp_path / "one")
    assert (target / "one").read_bytes() == (tmp_path / "one").read_bytes()
    transfer(bench, target, tmp_path / "one", tmp_path / "two", f"{source}/")
    assert {path.name for path in target.iterdir()} == {path.name for path in source.iterdir()} | {"one", "two"}
    again = describe(target)
    assert {name: row for name, row in again.items() if name not in (".", "one", "two")} == {
        name: row for name, row in describe(source).items() if name != "."
    }


def test_what_is_there_is_not_sent_again(bench: Bench, tmp_path: Path, target: Path) -> None:
    source = make_tree(tmp_path / "tree")
    transfer(bench, target, source)
    (source / "size-1").chmod(0o640)
    write_file(source / "deep" / "new", 10)
    files = transfer(bench, target, source)
    assert files["blocks_sent"] == 1
    assert files["blocks_skipped"] == blocks_of(*all_files(source)) - 1
    assert files["receiver"]["files_kept"] == len(all_files(source)) - 1
    assert describe(target / "tree") == describe(source)


@pytest.mark.parametrize("policy", ["on", "off"])
def test_past_the_page_cache_or_through_it(bench: Bench, tmp_path: Path, target: Path, policy: str) -> None:
    source = make_tree(tmp_path / "tree")
    files = transfer(bench, target, source, "--direct", policy, receive=("--direct", policy))
    assert describe(target / "tree") == describe(source)
    count = len([path for path in all_files(source) if path.stat().st_size])
    assert files["files_read_direct"] == (count if policy == "on" else 0)
    assert files["receiver"]["files_written_direct"] == (count if policy == "on" else 0)


def test_without_waiting_for_the_disk(bench: Bench, tmp_path: Path, target: Path) -> None:
    write_file(tmp_path / "file", 5 * BLOCK)
    files = transfer(bench, target, tmp_path / "file", receive=("--no-sync",))
    assert files["receiver"]["synced"] is False
    assert (target / "file").read_bytes() == (tmp_path / "file").read_bytes()
    assert files["receiver"]["durable_s"] >= files["receiver"]["written_s"] > 0
    counted_bits = 8 * (5 * BLOCK - files["receiver"]["early_bytes"])
    assert files["receiver"]["goodput_bps"] == pytest.approx(counted_bits / files["receiver"]["written_s"], rel=1e-6)


@pytest.mark.slow
def test_damaged_blocks_are_found_located_and_sent_again(bench: Bench, tmp_path: Path, target: Path) -> None:
    write_file(tmp_path / "file", 20 * BLOCK)
    data_port = free_port()
    receiver = bench.receive(
        "--one-off", "--bind", "127.0.0.1", "--data-port", str(data_port), "--directory", str(target), "--anonymous"
    )
    wire = Wire(bench.port, data_port)
    wire.harmed_headers = [block_header(0, block) for block in (0, 3, 4, 11)]
    try:
        sender = send_files(bench, tmp_path / "file", host="127.0.0.2")
        assert sender.wait() == 0, sender.errors
        assert receiver.wait() == 0, receiver.errors
    finally:
        wire.close()
    files = bench.result()["files"]
    assert (target / "file").read_bytes() == (tmp_path / "file").read_bytes()
    assert files["receiver"]["faults"] == files["blocks_again"] == 4
    assert sorted(fault["offset"] // BLOCK for fault in files["receiver"]["fault_list"]) == [0, 3, 4, 11]
    assert files["blocks_sent"] == 24
    assert files["receiver"]["blocks_verified"] == 20


def journal_claims(journal: Path) -> int:
    """How many blocks a journal claims; 0 while it is not there."""
    return max(journal.stat().st_size - 64, 0) // 24 if journal.exists() else 0


def interrupted_once(
    bench: Bench, target: Path, source: Path, harm: str, share: float, *, claimed: int = 0
) -> tuple[int, int]:
    """Transfer until `share` of the bytes has come, then `harm`. What was verified, and what was skipped.

    Where it is cut, the receiver has `claimed` blocks of the only file in its journal before.
    """
    data_port = free_port()
    options = ("--bind", "127.0.0.1", "--data-port", str(data_port), "--directory", str(target), "--anonymous")
    receiver = bench.receive("--one-off", *options)
    wire = Wire(bench.port, data_port)
    total = sum(path.stat().st_size for path in all_files(source))
    wire.cut_at = int(share * total) if harm == "cut" else None
    wire.settled = lambda: not claimed or journal_claims(target / "folder" / f".file{JOURNAL}") >= claimed
    sender = bench.send("--streams", "3", "--files", str(source), host="127.0.0.2")
    try:
        if harm != "cut":
            with contextlib.suppress(AssertionError):  # it may be done before
                wait_until(lambda: wire.carried >= share * total or None, 20, sender.process)
            (sender if harm == "sender" else receiver).process.kill()
        sender.wait()
        if harm != "receiver" and sender.process.returncode != 0:
            receiver.wait_for("Error|GB in")
        receiver.process.terminate()
        receiver.wait()
    finally:
        wire.close()
    if harm == "receiver":
        return -1, -1
    files = bench.result("receive")["files"]
    # What a journal claims and nobody had read back yet is still there for the next time.
    return files["blocks_verified"], files["blocks_resumed"] + files["blocks_unread"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_killed_at_random_moments_it_resumes_until_all_is_there(
    bench: Bench, tmp_path: Path, target: Path, seed: int
) -> None:
    chance = random.Random(seed)
    source = make_tree(tmp_path / "tree")
    write_file(source / "large", 24 * BLOCK + 4321)
    for number in range(20):
        write_file(source / f"many-{number}", chance.randrange(3 * BLOCK))
    total = blocks_of(*all_files(source))
    verified = 0
    for harm in chance.sample(["sender", "receiver", "cut"], 3):
        got, resumed = interrupted_once(bench, target, source, harm, chance.uniform(0.1, 0.4))
        if got >= 0:
            assert resumed >= verified  # nothing that was verified is lost, or sent again
            verified = resumed + got
    files = transfer(bench, target, source, "--streams", 2)
    assert describe(target / "tree") == describe(source)
    assert leftovers(target) == []
    assert files["blocks_skipped"] >= verified
    assert files["blocks_skipped"] == files["receiver"]["blocks_resumed"]
    assert files["blocks_sent"] == total - files["blocks_skipped"] == files["receiver"]["blocks_verified"]


def half_way(bench: Bench, tmp_path: Path, target: Path, blocks: int) -> Path:
    """A file of which about half is at the receiver, unfinished."""
    source = tmp_path / "folder"
    source.mkdir()
    write_file(source / "file", blocks * BLOCK)
    verified, _ = interrupted_once(bench, target, source, "cut", 0.5, claimed=blocks // 4)
    assert 0 < verified < blocks
    assert len(leftovers(target)) == 2
    return source


@pytest.mark.slow
def test_each_verified_block_is_skipped_exactly(bench: Bench, tmp_path: Path, target: Path) -> None:
    source = tmp_path / "folder"
    source.mkdir()
    write_file(source / "file", 40 * BLOCK)
    verified, _ = interrupted_once(bench, target, source, "cut", 0.5)
    files = transfer(bench, target, source)
    assert files["blocks_skipped"] == verified
    assert files["blocks_sent"] == 40 - verified
    assert describe(target / "folder") == describe(source)


@pytest.mark.slow
def test_a_claim_that_the_disk_does_not_prove_is_sent_again(bench: Bench, tmp_path: Path, target: Path) -> None:
    source = half_way(bench, tmp_path, target, 40)
    claims = ((target / "folder" / f".file{JOURNAL}").stat().st_size - 64) // 24
    first = int.from_bytes((target / "folder" / f".file{JOURNAL}").read_bytes()[64:68], "big")
    with (target / "folder" / f".file{PARTIAL}").open("r+b") as file:
        file.seek(first * BLOCK + 1000)
        file.write(b"power failure")
    files = transfer(bench, target, source)
    assert files["receiver"]["blocks_unproved"] == 1
    assert files["blocks_skipped"] == claims - 1
    assert describe(target / "folder") == describe(source)


@pytest.mark.slow
def test_claims_are_proved_in_the_background_while_the_rest_is_sent(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each claimed block takes 0.2 s to read: one after the other, and before the rest, would be seen."""

    def attempt(number: int) -> None:
        source, target = tmp_path / str(number) / "folder", tmp_path / f"target-{number}"
        source.mkdir(parents=True)
        target.mkdir()
        write_file(source / "file", 160 * BLOCK)
        verified, _ = interrupted_once(bench, target, source, "cut", 0.5, claimed=45)
        slow_disk(tmp_path, monkeypatch, read_ms=200)
        # Reading is progress too: nothing else moves for three seconds, with patience for two.
        receiver = bench.receive("--one-off", "--directory", str(target), "--anonymous", "--stall", "2s")
        monkeypatch.delenv("LD_PRELOAD")
        sender = send_files(bench, source, "--interval", "10ms", "--stall", "2s")
        assert sender.wait() == 0, sender.errors
        assert receiver.wait() == 0, receiver.errors
        files = bench.result()["files"]
        serial_s = verified * 0.2
        span_s = 16 * 0.2  # what a thread takes at once
        assert 40 < verified < 120
        assert files["receiver"]["blocks_resumed"] == files["blocks_skipped"] == verified
        assert files["blocks_sent"] == 160 - verified
        assert (target / "folder" / "file").read_bytes() == (source / "file").read_bytes()
        assert span_s < files["receiver"]["durable_s"]
        if builds.sanitized():
            return  # which takes its own time
        # Three to eight spans, at least four threads: no more than two after the other.
        durable_s, written_s = files["receiver"]["durable_s"], files["receiver"]["written_s"]
        undisturbed(durable_s < 0.75 * serial_s, f"proved after {durable_s:.2f} s of {serial_s:.2f} s")
        # All bytes that travelled were written before anybody can have read more than half of a span.
        undisturbed(written_s < span_s / 2, f"written after {written_s:.2f} s")
        arrived = [row for row in bench.rows("receive") if row["bytes"] >= (160 - verified) * BLOCK]
        undisturbed(arrived[0]["time_ns"] / 1e9 < span_s / 2, f"arrived after {arrived[0]['time_ns'] / 1e9:.2f} s")

    one_of_few(attempt)


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["torn", "header", "random", "empty", "gone"])
def test_a_damaged_journal_costs_blocks_and_nothing_else(
    bench: Bench, tmp_path: Path, target: Path, damage: str
) -> None:
    source = half_way(bench, tmp_path, target, 20)
    journal = target / "folder" / f".file{JOURNAL}"
    whole = journal.read_bytes()
    changed = {
        "torn": whole[:-7],
        "header": b"\0" + whole[1:],
        "random": whole[:64] + os.urandom(len(whole) - 64),
        "empty": b"",
    }
    if damage == "gone":
        journal.unlink()
    else:
        journal.write_bytes(changed[damage])
    files = transfer(bench, target, source)
    claims = (len(whole) - 64) // 24
    assert files["blocks_skipped"] == (claims - 1 if damage == "torn" else 0)
    assert describe(target / "folder") == describe(source)
    assert leftovers(target) == []


@pytest.mark.slow
def test_another_version_of_the_source_starts_anew(bench: Bench, tmp_path: Path, target: Path) -> None:
    source = half_way(bench, tmp_path, target, 20)
    times = (source / "file").stat()
    write_file(source / "file", 20 * BLOCK, seed=1)
    os.utime(source / "file", ns=(times.st_atime_ns, times.st_mtime_ns))  # the mtime lies, the ctime does not
    files = transfer(bench, target, source)
    assert files["blocks_skipped"] == 0
    assert describe(target / "folder") == describe(source)


@pytest.mark.slow
@pytest.mark.parametrize("end", ["send", "receive"])
def test_a_signal_leaves_a_result_and_what_can_be_resumed(bench: Bench, tmp_path: Path, target: Path, end: str) -> None:
    write_file(tmp_path / "file", 64 * BLOCK)
    receiver = bench.receive("--one-off", "--directory", str(target), "--anonymous")
    sender = bench.send("--pacing", "200M", "--files", str(tmp_path / "file"))
    journal = target / f".file{JOURNAL}"
    wait_until(lambda: (journal.exists() and journal.stat().st_size > 64 + 24) or None, 20, sender.process)
    (sender if end == "send" else receiver).process.send_signal(signal.SIGINT)
    assert sender.wait() == 1
    assert receiver.wait() == 1
    result = bench.result()
    assert result["complete"] is False
    assert bench.result(end)["signal"] == "SIGINT"
    assert "interrupted by SIGINT" in result["error"]
    assert 2 <= result["files"]["receiver"]["blocks_verified"] < 64
    assert result["files"]["receiver"]["unfinished"] == 1
    assert result["files"]["outcomes"] == [
        {"path": "file", "outcome": "unfinished", "bytes": 64 * BLOCK, "error": None}
    ]
    files = transfer(bench, target, tmp_path / "file")
    assert files["blocks_skipped"] == result["files"]["receiver"]["blocks_verified"]
    assert (target / "file").read_bytes() == (tmp_path / "file").read_bytes()


def test_the_result_is_one_of_the_engine(bench: Bench, tmp_path: Path, target: Path) -> None:
    write_file(tmp_path / "file", 3 * BLOCK)
    transfer(bench, target, tmp_path / "file")
    result = read_result(bench.folder / "send.json")
    assert result.receive_mode == "file"
    assert result.delivery is True
    assert result.files is not None
    assert result.files["checksum"] == "xxh3-128"
    assert result.bytes > 3 * BLOCK  # with headers and list
    assert result.sending.way == "write"


@pytest.mark.slow
def test_two_transfers_at_once_do_not_mix(bench: Bench, tmp_path: Path, target: Path) -> None:
    """Both want to write the same file: one does, the other is told; files of its own arrive."""
    for name in ("one", "two"):
        (tmp_path / name / "tree").mkdir(parents=True)
        write_file(tmp_path / name / "tree" / "same", 16 * BLOCK, seed=len(name))
        write_file(tmp_path / name / "tree" / name, BLOCK)
    other = Bench(bench.binary, tmp_path / "two")
    bench.receive("--directory", str(target), "--anonymous")
    other.receive("--directory", str(target), "--anonymous")
    first = bench.send("--pacing", "50M", "--files", str(tmp_path / "one" / "tree"))
    journal = target / "tree" / f".same{JOURNAL}"
    wait_until(lambda: (journal.exists() and journal.stat().st_size > 64) or None, 20, first.process)
    second = other.send("--files", str(tmp_path / "two" / "tree"))
    assert second.wait() == 1
    assert other.result()["error"] == ("1 of 3 entries failed; 'tree/same': cannot be written: Device or resource busy")
    assert first.wait() == 0, first.errors
    assert (target / "tree" / "same").read_bytes() == (tmp_path / "one" / "tree" / "same").read_bytes()
    assert (target / "tree" / "two").read_bytes() == (tmp_path / "two" / "tree" / "two").read_bytes()
    other.close()
