"""The emulated world, host side: a plan in, a bundle out. What happens inside the guest is in guest/."""

from __future__ import annotations

import contextlib
import os
import termios
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from landspeed.base.errors import Problem
from landspeed.base.failures import RunFailed
from landspeed.base.finding import Finding
from landspeed.base.progress import Progress
from landspeed.results.bundle import EVIDENCE, BundleWriter
from landspeed.results.facts import EmuFacts, GuestFacts, Spun
from landspeed.results.flow_result import flow_folder
from landspeed.results.record import RunRecord
from landspeed.scenario.file.capabilities import SPECIAL_KEYS, Capabilities
from landspeed.scenario.file.events import KINDS
from landspeed.scenario.file.load import LoadedScenario
from landspeed.scenario.plan.direction import DisciplineName
from landspeed.scenario.plan.flow_path import path_of
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.built_programs import program_trouble
from landspeed.worlds.distribution import how_to_install
from landspeed.worlds.emu import evidence_decoding, hop_delays, machine
from landspeed.worlds.emu import watchdog as watch
from landspeed.worlds.emu.cores import CoreLease, CoreLoad, allowed_cores, check_core
from landspeed.worlds.emu.flows import flows_told
from landspeed.worlds.emu.guest.job import Job
from landspeed.worlds.emu.guest_inputs import transfer_job, write_inputs
from landspeed.worlds.emu.hugepages import LAUNCH
from landspeed.worlds.emu.kernel_build import Kernel
from landspeed.worlds.emu.kernel_choice import VERSION, choose, tracing_words
from landspeed.worlds.emu.memory import check_memory, guest_memory_bytes, transfer_memory
from landspeed.worlds.emu.options import EmuOptions
from landspeed.worlds.emu.refusals import check_kernel, too_large_averages, uncountable_losses
from landspeed.worlds.emu.run_facts import with_facts, with_guest
from landspeed.worlds.emu.sampling import LINKWATCH, SOCKWATCH, check_sampler, sampler_job
from landspeed.worlds.emu.second_core import SecondCore
from landspeed.worlds.emu.session import GuestSession
from landspeed.worlds.emu.spin_cost import check_cost
from landspeed.worlds.emu.wall_time import price_of, remember
from landspeed.worlds.engine.command import ENGINE_BINARY
from landspeed.worlds.program_world import ProgramWorld, SocketSampling
from landspeed.worlds.registry import tool
from landspeed.worlds.this_host import host_facts
from landspeed.worlds.tool import ToolError
from landspeed.worlds.world import Price

FLOW_STALL_S = 1.0


def _no_report(_: Progress) -> None:
    pass


