"""Wall time on a machine that has other things to do: how long a thing took, and how long it would take undisturbed."""

import os
import statistics
import time
from collections.abc import Callable
from typing import TypeVar

import pytest

WORK_S = 0.1  # of the processor
TRIES = 5
T = TypeVar("T")


class Disturbed(Exception):  # noqa: N818
    """What a try has shown may be the machine's, which did other things meanwhile: the next try tells."""


def undisturbed(condition: object, said: object) -> None:
    """Within `one_of_few`: what holds only where the machine lets the programs run when they want to.

    What must hold always is an assertion, which fails at once.

    Raises:
        Disturbed: with what was seen.
    """
    if not condition:
        raise Disturbed(said)


def one_of_few(attempt: Callable[[int], T]) -> T:
    """What a try gives, the first of a few that nothing disturbed; fails with what all of them have seen.

    A fault of what is tested shows in each try; a machine that stands still does not do so in all of them.

    Args:
        attempt: makes a try; it is given its number, from 0.
    """
    seen: list[str] = []
    for number in range(TRIES):
        try:
            return attempt(number)
        except Disturbed as said:
            seen.append(str(said))
    pytest.fail(f"in none of {TRIES} tries: {'; '.join(seen)}")


def uncounted() -> dict[str, str]:
    """An environment in which a program's lines are not counted (`make coverage`), which makes it slow."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}


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
    before = [contention()]

    def attempt(number: int) -> None:
        took, after = take(number), contention()
        slower, before[0] = max(before[0], after), after
        undisturbed(took <= limit_s * slower, f"{took:.2f} s beside a contention of {slower:.2f}")

    one_of_few(attempt)


def takes_as_long_as(most: float, beside: Callable[[], float], take: Callable[[int], float]) -> None:
    """One of a few tries takes no more than so many times as long as something else, measured before and after it.

    So a limit is as near to what is seen on a machine of any speed, and beside whatever else it does.

    Args:
        most: so many times as long.
        beside: does the other thing, of the same kind, and returns how long it took in s.
        take: does it, and returns how long it took in s; it is given the number of the try, from 0.
    """
    before = [beside()]

    def attempt(number: int) -> None:
        took, after = take(number), beside()
        scale, before[0] = statistics.mean((before[0], after)), after
        undisturbed(took <= most * scale, f"{took:.3f} s, {took / scale:.2f} times {scale:.3f} s; {most} are allowed")

    one_of_few(attempt)
