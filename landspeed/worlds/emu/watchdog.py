"""Follows a running guest from the host: phases on its console, live figures, a clock that stands still, its end.

Nothing here speaks to the guest; it reads files the guest writes and the memory of its kernel.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from landspeed.base.failures import RunFailed
from landspeed.base.files import read_object
from landspeed.base.log import Log
from landspeed.base.progress import Progress
from landspeed.worlds.emu.guest_answer import GuestAnswer
from landspeed.worlds.emu.machine import Guest

LOG = Log(__name__)
POLL_S = 0.05
COUNT_S = 0.5  # how often memory beside the guest's is counted: all its processes are asked
STALL_WALL_S = 20.0  # no run is so slow that its clock moves less than STALL_VIRTUAL_S in this time
STALL_VIRTUAL_S = 0.001
STARVED_TIMES = 30
BLOCK_BYTES = 4096  # of a file system: with less nothing new can be written


class GuestError(RunFailed):
    """The guest ended the run: stalled, out of memory, panicked, job failed. The message says which and where."""


@dataclass
class GuestOutcome:
    """End of a guest. Wall seconds of each phase; the host's cores that it ran on; its own last words in `guest`."""

    phase_wall_s: dict[str, float] = field(default_factory=dict[str, float])
    memory_touched_bytes: int = 0
    memory_beside_bytes: int = 0
    huge_pages: bool = False
    tracing: str | None = None
    cores: list[int] = field(default_factory=list[int])
    guest: GuestAnswer = field(default_factory=GuestAnswer)

    def count_memory(self, guest: Guest) -> None:
        """Seen only while it runs, and costs a little to see."""
        self.memory_beside_bytes = max(self.memory_beside_bytes, guest.memory_beside_bytes())

    def in_phase(self, guest: Guest) -> None:
        """A phase began, so the guest's kernel runs programs by now, and has chosen how."""
        self.tracing = guest.tracing() or self.tracing


class StallWatch:
    """Watch that notices when a guest's clock stands still; a real clock never does."""

    def __init__(self, guest: Guest, wall_s: float) -> None:
        """Start watching.

        Args:
            guest: a started guest.
            wall_s: wall time without any virtual time after which it is given up. Others may leave it too little of the
                processor: while it wants more, it must have had a quarter of that time of it, or 30 times that time is
                over.
        """
        self._guest, self._wall_s = guest, wall_s
        self._anchor_cpu: float | None = None
        self._started = self._anchor_wall = time.monotonic()
        self._anchor_virtual = -1.0

    def look(self, progress: Progress) -> None:
        """Bring the progress's virtual time up to date.

        Raises:
            GuestError: it has stood still for too long; the message names the task that runs.
        """
        now = time.monotonic()
        virtual = self._guest.virtual_time_s() if self._guest.virtual else now - self._started
        if virtual is None:
            return
        progress.virtual_s = virtual
        if virtual - self._anchor_virtual > STALL_VIRTUAL_S:
            self._anchor_wall, self._anchor_virtual, self._anchor_cpu = now, virtual, None
        elif now - self._anchor_wall > self._wall_s and not self._is_starved(now - self._anchor_wall):
            raise GuestError(_stall_message(self._guest, progress, virtual, self._wall_s))

    def _is_starved(self, wall_s: float) -> bool:
        if wall_s > STARVED_TIMES * self._wall_s or not self._guest.wants_processor():
            return False
        used_s = self._guest.cpu_s()
        if self._anchor_cpu is None:
            self._anchor_cpu = used_s
        return used_s - self._anchor_cpu < self._wall_s / 4


class LineFollower:
    """Whole lines appended to a file that may not exist yet."""

    def __init__(self, path: Path) -> None:
        """Follow from the start."""
        self._path, self._position, self._rest = path, 0, b""

    def read(self) -> list[str]:
        """Lines that were completed since the last call."""
        try:
            with self._path.open("rb") as handle:
                handle.seek(self._position)
                data = handle.read()
        except FileNotFoundError:
            return []
        self._position += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line.decode(errors="replace") for line in lines]


class LiveFlows:
    """The live figures of all flows, as one transfer."""

    def __init__(self, folder: Path, flow_folders: Sequence[str]) -> None:
        """Follow from the start."""
        self._files = [LineFollower(folder / each / "live.jsonl") for each in flow_folders or ("",)]
        self._latest: dict[int, dict[str, Any]] = {}
        self._starts_ns: dict[int, int] = {}

    def tell(self, progress: Progress) -> None:
        """Bring the progress up to date."""
        for number, file in enumerate(self._files):
            for line in file.read():
                figures = self._latest[number] = json.loads(line)
                self._starts_ns.setdefault(number, figures.get("start_monotonic_ns", 0))
        if not (known := list(self._latest.values())):
            return
        # Each counts from its own start; all read one clock.
        first_ns = min(self._starts_ns.values())
        progress.transfer_s = max(
            each["time_s"] + (self._starts_ns[number] - first_ns) / 1e9 for number, each in self._latest.items()
        )
        progress.bytes = sum(each["bytes"] for each in known)
        progress.goodput_bps = sum(each["goodput_bps"] for each in known)


