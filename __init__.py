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
    from .probing.paths import ProbeError
    from .probing.probe import Probe, probe
    from .probing.spec import Server
    from .rehearsal.library import Going, Imported, Runs, arun, import_measured, load, run, runs
    from .rehearsal.library_sweeps import compare_sweeps, predict, sweep
    from .rehearsal.run import Run
    from .rehearsal.scenario import Scenario
    from .rehearsal.sweeps.sweep import Sweep
    from .results.bundle import OutputError
    from .results.failure import BundleError, NotReady, RunFailed, RunInterrupted
    from .results.progress import Progress
    from .results.query import QueryError
    from .scenarios.errors import LandspeedError, ScenarioError
    from .scenarios.plan import Plan
    from .testing.conditions import line, listening, succeeds
    from .testing.errors import LandspeedWarning, PathError, ProgramEnded, ProgramNotStarted, ProgramTimeout
    from .testing.library import path
    from .testing.path import Node, Path
    from .testing.programs import Program
    from .worlds.making import make_world
    from .worlds.options import option
    from .worlds.tool import Tool, ToolError
    from .worlds.world import UnknownWorld, World

# Where each name comes from: it is imported when it is first used, so that `import landspeed` costs nothing.
_PLACES = {
    ".course.worksheet": ("lesson",),
    ".rehearsal.library": ("Going", "Imported", "Runs", "arun", "import_measured", "load", "run", "runs"),
    ".rehearsal.library_sweeps": ("compare_sweeps", "predict", "sweep"),
    ".rehearsal.run": ("Run",),
    ".rehearsal.scenario": ("Scenario",),
    ".rehearsal.sweeps.sweep": ("Sweep",),
    ".results.bundle": ("OutputError",),
    ".results.failure": ("BundleError", "NotReady", "RunFailed", "RunInterrupted"),
    ".results.progress": ("Progress",),
    ".results.query": ("QueryError",),
    ".scenarios.errors": ("LandspeedError", "ScenarioError"),
    ".scenarios.plan": ("Plan",),
    ".probing.paths": ("ProbeError",),
    ".probing.probe": ("Probe", "probe"),
    ".probing.spec": ("Server",),
    ".testing.conditions": ("line", "listening", "succeeds"),
    ".testing.errors": ("LandspeedWarning", "PathError", "ProgramEnded", "ProgramNotStarted", "ProgramTimeout"),
    ".testing.library": ("path",),
    ".testing.path": ("Node", "Path"),
    ".testing.programs": ("Program",),
    ".worlds.making": ("make_world",),
    ".worlds.options": ("option",),
    ".worlds.tool": ("Tool", "ToolError"),
    ".worlds.world": ("UnknownWorld", "World"),
}
_HOME = {name: place for place, names in _PLACES.items() for name in names}

__all__ = [
    "BundleError",
    "Going",
    "Imported",
    "LandspeedError",
    "LandspeedWarning",
    "Node",
    "NotReady",
    "OutputError",
    "Path",
    "PathError",
    "Plan",
    "Probe",
    "ProbeError",
    "Program",
    "ProgramEnded",
    "ProgramNotStarted",
    "ProgramTimeout",
    "Progress",
    "QueryError",
    "Run",
    "RunFailed",
    "RunInterrupted",
    "Runs",
    "Scenario",
    "ScenarioError",
    "Server",
    "Sweep",
    "Tool",
    "ToolError",
    "UnknownWorld",
    "World",
    "__version__",
    "arun",
    "compare_sweeps",
    "import_measured",
    "lesson",
    "line",
    "listening",
    "load",
    "make_world",
    "option",
    "path",
    "predict",
    "probe",
    "run",
    "runs",
    "succeeds",
    "sweep",
]


if not TYPE_CHECKING:  # a checker of types takes a misspelt name for Any, if it sees this

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOME[name], __name__), name)


def __dir__() -> list[str]:
    return __all__
