"""Holes that are spliced as runs of pages (patch 0036): what arrives of a file is what is in it."""

import json
from pathlib import Path

import pytest

from tests.support.emu_fixtures import execute, plan_of
from tests.support.emu_seccomp import PLAIN
from tests.support.places import PROGRAMS


@pytest.mark.guest
def test_what_arrives_of_a_file_is_what_is_in_it(tmp_path: Path) -> None:
    """By pipes, and by TCP with packets beyond 64 KB that are lost, merged, cut and sent again."""
    shown = execute(plan_of(tmp_path, PLAIN), tmp_path / "run", "python3", str(PROGRAMS / "splices.py"))
    assert (shown.status, shown.err) == (0, "")
    whole = [True, True]
    assert json.loads(shown.out) == {"all hole": whole, "one page": whole, "some bytes at both ends": whole}
