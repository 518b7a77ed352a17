"""Pauses of this machine beside a measurement in real time: a process sleeps a millisecond, again and again.

Whoever is woken late by a busy machine, a host that takes its virtual processor away, or an interrupt that lasts, is
late in all that it measures. What the watcher saw says how much of a deviation that explains.
"""

from __future__ import annotations

import contextlib
import os
import struct
import subprocess
import sys
import time
from types import TracebackType

STEP_S = 0.001
LATE_S = 0.002  # later than that is a stall
# Before all others where it may, so that it sees the machine's stalls and not its own place in a queue. It sleeps in
# select(2) on a pipe of its starter, so that it ends with it.
SLEEPER = """
import os, select, struct, sys, time
urgent, cpu = sys.argv[1] == "1", int(sys.argv[2])
try:
    if cpu >= 0:
        os.sched_setaffinity(0, [cpu])
    if urgent:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
except OSError:
    pass
before = time.monotonic()
os.write(1, struct.pack("dd", before, 0.0))
while not select.select([0], [], [], %r)[0]:
    now = time.monotonic()
    if now - before - %r > %r:
        os.write(1, struct.pack("dd", before, now - before - %r))
    before = now
""" % (STEP_S, STEP_S, LATE_S, STEP_S)  # noqa: UP031 (it has braces of its own)
RECORD = struct.Struct("dd")


class StallWatch:
    """Watches while it is entered.

    Attributes:
        stalls: when each began, by time.monotonic(), and how long it lasted, in seconds; as far as they were read.
    """

    def __init__(self, *, urgent: bool = True, cpu: int = -1) -> None:
        """Prepare it.

        Args:
            urgent: it runs before all others (SCHED_FIFO), if it may.
            cpu: on that processor only; on any when negative.
        """
        self.stalls: list[tuple[float, float]] = []
        self._words = [sys.executable, "-I", "-S", "-c", SLEEPER, str(int(urgent)), str(cpu)]
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""

    def __enter__(self) -> StallWatch:
        """Return when it watches."""
        self._process = subprocess.Popen(self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self._process.stdout.read(RECORD.size)
        os.set_blocking(self._process.stdout.fileno(), False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it; what it saw stays."""
        assert self._process is not None
        time.sleep(STEP_S)
        self._read()
        self._process.communicate()
        self._process = None

    def _read(self) -> None:
        if self._process is None or self._process.stdout is None:
            return
        with contextlib.suppress(BlockingIOError):
            while more := os.read(self._process.stdout.fileno(), 1 << 16):
                self._rest += more
        whole = len(self._rest) // RECORD.size * RECORD.size
        self.stalls += RECORD.iter_unpack(self._rest[:whole])
        self._rest = self._rest[whole:]

    def between(self, begin: float, end: float) -> tuple[float, float]:
        """Seconds that the machine stood still between two moments of time.monotonic(): in all, and at once."""
        self._read()
        parts = [min(at + length, end) - max(at, begin) for at, length in self.stalls]
        found = [part for part in parts if part > 0]
        return sum(found), max(found, default=0.0)
