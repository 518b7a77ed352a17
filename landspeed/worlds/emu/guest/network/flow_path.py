"""The path of one flow, or subflow, in the built network: its nodes in order, as calibration and evidence see them.

Positions count from the flow's source, 0, whatever place the nodes have in the network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from landspeed.scenario.plan.flow_path import path_of, steps, subflows
from landspeed.worlds.emu.guest.network.network import Network, link_address

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Flow


class FlowPath:
    """Path of a flow in the network.

    Attributes:
        network: the whole.
        plan: of this path alone.
        names, nodes: from the source to the target.
        late_ns: how late the guest's timers may be.
    """

    def __init__(self, network: Network, flow: Flow, *, second: bool = False) -> None:
        """Find the flow's path in the network; build nothing.

        Args:
            network: the whole.
            flow: over one route.
            second: it goes between the second addresses of its hosts.
        """
        self._second, self._flow, self._own_way = second, flow, flow.own_way
        self.network, self.late_ns = network, network.late_ns
        self.plan = path_of(network.plan, flow)
        self.names = [node.name for node in self.plan.nodes]
        self._positions = [network.position[name] for name in self.names]
        self.nodes = [network.nodes[position] for position in self._positions]
        self._steps = steps(network.plan, flow)
        self._ends = (0, len(self.nodes) - 1)

    def address(self, position: int) -> str:
        """A node's own address; at the ends of a second subflow its second one, of a flow with its own way, its own."""
        place = self._positions[position]
        if self._own_way and position in self._ends:
            return self.network.flow_address(self._flow, target=position != 0)
        second = self.network.second_address(place) if self._second and position in self._ends else None
        return second or self.network.address(place)

    def facing_address(self, position: int, *, viewer: int) -> str:
        """Address from which a node answers a viewer with ICMP: that which was asked, or towards the viewer.

        Where that is another link than the one over which it was asked, IPv6 answers from the latter's.
        """
        if position in self._ends:
            return self.address(position)
        step = self._steps[position - 1 if viewer < position else position]
        towards, asked = step.back, (step.link, not step.ahead)
        if viewer > position:
            towards, asked = (step.link, step.ahead), (step.back[0], not step.back[1])
        link, ahead = towards if self.plan.ip_version == 4 else asked
        return link_address(self.plan.ip_version, link, int(not ahead))

    @classmethod
    def each(cls, network: Network, flow: Flow) -> list[FlowPath]:
        """Make the path of each route of a flow."""
        return [cls(network, each, second=number > 0) for number, each in enumerate(subflows(flow))]

    def interface_name(self, position: int) -> str:
        """A node's interface towards the target; at the target that on this path."""
        at_end = position == self._ends[1]
        step = self._steps[-1 if at_end else position]
        side = int(step.ahead) if at_end else int(not step.ahead)
        return self.network.end(step.link, side)[1]
