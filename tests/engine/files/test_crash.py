"""The receiver's host crashes at any write: what its disk then has is resumed, and nothing else is.

A run is written down call by call; for each crash point a disk is made that has lost what it may (losing_disk.py), and
the same command is given again. In CI a few points; `make fuzz-engine` has a thousand, of several runs.
"""

import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support import builds
from tests.support.engine import losing_disk
from tests.support.engine.files_fixtures import BLOCK, JOURNAL, PARTIAL, describe, leftovers, write_file
from tests.support.engine.fixtures import Bench
from tests.support.places import PROGRAMS

POINTS = int(os.environ.get("LANDSPEED_CRASHES", "40"))
RUNS = max(POINTS // 100, 1)  # threads write in another order each time
HEADER, ENTRY = 64, 24  # bytes of a journal's header and of a claim (engine/src/files/journal.h)


def make_source(root: Path) -> None:
    """Files of several blocks, of one, of none; one with a hole; a tree of directories."""
    (root / "deep" / "deeper").mkdir(parents=True)
    write_file(root / "large", 3 * BLOCK + 7)
    write_file(root / "deep" / "whole", 2 * BLOCK)
    write_file(root / "deep" / "deeper" / "one", 5000)
    write_file(root / "deep" / "deeper" / "more", BLOCK + 1)
    (root / "empty").touch()
    (root / "link").symlink_to("deep/whole")
    with (root / "sparse").open("wb") as file:
        file.truncate(3 * BLOCK)
        file.seek(2 * BLOCK)
        file.write(b"island")


@pytest.fixture(name="library")
def library_fixture(tmp_path: Path) -> Path:
    """What writes down."""
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    library = tmp_path / "losing_disk.so"
    words = ["cc", "-shared", "-fPIC", "-o", str(library), str(PROGRAMS / "losing_disk.c"), "-ldl"]
    subprocess.run(words, check=True)
    return library


class Copying:
    """The command that is given again and again: the source goes into a folder."""

    def __init__(self, bench: Bench, source: Path, library: Path) -> None:
        self.bench, self.source, self.library = bench, source, library

    def to(self, target: Path, log: Path, patch: pytest.MonkeyPatch, *options: str) -> dict:
        """What the receiver says of the files; what was done to the folder is in the log."""
        log.unlink(missing_ok=True)
        with patch.context() as inner:
            inner.setenv("LD_PRELOAD", builds.preloaded(self.library))
            inner.setenv("DISK_LOG", str(log))
            words = ["--one-off", "--quiet", "--directory", str(target), "--anonymous"]
            server = self.bench.start("receive", *words, *options)
        server.wait_for("listening")
        words = [str(self.bench.binary), "send", "127.0.0.1", "--port", str(self.bench.port), "--streams", "2"]
        run = subprocess.run(
            [*words, "--quiet", "--json", "-", "--files", f"{self.source}/"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60 * builds.patience(),
        )
        assert server.wait() == 0, server.errors
        assert run.returncode == 0, run.stderr
        self.bench.programs.clear()
        return json.loads(run.stdout)["files"]["receiver"]


def claims(journal: bytes, written: set[tuple[bytes, bytes]]) -> set[int]:
    """The blocks that a journal names: those of its claims that were written so, under that header."""
    header = journal[:HEADER]
    found = set[int]()
    for at in range(HEADER, len(journal), ENTRY):
        if (header, journal[at : at + ENTRY]) in written:
            found.add(int.from_bytes(journal[at : at + 4], "big"))
    return found


def written_claims(steps: list[losing_disk.Step]) -> set[tuple[bytes, bytes]]:
    """Header and claim, of each claim that was written."""
    headers: dict[int, bytes] = {}
    found = set[tuple[bytes, bytes]]()
    for step in steps:
        if step.kind == "write" and step.other == 0 and len(step.first) == HEADER:
            headers[step.node] = step.first
        elif step.kind == "write" and len(step.first) == ENTRY and step.node in headers:
            found.add((headers[step.node], step.first))
    return found


def right_blocks(source: Path, target: Path, written: set[tuple[bytes, bytes]]) -> int:
    """How many blocks a journal of the target names and its partial file has; and those of files that are whole."""
    count = 0
    for path in target.rglob("*"):
        same = source / path.relative_to(target)
        if not path.is_symlink() and same.is_file() and path.stat().st_mtime_ns == same.stat().st_mtime_ns:
            count += -(-same.stat().st_size // BLOCK)
    for partial in target.rglob(f".*{PARTIAL}"):
        name = partial.name[1 : -len(PARTIAL)]
        journal = partial.with_name(f".{name}{JOURNAL}")
        content = (source / partial.relative_to(target).with_name(name)).read_bytes()
        if len(content) <= BLOCK or not journal.exists():
            continue
        have = partial.read_bytes().ljust(len(content), b"\0")
        for block in claims(journal.read_bytes(), written):
            part = slice(block * BLOCK, (block + 1) * BLOCK)
            count += have[part] == content[part]
    return count


def check_names(source: Path, target: Path) -> None:
    """What has its name is whole: the name came after the bytes were on the disk."""
    for path in target.rglob("*"):
        if path.is_file() and not path.is_symlink() and not path.name.endswith((PARTIAL, JOURNAL)):
            assert path.read_bytes() == (source / path.relative_to(target)).read_bytes(), path


def without_itself(root: Path) -> dict[str, tuple[object, ...]]:
    """All that is in the folder: its own times are nobody's."""
    return {name: what for name, what in describe(root).items() if name != "."}


def crash(disk: losing_disk.Disk, target: Path, chance: random.Random | None) -> None:
    """A new folder with what is left."""
    shutil.rmtree(target, ignore_errors=True)
    disk.crash(target, chance)


@pytest.fixture(name="copying")
def copying_fixture(bench: Bench, library: Path, tmp_path: Path) -> Copying:
    """Of a source that is made."""
    source = tmp_path / "source"
    source.mkdir()
    make_source(source)
    return Copying(bench, source, library)


def recorded(copying: Copying, folder: Path, patch: pytest.MonkeyPatch, *options: str) -> tuple[losing_disk.Disk, list]:
    """An empty disk, and what a whole run did to it."""
    target = folder / "target"
    target.mkdir()
    disk = losing_disk.Disk(target)
    copying.to(target, folder / "log", patch, *options)
    return disk, losing_disk.steps(folder / "log")


@pytest.mark.slow
@pytest.mark.parametrize("run", range(RUNS))
def test_what_a_crash_left_is_resumed_and_no_more(
    copying: Copying, tmp_path: Path, run: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No block that the disk has is sent again, none that it lacks is believed; all is whole in the end."""
    source, again, log = copying.source, tmp_path / "again", tmp_path / "log"
    whole = without_itself(source)
    disk, steps = recorded(copying, tmp_path, monkeypatch)
    written = written_claims(steps)
    chance = random.Random(run)
    points = sorted(chance.randrange(len(steps) + 1) for _ in range(POINTS // RUNS))
    done = resumed = 0
    for point in points:
        for step in steps[done:point]:
            disk.do(step)
        done = point
        crash(disk, again, chance)
        for more in (chance.random() < 0.3, False):  # and once more, while it resumes
            check_names(source, again)
            left, expected = losing_disk.Disk(again), right_blocks(source, again, written)
            files = copying.to(again, log, monkeypatch)
            assert files["blocks_resumed"] == expected, f"point {point} of run {run}"
            resumed += expected
            assert without_itself(again) == whole
            assert leftovers(again) == []
            if not more:
                break
            resuming = losing_disk.steps(log)
            for step in resuming[: chance.randrange(len(resuming) + 1)]:
                left.do(step)
            written |= written_claims(resuming)
            crash(left, again, chance)
    assert resumed > 0


def test_what_is_told_to_be_on_the_disk_is(copying: Copying, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the result a crash takes nothing, with all that nobody flushed lost: bytes, names, directories, links."""
    disk, steps = recorded(copying, tmp_path, monkeypatch)
    for step in steps:
        disk.do(step)
    crash(disk, tmp_path / "again", None)
    check_names(copying.source, tmp_path / "again")
    assert without_itself(tmp_path / "again").keys() == without_itself(copying.source).keys()


def test_without_flushes_the_disk_loses(copying: Copying, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk of these tests is no better than others: --no-sync leaves names without bytes."""
    disk, steps = recorded(copying, tmp_path, monkeypatch, "--no-sync")
    for step in steps:
        disk.do(step)
    disk.root.sync()
    crash(disk, tmp_path / "again", None)
    with pytest.raises(AssertionError):
        check_names(copying.source, tmp_path / "again")
