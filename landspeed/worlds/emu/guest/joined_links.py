"""Joined links: those of a plan that are passed in one step, because only time can happen to a packet on them."""

# The guest imports this: dataclasses and typing are guest/stdlib_stand_ins there.
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from landspeed.scenario.plan.flow_path import lanes, subflows
from landspeed.scenario.theory.timing import line_of

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Plan

MOST_LINES = 64  # NETEM_JOINED_MAX of patch 0014
LEAST_TTL = 128  # more than MOST_LINES: nothing that is passed in one step can die within

Place: TypeAlias = "tuple[int, bool]"
"""A direction of a link: its index, and whether it is the forward one."""


@dataclass(frozen=True)
class JoinedLinks:
    """Links that are passed in one step.

    Attributes:
        places: directions of links, in the order in which a packet passes them; two at least.
        hosts: to which the packets go that pass them, by name, and whether to the second address (MPTCP).
        arrives: link and side (0: its `a`) at which packets leave the way hop by hop.
        from_host: that link is the first of these, a host's own; else it is the one before.
    """

    places: tuple[Place, ...]
    hosts: tuple[tuple[str, bool], ...]
    arrives: tuple[int, int]
    from_host: bool

    @property
    def links(self) -> tuple[int, ...]:
        """Indexes of the links."""
        return tuple(link for link, _ in self.places)

    @property
    def routers(self) -> int:
        """Number of routers inside that decrement the TTL."""
        return len(self.places) - self.from_host


def runs_of(plan: Plan) -> list[JoinedLinks]:
    """All runs of a plan: flow by flow, those that its data passes, then those of its acknowledgments.

    Links are joined where the same flows pass them all: none comes or goes at a router within. Where flows have ways of
    their own, which is told by addresses of theirs, links are passed one by one. Where a flow comes in
    from elsewhere a queue can form, so that link cannot be joined anyhow; a flow that crosses a router meets nobody.
    """
    ways: list[list[Place]] = []
    ends: list[tuple[str, bool]] = []
    for flow in plan.flows:
        for number, each in enumerate(subflows(flow)):
            ways += lanes(plan, each)
            ends += [(flow.target, number > 0), (flow.source, number > 0)]
    alone = {place for flow in plan.flows if flow.own_way for way in lanes(plan, flow) for place in way}
    passing: dict[Place, list[int]] = {}
    for number, way in enumerate(ways):
        for place in way:
            passing.setdefault(place, []).append(number)
    found: dict[Place, JoinedLinks] = {}  # by the first link: flows that share a run share all of it
    for way in ways:
        for start, end in _joined(plan, way, passing, alone):
            hosts = dict.fromkeys(ends[number] for number in passing[way[start]])
            arrives = way[max(start - 1, 0)]
            run = JoinedLinks(tuple(way[start:end]), tuple(hosts), (arrives[0], int(arrives[1])), from_host=start == 0)
            found.setdefault(run.places[0], run)
    return list(found.values())


def _joined(plan: Plan, way: list[Place], passing: dict[Place, list[int]], alone: set[Place]) -> list[tuple[int, int]]:
    """Begins and ends of the runs of joined links on a way."""
    found: list[tuple[int, int]] = []
    start = largest = 0
    joins = False  # whether the link before can be joined with another
    for number, place in enumerate(way):
        mtu, can_join = plan.links[place[0]].mtu_bytes, place not in alone and _can_join(plan, place)
        fits = mtu >= largest and number - start < MOST_LINES
        if not (joins and can_join and fits and passing[place] == passing[way[number - 1]]):
            # Within a run no router looks how large a packet is: it must be no larger than what came so far. And a
            # host's own link, when it is no part of the run, is passed where its router takes packets in
            # (shaping/link_qdiscs.py): that router cannot begin one.
            found.append((start, number))
            start, largest = number, plan.links[way[max(number - 1, 0)][0]].mtu_bytes
            can_join = can_join and mtu >= largest and number != 1
        joins = can_join
    return [(start, end) for start, end in [*found, (start, len(way))] if end - start > 1]


def _can_join(plan: Plan, place: Place) -> bool:
    index, ahead = place
    link = plan.links[index]
    direction, way = (link.forward, "forward") if ahead else (link.reverse, "reverse")
    touched = any(event.link == index and way in event.directions for event in plan.events)
    if direction.can_queue or direction.impairments or touched or direction.trace or direction.packet_limit is not None:
        return False
    return line_of(plan, link, direction, forward=ahead).rate_bps == direction.rate_bps  # else a bus that makes it wait
