"""The path of one flow of a network, as a plan of its own: what is known of paths is known of every flow.

The guest and the judge both use this; importing it stays cheap.
"""

# The guest imports this: dataclasses and typing are guest/stdlib_stand_ins there.
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Event, Flow, Link, Plan


SECOND_ROUTE = ", second route"
"""What stands behind a flow's name where its second route is meant."""


@dataclass(frozen=True)
class Step:
    """A link of the plan as a flow passes it; `ahead`: from its `a` to its `b`."""

    link: int
    ahead: bool


def steps(plan: Plan, flow: Flow) -> list[Step]:
    """The links that a flow's data passes, in order."""
    node, found = flow.source, list[Step]()
    for index in flow.route:
        link = plan.links[index]
        found.append(Step(index, node == link.a))
        node = link.b if node == link.a else link.a
    return found


def subflows(flow: Flow) -> list[Flow]:
    """The flow over each of its routes: with MPTCP two, else it alone."""
    if flow.second_route is None:
        return [flow]
    return [replace(flow, route=route, second_route=None) for route in (flow.route, flow.second_route)]


def path_of(plan: Plan, flow: Flow) -> Plan:
    """The plan that has nothing but the nodes and links of the flow's (first) route, in order, and that flow.

    Links are turned round where the flow goes against them, and numbered anew from 0. Of events, those that touch these
    links are left. The plan of a path is its own.
    """
    return plan if plan.is_path else along(plan, flow)


def along(plan: Plan, flow: Flow) -> Plan:
    """The plan of a flow's (first) route alone, in a network or from anywhere to anywhere of a path."""
    way = steps(plan, flow)
    links = [turned(plan.links[step.link], number, ahead=step.ahead) for number, step in enumerate(way)]
    nodes = {node.name: node for node in plan.nodes}
    names = [flow.source, *(link.b for link in links)]
    places = {step.link: (number, step.ahead) for number, step in enumerate(way)}
    events = [_moved(event, *places[event.link]) for event in plan.events if event.link in places]
    alone = replace(flow, route=list(range(len(links))), second_route=None)
    return replace(plan, nodes=[nodes[name] for name in names], links=links, flows=[alone], events=events)


def turned(link: Link, index: int, *, ahead: bool) -> Link:
    """A link with another number, seen from its `a`, or (not `ahead`) from its `b`."""
    if ahead:
        return replace(link, index=index)
    return replace(link, index=index, a=link.b, b=link.a, forward=link.reverse, reverse=link.forward)


def _moved(event: Event, index: int, ahead: bool) -> Event:
    direction: Literal["forward", "reverse", "both"] = event.direction
    if not ahead and direction != "both":
        direction = "reverse" if direction == "forward" else "forward"
    return replace(event, link=index, direction=direction)
