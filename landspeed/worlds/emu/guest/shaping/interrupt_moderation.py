"""Interrupt moderation of busy links, during a transfer of single packets in virtual time.

Every packet of a long path is taken out of a link by a timer of its own, and timers are most of what such a run
costs. Real cards wait for more packets before they interrupt; here a link with hundreds of packets under way may wait
up to `MODERATION_NS`, never more than 1/2048 of its delay. Rates and order stay what they are; calibration and the
user's own programs see every packet at its instant.

What a card hands to Linux at once, Linux joins before TCP sees it (GRO), and one ACK answers it. So does the receiving
host here. Routers forward each packet by itself.
"""

from __future__ import annotations

import os

from landspeed.scenario.theory import physics as ph
from landspeed.worlds.emu.guest.network.flow_path import FlowPath
from landspeed.worlds.emu.guest.network.network import Network
from landspeed.worlds.emu.guest.network.offloads import join_received

MODERATION_NS = ph.MODERATION_NS
PARAMETER = "/sys/module/sch_netem/parameters/moderation_ns"  # of patch 0011


def moderate(network: Network) -> int:
    """Switch it on where packets travel one by one.

    Returns:
        nanoseconds that the kernel took: 0 with super-packets, or for a kernel without the patch.
    """
    if network.plan.fidelity != "packets" or not os.path.exists(PARAMETER):  # noqa: PTH110
        return 0
    for flow in network.plan.flows:
        for path in FlowPath.each(network, flow):
            join_received(network.netlink(network.position[flow.target]), path.interface_name(len(path.nodes) - 1))
    with open(PARAMETER, "w") as handle:  # noqa: PTH123
        handle.write(str(MODERATION_NS))
    with open(PARAMETER) as handle:  # noqa: PTH123
        return int(handle.read())
