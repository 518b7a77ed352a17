"""A stand-in in the simulator's place, whose runs cost nothing."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from landspeed.worlds.sim import world
from tests.support.places import PROGRAMS

FAKE = PROGRAMS / "fake_simulator.py"


@dataclass(frozen=True, kw_only=True)
class FakeOptions(world.SimOptions):
    """The fake in the simulator's place."""

    program: Path = FAKE


@pytest.fixture
def fake_sim(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake in the simulator's place."""
    monkeypatch.setattr(world.SimWorld, "Options", FakeOptions)
