"""One core of the host for each guest.

A guest's kernel and the processes that it traces take turns: of all of them only one runs at a time. On one core a turn
is a switch; on two it wakes the other core, which costs more than most system calls do. So a guest gets one core of
those that this process may use (affinity, cpuset), and all of its processes inherit it. What watches it goes elsewhere.

All runs on this host know of each other by seats. Seat 0 of core 3 is a socket by the name `landspeed-core/3/0` among
the abstract ones (unix(7)): the name is one process's alone, ends with it in whatever way it ends, and needs no folder.
Runs in other network namespaces are not seen; what they do to a core is (/proc/stat).
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Container, Iterable, Mapping
from pathlib import Path
from types import TracebackType

from landspeed.base.failures import NotPossible
from landspeed.base.log import Log

Wish = int | str | None
"""A core by number; "any": all of them, as the host's scheduler likes; None: the least busy one."""

LOG = Log(__name__)
NAME = "landspeed-core"
ROWS = 64  # guests on one core that know of each other
CHANGE_S = 2.0  # who shares a core looks for a better one so often
TOPOLOGY = Path("/sys/devices/system/cpu")
_seated: dict[int, set[int]] = {}  # threads within a seat, by the host's number → cores that the process may use


class CoreError(NotPossible):
    """The core that was asked for cannot be had; the message says which can."""


class CoreLoad:
    """Load of each core of the host."""

    def __init__(self) -> None:
        """Count from now on."""
        self._before = _ticks()

    def look(self) -> dict[int, float]:
        """The share of the time since the last look that each core was not idle."""
        before, self._before = self._before, _ticks()
        share: dict[int, float] = {}
        for core, (busy, total) in self._before.items():
            busy_before, total_before = before.get(core, (0, 0))
            share[core] = (busy - busy_before) / (total - total_before) if total > total_before else 0.0
        return share


def _ticks() -> dict[int, tuple[int, int]]:
    """Core → ticks that it was busy, and all ticks (proc_stat(5)); empty where the host does not tell."""
    found: dict[int, tuple[int, int]] = {}
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/stat").read_text().splitlines():
            name, *words = line.split()
            if name.startswith("cpu") and name != "cpu":
                user, nice, system, idle, waiting, *interrupts = map(int, words[:8])
                busy = user + nice + system + sum(interrupts)
                found[int(name[3:])] = (busy, busy + idle + waiting)
    return found


def best_first(cores: Iterable[int], load: Mapping[int, float], siblings: Mapping[int, list[int]]) -> list[int]:
    """Cores in the order in which a guest should take them.

    The least busy comes first, where a hardware thread of the same core counts half; among equals the first thread of
    each core, then the lowest number.
    """

    def key(core: int) -> tuple[float, int, int]:
        threads = siblings.get(core) or [core]
        beside = sum(load.get(thread, 0.0) for thread in threads if thread != core)
        return round(load.get(core, 0.0) + beside / 2, 1), threads.index(core) if core in threads else 0, core

    return sorted(cores, key=key)


def hardware_threads(cores: Iterable[int]) -> dict[int, list[int]]:
    """Core → all hardware threads of the same core, itself among them; what the host does not tell is left out."""
    found: dict[int, list[int]] = {}
    for core in cores:
        with contextlib.suppress(OSError, ValueError):
            threads: list[int] = []
            for part in (TOPOLOGY / f"cpu{core}/topology/thread_siblings_list").read_text().strip().split(","):
                first, _, last = part.partition("-")
                threads += range(int(first), int(last or first) + 1)
            found[core] = threads
    return found


def parse_core(text: str) -> Wish:
    """A core's number, or "any". Raises ValueError."""
    if text == "any":
        return "any"
    if not (text.isascii() and text.isdigit() and len(text) < 6):
        raise ValueError(f"'{text}' is not a core: write its number, such as 0, or any")
    return int(text)


def allowed_cores() -> set[int]:
    """Cores that this process may use, also while its threads keep off those of its guests."""
    return set(next(iter(list(_seated.values())), None) or os.sched_getaffinity(0))


def check_core(wish: Wish) -> None:
    """Refuse a core that this process may not use.

    Raises:
        CoreError: with those that it may.
    """
    allowed = sorted(allowed_cores())
    if wish not in (None, "any", *allowed):
        named = ", ".join(map(str, allowed))
        raise CoreError(f"--core {wish}: this process may use {'core' if len(allowed) == 1 else 'the cores'} {named}")


