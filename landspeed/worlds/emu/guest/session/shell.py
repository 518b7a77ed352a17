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

from landspeed.base.units_text import rate_text
from landspeed.scenario.theory.timing import slowest_rate_bps
from landspeed.scenario.theory.tolerances import REAL_CLOCK_RATE_TOLERANCE
from landspeed.worlds.emu.guest.calibration.trains import train_rate
from landspeed.worlds.emu.guest.files import mount_visible
from landspeed.worlds.emu.guest.network.flow_path import FlowPath
from landspeed.worlds.emu.guest.network.network import Network
from landspeed.worlds.emu.guest.session.shell_net import ShellNet

KEPT = 1 - REAL_CLOCK_RATE_TOLERANCE
MOST_TRIED = 8  # of a network's flows
USE = """Type a node's name and a command; names of nodes become addresses:
  {first} ping -c 3 {last}
  {first} traceroute -n {last}
  {first} iperf3 -s -D        then: {last} iperf3 -c {first}
"""
NO_SWITCH = "there are no switches here: every node is a host or a router; `net` and `links` show how they are joined"
NO_SCREEN = "the guest has no X server; type NODE COMMAND here, in the background with & at its end"
REFUSED = {
    **dict.fromkeys(("dpctl", "ports", "switch", "wait"), NO_SWITCH),
    **dict.fromkeys(("x", "xterm", "gterm"), NO_SCREEN),
}
"""Command of Mininet → why it is not here."""

BANNER = """
The path is up, in real time. {use}`path` shows the hops, `help` the rest, `exit` or Ctrl-D ends.
"""


def _no_exit(*_: object) -> None:
    raise ValueError("`exit`, without py, ends the prompt")


class PathCommandLine(CLI):
    """Mininet's command line. What needs switches or X says that it is not here; no exception ends it."""

    prompt = "landspeed> "

    def __init__(self, network: Network) -> None:
        """Run it until its end: Mininet's does so where it is made."""
        self.network = network
        self.helpStr = usage(network)  # instead of Mininet's own, which is about another prompt
        super().__init__(ShellNet(network))

    def get_names(self) -> list[str]:
        """Names for help and completion."""
        return [name for name in super().get_names() if name.removeprefix("do_") not in REFUSED]

    def onecmd(self, line: str) -> bool:
        """Obey a line. Whatever goes wrong is told; the path stays."""
        word = line.split(None, 1)[0] if line.strip() else ""
        if word in REFUSED:
            print(f"*** {word}: {REFUSED[word]}")
            return False
        try:
            return super().onecmd(line)
        except (Exception, SystemExit) as error:  # of Mininet, of programs that are missing, of what was typed
            print(f"*** {word}: {error or type(error).__name__}")
            return False

    def getLocals(self) -> dict[str, Any]:  # noqa: N802 (Mininet's)
        """Names for `py` and `px`; Python's own `exit` would close the console."""
        self.locals |= dict.fromkeys(("exit", "quit"), _no_exit)
        return super().getLocals()

    def do_source(self, line: str) -> None:
        """Read commands from a file: source FILE."""
        mount_visible([os.path.abspath(line)])  # noqa: PTH100
        super().do_source(line)

    def do_path(self, _line: str) -> None:
        """Show the nodes in order with their addresses."""
        network = self.network
        for position, name in enumerate(network.names):
            print(f"{position:>3}  {name:<24} {network.address(position)}")

    def default(self, line: str) -> None:
        """NODE COMMAND…: node names among the words become addresses."""
        first, *rest = line.split(None, 1)
        network = self.network
        if first not in network.names:
            print(f"*** '{first}' is neither a node ({', '.join(network.names)}) nor a command; `help` lists these")
            return
        if not rest:
            print(f"*** {first}: a command is missing, as in: {first} ping -c 3 {network.plan.flow.target}")
            return
        names = sorted(network.names, key=len, reverse=True)
        pattern = re.compile(r"(?<![\w./-])(" + "|".join(map(re.escape, names)) + r")(?![\w./-])")
        mount_visible([os.path.abspath(word) for word in rest[0].split()])  # noqa: PTH100
        node = self.mn[first]
        node.sendCmd(pattern.sub(lambda match: network.address(network.names.index(match[1])), rest[0]))
        self.waitForNode(node)


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
        name = "" if network.plan.is_path else f"{flow.name}: "
        there = path, 0, len(path.nodes) - 1
        for (taken, origin, target), way in ((there, "→"), (path.from_target(), "←")):
            planned = slowest_rate_bps(taken.plan, forward=target > origin)
            measured = train_rate(taken, origin, target, real_clock=True) or 0.0
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
