"""Fixtures of the tests of the command."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.emu_fixtures import wait_until


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Temporary files go here, and none may be left."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    wait_until(lambda: not list(folder.iterdir()), "temporary files to be gone")
