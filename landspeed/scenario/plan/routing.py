"""Routes through a network, as pure figures: the shortest by delay, or given by a flow.

Routers forward by destination alone, as IP does. The way with the least propagation there and back is taken; of equal
ones that with the fewest links, then one fixed by the order of the file, so that the way back is the same and each part
of a way is a shortest one, too. Hosts forward nothing. The guest computes its routing tables with these functions, so
importing this module stays cheap.

A flow of MPTCP has a second route, to another address of the host: that of another of its links. Routers forward to
such an address along the second routes that were given, whatever way is the shortest.
"""

# The guest imports this: dataclasses and typing are guest/stdlib_stand_ins there.
from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Link, Plan

Table: TypeAlias = dict[str, int]
"""Node → index of the link over which it sends what goes to the destination of this table."""

Lane: TypeAlias = "tuple[int, bool]"
"""A direction of a link: its index, and whether it is the forward one."""


@dataclass(frozen=True)
class Edge:
    """A link as routing sees it: its two nodes and its propagation both ways, in ns."""

    a: str
    b: str
    round_trip_ns: int

    def other(self, node: str) -> str:
        """The node at the other end."""
        return self.b if node == self.a else self.a


class Routes:
    """The routing tables of a network.

    Attributes:
        edges: the links, by index.
        hosts: nodes that forward nothing.
    """

    def __init__(self, edges: Sequence[Edge], hosts: frozenset[str]) -> None:
        """Keep the edges; compute nothing before it is asked for."""
        self.edges, self.hosts = edges, hosts
        self._links: dict[str, list[int]] = {}
        for index, edge in enumerate(edges):
            for node in (edge.a, edge.b):
                self._links.setdefault(node, []).append(index)
        self._trees: dict[str, Table] = {}
        self._tables: dict[str, Table] = {}
        self._given: dict[str, Table] = {}
        self._second: dict[str, Table] = {}

    def give(
        self, source: str, route: Sequence[int], back: Sequence[int] | None = None, *, second: bool = False
    ) -> str | None:
        """Let what goes over these links, from their first node to their last and back, go so.

        Args:
            source: the first node.
            route: the links.
            back: those of the way back, in its order; None: the same.
            second: it goes to the second addresses of both.

        Returns:
            the node at which another route was given before to the same destination; None if all is well.
        """
        target = nodes_of(self.edges, source, route)[-1]
        returns = route[::-1] if back is None else back
        return self.lead(source, route, second=second) or self.lead(target, returns, second=second)

    def lead(
        self, source: str, route: Sequence[int], *, second: bool = False, past: Collection[str] = ()
    ) -> str | None:
        """Let what goes over these links, from their first node to their last, go so; nothing is said of the way back.

        Args:
            source: the first node.
            route: the links.
            second: it goes to the second address of the last.
            past: nodes at which all stays as it was.

        Returns:
            the node at which another route was given before to the same destination; None if all is well.
        """
        nodes = nodes_of(self.edges, source, route)
        given = (self._second if second else self._given).setdefault(nodes[-1], {})
        self._tables.pop(nodes[-1], None)
        for at, index in zip(nodes[:-1], route, strict=True):
            if at not in past and given.setdefault(at, index) != index:
                return at
        return None

    def given_to(self, destination: str) -> frozenset[str]:
        """The nodes for which a route to a destination was given."""
        return frozenset(self._given.get(destination, ()))

    def to(self, destination: str) -> Table:
        """Next links of all nodes to a destination; a node that cannot reach it is left out."""
        if destination not in self._tables:
            self._tables[destination] = self._tree(destination) | self._given.get(destination, {})
        return self._tables[destination]

    def second_to(self, destination: str) -> Table:
        """Next links to a host's second address, for the nodes that have a second route."""
        return self._second.get(destination, {})

    def way(self, source: str, target: str, *, without: Collection[int] = ()) -> list[int] | None:
        """The links from one node to another; None where there is no way, or a loop.

        Args:
            source, target: names of nodes.
            without: links that the way does not take; then it is the shortest of these ways, whatever was given.
        """
        table = self._shortest(target, without) if without else self.to(target)
        node, found = source, list[int]()
        while node != target:
            if node not in table or len(found) > len(self.edges):
                return None
            found.append(table[node])
            node = self.edges[table[node]].other(node)
        return found

    def reachable(self, source: str) -> set[str]:
        """The nodes to which there is a way."""
        return {source, *self._tree(source)}

    def _tree(self, destination: str) -> Table:
        """Next links of all shortest ways to a destination.

        To a host with one link all go as to the router before it: of many hosts a tree each would take long.
        """
        links = self._links.get(destination, [])
        before = self.edges[links[0]].other(destination) if len(links) == 1 and destination in self.hosts else None
        if before is None or before in self.hosts:
            return self._shortest(destination)
        if before not in self._trees:
            self._trees[before] = self._shortest(before)
        return {before: links[0]} | {node: over for node, over in self._trees[before].items() if node != destination}

    def _shortest(self, destination: str, without: Collection[int] = ()) -> Table:
        """Dijkstra, from the destination outwards.

        The third part of a cost is a set of links as a number: no two ways have the same, so each shortest way is the
        only one, whichever end it is looked for from.
        """
        best: dict[str, tuple[int, int, int]] = {}
        table: Table = {}
        waiting: list[tuple[tuple[int, int, int], str, int]] = [((0, 0, 0), destination, -1)]
        while waiting:
            cost, node, over = heapq.heappop(waiting)
            if node in best:
                continue
            best[node] = cost
            if over >= 0:
                table[node] = over
            if node in self.hosts and node != destination:
                continue
            for index in self._links.get(node, ()):
                if index in without:
                    continue
                edge = self.edges[index]
                there = edge.other(node)
                if there not in best:
                    further = (cost[0] + edge.round_trip_ns, cost[1] + 1, cost[2] + (1 << index))
                    heapq.heappush(waiting, (further, there, index))
        return table


