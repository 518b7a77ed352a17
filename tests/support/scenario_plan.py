"""Shared by tests: what test_plan and others use."""

import io

from rich.console import Console

from landspeed.report.plan_view import render_plan
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.emu.world import EmuWorld


def shown(plan: Plan, width: int) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(render_plan(plan, EmuWorld.notes(plan)))
    return out.getvalue()
