"""The nodes of the path: network namespaces. Those of `landspeed shell` are Mininet's, too (shell_nodes.py)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping

from landspeed.worlds.emu.guest.network import namespaces

SYSCTL_BYTES = 1 << 16  # the kernel gives all of a value in one piece


class GuestNode:
    """One host or router: a network namespace, named in /run/netns so that `ip netns` knows it too.

    Attributes:
        name: as in the plan.
        namespace: descriptor.
    """

    def __init__(self, name: str) -> None:
        """Make the namespace; no program is started."""
        self.name = name
        self.namespace = namespaces.create()
        namespaces.publish(self.namespace, name)

    def inside(self) -> contextlib.AbstractContextManager[None]:
        """Context in which sockets and programs belong to this node."""
        return namespaces.inside(self.namespace)

    def read_sysctls(self, names: Iterable[str]) -> dict[str, str]:
        """Values of sysctls as this node sees them; empty where this kernel has no such one."""
        with self.inside():
            return {name: _read(name) for name in names}

    def write_sysctls(self, values: Mapping[str, object]) -> None:
        """Set sysctls of this node."""
        with self.inside():
            for name, value in values.items():
                _write(name, str(value))


def _read(name: str) -> str:
    """Value of a sysctl, by three system calls: a file of Python's makes nine, which was half of building a network."""
    try:
        descriptor = os.open(_sysctl_path(name), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    try:
        return os.read(descriptor, SYSCTL_BYTES).decode().strip()
    finally:
        os.close(descriptor)


def _write(name: str, value: str) -> None:
    descriptor = os.open(_sysctl_path(name), os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)


def _sysctl_path(name: str) -> str:
    return "/proc/sys/" + name.replace(".", "/")
