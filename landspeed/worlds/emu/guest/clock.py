"""Waiting for a time of the monotonic clock, to the nanosecond (Python's sleep reads the clock before and after)."""

from __future__ import annotations

import ctypes
import fcntl
import os
import time

RNDRESEEDCRNG = 0x5207  # random(4)
CLOCK_MONOTONIC = 1
TIMER_ABSTIME = 1
EINTR = 4
_libc = ctypes.CDLL(None, use_errno=True)


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


def now_ns() -> int:
    """The monotonic clock. In virtual time each reading takes 256 ns of it."""
    return time.monotonic_ns()


def start_afresh() -> None:
    """Return at the next whole second of the monotonic clock, with new random numbers.

    What comes before takes a little more or less virtual time from clone to clone, since each reading of the clock
    takes some, and Python reads it more often where it must compile what it imports; and it draws more or fewer random
    numbers, a folder to mount on being one. What begins here is the same to the nanosecond, and draws the same numbers,
    wherever the clone is: with a seed they depend only on how often this was called.
    """
    sleep_until((now_ns() // 1_000_000_000 + 1) * 1_000_000_000)
    reseed()


def reseed() -> None:
    """New random numbers, see `start_afresh`."""
    random = os.open("/dev/urandom", os.O_RDONLY)
    try:
        fcntl.ioctl(random, RNDRESEEDCRNG)
    finally:
        os.close(random)


def sleep_until(time_ns: int) -> None:
    """Return at that time (clock_nanosleep(2)); at once if it is past."""
    at = _Timespec(*divmod(time_ns, 1_000_000_000))
    status = EINTR
    while status == EINTR:
        status = _libc.clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, ctypes.byref(at), None)
    if status:
        raise OSError(status, f"clock_nanosleep: {os.strerror(status)}")
