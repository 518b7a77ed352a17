"""Losses by count: every N-th packet that enters a link, from the start of the transfer on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from landspeed.worlds.emu.guest.shaping.direction import DirectionState

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Link, Plan


class Periodic:
    """Has each N-th packet lost.

    netem is told of one packet at a time (lose_next.py), which it then loses by itself. Before N more can have come,
    somebody looks how many did, and tells it the next one.
    """

    def __init__(self, direction: DirectionState, look_ns: int, at: Callable[[int, Callable[[], None]], None]) -> None:
        """Begin with the transfer; `at` has something done at a time since its start."""
        self._direction, self._look_ns, self._at = direction, look_ns, at
        at(0, lambda: self._look(0))

    def _look(self, time_ns: int) -> None:
        self._direction.lose_next_of_period()
        self._at(time_ns + self._look_ns, lambda: self._look(time_ns + self._look_ns))


def look_after_ns(plan: Plan, link: Link, *, forward: bool) -> int:
    """Time in which half of a period's full packets can come at most: by all lines that lead to the link."""
    near = link.a if forward else link.b
    fastest_bps = sum(
        rate
        for other in plan.links
        for end, way in ((other.b, other.forward), (other.a, other.reverse))
        if end == near and other is not link
        for rate in [max(way.rates_bps)]
    )
    fastest_bps += next(node.nic_rate_bps or 0 for node in plan.nodes if node.name == near)
    every = (link.forward if forward else link.reverse).loss_every
    return every * (link.mtu_bytes + link.framing_bytes) * 8 * 10**9 // fastest_bps // 2
