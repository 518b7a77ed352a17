"""landspeed: rehearse very long, very fast network paths. Nothing is defined here; docs/ has the reference.

import landspeed as ls
run = ls.run("scenarios/examples/first.yaml", seed=7, progress=print)
run.passed, run.goodput_bps, run.limited_by
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .version import __version__

if TYPE_CHECKING:
    from .course.worksheet import lesson
    from .rehearsal.library import Going, Runs, arun, load, run, runs, sweep
    from .rehearsal.run import Run
    from .rehearsal.scenario import Scenario
    from .rehearsal.sweeps.sweep import Sweep
    from .results.bundle import OutputError
    from .results.failure import BundleError, NotReady, RunFailed, RunInterrupted
    from .results.progress import Progress
    from .results.query import QueryError
    from .scenarios.errors import LandspeedError, ScenarioError
    from .scenarios.plan import Plan
    from .worlds.making import make_world
    from .worlds.options import option
    from .worlds.tool import Tool, ToolError
    from .worlds.world import UnknownWorld, World

# Where each name comes from: it is imported when it is first used, so that `import landspeed` costs nothing.
_PLACES = {
    ".course.worksheet": ("lesson",),
    ".rehearsal.library": ("Going", "Runs", "arun", "load", "run", "runs", "sweep"),
    ".rehearsal.run": ("Run",),
    ".rehearsal.scenario": ("Scenario",),
    ".rehearsal.sweeps.sweep": ("Sweep",),
    ".results.bundle": ("OutputError",),
    ".results.failure": ("BundleError", "NotReady", "RunFailed", "RunInterrupted"),
    ".results.progress": ("Progress",),
    ".results.query": ("QueryError",),
    ".scenarios.errors": ("LandspeedError", "ScenarioError"),
    ".scenarios.plan": ("Plan",),
    ".worlds.making": ("make_world",),
    ".worlds.options": ("option",),
    ".worlds.tool": ("Tool", "ToolError"),
    ".worlds.world": ("UnknownWorld", "World"),
}
_HOME = {name: place for place, names in _PLACES.items() for name in names}

__all__ = [
    "BundleError",
    "Going",
    "LandspeedError",
    "NotReady",
    "OutputError",
    "Plan",
    "Progress",
    "QueryError",
    "Run",
    "RunFailed",
    "RunInterrupted",
    "Runs",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "Tool",
    "ToolError",
    "UnknownWorld",
    "World",
    "__version__",
    "arun",
    "lesson",
    "load",
    "make_world",
    "option",
    "run",
    "runs",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name], __name__), name)


def __dir__() -> list[str]:
    return __all__
