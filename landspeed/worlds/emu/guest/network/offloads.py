"""Segmentation offloads of an interface, by the ethtool ioctl.

With offloads on, TCP hands super-packets through the whole path: fast, but netem loses or delays all of one at once.
With them off every packet is its own.
"""

from __future__ import annotations

import ctypes
import fcntl
import struct

from landspeed.worlds.emu.guest.network.netlink import GSO_IPV4_MAX_SIZE, Netlink

# The largest super-packet: 44 pages of payload (the kernel's MAX_SKB_FRAGS is 45, see emu/kernel/config).
SUPER_PACKET_BYTES = 180_000
SIOCETHTOOL = 0x8946
# linux/ethtool.h: get and set commands of each offload
COMMANDS = {"tso": (0x1E, 0x1F), "gso": (0x23, 0x24), "gro": (0x2B, 0x2C)}


def _ethtool(netlink: Netlink, interface: str, command: int, value: int = 0) -> int:
    data = ctypes.create_string_buffer(struct.pack("II", command, value))
    request = struct.pack("16sP", interface.encode(), ctypes.addressof(data))
    fcntl.ioctl(netlink, SIOCETHTOOL, request)  # a socket of any kind tells the namespace
    return struct.unpack("II", data.raw[:8])[1]


def set_offloads(netlink: Netlink, interface: str, *, merged: bool) -> None:
    """Turn the offloads that merge packets on or off."""
    for _, command in COMMANDS.values():
        _ethtool(netlink, interface, command, int(merged))


def join_received(netlink: Netlink, interface: str) -> None:
    """Join the packets of a stream that arrive at the same instant (GRO), as any Linux host does."""
    _ethtool(netlink, interface, COMMANDS["gro"][1], 1)


def allow_super_packets(netlink: Netlink, index: int) -> None:
    """Let an interface take IPv4 super-packets beyond 64 KB ("BIG TCP", Linux 6.3).

    IPv6 stays at 64 KB: there a larger one carries a jumbo header through the routers, and a transfer at 1 Gbit/s fell
    to a third of its goodput when it was tried.
    """
    netlink.set_link(index, (GSO_IPV4_MAX_SIZE, SUPER_PACKET_BYTES))


def read_offloads(netlink: Netlink, interface: str) -> dict[str, bool]:
    """Read the state of each offload."""
    return {name: bool(_ethtool(netlink, interface, command)) for name, (command, _) in COMMANDS.items()}