def edges_of(plan: Plan) -> list[Edge]:
    """The links as routing sees them."""
    return [edge_of(link) for link in plan.links]


def edge_of(link: Link) -> Edge:
    """A link as routing sees it."""
    return Edge(link.a, link.b, link.forward.delay_ns + link.reverse.delay_ns)


def routes_of(plan: Plan) -> Routes:
    """The routing tables of a plan: those that its flows' routes follow."""
    routes = Routes(edges_of(plan), frozenset(node.name for node in plan.nodes if node.kind == "host"))
    for flow in plan.flows:
        routes.give(flow.source, flow.route, flow.route_back)
        if flow.second_route:
            routes.give(flow.source, flow.second_route, second=True)
    return routes


def nodes_of(edges: Sequence[Edge] | Mapping[int, Edge], source: str, route: Sequence[int]) -> list[str]:
    """The nodes that a route passes, both ends too."""
    found = [source]
    for index in route:
        found.append(edges[index].other(found[-1]))
    return found


def lanes_of(edges: Sequence[Edge] | Mapping[int, Edge], source: str, route: Sequence[int]) -> list[Lane]:
    """The directions of links that a route passes."""
    nodes = nodes_of(edges, source, route)
    return [(index, edges[index].a == node) for node, index in zip(nodes[:-1], route, strict=True)]


def addresses(plan: Plan) -> Mapping[str, tuple[int, int]]:
    """Node → (link, side) whose address is the node's own: that of its first link; side 0 is `a`."""
    found: dict[str, tuple[int, int]] = {}
    for link in plan.links:
        for side, node in ((0, link.a), (1, link.b)):
            found.setdefault(node, (link.index, side))
    return found


def second_ends(
    edges: Sequence[Edge], source: str, route: Sequence[int], second: Sequence[int]
) -> list[tuple[int, int]]:
    """(link, side) of the second addresses of a flow's source and of its target, side 0 is `a`.

    It is that of the link over which the second route reaches the host; where that is the host's own address, which is
    the first route's, it is that of the first route's link.
    """
    found: list[tuple[int, int]] = []
    for node, first, other in (
        (source, route[0], second[0]),
        (nodes_of(edges, source, route)[-1], route[-1], second[-1]),
    ):
        own = next(index for index, edge in enumerate(edges) if node in (edge.a, edge.b))
        link = first if other == own else other
        found.append((link, 0 if edges[link].a == node else 1))
    return found


def bottleneck_shares(plan: Plan) -> dict[int, int]:
    """Link → how many flows pass it, for links that more than one passes."""
    counts: dict[int, int] = {}
    for flow in plan.flows:
        for index in {*flow.route, *(flow.route_back or ()), *(flow.second_route or ())}:
            counts[index] = counts.get(index, 0) + 1
    return {index: count for index, count in counts.items() if count > 1}