class CoreLease:
    """A guest's place on a core. Within `with` it is taken: what the thread starts then runs there.

    Attributes:
        allowed: cores that this process may use.
        cores: cores that the guest ran on, the present one last; all that are allowed with the wish "any".
    """

    def __init__(self, wish: Wish, load: CoreLoad) -> None:
        """Prepare the choice of cores; take none yet."""
        self.allowed = allowed_cores()
        self.cores: list[int] = []
        self._wish: Wish = wish
        self._load = load
        self._row = 0
        self._name: socket.socket | None = None
        self._next_change = 0.0

    def __enter__(self) -> CoreLease:
        """Take the least busy core of those with the fewest guests, and bring this thread there.

        Raises:
            CoreError: the core that was asked for is not allowed.
        """
        check_core(self._wish)
        _seated[threading.get_native_id()] = self.allowed
        if self._wish == "any":
            self.cores = sorted(self.allowed)
            LOG.info("any core of %s", self.cores)
            return self
        order = [self._wish] if isinstance(self._wish, int) else self._order()
        if not self._take((core, row) for row in range(ROWS) for core in order):
            self.cores = order[:1]  # somebody holds all names: do without one
        os.sched_setaffinity(0, {self.cores[-1]})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the core back."""
        self._bring_threads(self.allowed)
        _seated.pop(threading.get_native_id(), None)
        if self._name is not None:
            self._name.close()
        self._load.look()  # what this guest did to its core is over

    def step_aside(self) -> None:
        """The guest is started: bring this process to other cores, if there are any."""
        if self._wish != "any":
            self._bring_threads(self.allowed - {self.cores[-1]} or self.allowed)

    def improve(self, processes: Callable[[], Iterable[int]]) -> None:
        """Now and then: bring a guest that shares its core to where there are fewer, or else, in turn, as many.

        Args:
            processes: those of the guest; the one that makes the others comes first.
        """
        if self._row == 0 or self._wish is not None or time.monotonic() < self._next_change:
            return
        here = self.cores[-1]
        others = [core for core in self._order() if core != here]
        better = [(core, row) for row in range(self._row) for core in (here, *others)]
        if self._take((*better, *((core, self._row) for core in others))) and self.cores[-1] != here:
            for process in processes():
                _move(process, {self.cores[-1]})
            self.step_aside()

    def free_beside(self, load: Mapping[int, float], most: float) -> int | None:
        """A core beside this guest's that no guest has, and that was busy for this share of the time at most.

        None if there is none, or if the guest's core was chosen: then it is that one alone.
        """
        if self._wish is not None:
            return None
        others = self.allowed - {self.cores[-1]}
        free = [core for core in others if load.get(core, 1.0) <= most and not self.is_seated(core)]
        return next(iter(best_first(free, load, hardware_threads(self.allowed))), None)

    def is_seated(self, core: int) -> bool:
        """Return whether a guest has a core."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as name:
            return name.connect_ex(f"\0{NAME}/{core}/0") == 0

    def _order(self) -> list[int]:
        return best_first(self.allowed, self._load.look(), hardware_threads(self.allowed))

    def _take(self, seats: Iterable[tuple[int, int]]) -> bool:
        """Change to the first of these seats that is free; whether one was."""
        self._next_change = time.monotonic() + CHANGE_S
        for core, row in seats:
            name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                name.bind(f"\0{NAME}/{core}/{row}")
            except OSError:
                name.close()
                continue
            if self._name is not None:
                self._name.close()
            self._name, self._row = name, row
            if self.cores[-1:] != [core]:
                self.cores.append(core)
            LOG.info("core %d of %s, with %d guests there before", core, sorted(self.allowed), row)
            return True
        return False

    def _bring_threads(self, cores: set[int]) -> None:
        """Move this thread, and those of this process that watch no other guest."""
        _move(os.getpid(), cores, but=_seated.keys() - {threading.get_native_id()})


def _move(process: int, cores: set[int], but: Container[int] = ()) -> None:
    """All threads of a process but some."""
    for thread in _threads(process):
        if thread not in but:
            with contextlib.suppress(ProcessLookupError):  # it ended meanwhile
                os.sched_setaffinity(thread, cores)


def _threads(process: int) -> list[int]:
    with contextlib.suppress(OSError):  # it ended meanwhile
        return [int(entry.name) for entry in Path(f"/proc/{process}/task").iterdir()]
    return []
