"""The nodes as Mininet's, for its command line; shells only when somebody types.

Mininet starts one bash behind a pseudo-terminal for every node: 0.33 s of wall time each in the guest. A `ShellNode` is
a Mininet `Node` in everything a user calls (`cmd`, `popen`, `pexec`, the command line), but its shell starts at the
first `cmd`, and `popen` starts programs in the namespace directly.
"""

from __future__ import annotations

import os
import subprocess
from typing import Any

from mininet.node import Node as MininetNode

from landspeed.worlds.emu.guest.network.nodes import GuestNode


class ShellNode(MininetNode):
    """A node of the path to Mininet."""

    def __init__(self, node: GuestNode, **params: Any) -> None:
        """Wrap the node; start no program."""
        self._node = node
        self._starting = False
        super().__init__(node.name, **params)
        self.pid = os.getpid()

    @classmethod
    def setup(cls) -> None:
        """Mininet looks for ifconfig and mnexec here; neither is used until a shell is."""

    def startShell(self, mnopts: str | None = None) -> None:  # noqa: N802 (Mininet's name)
        """Called by Mininet's constructor: put off until `ensure_shell`."""
        if self._starting:
            self.inNamespace = False  # the namespace exists; mnexec must not make another
            with self._node.inside():
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

    def intfNames(self) -> list[str]:  # noqa: N802
        """Names of the node's interfaces, as ip(8) in the node has them."""
        return [interface.name for interface in self.intfList()]

    def popen(self, *args: Any, **kwargs: Any) -> subprocess.Popen[Any]:
        """Start a program in this node's namespace (Mininet's signature)."""
        kwargs.setdefault("mncmd", [])
        with self._node.inside():
            return super().popen(*args, **kwargs)
