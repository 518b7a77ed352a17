"""Qdiscs changed and read without a detour: one system call each, no clock read on the way.

pyroute2's calls go through an event loop that reads the clock some thirty times, and each reading takes 256 ns of
virtual time: an event would come 8 µs late. Its encoders are used; the socket is our own.
"""

from __future__ import annotations

import os
import socket
import struct
from typing import Any

from pyroute2.netlink.rtnl.tcmsg import plugins, tcmsg

from .nodes import NamespaceNode

RTM_NEWQDISC, RTM_GETQDISC = 36, 38
NLM_F_REQUEST, NLM_F_ACK, NLM_F_ECHO = 1, 4, 8
NLMSG_ERROR = 2
RECEIVE_BYTES = 1 << 16
NUDGE = bytes.fromhex("02000000000002000000000088b5")


class Qdiscs:
    """The qdiscs of one interface of a node."""

    def __init__(self, node: NamespaceNode, interface: int) -> None:
        """Open a socket in the node's namespace."""
        with node.inside():
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
        # The kernel answers within the call: no answer is a fault, to be told rather than waited for. (A timeout of
        # Python's own would read the clock.)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("qq", 1, 0))
        self._node, self._interface = node, interface
        self._nudges: socket.socket | None = None

    def change(self, kind: str, handle: int, parent: int | None, options: dict[str, Any]) -> None:
        """Give a qdisc a new set of options, all of them.

        Raises:
            OSError: the kernel refuses them.
        """
        attributes: list[Any] = [["TCA_KIND", kind], ["TCA_OPTIONS", plugins[kind].get_parameters(options)]]
        self._ask(RTM_NEWQDISC, handle, parent or plugins[kind].parent, attributes)

    def drops(self, handle: int) -> int:
        """Packets that a qdisc has dropped, 0 if there is none of that handle."""
        try:
            answer = self._ask(RTM_GETQDISC, handle, 0, [])
        except FileNotFoundError:
            return 0
        message = tcmsg(answer)
        message.decode()
        statistics: Any = message.get_attr("TCA_STATS")
        return int(statistics["drop"])

    def nudge(self) -> None:
        """Have the qdiscs look again whether something may leave: a token bucket's timer is set by its old rate.

        The kernel looks when a packet comes, and at no change. So one comes: 14 bytes for nobody, of a type that nobody
        takes (IEEE 802's local experimental one), which is dropped where the link ends.
        """
        if self._nudges is None:
            with self._node.inside():
                self._nudges = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
                self._nudges.bind((socket.if_indextoname(self._interface), 0))
        self._nudges.send(NUDGE)

    def close(self) -> None:
        """Close the sockets."""
        self._socket.close()
        if self._nudges is not None:
            self._nudges.close()

    def _ask(self, kind: int, handle: int, parent: int, attributes: list[Any]) -> bytes:
        message = tcmsg()
        # Asked without ECHO, the kernel would tell those who listen to changes, and not us.
        flags = NLM_F_REQUEST | (NLM_F_ACK if kind == RTM_NEWQDISC else NLM_F_ECHO)
        header: Any = message["header"]
        header.update(type=kind, flags=flags)
        message.update(index=self._interface, handle=handle, parent=parent, attrs=attributes)
        message.encode()
        self._socket.send(message.data)
        answer = self._socket.recv(RECEIVE_BYTES)
        if int.from_bytes(answer[4:6], "little") == NLMSG_ERROR:
            number = -int.from_bytes(answer[16:20], "little", signed=True)
            if number:
                raise OSError(number, f"qdisc {handle >> 16:x}: {os.strerror(number)}")
        return answer
