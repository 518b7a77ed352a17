"""A core of the host for a guest's programs, while one is free.

On one core each system call of a program is two switches from process to process. Where guest and program have a core
each, they look at a word of memory instead (kernel patch 0029), and a call costs half as much or less. It takes the
second core's time while programs run, so the core must be free: no other guest has it, nobody else keeps it busy. That
is looked for again and again. Nothing measured depends on it.
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
LOOKS = 2000  # at the other's word before one sleeps: some 40 µs
LOOK_S = 0.25  # between two decisions
FREE, WAITING = 0.3, 0.1  # shares of the time: others on a free core; programs that waited for a core that is not
PATIENCE_S = 8.0  # most between a core that was not free and the next try


class SecondCore:
    """Where the programs of one guest run: on its core, or on another one that nobody needs."""

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

    def look(self) -> None:
        """Now and then: move the guest to a better core; take a second one that is free, or leave one that is not."""
        self._lease.improve(self._guest.processes)
        now = time.monotonic()
        if now < self._looked + LOOK_S:
            return
        share, elapsed_s, self._looked = self._load.look(), now - self._looked, now
        if self.core is None:
            if now >= self._not_before and (free := self._lease.free_beside(share, FREE)) is not None:
                self._take(free)
            return
        before, self._waited_s = self._waited_s, _waited_s(self._programs())
        crowded = self._waited_s - before > WAITING * elapsed_s
        moved = len(self._lease.cores) != self._seats
        if crowded or moved or self._lease.is_seated(self.core):
            self._leave()
            self._patience_s = min(2 * self._patience_s, PATIENCE_S)
            self._not_before = now + self._patience_s

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
        self._guest.write_word("stub_core", own)
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
