"""Holes that are spliced as runs of pages (patch 0036): what arrives, and when, is as with pages one by one."""

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


@pytest.mark.guest
def test_runs_of_pages_change_nothing_that_a_connection_says_of_itself(tmp_path: Path) -> None:
    """Limits of fragments count pages: what is merged after losses, and what counts against the receiver's memory."""

    def said(payload: str) -> list[str]:
        words = ("python3", str(PROGRAMS / "splice_limits.py"), payload)
        shown = execute(plan_of(tmp_path, PLAIN), tmp_path / payload, *words)
        assert (shown.status, shown.err) == (0, "")
        return shown.out.splitlines()

    (of_run, *run), (of_page, *pages) = said("run"), said("pages")
    assert (of_run, of_page) == ("a pipe takes 122880 B", "a pipe takes 65536 B")
    assert [each for each in zip(run, pages, strict=True) if each[0] != each[1]] == []
    assert len(run) > 1000
