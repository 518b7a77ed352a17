"""Few descriptors: files wait for the disk with theirs closed soon, and the server lives."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_fixtures import Bench, Program, bench_fixture, engine_fixture  # noqa: F401  (fixtures)
from files_fixtures import describe, leftovers, slow_disk

FILES = 5000
FEW = 64


def limited(bench: Bench, soft: int, hard: int, *words: str) -> Program:
    """A server with those limits of descriptors, that listens already."""
    script = 'ulimit -Sn "$1" && ulimit -Hn "$2" && shift 2 && exec "$@"'
    engine = [str(bench.binary), "receive", "--port", str(bench.port), "--quiet", *words]
    program = Program(["sh", "-c", script, "sh", str(soft), str(hard), *engine], bench.folder, "limited")
    bench.programs.append(program)
    program.wait_for("listening")
    return program


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 100], ids=["empty", "small"])
def test_many_small_files_at_a_slow_disk_need_few_descriptors(
    bench: Bench, tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list or the streams wait for the disk: what is whole does not pile up with its descriptors."""
    source, target = tmp_path / "tree", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    for number in range(FILES):
        (source / f"{number}").write_bytes(b"x" * size)
    with monkeypatch.context() as patch:
        slow_disk(tmp_path, patch, sync_ms=4)
        limited(bench, FEW, FEW, "--directory", str(target), "--anonymous")
    sender = bench.send("--quiet", "--streams", "4", "--files", str(source))
    assert sender.wait(120) == 0, sender.errors
    files = bench.result()["files"]["receiver"]
    assert (files["files_done"], files["failed"], files["unfinished"]) == (FILES, 0, 0)
    assert describe(target / "tree") == describe(source)
    assert leftovers(target) == []
