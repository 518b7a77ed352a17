"""The emulated world, host side: a plan in, a bundle out. What happens inside the guest is in guest/."""

from __future__ import annotations

import json
import os
import platform
import shutil
import termios
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .. import __version__
from ..engine.command import ENGINE_BINARY, ENGINE_PORT, engine_commands
from ..results.bundle import BundleWriter
from ..results.failure import RunFailed
from ..results.progress import Progress
from ..results.record import CalibrationResult, RunRecord
from ..scenarios.plan import Plan
from . import evidence, iperf3, machine, watch
from .kernel import Kernel, KernelError, find_kernel
from .memory import check_memory

GUEST_OUT = "/run/landspeed"  # the bundle's folder as the guest sees it (guest/files.py)
LINKWATCH = machine.PACKAGE / "linkwatch" / "build" / "landspeed-linkwatch"


@dataclass
class EmuOptions:
    """How to run a plan in this world.

    Attributes:
        clock: "virtual" or "real".
        tool: "engine" or "iperf3".
        memory_bytes: the guest's memory; None takes the plan's figure.
        with_queues: calibrate every queue by overflow too.
        with_evidence: captures, ping, traceroute and settings before and after, in the bundle's folder `evidence`.
        exact_timers: no moderation of busy links (emu/guest/moderation.py).
        stall_wall_s: wall time without virtual time after which a run is given up.
        command: what the user typed, for the record.
    """

    clock: str = "virtual"
    tool: str = "engine"
    memory_bytes: int | None = None
    with_queues: bool = False
    with_evidence: bool = False
    exact_timers: bool = False
    stall_wall_s: float = watch.STALL_WALL_S
    command: list[str] = field(default_factory=list)


def _no_report(_: Progress) -> None:
    pass


class ToolError(KernelError):
    """A program that the run needs is not there; the message says which and what to do."""


