"""Effective settings of the guest's kernel: addresses, sysctls, offloads. The qdiscs are read by `tc` at the end."""

from __future__ import annotations

import os
from typing import Any

from landspeed.worlds.emu.guest.network import offloads
from landspeed.worlds.emu.guest.network.netlink import STATISTICS, TCA_KIND, TCA_OPTIONS, TCA_STATS
from landspeed.worlds.emu.guest.network.network import HOST_WIDE_SYSCTLS, Network, node_sysctls, read_host_wide
from landspeed.worlds.emu.guest.spawn import output_of


def effective_settings(network: Network) -> dict[str, Any]:
    """Read back from the kernel, not from the plan."""
    sysctls: dict[str, dict[str, str]] = {"all": {name: read_host_wide(name) for name in HOST_WIDE_SYSCTLS}}
    for position in _hosts(network):
        node = network.nodes[position]
        names = [
            *node_sysctls(network.plan, network.plan.nodes[position]),
            "net.ipv4.tcp_available_congestion_control",
            "net.ipv4.tcp_limit_output_bytes",
        ]
        sysctls[network.names[position]] = node.read_sysctls(names)
    return {
        "kernel": os.uname().release,
        "addresses": {name: network.address(position) for position, name in enumerate(network.names)},
        "sysctls": sysctls,
        "offloads": effective_offloads(network),
    }


def effective_offloads(network: Network) -> dict[str, dict[str, bool]]:
    """List the offloads of the hosts and their state, by `HOST:INTERFACE`."""
    return {
        f"{network.names[position]}:{interface}": offloads.read_offloads(network.netlink(position), interface)
        for position in _hosts(network)
        for interface in network.interfaces(position)
    }


def _hosts(network: Network) -> list[int]:
    return [position for position in range(len(network.nodes)) if network.is_host(position)]


def effective_qdiscs(network: Network) -> dict[str, str]:
    """Read the output of `tc -s -d qdisc` in every node, counters included: asked after the transfer.

    A host without tc has what netlink says: counters, and the options as they are encoded there.
    """
    try:
        return {node.name: output_of(["tc", "-s", "-d", "qdisc", "show"], node) for node in network.nodes}
    except FileNotFoundError:
        return {name: _by_netlink(network, position) for position, name in enumerate(network.names)}


def _by_netlink(network: Network, position: int) -> str:
    lines: list[str] = []
    for index, handle, parent, found in network.netlink(position).qdiscs():
        kind = found[TCA_KIND].rstrip(b"\0").decode()
        lines.append(f"qdisc {kind} {handle >> 16:x}: dev {network.interface_name(position, index)} parent {parent:x}")
        if TCA_STATS in found:
            sent_bytes, packets, dropped, overlimits, *_ = STATISTICS.unpack_from(found[TCA_STATS])
            lines.append(f" Sent {sent_bytes} bytes {packets} pkt (dropped {dropped}, overlimits {overlimits})")
        if options := found.get(TCA_OPTIONS):
            lines.append(f" options {options.hex()}")
    return "\n".join(lines)
