"""Plans of scenario files, for tests that look at the plan and start no world."""

from pathlib import Path

from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.plan.plan import Plan
from landspeed.scenario.resolve.resolve import make_plan


def plan_of_file(path: Path, *overrides: str) -> Plan:
    """The plan of a scenario's file, with some of its keys set otherwise."""
    return make_plan(load_scenario(path, overrides))
