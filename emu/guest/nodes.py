"""Mininet nodes that are namespaces first and shells only when somebody types.

Mininet starts one bash behind a pseudo-terminal for every node: 0.33 s of wall time each in the guest. A
`NamespaceNode` is a Mininet `Node` in everything a user calls (`cmd`, `popen`, `pexec`, the command line), but its
shell starts at the first `cmd`, and `popen` starts programs in the namespace directly.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from typing import Any

from mininet.node import Node

from . import namespaces


class NamespaceNode(Node):
    """One host or router: a network namespace, named in /run/netns so that `ip netns` knows it too."""

    def __init__(self, name: str, **params: Any) -> None:
        """Make the namespace; no program is started."""
        self.namespace = namespaces.create()
        self._starting = False
        super().__init__(name, **params)
        self.pid = os.getpid()
        namespaces.publish(self.namespace, name)

    @classmethod
    def setup(cls) -> None:
        """Mininet looks for ifconfig and mnexec here; neither is used until a shell is."""

    def inside(self) -> contextlib.AbstractContextManager[None]:
        """Context in which sockets and programs belong to this node."""
        return namespaces.inside(self.namespace)

    def startShell(self, mnopts: str | None = None) -> None:  # noqa: N802 (Mininet's name)
        """Called by Mininet's constructor: put off until `ensure_shell`."""
        if self._starting:
            self.inNamespace = False  # the namespace exists; mnexec must not make another
            with self.inside():
                super().startShell(mnopts)
            self.inNamespace = True

    def ensure_shell(self) -> None:
        """Start this node's shell if it has none."""
        if self.shell is None:
            self._starting = True
            self.startShell()

    def sendCmd(self, *args: Any, **kwargs: Any) -> None:  # noqa: N802
        """Send a command to the node's shell."""
        self.ensure_shell()
        super().sendCmd(*args, **kwargs)

    def cmd(self, *args: Any, **kwargs: Any) -> str | None:
        """Run a command in the node's shell and return its output."""
        if not self._starting:
            self.ensure_shell()
        return super().cmd(*args, **kwargs)

    def popen(self, *args: Any, **kwargs: Any) -> subprocess.Popen[Any]:
        """Start a program in this node's namespace (Mininet's signature)."""
        kwargs.setdefault("mncmd", [])
        with self.inside():
            return super().popen(*args, **kwargs)

    def read_sysctl(self, name: str) -> str:
        """Value of a sysctl as this node sees it; empty when this kernel has no such one."""
        try:
            with self.inside(), open(_sysctl_path(name)) as handle:  # noqa: PTH123
                return handle.read().strip()
        except FileNotFoundError:
            return ""

    def write_sysctl(self, name: str, value: object) -> None:
        """Set a sysctl of this node."""
        with self.inside(), open(_sysctl_path(name), "w") as handle:  # noqa: PTH123
            handle.write(str(value))


def _sysctl_path(name: str) -> str:
    return "/proc/sys/" + name.replace(".", "/")
