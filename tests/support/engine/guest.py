"""Shared by tests: what test_guest and others use."""

import json
import sys
from pathlib import Path
from typing import Any

from landspeed.worlds.engine.command import ENGINE_BINARY
from tests.support.emu_fixtures import execute, plan_of, scenario
from tests.support.places import PROGRAMS

ACTS = PROGRAMS / "guest_script.py"


INSIDE = Path("/run/landspeed")  # the test's folder as the guest sees it


ENGINE = str(ENGINE_BINARY)


LINKS = [{"one_way_delay": "5 ms", "line_rate": "100 Mbit/s"}] * 2


PATH = {"nic": "1 Gbit/s", "mtu": "9000 B", "queue": "1 MB"}


def perform(
    folder: Path, acts: list[list[Any]], *, links: list[dict[str, Any]] = LINKS, **more: Any
) -> dict[str, dict[str, float]]:
    """Boot a guest with 100 Mbit/s over 20 ms, or another path, and do the acts there; exit statuses and times."""
    (folder / "acts.json").write_text(json.dumps(acts))
    plan = plan_of(folder, scenario(links, **(PATH | more)))
    words = [sys.executable, str(ACTS), str(INSIDE / "acts.json"), str(INSIDE / "acted.json")]
    done = execute(plan, folder, *words)
    assert done.status == 0, done.err
    return json.loads((folder / "acted.json").read_text())


def result(folder: Path, end: str) -> dict[str, Any]:
    """The JSON that an end left."""
    return json.loads((folder / f"{end}.json").read_text())
