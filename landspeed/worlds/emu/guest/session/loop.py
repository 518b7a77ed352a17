"""Loop of PID 1 while virtual time passes in a session: events at their nanosecond, output and ends of programs."""

from __future__ import annotations

import ctypes
import os
import select
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from landspeed.worlds.emu.guest.link_events import LinkEvents

CLOCK_MONOTONIC = 1
TFD_TIMER_ABSTIME = 1
_libc = ctypes.CDLL(None, use_errno=True)


class _TimerSpec(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_long) for name in ("every_s", "every_ns", "seconds", "nanoseconds"))


class Loop:
    """Waits for descriptors and times, and calls who is concerned. It never reads the clock, which would move it."""

    def __init__(self, events: LinkEvents) -> None:
        """Link events happen meanwhile."""
        self._events = events
        self._calls: dict[int, Callable[[], None]] = {}
        self._poll = select.poll()
        self._timer = _libc.timerfd_create(CLOCK_MONOTONIC, os.O_CLOEXEC | os.O_NONBLOCK)
        if self._timer < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._poll.register(self._timer, select.POLLIN)

    def watch(self, descriptor: int, call: Callable[[], None]) -> None:
        """Call this whenever the descriptor can be read, or its other end is gone."""
        self._calls[descriptor] = call
        self._poll.register(descriptor, select.POLLIN)

    def forget(self, descriptor: int) -> None:
        """Stop watching a descriptor."""
        self._poll.unregister(descriptor)
        del self._calls[descriptor]

    def step(self, until_ns: int) -> bool:
        """Wait for the next thing, whatever it is, and let it happen.

        Returns:
            whether it was the time `until_ns` of the monotonic clock, and nothing else.
        """
        due_ns = self._events.due_ns
        is_event = due_ns is not None and due_ns <= until_ns
        self._set_timer(due_ns if due_ns is not None and is_event else until_ns)
        ready = [descriptor for descriptor, _ in self._poll.poll()]
        if self._timer in ready:
            if is_event:  # before anything else: it is due now
                self._events.happen()
            elif len(ready) == 1:
                return True
        for descriptor in ready:
            if call := self._calls.get(descriptor):
                call()
        return False

    def _set_timer(self, time_ns: int) -> None:
        spec = _TimerSpec(0, 0, *divmod(max(time_ns, 1), 1_000_000_000))
        if _libc.timerfd_settime(self._timer, TFD_TIMER_ABSTIME, ctypes.byref(spec), None):
            raise OSError(ctypes.get_errno(), "timerfd_settime")