def follow(
    guest: Guest,
    report: Callable[[Progress], None] = lambda _: None,
    *,
    outcome: GuestOutcome | None = None,
    stall_wall_s: float = STALL_WALL_S,
    each_poll: Callable[[], object] = lambda: None,
    flow_folders: Sequence[str] = ("",),
) -> GuestOutcome:
    """Wait until the guest has ended.

    Args:
        guest: a started guest; it is stopped when this returns or raises.
        report: called when a phase begins and a few times a second.
        outcome: filled in as things become known, so that it has them too when this raises.
        stall_wall_s: wall time without any virtual time after which the run is given up.
        each_poll: called at every poll (to pass on a program's output); True: the guest stood still for it.
        flow_folders: of the flows, relative to the run's.

    Raises:
        GuestError: with what was running and why it ended.
    """
    console, flows = LineFollower(guest.folder / "log" / "console.log"), LiveFlows(guest.folder, flow_folders)
    started = time.monotonic()
    progress, outcome = Progress(), outcome or GuestOutcome()
    phase_started, stall = started, StallWatch(guest, stall_wall_s)
    messages: list[str] = []
    next_count = started

    def read_files() -> None:
        nonlocal phase_started
        for line in console.read():
            if line.startswith("@landspeed "):
                now = time.monotonic()
                outcome.phase_wall_s[progress.phase] = now - phase_started
                LOG.info("phase %s took %.3f s of wall time", progress.phase, now - phase_started)
                progress.phase, phase_started = json.loads(line.removeprefix("@landspeed "))["phase"], now
                outcome.in_phase(guest)
                report(progress)  # each phase, also one that began and ended between two polls
            else:
                messages.append(line)
                LOG.debug("console: %s", line.rstrip())
        flows.tell(progress)
        if progress.phase == "transfer":
            progress.transfer_wall_s = time.monotonic() - phase_started

    outcome.huge_pages = guest.huge_pages
    try:
        while guest.process.poll() is None:
            now = time.monotonic()
            stall.look(progress)
            outcome.memory_touched_bytes = max(outcome.memory_touched_bytes, guest.touched_memory_bytes())
            if now >= next_count:
                outcome.count_memory(guest)
                next_count = now + COUNT_S
            progress.wall_s = now - started
            read_files()
            if each_poll():
                stall = StallWatch(guest, stall_wall_s)
            report(progress)
            guest.wait(POLL_S)
        outcome.memory_touched_bytes = max(outcome.memory_touched_bytes, guest.touched_memory_bytes())
        read_files()
        each_poll()
        report(progress)
        outcome.guest = last_words(guest, messages, progress)
    finally:
        guest.stop()
        if not outcome.guest.model_fields_set:
            outcome.guest = GuestAnswer.model_validate(read_object(guest.folder / "measured.json"))
    return outcome


def _stall_message(guest: Guest, progress: Progress, virtual_s: float, stall_wall_s: float) -> str:
    return (
        f"the virtual clock has stood still at {virtual_s:.6f} s for {stall_wall_s:.0f} s of wall time in the phase "
        f"'{progress.phase}'; the task that ran is '{guest.running_task()}'. A program that computes for ever without "
        "sleeping or reading the clock stops virtual time, since computation takes none of it. Only if it waits in a "
        "loop of system calls, --spin-cost 1us lets time pass for it."
    )


def last_words(guest: Guest, messages: list[str], progress: Progress) -> GuestAnswer:
    """The guest's own result, or why there is none."""
    text = "\n".join(messages)
    where = f"in the phase '{progress.phase}' at {progress.virtual_s:.3f} s of the guest's time"
    if "Out of memory" in text or "out of memory" in text:
        running = re.search(r"Comm: (\S+)", text)
        raise GuestError(
            f"the guest ran out of memory {where} while '{running[1] if running else '?'}' ran; give it more (--memory)"
        )
    if panic := re.search(r"Kernel panic - not syncing: (.*)", text):
        raise GuestError(f"the guest's kernel panicked {where}: {panic[1]} (see log/console.log)")
    words = read_object(guest.folder / "guest.json")
    if not words and progress.phase == "boot":  # no program of the guest has run: the host does not let it
        said = next((line.strip() for line in reversed(messages) if line.strip()), "it said nothing")
        raise GuestError(
            f"the guest did not boot (exit status {guest.process.returncode}): {said}; `landspeed doctor` says more"
        )
    if not words and shutil.disk_usage(guest.folder).free < BLOCK_BYTES:
        raise GuestError(f"the disk is full: the guest could not write its result {where}; give another folder (--out)")
    if not words:
        raise GuestError(
            f"the guest ended {where} without a result (exit status {guest.process.returncode}; see log/console.log)"
        )
    if words.get("error"):
        raise GuestError(f"the guest's job failed {where}: {words['error']} (see log/console.log)")
    return GuestAnswer.model_validate(words)
