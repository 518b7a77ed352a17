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
