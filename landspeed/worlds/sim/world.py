"""The simulated world: a plan in, the ns-3 program run over it, a bundle out."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landspeed.base.failures import NotReady, RunFailed
from landspeed.base.files import last_line, read_object
from landspeed.base.finding import Finding
from landspeed.base.progress import Progress
from landspeed.results.bundle import RAW_LINKS, BundleWriter
from landspeed.results.facts import SimFacts, SimulatorFacts
from landspeed.results.record import RunRecord
from landspeed.scenario.file.capabilities import Capabilities
from landspeed.scenario.file.events import KINDS
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.options import option
from landspeed.worlds.sim.calibration_facts import happened
from landspeed.worlds.sim.doctor import examine_simulator
from landspeed.worlds.sim.flows import collect_samples, simulator_facts, with_results
from landspeed.worlds.sim.overtaking import overtaking
from landspeed.worlds.sim.process import Simulation
from landspeed.worlds.sim.program import MISSING, SIMULATOR, simulator_key
from landspeed.worlds.this_host import host_facts
from landspeed.worlds.world import World

if TYPE_CHECKING:
    from landspeed.base.errors import Problem
    from landspeed.scenario.file.load import LoadedScenario


@dataclass(frozen=True, kw_only=True)
class SimOptions:
    """Options of this world; `program` is the simulator."""

    collapse: bool = option(False, "join links that can never queue: faster")
    event_scheduler: str | None = option(None, "event scheduler of ns-3, such as heap", metavar="NAME")
    program: Path = SIMULATOR


class SimWorld(World):
    """ns-3: an independent TCP over exact queues."""

    name = "sim"
    summary = "ns-3"
    capabilities = Capabilities(
        disciplines=("fifo", "red", "codel", "fq_codel", "pie", "fq_pie"),
        events=tuple(KINDS),
        special_keys=("protocol", "ecn", "ping", "paced"),
        link_keys=("trace", "cells"),
        shapes=("path", "network"),
    )
    Options = SimOptions
    options: SimOptions

    @classmethod
    def problems(cls, loaded: LoadedScenario, plan: Plan | None) -> list[Problem]:
        """List where packets overtake each other further than its TCP bears."""
        return overtaking(loaded, plan) if plan else []

    @classmethod
    def doctor(cls) -> list[Finding]:
        """Check whether the simulator is built."""

        return [examine_simulator()]

    def build_id(self, plan: Plan | None = None) -> str:  # noqa: ARG002 (one program for every plan)
        """The simulator's hash."""
        return simulator_key(self.options.program) or ""

    def made(self, record: RunRecord) -> bool:
        """Return whether this build of the simulator made the run, by its hash."""
        build = self.build_id()
        return record.world == self.name and bool(build) and record.versions.get("landspeed-sim") == build

    def check(self, plan: Plan) -> None:  # noqa: ARG002 (of every world)
        """Check before the run whatever can be known then.

        Raises:
            NotReady: the simulator is not built.
        """
        if not os.access(self.options.program, os.X_OK):
            raise NotReady(MISSING if self.options.program == SIMULATOR else f"{self.options.program} is not there")

    def run(self, plan: Plan, bundle: BundleWriter, report: Callable[[Progress], None] = lambda _: None) -> RunRecord:
        """Simulate the transfer.

        Args:
            plan: what to simulate.
            bundle: where everything goes.
            report: told of the progress.

        Returns:
            the record, not yet judged; it is in `bundle.record` as it grows.

        Raises:
            RunFailed: the simulator refused the plan or died; what was simulated is in the bundle.
        """
        started = time.monotonic()
        record = self._begin(bundle)
        (bundle.path / "plan.json").write_text(plan.to_json(indent=1), encoding="utf-8")
        out = bundle.path / "sim"  # a folder of its own: the program's result.json is not the bundle's
        out.mkdir()
        told: dict[str, Any] = {}
        try:
            simulation = Simulation(self._words(bundle.path / "plan.json", out), bundle.path / "log" / "sim.log")
            status = simulation.follow(report)
        finally:  # whatever ended it, what was simulated belongs to the bundle
            told = _collect(plan, out, bundle.path)
            record = bundle.record = self._with_results(record, plan, told, started)
        if status != 0 or told.get("complete") is not True:
            why = told.get("error") or last_line(bundle.path / "log" / "sim.log", "it left no message")
            raise RunFailed(f"the simulation broke: {why}")
        return record

    def _words(self, plan_file: Path, out: Path) -> list[str]:
        words = [str(self.options.program), str(plan_file), str(out)]
        words += ["--collapse"] if self.options.collapse else []
        return words + (["--scheduler", self.options.event_scheduler] if self.options.event_scheduler else [])

    def _begin(self, bundle: BundleWriter) -> RunRecord:
        known = bundle.record
        record = known.model_copy(
            update={
                "fidelity": "packets",  # ns-3 has no super-packets: each is simulated by itself, whatever the file says
                "tool": "ns-3",
                "world_facts": SimFacts(host=host_facts()),
                "versions": known.versions | {"landspeed-sim": simulator_key(self.options.program) or ""},
            }
        )
        bundle.note(record)
        return record

    def _with_results(self, record: RunRecord, plan: Plan, result: dict[str, Any], started: float) -> RunRecord:
        """The record with what the program told, as far as it came."""
        wall_s = time.monotonic() - started
        versions = {"ns-3": str(result["ns3_version"])} if result.get("ns3_version") else {}
        assert isinstance(record.world_facts, SimFacts)
        simulator = SimulatorFacts.model_validate(simulator_facts(result))
        found: dict[str, Any] = {
            "world_facts": record.world_facts.model_copy(update={"simulator": simulator}),
            "events": happened(plan, result.get("simulated_s") or 0.0, result.get("event_packets")),
            "transfer_wall_s": result.get("wall_s", wall_s),
            "wall_s": wall_s,
            "versions": record.versions | versions,
        }
        return with_results(record.model_copy(update=found), plan, result)


def _collect(plan: Plan, out: Path, bundle: Path) -> dict[str, Any]:
    """Move the series to where every bundle has them; the program's own result, empty if it left none."""
    collect_samples(plan, out, bundle)
    if (out / RAW_LINKS).exists():
        (out / RAW_LINKS).replace(bundle / RAW_LINKS)
    result = read_object(out / "result.json")
    shutil.rmtree(out)
    return result
