"""Addresses and routes of a plan's nodes, as scripts for other programs have them.

Link i has the subnet 10.0.0.0 + 4·i /30, or fd00:0:0:i::/64; its end `a` has the first address. A node's own address is
that of its first link.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from landspeed.scenario.plan.plan import Plan
from landspeed.scenario.plan.routing import Routes, edges_of

TAKE_ANY_WAY = "sh -c 'for file in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 >$file; done'"
"""Command for a node that takes packets from where it would not answer to (RFC 3704): some systems drop these."""


@dataclass(frozen=True)
class Interface:
    """End of a link at a node: device `NODE-ethN` by Mininet's custom, or only `ethN`."""

    node: str
    number: int
    link: int
    forward: bool  # whether what it sends goes forward on its link
    address: str  # with the prefix's length

    @property
    def ip(self) -> str:
        """The address alone."""
        return self.address.partition("/")[0]


def interfaces(plan: Plan) -> list[Interface]:
    """The two ends of each link, in the links' order."""
    counts: dict[str, int] = {}
    found: list[Interface] = []
    for link in plan.links:
        for node, forward in ((link.a, True), (link.b, False)):
            number = counts.get(node, 0)
            counts[node] = number + 1
            found.append(Interface(node, number, link.index, forward, _address(plan, link.index, 1 if forward else 2)))
    return found


def own_address(plan: Plan, node: str) -> str:
    """Address of a node's first link."""
    return next(each.ip for each in interfaces(plan) if each.node == node)


def routes(plan: Plan) -> dict[str, list[tuple[str, str]]]:
    """Node → (destination, next address): to the own address of each host that is not its neighbour on a link."""
    ends = {(each.link, each.node): each for each in interfaces(plan)}
    table = Routes(edges_of(plan), frozenset(node.name for node in plan.nodes if node.kind == "host"))
    for flow in plan.flows:
        table.give(flow.source, flow.route, flow.route_back)
    found: dict[str, list[tuple[str, str]]] = {node.name: [] for node in plan.nodes}
    for host in (node.name for node in plan.nodes if node.kind == "host"):
        own = own_address(plan, host)
        for node, link in table.to(host).items():
            here = plan.links[link]
            neighbour = here.b if node == here.a else here.a
            if ends[link, neighbour].ip != own:
                found[node].append((own, ends[link, neighbour].ip))
    return found


def _address(plan: Plan, link: int, host: int) -> str:
    if plan.ip_version == 4:
        return f"{ipaddress.IPv4Address('10.0.0.0') + 4 * link + host}/30"
    return f"{ipaddress.IPv6Address('fd00::') + (link << 64) + host}/64"
