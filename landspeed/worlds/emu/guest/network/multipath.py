"""Multipath TCP in the built network: where a second subflow may go, told to the kernel's path manager.

A receiver announces its second address (ADD_ADDR, RFC 8684 section 3.4.1), and a sender joins one subflow to what is
announced; routes.py leads it over the second route. This is `ip mptcp endpoint add … signal` and `ip mptcp limits set`
of ip-mptcp(8), by generic netlink.
"""

from __future__ import annotations

import os
import socket
import struct
from typing import TYPE_CHECKING

from landspeed.worlds.emu.guest.network.netlink import (
    ACK,
    HEADER,
    NESTED,
    NLMSG_ERROR,
    REQUEST,
    attribute,
    attributes,
    family,
    packed,
)

if TYPE_CHECKING:
    from landspeed.worlds.emu.guest.network.network import Network
    from landspeed.worlds.emu.guest.network.nodes import GuestNode

# linux/netlink.h, linux/genetlink.h, linux/mptcp_pm.h
NETLINK_GENERIC = 16
GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_FAMILY_ID, CTRL_FAMILY_NAME = 16, 3, 1, 2
NAME, VERSION = "mptcp_pm", 1
ADD_ENDPOINT, SET_LIMITS = 1, 5
ENDPOINT, ACCEPTED_ADDRESSES, SUBFLOWS = 1, 2, 3
FAMILY, ADDRESS = 1, {4: 3, 6: 4}
FLAGS, SIGNAL = 6, 1
MORE_SUBFLOWS = 1  # beside the first


def announce(network: Network) -> None:
    """Let the hosts of flows with two routes join a second subflow to each connection.

    Raises:
        OSError: the kernel refuses; of one without MPTCP, "mptcp_pm: No such file or directory".
    """
    flows = [flow for flow in network.plan.flows if flow.second_route]
    for name in dict.fromkeys(flow.source for flow in flows):
        with PathManager(network.node(name)) as manager:
            manager.set_limits(accepted=MORE_SUBFLOWS)
    for name in dict.fromkeys(flow.target for flow in flows):
        with PathManager(network.node(name)) as manager:
            manager.set_limits(accepted=0)
            manager.signal(network.second_address(network.position[name]) or "")


class PathManager:
    """The kernel's path manager in the namespace of a node. What it refuses is an OSError."""

    def __init__(self, node: GuestNode) -> None:
        """Open it."""
        with node.inside():
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, NETLINK_GENERIC)
        answer = self._ask(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, attribute(CTRL_FAMILY_NAME, NAME), NAME, flags=0)
        told = dict(attributes(answer[HEADER.size + 4 :]))
        (self._family,) = struct.unpack("=H", told[CTRL_FAMILY_ID])

    def __enter__(self) -> PathManager:
        """Do nothing."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self._socket.close()

    def set_limits(self, *, accepted: int) -> None:
        """One subflow beside the first; announced addresses to which this end joins one."""
        body = attribute(ACCEPTED_ADDRESSES, accepted) + attribute(SUBFLOWS, MORE_SUBFLOWS)
        self._ask(self._family, SET_LIMITS, body, "limits of MPTCP")

    def signal(self, address: str) -> None:
        """Announce an address to whoever connects."""
        ip = packed(address)
        endpoint = attribute(FAMILY, struct.pack("=H", family(ip))) + attribute(ADDRESS[4 if len(ip) == 4 else 6], ip)
        endpoint += attribute(FLAGS, SIGNAL)
        self._ask(self._family, ADD_ENDPOINT, attribute(ENDPOINT | NESTED, endpoint), f"MPTCP endpoint {address}")

    def _ask(self, kind: int, command: int, body: bytes, what: str, flags: int = ACK) -> bytes:
        message = struct.pack("=BBH", command, VERSION, 0) + body
        self._socket.send(HEADER.pack(HEADER.size + len(message), kind, REQUEST | flags, 0, 0) + message)
        answer = self._socket.recv(1 << 16)
        if HEADER.unpack_from(answer)[1] == NLMSG_ERROR:
            (error,) = struct.unpack_from("=i", answer, HEADER.size)
            if error:
                raise OSError(-error, f"{what}: {os.strerror(-error)}")
        return answer
