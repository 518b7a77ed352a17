"""A scenario as the library gives it: loaded from a file or built in Python, changed, shown, planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from landspeed.scenario.file.load import LoadedScenario, build_scenario, change_scenario, load_scenario
from landspeed.scenario.file.model import ScenarioFile as Contents
from landspeed.scenario.plan.flow_path import path_of
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.registry import DEFAULT_WORLD, plan_for

MOST_DRAWN = 16  # of a network's flows


@dataclass(frozen=True)
class Scenario:
    """A scenario without contradictions. It never changes: `with_` returns a new one."""

    loaded: LoadedScenario

    @classmethod
    def load(cls, file: str | Path, overrides: Sequence[str] = ()) -> Scenario:
        """Read a file, with overrides as for `--set`.

        Raises:
            ScenarioError: with every problem, each with file, line and column.
        """
        return cls(load_scenario(Path(file), overrides))

    @classmethod
    def build(cls, contents: Mapping[str, Any] | None = None, **keys: Any) -> Scenario:
        """A scenario from Python, with the keys and units of a file.

            Scenario.build(format=1, name="short", title="A short path",
                           hosts={"a": {"role": "sender"}, "b": {"role": "receiver"}},
                           path=[{"from": "a", "to": "b", "one_way_delay": "10 ms", "line_rate": "1 Gbit/s"}],
                           transfer={"streams": 1, "duration": "5 s"})

        Raises:
            ScenarioError: with every problem, each at its key path.
        """
        return cls(build_scenario({**(contents or {}), **keys}))

    def with_(self, changes: Mapping[str, Any]) -> Scenario:
        """A new scenario, with other values of dotted keys: `{"transfer.streams": 4, "path.0.loss": "1e-5"}`.

        `None` removes a key.

        Raises:
            ScenarioError: with every problem.
        """
        return Scenario(change_scenario(self.loaded, changes))

    def plan(self, world: str = DEFAULT_WORLD, seed: int | None = None) -> Plan:
        """The work in plain numbers, for a world.

        Raises:
            ScenarioError: with everything that the world cannot honour.
            UnknownWorld: there is no such world.
        """
        return plan_for(self.loaded, world, seed)

    @property
    def name(self) -> str:
        """Name in the file."""
        return self.loaded.scenario.name

    @property
    def title(self) -> str:
        """Title: one line on what the scenario shows."""
        return self.loaded.scenario.title

    @property
    def path(self) -> Path:
        """Path of the file."""
        return self.loaded.path

    @property
    def contents(self) -> Contents:
        """Keys of the file, checked, as numbers: bytes, bits per second, nanoseconds."""
        return self.loaded.scenario

    @property
    def text(self) -> str:
        """All of it as YAML, with what it extends and what was changed."""
        return self.loaded.text_resolved

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Scenario {self.name}: {self.title}>"

    def _repr_html_(self) -> str:
        """The path as a picture, for notebooks; of a network, that of each flow."""
        # saves 1.5 ms where it is not needed
        from html import escape

        # saves 168 ms where it is not needed
        from landspeed.report.diagram import wide_svg

        plan = self.plan()
        drawn = "".join(str(wide_svg(path_of(plan, flow), None)) for flow in plan.flows[:MOST_DRAWN])
        return f"<figure>{drawn}<figcaption>{escape(self.title)}</figcaption></figure>"
