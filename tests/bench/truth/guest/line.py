"""A direction of a link whose qdisc is told something else while a connection runs, as a scenario's events do it."""

from __future__ import annotations

import contextlib
import socket
from typing import Any, cast

from emu_probe import inside

from landspeed.worlds.emu.guest.network.netlink import Netlink


class _Node:
    """What Netlink wants of a node."""

    def __init__(self, name: str) -> None:
        self._name = name

    def inside(self) -> contextlib.AbstractContextManager[None]:
        return inside(self._name)


class Line:
    """The qdiscs of an interface."""

    def __init__(self, node: str, device: str) -> None:
        """By the names of node and interface."""
        with inside(node):
            self._index = socket.if_nametoindex(device)
        self._netlink = Netlink(cast(Any, _Node(node)))

    def change(self, asked: dict[str, Any]) -> None:
        """`qdisc`, `handle`, `parent`, and `options` in hexadecimal, as the host has made them."""
        self._netlink.change_qdisc(
            asked["qdisc"], self._index, asked["handle"], asked["parent"], bytes.fromhex(asked["options"])
        )
