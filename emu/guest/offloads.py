"""Segmentation offloads of an interface, by the ethtool ioctl.

With offloads on, TCP hands super-packets through the whole path: fast, but netem loses or delays all of one at once.
With them off every packet is its own.
"""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct

from pyroute2.iproute.linux import IPRoute
from pyroute2.netlink.rtnl.ifinfmsg import ifinfbase

from .nodes import NamespaceNode

# The largest super-packet: 44 pages of payload (the kernel's MAX_SKB_FRAGS is 45, see emu/kernel/config).
SUPER_PACKET_BYTES = 180_000
# linux/if_link.h; pyroute2 0.9 ends at IFLA_ALLMULTI. Without the IPv4 size super-packets end at 64 KB.
ifinfbase.nla_map = (
    *ifinfbase.nla_map,
    ("IFLA_DEVLINK_PORT", "none"),
    ("IFLA_GSO_IPV4_MAX_SIZE", "uint32"),
)

SIOCETHTOOL = 0x8946
# linux/ethtool.h: get and set commands of each offload
COMMANDS = {"tso": (0x1E, 0x1F), "gso": (0x23, 0x24), "gro": (0x2B, 0x2C)}


def _ethtool(node: NamespaceNode, interface: str, command: int, value: int = 0) -> int:
    data = ctypes.create_string_buffer(struct.pack("II", command, value))
    request = struct.pack("16sP", interface.encode(), ctypes.addressof(data))
    with node.inside(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        fcntl.ioctl(handle, SIOCETHTOOL, request)
    return struct.unpack("II", data.raw[:8])[1]


def set_offloads(node: NamespaceNode, interface: str, *, merged: bool) -> None:
    """Turn the offloads that merge packets on or off."""
    for _, command in COMMANDS.values():
        _ethtool(node, interface, command, int(merged))


def join_received(node: NamespaceNode, interface: str) -> None:
    """Join the packets of a stream that arrive at the same instant (GRO), as any Linux host does."""
    _ethtool(node, interface, COMMANDS["gro"][1], 1)


def allow_super_packets(netlink: IPRoute, index: int) -> None:
    """Let an interface take IPv4 super-packets beyond 64 KB ("BIG TCP", Linux 6.3).

    IPv6 stays at 64 KB: there a larger one carries a jumbo header through the routers, and a transfer at 1 Gbit/s fell
    to a third of its goodput when it was tried.
    """
    netlink.link("set", index=index, gso_ipv4_max_size=SUPER_PACKET_BYTES)


def read_offloads(node: NamespaceNode, interface: str) -> dict[str, bool]:
    """Which offloads are on."""
    return {name: bool(_ethtool(node, interface, command)) for name, (command, _) in COMMANDS.items()}
