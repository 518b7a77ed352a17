"""landspeed: rehearse very long, very fast network paths. Nothing is defined here; docs/ has the reference.

import landspeed as ls
run = ls.run("scenarios/examples/first.yaml", seed=7, progress=print)
run.passed, run.goodput_bps, run.limited_by
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from landspeed.base.version import __version__

if TYPE_CHECKING:
    from landspeed.base.errors import LandspeedError, ScenarioError
    from landspeed.base.failures import BundleError, NotReady, RunFailed, RunInterrupted
    from landspeed.base.progress import Progress
    from landspeed.course.worksheet import lesson
    from landspeed.exporters.export import export
    from landspeed.exporters.exporter import ExportError
    from landspeed.programs.conditions import line, listening, succeeds
    from landspeed.programs.errors import LandspeedWarning, PathError, ProgramEnded, ProgramNotStarted, ProgramTimeout
    from landspeed.programs.library import path
    from landspeed.programs.node_program import Program
    from landspeed.programs.path import NetworkPath, PathNode
    from landspeed.programs.probe.paths import ProbeError
    from landspeed.programs.probe.probe import ProbeResult, probe
    from landspeed.programs.probe.spec import Server
    from landspeed.results.bundle import OutputError
    from landspeed.results.query import QueryError
    from landspeed.runs.library import (
        ImportedScenario,
        RunFolder,
        RunHandle,
        arun,
        find_runs,
        import_measured,
        load,
        run,
    )
    from landspeed.runs.library_sweeps import compare_sweeps, predict, sweep
    from landspeed.runs.run import Run
    from landspeed.runs.scenario import Scenario
    from landspeed.runs.sweeps.sweep import Sweep
    from landspeed.scenario.plan.plan import Plan
    from landspeed.worlds.make_world import make_world
    from landspeed.worlds.options import option
    from landspeed.worlds.tool import Tool, ToolError
    from landspeed.worlds.world import UnknownWorld, World

# Where each name comes from: it is imported when it is first used, so that `import landspeed` costs nothing.
_PLACES = {
    "landspeed.base.errors": (
        "LandspeedError",
        "ScenarioError",
    ),
    "landspeed.base.failures": (
        "BundleError",
        "NotReady",
        "RunFailed",
        "RunInterrupted",
    ),
    "landspeed.base.progress": ("Progress",),
    "landspeed.course.worksheet": ("lesson",),
    "landspeed.exporters.export": ("export",),
    "landspeed.exporters.exporter": ("ExportError",),
    "landspeed.programs.conditions": (
        "line",
        "listening",
        "succeeds",
    ),
    "landspeed.programs.errors": (
        "LandspeedWarning",
        "PathError",
        "ProgramEnded",
        "ProgramNotStarted",
        "ProgramTimeout",
    ),
    "landspeed.programs.library": ("path",),
    "landspeed.programs.path": (
        "PathNode",
        "NetworkPath",
    ),
    "landspeed.programs.probe.paths": ("ProbeError",),
    "landspeed.programs.probe.probe": (
        "ProbeResult",
        "probe",
    ),
    "landspeed.programs.probe.spec": ("Server",),
    "landspeed.programs.node_program": ("Program",),
    "landspeed.results.bundle": ("OutputError",),
    "landspeed.results.query": ("QueryError",),
    "landspeed.runs.library": (
        "RunHandle",
        "ImportedScenario",
        "RunFolder",
        "arun",
        "import_measured",
        "load",
        "find_runs",
        "run",
    ),
    "landspeed.runs.library_sweeps": (
        "compare_sweeps",
        "predict",
        "sweep",
    ),
    "landspeed.runs.run": ("Run",),
    "landspeed.runs.scenario": ("Scenario",),
    "landspeed.runs.sweeps.sweep": ("Sweep",),
    "landspeed.scenario.plan.plan": ("Plan",),
    "landspeed.worlds.make_world": ("make_world",),
    "landspeed.worlds.options": ("option",),
    "landspeed.worlds.tool": (
        "Tool",
        "ToolError",
    ),
    "landspeed.worlds.world": (
        "UnknownWorld",
        "World",
    ),
}
_HOME = {name: place for place, names in _PLACES.items() for name in names}

__all__ = [
    "BundleError",
    "ExportError",
    "ImportedScenario",
    "LandspeedError",
    "LandspeedWarning",
    "NetworkPath",
    "NotReady",
    "OutputError",
    "PathError",
    "PathNode",
    "Plan",
    "ProbeError",
    "ProbeResult",
    "Program",
    "ProgramEnded",
    "ProgramNotStarted",
    "ProgramTimeout",
    "Progress",
    "QueryError",
    "Run",
    "RunFailed",
    "RunFolder",
    "RunHandle",
    "RunInterrupted",
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
    "export",
    "find_runs",
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
    "succeeds",
    "sweep",
]


if not TYPE_CHECKING:  # a checker of types takes a misspelt name for Any, if it sees this

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
