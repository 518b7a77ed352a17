"""A plan becomes a network: nodes and links first, then the routes, then the second routes of MPTCP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from landspeed.worlds.emu.guest.network.network import Network
from landspeed.worlds.emu.guest.network.routes import add_routes

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Plan


def build_network(plan: Plan, late_ns: int = 1_000) -> Network:
    """The network of a plan. `late_ns`: how late the guest's timers may be."""
    network = Network(plan, late_ns)
    add_routes(network)
    if any(flow.second_route for flow in plan.flows):
        # saves 1.8 ms where it is not needed
        from landspeed.worlds.emu.guest.network.multipath import announce

        announce(network)
    return network
