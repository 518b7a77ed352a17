"""The plan's traces, step by step, while the transfer runs: each told to the qdiscs at its instant, as events are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from landspeed.worlds.emu.guest.shaping.direction import DirectionState

if TYPE_CHECKING:
    from landspeed.scenario.plan.trace import Trace


class Follower:
    """Takes one direction along its trace.

    A rate changes where the queue is, behind the delay (link_qdiscs.py), for what enters the link from then on. Where
    the delay falls by more than a step lasts, a later rate is due before an earlier one: the earlier one is left out.
    """

    def __init__(self, direction: DirectionState, trace: Trace, at: Callable[[int, Callable[[], None]], None]) -> None:
        """Begin with the first step; `at` has something done at a time since the transfer's start."""
        self._lane, self._trace, self._at = direction, trace, at
        self._steps: Iterator[tuple[int, int]] = trace.steps()
        self._number = self._told = 0  # of the step that is due, and of the last one whose rate the line has been told
        self._next()

    def _next(self) -> None:
        if (step := next(self._steps, None)) is not None:
            time_ns, place = step
            self._at(time_ns, lambda: self._step(time_ns, place))

    def _step(self, time_ns: int, place: int) -> None:
        trace, direction = self._trace, self._lane
        direction.follow(
            delay_ns=trace.delay_ns[place] if trace.delay_ns else None, loss=trace.loss[place] if trace.loss else None
        )
        self._number += 1
        if trace.rate_bps:
            number, rate_bps = self._number, trace.rate_bps[place]
            self._at(time_ns + direction.queue_delay_ns, lambda: self._rate(number, rate_bps))
        self._next()

    def _rate(self, number: int, rate_bps: int) -> None:
        if number > self._told:
            self._told = number
            self._lane.follow_rate(rate_bps)