class EmuWorld(ProgramWorld):
    """Namespaces and netem under a real Linux TCP stack, in virtual or real time."""

    name = "emu"
    summary = "the real kernel in virtual time"
    capabilities = Capabilities(
        disciplines=get_args(DisciplineName),
        events=tuple(KINDS),
        special_keys=SPECIAL_KEYS,
        shapes=("path", "network"),
        link_keys=("trace", "cells"),
    )
    Options = EmuOptions
    options: EmuOptions

    def __init__(self, options: Any = None) -> None:
        """Start measuring the load of the host's cores."""
        super().__init__(options)
        self._load = CoreLoad()
        self._asked_kernels: dict[str, Kernel] = {}

    @classmethod
    def problems(cls, loaded: LoadedScenario, plan: Plan | None) -> list[Problem]:  # noqa: ARG003 (the file says it)
        """List the parts of the scenario that netem cannot do."""
        return uncountable_losses(loaded)

    @classmethod
    def doctor(cls) -> list[Finding]:
        """Check whether this host can run a guest."""
        # saves 7 ms where it is not needed
        from landspeed.worlds.emu.doctor import examine

        return examine()

    @classmethod
    def notes(cls, plan: Plan) -> list[tuple[str, str, str]]:
        """Memory and kernel of its guest."""
        most, memory = (f"{size / 2**30:.2f} GiB" for size in transfer_memory(plan, None))
        kernel = [("Kernel of the guest", f"Linux {plan.kernel}", "asked for")] if plan.kernel else []
        return [("Memory of the guest", memory, f"estimated; at most {most}"), cls.price(plan).note, *kernel]

    @classmethod
    def price(cls, plan: Plan) -> Price:
        """Memory by the plan; time by what runs on this machine took."""
        return price_of(plan, transfer_memory(plan, None)[1])

    def remember(self, plan: Plan, wall_s: float) -> None:
        """Learn from runs of the usual kind: no option makes them longer."""
        if self.options.is_usual:
            remember(plan, wall_s)

    @cached_property
    def kernel(self) -> Kernel:
        """The guest's kernel, where the plan asks for none.

        Raises:
            KernelError: it is not built.
        """
        return choose(self.options.kernel)

    def kernel_of(self, plan: Plan) -> Kernel:
        """The kernel that a plan gets: the option's, else the plan's.

        Raises:
            KernelError: it is not there; the message lists those that are.
        """
        if plan.kernel is None or self.options.kernel:
            return self.kernel
        if plan.kernel not in self._asked_kernels:
            self._asked_kernels[plan.kernel] = choose(plan.kernel)
        return self._asked_kernels[plan.kernel]

    def with_options(self, plan: Plan) -> Plan:
        """A kernel that is asked for is part of the work: a version as it was written, another one by its build.

        So is what spinning costs.
        """
        word: str | None = self.options.kernel
        asked: dict[str, Any] = {"kernel": word if VERSION.match(word) else self.kernel.key} if word else {}
        asked |= {"spin_cost_ns": self.options.spin_cost} if self.options.spin_cost is not None else {}
        return replace(plan, **asked) if asked else plan

    def said_first(self, plan: Plan) -> list[str]:
        """Say the disk that whole captures take."""
        return [hop_delays.disk_words(plan)] if self.options.captures_whole else []

    @property
    def clock(self) -> str:
        """Clock as asked for."""
        return self.options.clock

    def build_id(self, plan: Plan | None = None) -> str:
        """Kernel and transfer tool."""
        kernel = self.kernel if plan is None else self.kernel_of(plan)
        return f"kernel {kernel.key}, {self.options.tool} {tool(self.options.tool).build_id()}"

    def made(self, record: RunRecord) -> bool:
        """Return whether this kernel made the run; the samples come from the kernel."""
        return record.world == self.name and record.guest.kernel_key == self.kernel.key

    def memory_bytes(self, plan: Plan) -> int:
        """Memory of the plan's guest."""
        return self.options.memory or guest_memory_bytes(plan)

    def check(self, plan: Plan) -> None:
        """Check before the run whatever can be known then.

        Raises:
            MemoryError: the host has too little memory for this plan, with the numbers.
            KernelError: the kernel is not built.
            CoreError: the core that was asked for cannot be had.
            ToolError: a program is missing, or cannot do what the plan asks.
            NotPossible: two options do not go together.
        """
        if told := too_large_averages(plan):
            raise ToolError(told)
        check_core(self.options.core)
        tool(self.options.tool).check(plan)
        tracing_words(self.kernel_of(plan), self.options.tracing)
        check_kernel(plan, self.kernel_of(plan))
        check_cost(plan.spin_cost_ns, self.options.clock, self.kernel_of(plan))
        for program in (ENGINE_BINARY, LINKWATCH, SOCKWATCH, LAUNCH):
            if trouble := program_trouble(program):
                raise ToolError(trouble)
        if self.options.gathers and (missing := evidence_decoding.missing_programs()):
            raise ToolError(
                f"evidence needs programs that are not here: {', '.join(missing)}; {how_to_install(*missing)}"
            )
        _, taken = transfer_memory(plan, self.options.memory)
        check_memory(taken)
        machine.shared_memory_folder(taken)

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
        job = transfer_job(plan, self.options)
        outcome = watch.GuestOutcome()
        try:
            self._boot_and_follow(plan, bundle, job, report, outcome=outcome)
        finally:  # whatever ended it, what is known belongs to the record
            record = bundle.record = with_facts(record, outcome, started)
        if not outcome.guest.calibrations:
            raise RunFailed("the guest made no calibration")
        record = self._with_transfer(record, plan, bundle, outcome)
        if self.options.gathers:
            record.guest.captured_packets = {
                end if plan.is_path else f"{flow.name}: {end}": count
                for flow in plan.flows
                for end, count in evidence_decoding.finish_evidence(bundle.path / flow_folder(plan, flow)).items()
            }
        if self.options.captures_whole:
            for flow in plan.flows:
                way = path_of(plan, flow)
                names = [node.name for node in way.nodes[: way.hops + 1]]
                hop_delays.write_delays(bundle.path / flow_folder(plan, flow) / EVIDENCE, names)
        return record

    def execute(
        self,
        plan: Plan,
        folder: Path,
        *,
        at: str,
        command: list[str],
        visible: Sequence[Path] = (),
        calibrate: bool = True,
        sampling: SocketSampling | None = None,
        report: Callable[[Progress], None] = _no_report,
        each_poll: Callable[[], None] = lambda: None,
        spun: Callable[[list[Spun]], None] = lambda _: None,
    ) -> int:
        """Run a program of the user's in a guest of its own."""
        job = Job(
            mode="exec",
            visible=[str(each) for each in visible],
            calibrate=calibrate,
            at=at,
            command=command,
            cwd=str(Path.cwd()),
            sampler=sampler_job(sampling),
        )
        outcome = self._boot_and_follow(plan, None, job, report, folder=folder, each_poll=each_poll)
        if outcome.guest.failures:
            raise RunFailed("calibration: " + "; ".join(outcome.guest.failures))
        check_sampler(folder, outcome.guest.sampler)
        spun(outcome.guest.spun)
        assert outcome.guest.status is not None
        return outcome.guest.status

    def shell(self, plan: Plan, folder: Path) -> None:
        """A prompt on the emulated path, in real time, on this terminal.

        Raises:
            GuestError: the guest broke.
        """
        write_inputs(plan, folder, Job(mode="shell"), self.options)
        modes = termios.tcgetattr(0) if os.isatty(0) else None
        with CoreLease(self.options.core, self._load):
            guest = self._start(plan, folder, virtual=False, terminal=True)
            try:
                guest.process.wait()
                watch.last_words(guest, [], Progress(phase="shell"))
            finally:
                guest.stop()
                if modes is not None:  # the guest's console makes the terminal raw
                    termios.tcsetattr(0, termios.TCSADRAIN, modes)

    @contextlib.contextmanager
    def session(
        self, plan: Plan, folder: Path, *, visible: Sequence[Path] = (), memory_bytes: int | None = None
    ) -> Generator[GuestSession]:
        """A guest that does one thing after the other as it is asked, until the block is left.

        Args:
            plan: the network; `changeable` where its links may change.
            folder: of the run; the guest's /run/landspeed.
            visible: more folders of the host that the guest sees, also where it has its own.
            memory_bytes: of the guest; None: what such a plan needs.

        Raises:
            GuestError: the guest broke.
        """
        write_inputs(plan, folder, Job(mode="session"), self.options, visible)
        with CoreLease(self.options.core, self._load) as lease:
            guest = self._start(
                plan, folder, virtual=True, memory=(memory_bytes, memory_bytes) if memory_bytes else None
            )
            lease.step_aside()
            try:
                yield GuestSession(guest, stall_wall_s=self.options.stall, each_look=SecondCore(guest, lease).look)
            finally:
                guest.stop()

    # --- steps of a run ----------------------------------------------------------------------------------------------

    def _begin(self, plan: Plan, bundle: BundleWriter) -> RunRecord:
        known, kernel = bundle.record, self.kernel_of(plan)
        record = known.model_copy(
            update={
                "tool": self.options.tool,
                "world_facts": EmuFacts(
                    host=host_facts(sorted(allowed_cores())),
                    guest=GuestFacts(kernel_key=kernel.key, memory_bytes=transfer_memory(plan, self.options.memory)[0]),
                ),
                "versions": known.versions | {"kernel": kernel.name},
            }
        )
        bundle.note(record)
        return record

    def _start(
        self, plan: Plan, folder: Path, *, virtual: bool, terminal: bool = False, memory: tuple[int, int] | None = None
    ) -> machine.Guest:
        most, taken = memory or (self.memory_bytes(plan),) * 2
        check_memory(taken)
        kernel = self.kernel_of(plan)
        return machine.start(
            kernel,
            folder.resolve(),
            memory_bytes=most,
            seed=plan.seed,
            virtual=virtual,
            shm=machine.shared_memory_folder(taken),
            terminal=terminal,
            more_words=tracing_words(kernel, self.options.tracing),
        )

    def _boot_and_follow(
        self,
        plan: Plan,
        bundle: BundleWriter | None,
        job: Job,
        report: Callable[[Progress], None],
        *,
        folder: Path | None = None,
        each_poll: Callable[[], None] = lambda: None,
        outcome: watch.GuestOutcome | None = None,
    ) -> watch.GuestOutcome:
        folder = bundle.path if bundle else folder
        assert folder is not None
        write_inputs(plan, folder, job, self.options)
        # Programs that begin at one instant of the guest's clock do so one after the other.
        stall_wall_s = self.options.stall + FLOW_STALL_S * max(len(job.flows) - 1, 0)
        outcome = outcome or watch.GuestOutcome()
        with CoreLease(self.options.core, self._load) as lease:
            outcome.cores = lease.cores
            memory = transfer_memory(plan, self.options.memory) if job.mode == "transfer" else None
            guest = self._start(plan, folder, virtual=self.options.clock == "virtual", memory=memory)
            lease.step_aside()
            second = SecondCore(guest, lease)

            def poll() -> None:
                second.look()
                each_poll()

            folders = [flow.folder for flow in job.flows]
            return watch.follow(
                guest, report, outcome=outcome, stall_wall_s=stall_wall_s, each_poll=poll, flow_folders=folders
            )

    def _with_transfer(
        self, record: RunRecord, plan: Plan, bundle: BundleWriter, outcome: watch.GuestOutcome
    ) -> RunRecord:
        guest = outcome.guest
        if guest.failures:
            raise RunFailed("calibration out of tolerance, no transfer was made: " + "; ".join(guest.failures))
        facts = with_guest(record, GuestFacts(qdiscs=guest.qdiscs))
        record = record.model_copy(update={"world_facts": facts, "events": guest.events})
        record = flows_told(record, plan, bundle.path, self.options.tool, guest)
        bundle.links_origin_ns = record.tool_result.start_unix_ns or 0  # the link watch tells the calendar's time
        bundle.record = record
        if record.tool_result.error or not record.tool_result.complete:
            raise RunFailed(f"the transfer broke: {record.tool_result.error or 'it was stopped'}")
        return record
