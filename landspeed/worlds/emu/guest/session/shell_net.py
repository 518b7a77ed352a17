"""The built network as Mininet's, for its command line: interfaces, links, and the tests `pingall`, `iperf` …

Mininet's own `iperf` waits for the server in a loop, by telnet, and needs iperf 2; this one is iperf3, whose server
says when it listens.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from typing import Any

from mininet.link import Intf, Link
from mininet.log import output
from mininet.net import Mininet

from landspeed.worlds.emu.guest.network.network import Network, link_address
from landspeed.worlds.emu.guest.session.shell_nodes import ShellNode

IPERF_SECONDS = 5


def _stays(_name: str, _node: object) -> None:
    """Mininet moves interfaces into nodes; these are there."""


class ShellInterface(Intf):
    """An interface that exists already. What it loses while it is down is put back when it comes up."""

    def __init__(self, name: str, node: ShellNode, address: str) -> None:
        """Take it as it is."""
        super().__init__(name, node=node, up=None, moveIntfFn=_stays)
        self.ip = address
        self._family = "-6" if ":" in address else "-4"
        self._lost: list[str] = []

    def ifconfig(self, *args: str) -> str:
        """`up`, `down`, or its state: by ip(8), which every guest has. Returns what went wrong, or the state."""
        if args not in (("up",), ("down",)):
            return self._ip("address", "show", "dev", self.name)
        if args == ("down",) and self.isUp():
            self._lost = self._routes_and_neighbours()
            self._ip("sysctl", program=("sysctl", "-qw", f"net.ipv6.conf.{self.name}.keep_addr_on_down=1"))
        said = self._ip("link", "set", self.name, *args)
        if args == ("up",):
            said += self._ip(self._family, "-batch", "-", given="\n".join(self._lost))
            self._lost = []
        return said

    def isUp(self, setUp: bool = False) -> bool:  # noqa: N802 (Mininet's)
        """Return whether it is switched on; switch it on first if asked."""
        if setUp:
            self.ifconfig("up")
        return re.search(r"<[^>]*\bUP\b", self.ifconfig()) is not None

    def updateIP(self) -> str:  # noqa: N802
        """Address of the interface; nothing here changes it."""
        return self.ip

    def status(self) -> str:
        """OK or DOWN, as `links` shows it."""
        return "OK" if self.isUp() else "DOWN"

    def _routes_and_neighbours(self) -> list[str]:
        """Commands of ip(8) that put back what the kernel forgets of an interface that goes down."""
        routes = self._ip(self._family, "route", "show", "dev", self.name).replace(" linkdown", "").splitlines()
        neighbours = self._ip(self._family, "neighbour", "show", "dev", self.name, "nud", "permanent").splitlines()
        lost = [
            f"neighbour replace {each.replace('PERMANENT', 'nud permanent')} dev {self.name}" for each in neighbours
        ]
        return lost + [f"route replace {each} dev {self.name}" for each in routes if "proto kernel" not in each]

    def _ip(self, *words: str, given: str = "", program: Sequence[str] = ()) -> str:
        """Run ip(8), or another program, in the node; returns what it said."""
        process = self.node.popen(
            list(program) or ["ip", *words], stdin=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        return process.communicate(given)[0]

    def __str__(self) -> str:
        return f"{self.node.name}-{self.name}"


class ShellLink(Link):
    """A link that exists already."""

    def __init__(self, first: ShellInterface, second: ShellInterface) -> None:
        """Join its two ends."""
        self.intf1, self.intf2 = first, second
        first.link = second.link = self


class ShellNet(Mininet):
    """The network to Mininet's command line. Hosts are its hosts; there are no switches and no controllers."""

    def __init__(self, network: Network) -> None:
        """Take what is built; Mininet itself would build."""
        self.nameToNode = {node.name: ShellNode(node) for node in network.nodes}
        self.hosts = [self[name] for place, name in enumerate(network.names) if network.is_host(place)]
        self.switches, self.controllers, self.terms = [], [], []
        version = network.plan.ip_version
        self.links = []
        for link in network.plan.links:
            ends = [(network.end(link.index, side), link_address(version, link.index, side)) for side in (0, 1)]
            made = [ShellInterface(name, self[network.names[place]], address) for (place, name), address in ends]
            self.links.append(ShellLink(made[0], made[1]))

    def __iter__(self) -> Any:
        return iter(self.nameToNode)

    def __len__(self) -> int:
        return len(self.nameToNode)

    def iperf(
        self,
        hosts: Sequence[ShellNode] | None = None,
        l4Type: str = "TCP",  # noqa: N803 (Mininet's)
        udpBw: str = "10M",  # noqa: N803
        seconds: int = IPERF_SECONDS,
        port: int = 5001,
    ) -> list[str]:
        """Goodput from the first of two hosts to the second, by iperf3.

        Returns:
            what the server and the client counted; of UDP, what was to be sent before them.
        """
        if not re.fullmatch(r"\d+(\.\d+)?[KMGkmg]?", udpBw):  # iperf3 would take it for no limit
            raise OSError(f"no bandwidth: '{udpBw}'; write bit/s, such as 10M")
        client, server = hosts or (self.hosts[0], self.hosts[-1])
        output(f"*** Iperf: testing {l4Type} bandwidth between {client} and {server}\n")
        words = ["iperf3", "-s", "-1", "-p", str(port), "--forceflush"]
        listening = server.popen(words, stderr=subprocess.STDOUT)
        try:
            said = ""
            for line in listening.stdout or ():
                said += line.decode(errors="replace")
                if "Server listening" in said:
                    break
            else:
                raise OSError(f"iperf3 does not listen at {server}: {said.strip() or 'it said nothing'}")
            words = ["iperf3", "-c", server.IP(), "-p", str(port), "-t", str(seconds), "-J"]
            told, wrong, _ = client.pexec(words + (["-u", "-b", udpBw] if l4Type == "UDP" else []))
        finally:
            listening.terminate()
            listening.communicate()
        result = [*([udpBw] if l4Type == "UDP" else []), *_rates(told, wrong)]
        output(f"*** Results: {result}\n")
        return result


def _rates(told: str, wrong: str) -> list[str]:
    """The receiver's and the sender's rate in iperf3's JSON, as Mininet writes them. Raises OSError."""
    try:
        found = json.loads(told)
        end = found["end"]
        sums = [end.get(f"sum_{side}") or end["sum"] for side in ("received", "sent")]
    except (ValueError, KeyError):
        error = re.search(r'"error":\s*"(.*)"', told)
        raise OSError(f"iperf3: {error[1] if error else wrong.strip() or 'no result'}") from None
    return [f"{each['bits_per_second'] / 1e6:.2f} Mbits/sec" for each in sums]
