"""A prompt on the emulated path: Mininet's command line over the nodes, in real time, without X.

`geneva ping pasadena` runs ping in the node geneva with pasadena's address put in; `nodes`, `path`, `help`, `exit`.
"""

from __future__ import annotations

import fcntl
import os
import re
import signal
import sys
import termios
from typing import Any

from mininet.cli import CLI
from mininet.log import setLogLevel

from .network import Network

BANNER = """
The path is up, in real time. Type a node's name and a command; names of nodes become addresses:
  {first} ping -c 3 {last}
  {first} traceroute -n {last}
  {first} iperf3 -s -D        then: {last} iperf3 -c {first}
`path` shows the hops, `help` the rest, `exit` or Ctrl-D ends.
"""


class _Net:
    """What Mininet's command line asks of a network."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.hosts = [network.nodes[0], network.nodes[-1]]
        self.switches: list[Any] = []
        self.controllers: list[Any] = []
        self.links: list[Any] = []

    def __contains__(self, name: str) -> bool:
        return name in self.network.names

    def __getitem__(self, name: str) -> Any:
        return self.network.node(name)

    def __iter__(self) -> Any:
        return iter(self.network.names)

    def values(self) -> list[Any]:
        return list(self.network.nodes)

    def items(self) -> list[tuple[str, Any]]:
        return list(zip(self.network.names, self.network.nodes, strict=True))

    def keys(self) -> list[str]:
        return list(self.network.names)


class PathCommandLine(CLI):
    """Mininet's command line without what needs switches, controllers or X."""

    prompt = "landspeed> "
    hidden = (
        "dpctl",
        "gterm",
        "x",
        "xterm",
        "iperf",
        "iperfudp",
        "pingall",
        "pingallfull",
        "pingpair",
        "pingpairfull",
        "link",
        "switch",
        "links",
        "ports",
        "net",
        "dump",
        "intfs",
    )

    def get_names(self) -> list[str]:
        """Names for help and completion."""
        return [name for name in super().get_names() if name.removeprefix("do_") not in self.hidden]

    def do_path(self, _line: str) -> None:
        """Show the nodes in order with their addresses."""
        network = self.mn.network
        for position, name in enumerate(network.names):
            print(f"{position:>3}  {name:<24} {network.address(position)}")

    def default(self, line: str) -> None:
        """NODE COMMAND…: node names among the words become addresses."""
        first, *rest = line.split(None, 1)
        network = self.mn.network
        if first not in network.names or not rest:
            print(f"*** '{first}' is neither a node ({', '.join(network.names)}) nor a command")
            return
        names = sorted(network.names, key=len, reverse=True)
        pattern = re.compile(r"(?<![\w./-])(" + "|".join(map(re.escape, names)) + r")(?![\w./-])")
        command = pattern.sub(lambda match: network.address(network.names.index(match[1])), rest[0])
        super().default(f"{first} {command}")


def run_shell(network: Network) -> None:
    """Run the prompt on the guest's first console until its end."""
    _take_terminal()
    setLogLevel("info")
    print(BANNER.format(first=network.names[0], last=network.names[-1]))
    PathCommandLine(_Net(network))


def _take_terminal() -> None:
    """Make the console this process's terminal, so that Ctrl-C reaches the program that runs."""
    os.setsid() if os.getsid(0) != os.getpid() else None
    console = os.open("/dev/tty0", os.O_RDWR)
    fcntl.ioctl(console, termios.TIOCSCTTY, 0)
    for descriptor in (0, 1, 2):
        os.dup2(console, descriptor)
    sys.stdin = os.fdopen(0, "r", closefd=False)
    signal.signal(signal.SIGINT, signal.default_int_handler)
