"""The way between two nodes as a plan has it: what a judge of sockets compares with."""

from __future__ import annotations

from dataclasses import dataclass, replace

from landspeed.scenario.plan.flow_path import Step, along, steps
from landspeed.scenario.plan.plan import Link, Plan
from landspeed.scenario.plan.routing import routes_of
from landspeed.scenario.theory import physics as ph
from landspeed.scenario.theory.timing import Serializer, line_of


@dataclass(frozen=True)
class Way:
    """Path from one node to another, as the plan has it.

    Attributes:
        rtt_s: there and back, of propagation and what a small packet takes.
        limit_bps: payload that TCP can send over the slowest line.
    """

    rtt_s: float
    limit_bps: float


def way_between(plan: Plan, source: str, target: str) -> Way:
    """Describe the path from one node to another, as the plan has it.

    Its round trip is that of a full packet and an acknowledgment, with what both take on every line.

    Raises:
        LookupError: there is none.
    """
    ahead, back = _lines(plan, source, target), _lines(plan, target, source)
    mtu = min(link.mtu_bytes for link in links_between(plan, source, target))
    acknowledged = ph.ack_bytes(plan.ip_version)
    rtt_ns = sum(each.takes_ns(mtu) for each in ahead) + sum(each.takes_ns(acknowledged) for each in back)
    carried = min(each.carries_bps(mtu) for each in ahead)
    return Way(rtt_ns / 1e9, carried * ph.mss_bytes(mtu, plan.ip_version) / mtu)


def first_link(plan: Plan, source: str, target: str) -> tuple[int, bool]:
    """The first link from one node to another, and whether it is passed forward. Raises LookupError."""
    first = links_between(plan, source, target)[0]
    return first.index, first.a == source


def path_between(plan: Plan, source: str, target: str) -> tuple[Plan, list[Step]]:
    """The plan of the path from one node to another alone, and its links in the whole one. Raises LookupError."""
    route, back = ([link.index for link in links_between(plan, *ends)] for ends in ((source, target), (target, source)))
    parts = back != route[::-1]
    flow = replace(
        plan.flow, source=source, target=target, route=route, route_back=back if parts else None, second_route=None
    )
    return along(plan, flow), steps(plan, flow)


def links_between(plan: Plan, source: str, target: str) -> list[Link]:
    """The links from one node to another, in the order in which they are passed.

    Raises:
        LookupError: there is no way.
    """
    if not (found := routes_of(plan).way(source, target)):
        raise LookupError(f"there is no way from {source} to {target}")
    return [plan.links[index] for index in found]


def _lines(plan: Plan, source: str, target: str) -> list[Serializer]:
    node, found = source, list[Serializer]()
    for link in links_between(plan, source, target):
        forward = node == link.a
        found.append(line_of(plan, link, link.forward if forward else link.reverse, forward=forward))
        node = link.b if forward else link.a
    return found
