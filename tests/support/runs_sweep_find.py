"""Shared by tests: what test_sweep_find and others use."""

import random

from landspeed.scenario.file.load import load_scenario
from landspeed.worlds.registry import plan_for
from tests.support.emu_fixtures import FIRST


def toy_goodput_bps(seed: int, *overrides: str) -> float:
    plan = plan_for(load_scenario(FIRST, ["transfer.window=1 MB", *overrides]), "emu")
    return plan.physics.expected_goodput_bps * random.Random(seed).gauss(1, 0.03)
