"""A full disk and a kill at each step of a rollout: what was changed is written down, and all of it comes back."""

import os
import resource
from pathlib import Path
from typing import Any

import pytest

from tests.support.settings_fixtures import Ask, Modules

SETTINGS = 4


@pytest.fixture(name="files")
def files_fixture(tmp_path: Path) -> list[Path]:
    """Settings of a host."""
    return [tmp_path / f"value-{number}" for number in range(SETTINGS)]


def asked(files: list[Path]) -> list[dict[str, Any]]:
    """Settings as they were, and as they are to be."""
    for file in files:
        file.write_text("1")
    return [{"kind": "sysfs", "name": str(file), "value": "9"} for file in files]


def test_a_full_disk(files: list[Path], shared: Modules, ask: Ask, restore: Ask) -> None:
    """Files may grow to so many bytes and no further: at each size something else is the first that fails."""
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    reached = set[int]()
    for largest in range(1, 2000, 60):
        settings = asked(files)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, former[1]))
        try:
            told = ask(*settings)
            done = [file.read_text() for file in files].count("9")
            reached.add(done)
            if told["failed"]:
                assert told["msg"].startswith(f"sysfs {files[done]} stays: ") and "File too large" in told["msg"]
                assert [file.read_text() for file in files] == ["9"] * done + ["1"] * (SETTINGS - done)
            assert restore()["failed"] is False  # as full as it is
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, former)
        assert [file.read_text() for file in files] == ["1"] * SETTINGS
        assert not shared["state"].FOLDER.exists()
    assert reached == {*range(SETTINGS + 1)}


class Killed(BaseException):
    """`kill -9`: nothing that is there for errors runs."""


def test_a_kill(files: list[Path], shared: Modules, ask: Ask, restore: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before each flush, each renaming and each change, of the settings and of what puts them back."""
    left = [0]

    def counted(call: Any) -> Any:
        def first(*words: Any, **more: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                raise Killed
            return call(*words, **more)

        return first

    steps = 0
    for play in (ask, restore):
        for step in range(1, 200):
            settings = asked(files)
            if play is restore:
                ask(*settings)
            left[0] = step
            with monkeypatch.context() as patch:
                patch.setattr(os, "fsync", counted(os.fsync))
                for name in ("replace", "write_text", "unlink"):
                    patch.setattr(Path, name, counted(getattr(Path, name)))
                try:
                    play(*(settings if play is ask else []))
                except Killed:
                    steps += 1
            assert restore()["failed"] is False
            assert [file.read_text() for file in files] == ["1"] * SETTINGS, step
            assert not shared["state"].FOLDER.exists()
            if left[0] > 0:
                break
    assert steps > 30
