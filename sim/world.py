"""The simulated world: a plan in, the ns-3 program run over it, a bundle out."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .. import __version__
from ..results.bundle import RAW_LINKS, RAW_SAMPLES, BundleWriter
from ..results.failure import NotReady, RunFailed
from ..results.progress import Progress
from ..results.record import RunRecord
from ..scenarios.plan import Plan
from .measured import calibration, happened
from .process import Simulation

SIMULATOR = Path(__file__).resolve().parent / "build" / "landspeed-sim"
"""Where `meson setup sim/build sim && ninja -C sim/build` puts the program."""


def simulator_key(program: Path = SIMULATOR) -> str | None:
    """What tells this build of the simulator from another: 12 digits of its SHA-256. None: it is not built."""
    return hashlib.sha256(program.read_bytes()).hexdigest()[:12] if os.access(program, os.X_OK) else None


PACKAGES = "libns3-dev nlohmann-json3-dev"
MISSING = f"{SIMULATOR} is not built; apt-get install {PACKAGES}, then run `make setup`"


@dataclass
class SimOptions:
    """How to run a plan in this world.

    Attributes:
        collapse: join links that can never queue.
        scheduler: ns-3's event scheduler; None leaves the program's own choice.
        command: what the user typed, for the record.
        program: the simulator.
    """

    collapse: bool = False
    scheduler: str | None = None
    command: list[str] = field(default_factory=list)
    program: Path = SIMULATOR


class SimWorld:
    """ns-3: an independent TCP over exact queues."""

    def __init__(self, options: SimOptions) -> None:
        """Nothing is looked for yet."""
        self.options = options

    def check(self, plan: Plan) -> None:  # noqa: ARG002 (of every world)
        """What can be known before anything is made.

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
        record = self._begin(plan, bundle)
        (bundle.path / "plan.json").write_text(plan.model_dump_json(indent=1))
        out = bundle.path / "sim"  # a folder of its own: the program's result.json is not the bundle's
        out.mkdir()
        try:
            simulation = Simulation(self._words(bundle.path / "plan.json", out), bundle.path / "log" / "sim.log")
            status = simulation.follow(report)
        finally:  # whatever ended it, what was simulated belongs to the bundle
            record = bundle.record = self._with_results(record, _collect(out, bundle.path), started)
        if status != 0 or record.engine.get("complete") is not True:
            why = record.engine.get("error") or _last_line(bundle.path / "log" / "sim.log")
            raise RunFailed(f"the simulation broke: {why}")
        return record

    def _words(self, plan_file: Path, out: Path) -> list[str]:
        words = [str(self.options.program), str(plan_file), str(out)]
        words += ["--collapse"] if self.options.collapse else []
        return words + (["--scheduler", self.options.scheduler] if self.options.scheduler else [])

    def _begin(self, plan: Plan, bundle: BundleWriter) -> RunRecord:
        record = RunRecord(
            scenario=plan.scenario,
            title=plan.title,
            world="sim",
            clock="virtual",
            seed=plan.seed,
            fidelity="packets",  # ns-3 has no super-packets: each is simulated by itself, whatever the file says
            tool="ns-3",
            command=self.options.command,
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            plan=plan.model_dump(mode="json"),
            host={"kernel": platform.release(), "cores": os.cpu_count(), "cpu": platform.processor()},
            versions={
                "landspeed": __version__,
                "landspeed-sim": simulator_key(self.options.program) or "",
                "python": platform.python_version(),
            },
        )
        bundle.note(record)
        return record

    def _with_results(self, record: RunRecord, result: dict[str, Any], started: float) -> RunRecord:
        """The record with what the program told, as far as it came."""
        wall_s = time.monotonic() - started
        versions = record.versions | {"ns-3": str(result["ns3_version"])} if result.get("ns3_version") else {}
        known = {
            key: result.pop(key)
            for key in ("goodput_bps", "bytes", "duration_s", "retransmits", "streams", "window")
            if result.get(key) is not None
        }
        plan = Plan.model_validate(record.plan)
        if measured := result.pop("calibration", None):
            known["calibration"] = calibration(plan, measured)
            known["rtt_ms"] = known["calibration"]["rtt_ms"]
        counts = result.pop("event_packets", None)
        known["events"] = happened(plan, result.get("simulated_s") or 0.0, counts)
        found = {"engine": result, "transfer_wall_s": result.get("wall_s", wall_s), "wall_s": wall_s}
        return RunRecord.model_validate(record.model_dump() | known | found | {"versions": versions or record.versions})


def _collect(out: Path, bundle: Path) -> dict[str, Any]:
    """Move the series to where every bundle has them; the program's own result, empty if it left none."""
    for name in (*RAW_SAMPLES, RAW_LINKS):
        if (out / name).exists():
            (out / name).replace(bundle / name)
    try:
        result = json.loads((out / "result.json").read_text())
    except (OSError, ValueError):
        result = {}
    shutil.rmtree(out)
    return result


def _last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").split("\n") if path.exists() else []
    return next((line for line in reversed(lines) if line.strip()), "it left no message")
