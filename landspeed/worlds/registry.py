"""Worlds and tools by name: the entry points `landspeed.worlds` and `landspeed.tools` of all installed packages."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from landspeed.base.errors import ScenarioError
from landspeed.base.extras import examine_extras
from landspeed.base.finding import Finding
from landspeed.base.near import meant_or_all
from landspeed.scenario.file.capabilities import refusals
from landspeed.scenario.resolve.resolve import make_plan
from landspeed.worlds.tool import Tool, UnknownTool
from landspeed.worlds.world import UnknownWorld, World

if TYPE_CHECKING:
    from landspeed.scenario.file.load import LoadedScenario
    from landspeed.scenario.plan.plan import Plan

WORLDS, TOOLS = "landspeed.worlds", "landspeed.tools"
DEFAULT_WORLD = "emu"


@cache
def _found(group: str) -> dict[str, EntryPoint]:
    """Entry points of a group by name, as their packages list them, ours first."""
    return {each.name: each for each in sorted(_by_group().select(group=group), key=_is_foreign)}


@cache
def _by_group() -> Any:
    """The entry points of all groups, read once: what every installed package says of itself takes 20 ms."""
    return entry_points()


def _is_foreign(point: EntryPoint) -> bool:
    return point.module.partition(".")[0] != __name__.partition(".")[0]


@cache
def _loaded(group: str) -> tuple[dict[str, Any], list[Finding]]:
    """Load the entry points; make a finding for each that cannot be loaded: one bad package stops nothing."""
    good: dict[str, Any] = {}
    findings: list[Finding] = []
    for name, point in _found(group).items():
        try:
            good[name] = point.load()
        except Exception as error:
            what = f"entry point {group} → {point.value} cannot be loaded: {type(error).__name__}: {error}"
            findings.append(Finding(name, "warn", what, "repair or remove the package that has it"))
    return good, findings


def world_names() -> list[str]:
    """Names of all worlds; nothing is imported."""
    return list(_found(WORLDS))


def worlds() -> dict[str, type[World]]:
    """Every world that can be loaded; those that `landspeed run` can use come first."""
    return dict(sorted(_loaded(WORLDS)[0].items(), key=lambda item: not item[1].runs))


def world_type(name: str) -> type[World]:
    """The world of a name.

    Raises:
        UnknownWorld: there is none, or its package is broken.
    """
    if name in worlds():
        return worlds()[name]
    for finding in _loaded(WORLDS)[1]:
        if finding.name == name:
            raise UnknownWorld(f"world '{name}': {finding.text}")
    raise UnknownWorld(f"no world '{name}'; {meant_or_all(name, world_names())}")


def tools() -> dict[str, Tool]:
    """Every transfer tool that can be loaded."""
    return _loaded(TOOLS)[0]


def tool(name: str) -> Tool:
    """The transfer tool of a name.

    Raises:
        UnknownTool: there is none.
    """
    if name not in tools():
        raise UnknownTool(f"no tool '{name}'; {meant_or_all(name, tools())}")
    return tools()[name]


def plan_for(loaded: LoadedScenario, world: str = DEFAULT_WORLD, seed: int | None = None) -> Plan:
    """The plan of a scenario for a world.

    Raises:
        ScenarioError: with everything that the world cannot honour, located in the file.
        UnknownWorld: there is no such world.
    """
    kind = world_type(world)
    known = {name: each.capabilities for name, each in worlds().items()}
    problems = refusals(loaded, world, known)
    try:
        plan = make_plan(loaded, seed=seed)
    except ScenarioError as error:
        raise ScenarioError(problems + kind.problems(loaded, None) + error.problems) from None
    problems += kind.problems(loaded, plan)
    if problems:
        raise ScenarioError(problems)
    return plan


def examine() -> list[Finding]:
    """Check this host for every world and extra, and find every world or tool that cannot be loaded."""
    found = [finding for kind in worlds().values() for finding in kind.doctor()]
    return [*found, *_loaded(WORLDS)[1], *_loaded(TOOLS)[1], *examine_extras()]
