"""Wall time on a machine that has other things to do: how long a thing took, and how long it would take undisturbed."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

WORK_S = 0.1  # of the processor
TRIES = 5


def contention() -> float:
    """How many times longer than its work a process takes at present, which shares its core with others: 1 or more."""
    wall, work = time.monotonic(), time.process_time()
    while time.process_time() - work < WORK_S:
        pass
    return max(1.0, (time.monotonic() - wall) / WORK_S)


def takes_at_most(limit_s: float, take: Callable[[int], float]) -> None:
    """One of a few tries stays below the limit, times how much others slow this machine down just before or after it.

    Args:
        limit_s: what is promised, in s.
        take: does it, and returns how long it took; it is given the number of the try, from 0.
    """
    seen: list[tuple[float, float]] = []
    before = contention()
    for number in range(TRIES):
        took = take(number)
        after = contention()
        seen.append((round(took, 2), round(max(before, after), 2)))
        if took <= limit_s * max(before, after):
            return
        before = after
    pytest.fail(f"more than {limit_s} s in each try (s, contention): {seen}")
