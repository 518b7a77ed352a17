"""Shared by tests: what test_errors and others use."""

from pathlib import Path

import pytest

from landspeed.base.errors import ScenarioError
from landspeed.scenario.file.load import load_scenario
from landspeed.worlds.registry import plan_for

GOOD = """\
format: 1
name: small
title: a small path
hosts:
  a: {role: sender, nic: 1 Gbit/s}
  b: {role: receiver, nic: 1 Gbit/s}
path:
  - {from: a, to: r, one_way_delay: 10 ms, line_rate: 1 Gbit/s}
  - {from: r, to: b, one_way_delay: 5 ms, line_rate: 1 Gbit/s}
transfer:
  streams: 1
  duration: 10 s
"""


def write(folder: Path, text: str, name: str = "s.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def refused(path: Path, *overrides: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        plan_for(load_scenario(path, overrides))
    return str(caught.value)


def check_link_refused(folder: Path, keys: str, at: str, what: str, right: str) -> None:
    """GOOD with more keys on its second link is refused where `at` begins, with what is wrong and what is right."""
    line = "one_way_delay: 5 ms, line_rate: 1 Gbit/s"
    path = write(folder, text := GOOD.replace(line, f"{line}, {keys}"))
    message = refused(path)
    assert f"{path}:9:{text.splitlines()[8].index(at) + 1}: " in message, message
    assert what in message and right in message, message
