"""What the guest's kernel says it really has: addresses, sysctls, offloads. The qdiscs are read by `tc` at the end."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any

from . import offloads
from .network import HOST_WIDE_SYSCTLS, Network, node_sysctls, read_host_wide


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
        sysctls[network.names[position]] = {name: node.read_sysctl(name) for name in names}
    return {
        "kernel": os.uname().release,
        "addresses": {name: network.address(position) for position, name in enumerate(network.names)},
        "sysctls": sysctls,
        "offloads": effective_offloads(network),
    }


def effective_offloads(network: Network) -> dict[str, dict[str, bool]]:
    """Which offloads are on at the hosts, by `HOST:INTERFACE`."""
    return {
        f"{network.names[position]}:{interface}": offloads.read_offloads(network.nodes[position], interface)
        for position in _hosts(network)
        for interface in network.interfaces(position)
    }


def _hosts(network: Network) -> list[int]:
    return [position for position in range(len(network.nodes)) if network.is_host(position)]


def effective_qdiscs(network: Network) -> dict[str, str]:
    """What `tc -s -d qdisc` says in every node, counters included: asked after the transfer.

    A host without tc has what netlink says, attribute by attribute.
    """
    shown: dict[str, str] = {}
    if not shutil.which("tc"):
        return {name: _by_netlink(network, position) for position, name in enumerate(network.names)}
    for node in network.nodes:
        with node.inside():
            done = subprocess.run(["tc", "-s", "-d", "qdisc", "show"], capture_output=True, text=True, check=False)
        shown[str(node.name)] = done.stdout or done.stderr
    return shown


def _by_netlink(network: Network, position: int) -> str:
    netlink, lines = network.netlink(position), list[str]()
    messages: list[Any] = list(netlink.get_qdiscs())
    for message in messages:
        found: dict[str, Any] = {name.removeprefix("TCA_").lower(): value for name, value in message["attrs"]}
        answers: Any = netlink.link("get", index=message["index"])
        (link,) = answers
        device, kind = link.get_attr("IFLA_IFNAME"), found.pop("kind", "?")
        lines.append(f"qdisc {kind} {message['handle'] >> 16:x}: dev {device} parent {message['parent']:x}")
        lines += [f"  {name}: {value}" for name, value in found.items()]
    return "\n".join(lines)
