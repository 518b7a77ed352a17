"""A session with a guest, host side, against a guest that is none: what it said before its end is read."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from landspeed.worlds.emu.session import ANSWER, GuestSession
from landspeed.worlds.emu.watchdog import GuestError

READY = {"now_ns": 7, "programs": {}, "events": [], "addresses": {"alpha": "10.0.0.2"}, "start_unix_ns": 0}


def guest(folder: Path, *, says: bool) -> Any:
    """It ends while it is looked at; its answer may come just before that."""

    def poll() -> int:
        if says:
            (folder / ANSWER).write_text(json.dumps(READY))
        return 0

    process = SimpleNamespace(poll=poll, returncode=0, wait=lambda: 0)
    (folder / "log").mkdir()
    (folder / "log" / "console.log").touch()
    return cast(Any, SimpleNamespace(process=process, folder=folder, virtual=False, stop=lambda: None))


def test_an_answer_that_comes_with_the_end_counts(tmp_path: Path) -> None:
    assert GuestSession(guest(tmp_path, says=True), stall_wall_s=20).now_ns == READY["now_ns"]


def test_an_end_without_an_answer_is_told(tmp_path: Path) -> None:
    with pytest.raises(GuestError):
        GuestSession(guest(tmp_path, says=False), stall_wall_s=20)
