"""A journal vouches for blocks under the protection and the key that they came with, and for no other."""

import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.engine.files_fixtures import BLOCK, JOURNAL, write_file
from tests.support.engine.fixtures import Bench, Program, wait_until

BLOCKS = 24
ANEW = "1 unfinished files are not resumed, but begun anew"


def started(bench: Bench, target: Path, source: Path, key: Path, mode: str, *pacing: str) -> tuple[Program, Program]:
    """A receiver and a sender of the file."""
    receiver = bench.receive("--one-off", "--directory", str(target), "--key", str(key))
    words = ("--key", str(key), "--protect", mode, "--streams", "1", *pacing, "--files", str(source))
    return receiver, bench.send(*words)


def cut(bench: Bench, target: Path, source: Path, key: Path, mode: str) -> int:
    """Some blocks, and then an interrupt, two seconds before the last one: how many the journal claims."""
    receiver, sender = started(bench, target, source, key, mode, "--pacing", "100M")
    journal = target / f".file{JOURNAL}"
    wait_until(lambda: True if journal.exists() and journal.stat().st_size > 64 + 3 * 24 else None, 20, sender.process)
    sender.process.send_signal(signal.SIGINT)
    assert sender.wait() == 1
    receiver.wait()
    return (journal.stat().st_size - 64) // 24


@pytest.mark.parametrize(
    ("before", "after", "same_key", "resumes"),
    [
        ("none", "none", True, True),
        ("none", "none", False, True),
        ("mac", "mac", True, True),
        ("aead", "aead", True, True),
        ("none", "mac", True, False),
        ("none", "aead", True, False),
        ("mac", "aead", True, False),
        ("aead", "mac", True, False),
        ("aead", "none", True, False),
        ("mac", "mac", False, False),
        ("aead", "aead", False, False),
    ],
)
def test_only_what_came_with_the_same_trust_is_resumed(
    bench: Bench, before: str, after: str, same_key: bool, resumes: bool
) -> None:
    source, target = bench.folder / "file", bench.folder / "target"
    keys = [bench.folder / "key", bench.folder / ("key" if same_key else "other")]
    target.mkdir()
    write_file(source, BLOCKS * BLOCK)
    for key in dict.fromkeys(keys):
        subprocess.run([str(bench.binary), "key", str(key)], check=True)
    claimed = cut(bench, target, source, keys[0], before)
    assert 0 < claimed < BLOCKS
    receiver, sender = started(bench, target, source, keys[1], after)
    assert sender.wait() == 0, sender.errors
    assert receiver.wait() == 0, receiver.errors
    files = bench.result()["files"]
    assert files["blocks_skipped"] == (claimed if resumes else 0)
    assert files["receiver"]["files_anew"] == (0 if resumes else 1)
    for end in (sender, receiver):
        assert (ANEW in end.errors) == (not resumes)
    assert (target / "file").read_bytes() == source.read_bytes()


KEPT = "1 files were there already, with their size and mtime: what is in them is not compared"


@pytest.mark.parametrize(("after", "told"), [("none", False), ("mac", True), ("aead", True)])
def test_a_whole_file_that_is_kept_is_not_called_proved(bench: Bench, after: str, told: bool) -> None:
    """It came without protection; asked for again with it, it is as it was, and both ends say what that means."""
    source, target, key = bench.folder / "file", bench.folder / "target", bench.folder / "key"
    target.mkdir()
    write_file(source, 2 * BLOCK)
    subprocess.run([str(bench.binary), "key", str(key)], check=True)
    for mode in ("none", after):
        receiver, sender = started(bench, target, source, key, mode)
        assert sender.wait() == 0, sender.errors
        assert receiver.wait() == 0, receiver.errors
    files = bench.result()["files"]["receiver"]
    assert (files["files_kept"], files["files_kept_unproved"]) == (1, int(told))
    for end in (sender, receiver):
        assert (KEPT in end.errors) == told
