"""The path of one flow of a network, as a plan of its own: what is known of paths is known of every flow.

The guest and the judge both use this; importing it stays cheap.
"""

# The guest imports this: dataclasses and typing are guest/stdlib_stand_ins there.
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from landspeed.scenario.plan.routing import Lane, edge_of, lanes_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from landspeed.scenario.plan.plan import Event, Flow, Link, Plan


SECOND_ROUTE = ", second route"
"""What stands behind a flow's name where its second route is meant."""


@dataclass(frozen=True)
class Step:
    """A link of the plan as a flow passes it; `ahead`: from its `a` to its `b`.

    `back` is the lane over which answers come between the same nodes: the link's other direction, or another link's.
    """

    link: int
    ahead: bool
    back: Lane


def steps(plan: Plan, flow: Flow) -> list[Step]:
    """The links that a flow's data passes, in order."""
    # Not of all links: each of many flows is asked for again and again, and a large network has hundreds.
    edges = {index: edge_of(plan.links[index]) for index in (*flow.route, *(flow.route_back or ()))}
    there = lanes_of(edges, flow.source, flow.route)
    if flow.route_back is None:
        return [Step(link, ahead, (link, not ahead)) for link, ahead in there]
    back = lanes_of(edges, flow.target, flow.route_back)[::-1]
    return [Step(link, ahead, lane) for (link, ahead), lane in zip(there, back, strict=True)]


def subflows(flow: Flow) -> list[Flow]:
    """The flow over each of its routes: with MPTCP two, else it alone."""
    if flow.second_route is None:
        return [flow]
    return [replace(flow, route=route, route_back=None, second_route=None) for route in (flow.route, flow.second_route)]


def path_of(plan: Plan, flow: Flow) -> Plan:
    """The plan that has nothing but the nodes and links of the flow's (first) route, in order, and that flow.

    Links are turned round where the flow goes against them, and numbered anew from 0. Of events, those that touch these
    links are left. The plan of a path is its own.
    """
    return plan if plan.is_path else along(plan, flow)


def along(plan: Plan, flow: Flow) -> Plan:
    """The plan of a flow's (first) route alone, in a network or from anywhere to anywhere of a path."""
    way = steps(plan, flow)
    links = [_link_of(plan, step, number) for number, step in enumerate(way)]
    nodes = {node.name: node for node in plan.nodes}
    names = [flow.source, *(link.b for link in links)]
    forward = {(step.link, step.ahead): number for number, step in enumerate(way)}
    reverse = {step.back: number for number, step in enumerate(way)}
    events = [each for event in plan.events for each in _moved(event, forward, reverse)]
    alone = replace(flow, route=list(range(len(links))), route_back=None, second_route=None)
    return replace(plan, nodes=[nodes[name] for name in names], links=links, flows=[alone], events=events)


def _link_of(plan: Plan, step: Step, index: int) -> Link:
    """The link of a step; where answers come over another one, its `reverse` is of that."""
    link, (number, ahead) = turned(plan.links[step.link], index, ahead=step.ahead), step.back
    if number == step.link:
        return link
    other = plan.links[number]
    return replace(link, reverse=other.forward if ahead else other.reverse)


def turned(link: Link, index: int, *, ahead: bool) -> Link:
    """A link with another number, seen from its `a`, or (not `ahead`) from its `b`."""
    if ahead:
        return replace(link, index=index)
    return replace(link, index=index, a=link.b, b=link.a, forward=link.reverse, reverse=link.forward)


def _moved(event: Event, forward: Mapping[Lane, int], reverse: Mapping[Lane, int]) -> Iterator[Event]:
    """An event of lanes, on the links of a path; two where it is on two of them."""
    lanes = [(event.link, direction == "forward") for direction in event.directions]
    ahead, back = ({known[lane] for lane in lanes if lane in known} for known in (forward, reverse))
    for number in sorted(ahead | back):
        both = number in ahead and number in back
        yield replace(event, link=number, direction="both" if both else "forward" if number in ahead else "reverse")
