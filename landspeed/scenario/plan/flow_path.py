"""The path of one flow of a network, as a plan of its own: what is known of paths is known of every flow.

The guest and the judge both use this; importing it stays cheap.
"""

# The guest imports this: dataclasses and typing are guest/stdlib_stand_ins there.
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from landspeed.scenario.plan.direction import Direction
from landspeed.scenario.plan.routing import Lane, edge_of, lanes_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from landspeed.scenario.plan.plan import Event, Flow, Link, Plan


SECOND_ROUTE = ", second route"
"""What stands behind a flow's name where its second route is meant."""
ALIKE = ("mtu_bytes", "framing", "framing_bytes", "cells", "least_bytes")
"""Fields in which two links must agree to be seen as the two directions of one."""


UNPASSED = Direction(delay_ns=0, rate_bps=10**18, queue_bytes=0, can_queue=False)
"""The direction of a link of a flow's path that the flow does not pass: it takes no time and limits nothing."""


@dataclass(frozen=True)
class Step:
    """A link of a flow's path, with the lane that its data passes there and the one over which answers come.

    Where the way back has the nodes of the route, both are of each link, or of two links between the same nodes. Else
    those of the route come first, then those that answers alone pass, also in the order from the source on.
    """

    ahead: Lane | None
    back: Lane | None

    @property
    def passed(self) -> list[tuple[Lane, Literal["forward", "reverse"]]]:
        """The lanes that are passed, and which direction of the path each is."""
        found: list[tuple[Lane, Literal["forward", "reverse"]]] = []
        if self.ahead:
            found.append((self.ahead, "forward"))
        if self.back:
            found.append((self.back, "reverse"))
        return found


def lanes(plan: Plan, flow: Flow) -> tuple[list[Lane], list[Lane]]:
    """The lanes that a flow's data passes, and those that its answers pass, each in the order in which they do."""
    # Not of all links: each of many flows is asked for again and again, and a large network has hundreds.
    edges = {index: edge_of(plan.links[index]) for index in (*flow.route, *(flow.route_back or ()))}
    there = lanes_of(edges, flow.source, flow.route)
    if flow.route_back is None:
        return there, [(link, not ahead) for link, ahead in there[::-1]]
    return there, lanes_of(edges, flow.target, flow.route_back)


def steps(plan: Plan, flow: Flow) -> list[Step]:
    """The links that a flow passes, in order."""
    there, back = lanes(plan, flow)
    back.reverse()
    if len(there) == len(back) and all(_fit(plan, *both) for both in zip(there, back, strict=True)):
        return [Step(*both) for both in zip(there, back, strict=True)]
    both = [Step(lane, answer if (answer := (lane[0], not lane[1])) in back else None) for lane in there]
    return [*both, *(Step(None, lane) for lane in back if (lane[0], not lane[1]) not in there)]


def _fit(plan: Plan, lane: Lane, back: Lane) -> bool:
    """Return whether two lanes can be seen as those of one link: they join the same nodes, and packets are alike."""
    (one, ahead), (other, returns) = ((plan.links[index], way) for index, way in (lane, back))
    opposite = (other.b, other.a) if returns else (other.a, other.b)
    return opposite == ((one.a, one.b) if ahead else (one.b, one.a)) and all(
        getattr(one, name) == getattr(other, name) for name in ALIKE
    )


def subflows(flow: Flow) -> list[Flow]:
    """The flow over each of its routes: with MPTCP two, else it alone."""
    if flow.second_route is None:
        return [flow]
    return [replace(flow, route=route, route_back=None, second_route=None) for route in (flow.route, flow.second_route)]


def path_of(plan: Plan, flow: Flow) -> Plan:
    """The plan that has nothing but the nodes and links of the flow's (first) route, in order, and that flow.

    Links are turned round where the flow goes against them, and numbered anew from 0. Of events, those that touch these
    links are left. The plan of a path is its own.

    Where the way back passes other nodes, or links of another MTU or framing, its own nodes and links follow those of
    the route, `reverse` is what answers pass of all of them, `UNPASSED` what is not passed, and the flow's `route_back`
    tells the links in the order of answers.
    """
    return plan if plan.is_path else along(plan, flow)


def along(plan: Plan, flow: Flow) -> Plan:
    """The plan of a flow's (first) route alone, in a network or from anywhere to anywhere of a path."""
    way = steps(plan, flow)
    links = [_link_of(plan, step, number) for number, step in enumerate(way)]
    nodes = {node.name: node for node in plan.nodes}
    count = sum(step.ahead is not None for step in way)
    names = dict.fromkeys([flow.source, *(link.b for link in links[:count]), *(link.a for link in links[count:])])
    forward = {step.ahead: number for number, step in enumerate(way) if step.ahead}
    reverse = {step.back: number for number, step in enumerate(way) if step.back}
    events = [each for event in plan.events for each in _moved(event, forward, reverse)]
    returns = None if count == len(reverse) == len(way) else [reverse[lane] for lane in lanes(plan, flow)[1]]
    alone = replace(flow, route=list(range(count)), route_back=returns, second_route=None)
    return replace(plan, nodes=[nodes[name] for name in names], links=links, flows=[alone], events=events)


def _link_of(plan: Plan, step: Step, index: int) -> Link:
    """The link of a step; where answers come over another one, its `reverse` is of that."""
    if step.ahead is None:
        number, ahead = step.back or (0, True)
        return replace(turned(plan.links[number], index, ahead=not ahead), forward=UNPASSED)
    number, ahead = step.ahead
    link = turned(plan.links[number], index, ahead=ahead)
    if step.back is None:
        return replace(link, reverse=UNPASSED)
    other = plan.links[step.back[0]]
    return replace(link, reverse=other.forward if step.back[1] else other.reverse)


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
