"""Segmentation offloads of an interface, by the ethtool ioctl.

With offloads on, TCP hands super-packets of up to 64 KB through the whole path: fast, but netem loses or delays all of
one at once. With them off every packet is its own.
"""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct

from .nodes import NamespaceNode

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


def read_offloads(node: NamespaceNode, interface: str) -> dict[str, bool]:
    """Which offloads are on."""
    return {name: bool(_ethtool(node, interface, command)) for name, (command, _) in COMMANDS.items()}
