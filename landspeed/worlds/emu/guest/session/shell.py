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
from collections.abc import Iterator

from mininet.cli import CLI
from mininet.log import setLogLevel

from landspeed.base.units_text import rate_text
from landspeed.scenario.theory.timing import slowest_rate_bps
from landspeed.scenario.theory.tolerances import REAL_CLOCK_RATE_TOLERANCE
from landspeed.worlds.emu.guest.calibration.trains import train_rate
from landspeed.worlds.emu.guest.network.flow_path import FlowPath
from landspeed.worlds.emu.guest.network.network import Network
from landspeed.worlds.emu.guest.session.shell_nodes import ShellNode

KEPT = 1 - REAL_CLOCK_RATE_TOLERANCE
MOST_TRIED = 8  # of a network's flows
USE = """Type a node's name and a command; names of nodes become addresses:
  {first} ping -c 3 {last}
  {first} traceroute -n {last}
  {first} iperf3 -s -D        then: {last} iperf3 -c {first}
"""
BANNER = """
The path is up, in real time. {use}`path` shows the hops, `help` the rest, `exit` or Ctrl-D ends.
"""


class _Net:
    """Network as Mininet's command line needs it."""

    def __init__(self, network: Network) -> None:
        self.nodes = {node.name: ShellNode(node) for node in network.nodes}
        self.hosts = [self.nodes[name] for place, name in enumerate(network.names) if network.is_host(place)]
        self.switches = self.controllers = self.links = ()

    def __contains__(self, name: str) -> bool:
        return name in self.nodes

    def __getitem__(self, name: str) -> ShellNode:
        return self.nodes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.nodes)

    def values(self) -> list[ShellNode]:
        return list(self.nodes.values())

    def items(self) -> list[tuple[str, ShellNode]]:
        return list(self.nodes.items())

    def keys(self) -> list[str]:
        return list(self.nodes)


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

    def __init__(self, network: Network) -> None:
        """Run it until its end: Mininet's does so where it is made."""
        self.network = network
        self.helpStr = usage(network)  # instead of Mininet's own, which is about another prompt
        super().__init__(_Net(network))

    def get_names(self) -> list[str]:
        """Names for help and completion."""
        return [name for name in super().get_names() if name.removeprefix("do_") not in self.hidden]

    def do_path(self, _line: str) -> None:
        """Show the nodes in order with their addresses."""
        network = self.network
        for position, name in enumerate(network.names):
            print(f"{position:>3}  {name:<24} {network.address(position)}")

    def default(self, line: str) -> None:
        """NODE COMMAND…: node names among the words become addresses."""
        first, *rest = line.split(None, 1)
        network = self.network
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
    print(kept_words(network))
    print(BANNER.format(use=usage(network)))
    PathCommandLine(network)


def usage(network: Network) -> str:
    """Explain the commands, with nodes of this path."""
    return USE.format(first=network.plan.flow.source, last=network.plan.flow.target)


def kept_words(network: Network) -> str:
    """Say how much of the path's rate this machine keeps in real time, each way, by a packet train."""
    said: list[str] = []
    for flow in network.plan.flows[:MOST_TRIED]:
        path = FlowPath(network, flow)
        last, name = len(path.nodes) - 1, "" if network.plan.is_path else f"{flow.name}: "
        for origin, target, way in ((0, last, "→"), (last, 0, "←")):
            planned = slowest_rate_bps(path.plan, forward=target > origin)
            measured = train_rate(path, origin, target, real_clock=True) or 0.0
            word = "keeps its word" if measured >= KEPT * planned else "is too slow for this path"
            said.append(f"{name}{way} {rate_text(measured)} of {rate_text(planned)}: this machine {word}")
    return "\n".join(["", "Rates of full packets, as measured now in real time:", *said])


def _take_terminal() -> None:
    """Make the console this process's terminal, so that Ctrl-C reaches the program that runs."""
    os.setsid() if os.getsid(0) != os.getpid() else None
    console = os.open("/dev/tty0", os.O_RDWR)
    fcntl.ioctl(console, termios.TIOCSCTTY, 0)
    for descriptor in (0, 1, 2):
        os.dup2(console, descriptor)
    sys.stdin = os.fdopen(0, "r", closefd=False)
    signal.signal(signal.SIGINT, signal.default_int_handler)
