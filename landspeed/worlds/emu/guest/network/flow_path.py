"""The path of one flow, or subflow, in the built network: its nodes in order, as calibration and evidence see them.

Positions count from the flow's source, 0, whatever place the nodes have in the network. Where answers pass other nodes
than data, their way is a path of its own (`returning`), whose source is the flow's target.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from landspeed.scenario.plan.flow_path import lanes, path_of, subflows
from landspeed.scenario.plan.routing import lanes_of, nodes_of, routes_of
from landspeed.scenario.theory.timing import echo_bytes, echo_ns, error_bytes, hop_echo_ns, line_of, one_way_ns
from landspeed.worlds.emu.guest.network.network import Network, link_address

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Flow
    from landspeed.scenario.plan.routing import Lane


class FlowPath:
    """Path of a flow in the network.

    Attributes:
        network: the whole.
        plan: of this path alone.
        names, nodes: from the source to the target, as data passes them.
        parted: answers pass other nodes, or links that are not of a pair.
        late_ns: how late the guest's timers may be.
    """

    def __init__(self, network: Network, flow: Flow, *, second: bool = False, turned: bool = False) -> None:
        """Find the flow's path in the network; build nothing.

        Args:
            network: the whole.
            flow: over one route.
            second: it goes between the second addresses of its hosts.
            turned: follow its answers, from its target to its source.
        """
        self._second, self._flow, self._turned, self._own_way = second, flow, turned, flow.own_way
        if turned:
            route, back = flow.route_back or flow.route[::-1], flow.route
            flow = replace(flow, source=flow.target, target=flow.source, route=route, route_back=back)
        self.network, self.late_ns = network, network.late_ns
        self.plan = path_of(network.plan, flow)
        self.parted = self.plan.flow.route_back is not None
        self.names = [node.name for node in self.plan.nodes[: self.plan.hops + 1]]
        self._positions = [network.position[name] for name in self.names]
        self.nodes = [network.nodes[position] for position in self._positions]
        self._lanes, self._back = lanes(network.plan, flow)
        self._ends = (0, len(self.nodes) - 1)

    def address(self, position: int) -> str:
        """A node's own address; at the ends of a second subflow its second one, of a flow with its own way, its own."""
        place = self._positions[position]
        if self._own_way and position in self._ends:
            return self.network.flow_address(self._flow, target=(position != 0) != self._turned)
        second = self.network.second_address(place) if self._second and position in self._ends else None
        return second or self.network.address(place)

    def facing_address(self, position: int, *, viewer: int) -> str:
        """Address from which a node answers a viewer with ICMP: that which was asked, or towards the viewer.

        Where that is another link than the one over which it was asked, IPv6 answers from the latter's.
        """
        if position in self._ends:
            return self.address(position)
        if self.parted:
            towards, came = self._answers(position)[0], self._lanes[position - 1]
        elif viewer < position:
            towards, came = self._back[-position], self._lanes[position - 1]
        else:
            towards, came = self._lanes[position], self._back[-position - 1]
        link, ahead = towards if self.plan.ip_version == 4 else (came[0], not came[1])
        return link_address(self.plan.ip_version, link, int(not ahead))

    def hop_echo_ns(self, origin: int, position: int) -> int:
        """RTT of an echo that ends at a node, as the plan has it.

        Where answers pass other nodes, they go from a router as its table leads them to the source, whichever way.
        """
        if not self.parted:
            return hop_echo_ns(self.plan, origin, position)
        if position in self._ends:
            return echo_ns(self.plan)
        whole, found = self.network.plan, one_way_ns(self.plan, 0, position, echo_bytes(self.plan.ip_version))
        for index, ahead in self._answers(position):
            link = whole.links[index]
            line = line_of(whole, link, link.forward if ahead else link.reverse, forward=ahead)
            found += line.takes_ns(error_bytes(self.plan.ip_version))
        return found

    def _answers(self, position: int) -> list[Lane]:
        """The lanes of an answer from a router to the source, where the ways part."""
        whole, node, source = self.network.plan, self.names[position], self.names[0]
        edges, back = self.network.edges, [link for link, _ in self._back]
        table = routes_of(whole).to(source) | dict(zip(nodes_of(edges, self.names[-1], back), back, strict=False))
        route: list[int] = []
        while node != source:
            route.append(table[node])
            node = edges[table[node]].other(node)
        return lanes_of(edges, self.names[position], route)

    def returning(self) -> FlowPath | None:
        """The way back as a path of its own; None: it has the nodes of the route."""
        return FlowPath(self.network, self._flow, turned=True) if self.parted else None

    @classmethod
    def each(cls, network: Network, flow: Flow) -> list[FlowPath]:
        """Make the path of each route of a flow."""
        return [cls(network, each, second=number > 0) for number, each in enumerate(subflows(flow))]

    def from_target(self) -> tuple[FlowPath, int, int]:
        """The path on which what the target sends is measured, from where to where: its own, if it has other nodes."""
        if (back := self.returning()) is not None:
            return back, 0, len(back.nodes) - 1
        return self, self._ends[1], 0

    def interface_name(self, position: int) -> str:
        """A node's interface towards the target; at the target that on this path."""
        at_end = position == self._ends[1]
        link, ahead = self._lanes[-1 if at_end else position]
        return self.network.end(link, int(ahead) if at_end else int(not ahead))[1]