class EmuWorld:
    """Mininet and netem under a real Linux TCP stack, in virtual or real time."""

    def __init__(self, options: EmuOptions) -> None:
        """Find the kernel.

        Raises:
            KernelError: it is not built.
        """
        self.options = options
        self.kernel: Kernel = find_kernel()

    def check(self, plan: Plan) -> None:
        """What can be known before anything is made.

        Raises:
            MemoryError: the host has too little memory for this plan, with the numbers.
            ToolError: a program is missing.
        """
        for program in (ENGINE_BINARY, LINKWATCH):
            if not os.access(program, os.X_OK):
                raise ToolError(f"{program} is not built; run `make setup`")
        if self.options.tool == "iperf3" and (why := iperf3.unable(plan)):
            raise ToolError(f"{why}; leave out --tool iperf3")
        if self.options.tool == "iperf3" and not shutil.which("iperf3"):
            raise ToolError("iperf3 is not installed, or not in PATH; apt-get install iperf3")
        if self.options.with_evidence and (missing := evidence.missing_programs()):
            raise ToolError(f"evidence needs programs that are not here; apt-get install {' '.join(missing)}")
        memory = self._memory_bytes(plan)
        check_memory(memory)
        machine.shared_memory_folder(memory)

    def run(self, plan: Plan, bundle: BundleWriter, report: Callable[[Progress], None] = _no_report) -> RunRecord:
        """Build, calibrate, transfer.

        Args:
            plan: what to run.
            bundle: where everything goes.
            report: told of the progress.

        Returns:
            the record, not yet judged; it is in `bundle.record` as it grows.

        Raises:
            RunFailed: calibration out of tolerance, or the transfer broke.
            GuestError: the guest stalled, ran out of memory or broke.
            MemoryError: the host has too little memory, known before anything is started.
        """
        started = time.monotonic()
        record = self._begin(plan, bundle)
        job = {"mode": "transfer", "calibrate": True, "with_queues": self.options.with_queues, **self._commands(plan)}
        job["evidence"] = self.options.with_evidence
        job["moderate"] = self.options.clock == "virtual" and not self.options.exact_timers
        outcome = watch.Outcome()
        try:
            self._boot_and_follow(plan, bundle, job, report, outcome=outcome)
        finally:  # whatever ended it, what is known belongs to the record
            record = bundle.record = self._with_facts(record, outcome, started)
        if record.calibration is None:
            raise RunFailed("the guest made no calibration")
        record = self._with_transfer(record, plan, bundle, outcome)
        if self.options.with_evidence:
            record.guest["captured_packets"] = evidence.finish_evidence(bundle.path)
        bundle.record = record
        return record

    def execute(
        self,
        plan: Plan,
        folder: Path,
        *,
        at: str,
        command: list[str],
        calibrate: bool = True,
        report: Callable[[Progress], None] = _no_report,
        each_poll: Callable[[], None] = lambda: None,
    ) -> int:
        """Run a program of the user's on the path; its output goes to log/stdout and log/stderr of the folder.

        Returns:
            the program's exit status.
        """
        job = {
            "mode": "exec",
            "calibrate": calibrate,
            "with_queues": False,
            "at": at,
            "command": command,
            "cwd": str(Path.cwd()),
        }
        outcome = self._boot_and_follow(plan, None, job, report, folder=folder, each_poll=each_poll)
        calibration = outcome.guest.get("calibration")
        if calibration and not calibration["passed"]:
            raise RunFailed("calibration: " + "; ".join(calibration["failures"]))
        return int(outcome.guest["status"])

    def shell(self, plan: Plan, folder: Path) -> None:
        """A prompt on the emulated path, in real time, on this terminal.

        Raises:
            GuestError: the guest broke.
        """
        self._write_inputs(plan, folder, {"mode": "shell", "calibrate": False, "with_queues": False})
        modes = termios.tcgetattr(0) if os.isatty(0) else None
        guest = self._start(plan, folder, virtual=False, terminal=True)
        try:
            guest.process.wait()
            watch.last_words(guest, [], Progress(phase="shell"))
        finally:
            guest.stop()
            if modes is not None:  # the guest's console makes the terminal raw
                termios.tcsetattr(0, termios.TCSADRAIN, modes)

    # --- steps of a run ----------------------------------------------------------------------------------------------

    def _begin(self, plan: Plan, bundle: BundleWriter) -> RunRecord:
        record = RunRecord(
            scenario=plan.scenario,
            title=plan.title,
            world="emu",
            clock="virtual" if self.options.clock == "virtual" else "real",
            seed=plan.seed,
            fidelity=plan.fidelity,
            tool=self.options.tool,
            command=self.options.command,
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            plan=plan.model_dump(mode="json"),
            guest={"kernel_key": self.kernel.key, "memory_bytes": self._memory_bytes(plan)},
            host={"kernel": platform.release(), "cores": os.cpu_count(), "cpu": _cpu_model()},
            versions={"landspeed": __version__, "python": platform.python_version(), "kernel": self.kernel.version},
        )
        bundle.note(record)
        return record

    def _commands(self, plan: Plan) -> dict[str, Any]:
        build = iperf3.commands if self.options.tool == "iperf3" else engine_commands
        receiver, sender = build(plan.transfer, GUEST_OUT)
        duration_s = (
            plan.transfer.duration_ns / 1e9
            if plan.transfer.duration_ns
            else 8 * (plan.transfer.bytes or 0) / plan.physics.expected_goodput_bps
        )
        # A thousand points of each link are enough for any picture; each costs a dump of every namespace.
        interval_ns = max(plan.transfer.sample_interval_ns, round(duration_s / 1000 * 1e9 / 1e8) * 10**8)
        return {
            "receiver_command": receiver,
            "sender_command": sender,
            "port": ENGINE_PORT,
            "watch_command": [str(LINKWATCH), str(interval_ns), f"{GUEST_OUT}/links.csv"],
        }

    def _memory_bytes(self, plan: Plan) -> int:
        return self.options.memory_bytes or plan.physics.guest_memory_bytes

    def _write_inputs(self, plan: Plan, folder: Path, job: dict[str, Any]) -> None:
        (folder / "log").mkdir(exist_ok=True)
        (folder / "plan.json").write_text(plan.model_dump_json(indent=1))
        everything = job | {"clock": self.options.clock, "visible": machine.visible_folders()}
        (folder / "job.json").write_text(json.dumps(everything, indent=1))

    def _start(self, plan: Plan, folder: Path, *, virtual: bool, terminal: bool = False) -> machine.Guest:
        memory = self._memory_bytes(plan)
        check_memory(memory)
        return machine.start(
            self.kernel,
            folder.resolve(),
            memory_bytes=memory,
            seed=plan.seed,
            virtual=virtual,
            shm=machine.shared_memory_folder(memory),
            terminal=terminal,
        )

    def _boot_and_follow(
        self,
        plan: Plan,
        bundle: BundleWriter | None,
        job: dict[str, Any],
        report: Callable[[Progress], None],
        *,
        folder: Path | None = None,
        each_poll: Callable[[], None] = lambda: None,
        outcome: watch.Outcome | None = None,
    ) -> watch.Outcome:
        folder = bundle.path if bundle else folder
        assert folder is not None
        self._write_inputs(plan, folder, job)
        guest = self._start(plan, folder, virtual=self.options.clock == "virtual")
        stall_wall_s = self.options.stall_wall_s
        return watch.follow(guest, report, outcome=outcome, stall_wall_s=stall_wall_s, each_poll=each_poll)

    def _with_facts(self, record: RunRecord, outcome: watch.Outcome, started: float) -> RunRecord:
        """The record with what the guest was found to be and to measure, as far as it came."""
        walls = outcome.phase_wall_s
        found: dict[str, Any] = {
            "build_s": walls.get("boot", 0.0) + walls.get("build", 0.0),
            "calibrate_s": walls.get("calibrate"),
            "transfer_wall_s": walls.get("transfer"),
            "wall_s": time.monotonic() - started,
            "guest": record.guest
            | {
                "memory_touched_bytes": outcome.memory_touched_bytes,
                "memory_beside_bytes": outcome.memory_beside_bytes,
                "huge_pages": outcome.huge_pages,
                "network_build_s": walls.get("build"),
            }
            | outcome.guest.get("effective", {}),
        }
        if measured := outcome.guest.get("calibration"):
            found["calibration"] = CalibrationResult.model_validate(measured)
            found["rtt_ms"] = found["calibration"].rtt_ms
        return record.model_copy(update=found)

    def _with_transfer(self, record: RunRecord, plan: Plan, bundle: BundleWriter, outcome: watch.Outcome) -> RunRecord:
        assert record.calibration is not None
        if not record.calibration.passed:
            raise RunFailed(
                "calibration out of tolerance, no transfer was made: " + "; ".join(record.calibration.failures)
            )
        if self.options.tool == "iperf3":
            iperf3.convert(bundle.path, plan)
        engine = _read_json(bundle.path / "engine.json")
        if engine is None:
            raise RunFailed(
                f"the {self.options.tool} left no result (see log/sender.log): "
                + _last_line(bundle.path / "log" / "sender.log")
            )
        _shift_links(bundle.path / "links.csv", int(engine.get("start_unix_ns") or 0))
        streams = engine.pop("streams", [])
        measured = {
            "engine": engine,
            "window": engine.get("window") or {},
            "streams": streams,
            "goodput_bps": engine.get("goodput_bps"),
            "bytes": engine.get("bytes"),
            "duration_s": engine.get("duration_s"),
            "retransmits": engine.get("retransmits"),
            "guest": record.guest | {"qdiscs": outcome.guest.get("qdiscs", {})},
            "events": outcome.guest.get("events", []),
        }
        record = RunRecord.model_validate(record.model_dump() | measured)
        if engine.get("error") or not engine.get("complete", True):
            bundle.record = record
            raise RunFailed(f"the transfer broke: {engine.get('error') or 'it was stopped'}")
        return record


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def _last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").split("\n") if path.exists() else []
    return next((line for line in reversed(lines) if line.strip()), "no message")


def _shift_links(path: Path, start_unix_ns: int) -> None:
    """The links' samples carry the calendar's time; count from the transfer's start, as the streams' samples do."""
    if not path.exists():
        return
    head, *rows = path.read_text().splitlines()
    shifted = []
    for row in rows:
        time_text, _, rest = row.partition(",")
        if time_text.isdigit() and rest.count(",") == head.count(",") - 1:
            shifted.append(f"{int(time_text) - start_unix_ns},{rest}")
    path.write_text("\n".join([head, *shifted]) + "\n")


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()
