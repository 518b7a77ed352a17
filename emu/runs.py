"""Which links of a plan are passed in one step, because nothing but time can happen to a packet on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..scenarios.timing import line_of

if TYPE_CHECKING:
    from ..scenarios.plan import Plan

MOST_LINES = 64  # NETEM_JOINED_MAX of patch 0014
LEAST_TTL = 128  # more than MOST_LINES: nothing that is passed in one step can die within


@dataclass(frozen=True)
class Run:
    """Links that are passed in one step.

    Attributes:
        forward: from the sender to the receiver.
        links: in the order in which a packet passes them; two at least.
        enters: the node on whose near side packets leave the way hop by hop; nodes count from the sender's, 0.
        leaves: the node at which they come back to it.
        from_host: the first link is a host's own.
    """

    forward: bool
    links: tuple[int, ...]
    enters: int
    leaves: int
    from_host: bool

    @property
    def routers(self) -> int:
        """How many count the TTL down within."""
        return abs(self.leaves - self.enters)


def runs_of(plan: Plan) -> list[Run]:
    """All runs of a path, those of the forward direction first. In a network with several flows there are none."""
    if not plan.is_path:
        return []
    return [*_one_way(plan, forward=True), *_one_way(plan, forward=False)]


def _one_way(plan: Plan, *, forward: bool) -> list[Run]:
    last = len(plan.links)
    order = list(range(last) if forward else reversed(range(last)))
    groups: list[list[int]] = [[]]
    largest = 0
    for number, index in enumerate(order):
        mtu, can_join = plan.links[index].mtu_bytes, _can_join(plan, index, forward=forward)
        if not (groups[-1] and can_join and mtu >= largest and len(groups[-1]) < MOST_LINES):
            # Within a run no router looks how large a packet is: it must be no larger than what came so far. And a
            # host's own link, when it is no part of the run, is passed where its router takes packets in
            # (shaping.py): that router cannot begin one.
            largest = plan.links[order[max(number - 1, 0)]].mtu_bytes
            groups.append([])
            can_join = can_join and mtu >= largest and number != 1
        if can_join:
            groups[-1].append(index)
    found: list[Run] = []
    for links in groups:
        if len(links) > 1:
            step, start = (1, links[0]) if forward else (-1, links[0] + 1)
            from_host = start in (0, last)
            enters = start + step if from_host else start
            found.append(Run(forward, tuple(links), enters, start + step * len(links), from_host))
    return found


def _can_join(plan: Plan, index: int, *, forward: bool) -> bool:
    link = plan.links[index]
    lane, way = (link.forward, "forward") if forward else (link.reverse, "reverse")
    touched = any(event.link == index and way in event.directions for event in plan.events)
    if lane.can_queue or lane.impairments or touched or lane.trace or lane.packet_limit is not None:
        return False
    return line_of(plan, link, lane, forward=forward).rate_bps == lane.rate_bps  # else a bus that makes it wait
