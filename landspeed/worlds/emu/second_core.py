"""A core of the host for a guest's programs, while one is free.

On one core each system call of a program is two switches from process to process. Where guest and program have a core
each, they look at a word of memory instead (kernel patch 0029), and a call costs half as much or less. But to wake a
program there that sleeps takes longer than on one core: it pays for a program that makes many calls, not for many that
take turns. And it takes the second core's time, so the core must be free: no other guest has it, nobody else keeps it
busy. All of it is counted and decided again and again. Nothing measured depends on it.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path

from landspeed.base.log import Log
from landspeed.worlds.emu.cores import CoreLease, CoreLoad
from landspeed.worlds.emu.machine import Guest

LOG = Log(__name__)
LOOKS = 8000  # at the other's word before one sleeps: some 160 µs
LOOK_S = 0.1  # between two decisions
FREE, WAITING = 0.3, 0.4  # shares of the time: others on a free core; programs that waited for a core that is not
TURN_S, WAKE_S = 4e-6, 20e-6  # what a turn on two cores saves, and what it costs to wake a program there
# Share of the time that must be saved, 60 000 turns a second: what programs and kernel then write for each other also
# goes from core to core. Verified payload, 16 000 turns a second, took a third more time on two; iperf3 has 270 000.
WORTH = 0.25
NOWHERE = -1  # a word for the kernel: programs begin on its own core, also when it has moved to another one
PATIENCE_S = 8.0  # most between a core that was not free, or not worth it, and the next try


class SecondCore:
    """Choice of where the programs of one guest run: on its core, or on another one that nobody needs."""

    def __init__(self, guest: Guest, lease: CoreLease) -> None:
        """Begin on the guest's own core."""
        self.core: int | None = None
        self._guest, self._lease = guest, lease
        self._load = CoreLoad()
        self._looked = time.monotonic()
        self._not_before = self._looked if guest.virtual else float("inf")
        self._patience_s = LOOK_S
        self._waited_s = 0.0
        self._seats = 0
        self._turns = self._wakes = 0

    def look(self) -> None:
        """Now and then: move the guest to a better core; take a second one that is free, or leave one that is not."""
        self._lease.improve(self._guest.processes)
        now = time.monotonic()
        if now < self._looked + LOOK_S:
            return
        share, elapsed_s, self._looked = self._load.look(), now - self._looked, now
        turns, wakes = self._counted()
        if self.core is None:
            worth = turns * TURN_S > WORTH * elapsed_s
            if worth and now >= self._not_before and (free := self._lease.free_beside(share, FREE)) is not None:
                self._take(free)
            return
        before, self._waited_s = self._waited_s, _waited_s(self._programs())
        crowded = self._waited_s - before > WAITING * elapsed_s
        moved = len(self._lease.cores) != self._seats
        costs = turns * TURN_S - wakes * WAKE_S < WORTH / 2 * elapsed_s
        if crowded or moved or costs or self._lease.is_seated(self.core):
            self._leave()
            self._patience_s = min(2 * self._patience_s, PATIENCE_S)
            self._not_before = now + self._patience_s

    def _counted(self) -> tuple[int, int]:
        """Turns of programs since the last look, and those for which one had to be woken."""
        before = self._turns, self._wakes
        self._turns, self._wakes = (self._guest.read_count(each) for each in ("stub_turns", "stub_wakes"))
        return (self._turns - before[0]) % 2**32, (self._wakes - before[1]) % 2**32

    def _take(self, core: int) -> None:
        if self._guest.tracing() != "seccomp":  # or not yet: it has just begun
            return
        if not self._guest.write_word("stub_core", core):
            self._not_before = float("inf")  # such a kernel cannot
            return
        for process in self._programs():
            _move(process, core)
        self._guest.write_word("stub_looks", LOOKS)
        self.core, self._seats = core, len(self._lease.cores)
        self._waited_s = _waited_s(self._programs())
        LOG.info("programs on core %d", core)

    def _leave(self) -> None:
        own = self._lease.cores[-1]
        self._guest.write_word("stub_looks", 0)
        self._guest.write_word("stub_core", NOWHERE)
        for process in self._programs():
            _move(process, own)
        LOG.info("programs on core %d, the guest's own", own)
        self.core = None

    def _programs(self) -> list[int]:
        return self._guest.processes()[1:]


def _move(process: int, core: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it ended meanwhile
        os.sched_setaffinity(process, {core})


def _waited_s(processes: Iterable[int]) -> float:
    """Time that processes were ready and had no core (/proc/PID/schedstat, its second word)."""
    total = 0
    for process in processes:
        with contextlib.suppress(OSError, ValueError, IndexError):
            total += int(Path(f"/proc/{process}/schedstat").read_text().split()[1])
    return total / 1e9
