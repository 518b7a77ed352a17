"""Waiting for a time of the monotonic clock, to the nanosecond (Python's sleep reads the clock before and after)."""

from __future__ import annotations

import ctypes
import os
import time

CLOCK_MONOTONIC = 1
TIMER_ABSTIME = 1
EINTR = 4
_libc = ctypes.CDLL(None, use_errno=True)


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


def now_ns() -> int:
    """The monotonic clock. In virtual time each reading takes 256 ns of it."""
    return time.monotonic_ns()


def sleep_until(time_ns: int) -> None:
    """Return at that time (clock_nanosleep(2)); at once if it is past."""
    at = _Timespec(*divmod(time_ns, 1_000_000_000))
    status = EINTR
    while status == EINTR:
        status = _libc.clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, ctypes.byref(at), None)
    if status:
        raise OSError(status, f"clock_nanosleep: {os.strerror(status)}")
