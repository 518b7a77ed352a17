"""`make test-known`: only the tests that a commit had, by their functions' names: how long do these take now?"""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.places import ROOT

COMMIT = "LANDSPEED_TESTS_OF"


def names_at(commit: str, root: Path = ROOT) -> set[str]:
    """Names of the test functions in a commit's files.

    Raises:
        pytest.UsageError: git knows no such commit.
    """
    words = ["git", "grep", "-hoE", r"^ *def test_\w+", f"{commit}^{{commit}}", "--", "*test_*.py"]
    found = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
    if found.returncode > 1:
        raise pytest.UsageError(f"{COMMIT}={commit}: git finds no such commit in {root}; a shallow clone has few")
    return {line.split()[-1] for line in found.stdout.splitlines()}


def keep_known(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the others out, if a commit is asked for."""
    if not (commit := os.environ.get(COMMIT)):
        return
    names = names_at(commit)
    known = {item: getattr(item, "originalname", item.name) in names for item in items}
    config.hook.pytest_deselected(items=[item for item in items if not known[item]])
    items[:] = [item for item in items if known[item]]
