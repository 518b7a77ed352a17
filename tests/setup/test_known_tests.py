"""`make test-known` keeps the tests whose functions a commit had."""

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import known_tests
from tests.support.known_tests import COMMIT, keep_known, names_at

OLD = "def test_old():\n    pass\n\n\nclass TestMore:\n    def test_method(self):\n        pass\n"
NEW = (
    "import pytest\n\n@pytest.mark.parametrize('n', [1, 2])\ndef test_old(n):\n    pass\n\ndef test_new():\n    pass\n"
)


@pytest.fixture
def commit(tmp_path: Path) -> str:
    """A commit of two tests, after which one of them got parameters and another came."""

    def git(*words: str) -> str:
        named = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", *named, *words], cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    file = tmp_path / "test_some.py"
    git("init", "-q")
    file.write_text(OLD)
    (tmp_path / "helper.py").write_text("def test_of_nothing():\n    pass\n")
    git("add", "-A")
    git("commit", "-qm", "old")
    file.write_text(NEW)
    git("commit", "-qam", "new")
    return git("rev-parse", "HEAD^")


def test_names_are_those_of_the_commit(tmp_path: Path, commit: str) -> None:
    assert names_at(commit, tmp_path) == {"test_old", "test_method"}
    assert names_at("HEAD", tmp_path) == {"test_old", "test_new"}


def test_an_unknown_commit_is_told(tmp_path: Path, commit: str) -> None:
    assert commit
    with pytest.raises(pytest.UsageError, match=f"{COMMIT}=0123abc: git finds no such commit in {tmp_path}"):
        names_at("0123abc", tmp_path)


def test_others_are_left_out(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Of this file's tests."""
    here = [item for item in request.session.items if item.path == request.path]
    left: list[pytest.Item] = []

    def pytest_deselected(items: list[pytest.Item]) -> None:
        left.extend(items)

    config: Any = SimpleNamespace(hook=SimpleNamespace(pytest_deselected=pytest_deselected))
    items = list(here)
    keep_known(config, items)
    assert (items, left) == (here, [])  # no commit is asked for
    monkeypatch.setenv(COMMIT, "abc")
    monkeypatch.setattr(known_tests, "names_at", lambda _: {request.node.name})
    keep_known(config, items)
    assert items == [request.node]
    assert left == [item for item in here if item is not request.node]
