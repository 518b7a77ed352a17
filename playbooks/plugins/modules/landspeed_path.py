#!/usr/bin/python
"""Ansible module: a path of several links and routers inside one Linux box, between two of its ports."""

from __future__ import annotations

DOCUMENTATION = r"""
module: landspeed_path
short_description: Make a Linux box a path of links and routers
description:
  - Each link is a veth pair with its own qdiscs, each router between two links a network namespace. What comes in at
    one port for the host behind the other takes the whole chain; the ports, their addresses and every other traffic of
    the box stay as they are.
  - What is made is written into the state file first; M(landspeed_restore) takes it away.
options:
  to_sender: {description: Port towards the sender., type: str, required: true}
  to_receiver: {description: Port towards the receiver., type: str, required: true}
  sender: {description: Address of the sender., type: str, required: true}
  receiver: {description: Address of the receiver., type: str, required: true}
  links:
    description:
      - From the sender to the receiver, each with C(mtu_bytes), C(rtt_ms) and the lines C(forward) and C(reverse) for
        C(tc qdisc add dev VETH).
    type: list
    elements: dict
    required: true
author: landspeed
"""
EXAMPLES = r"""
- name: One link of 10 ms each way
  landspeed_path:
    to_sender: eth1
    to_receiver: eth2
    sender: 192.0.2.1
    receiver: 198.51.100.1
    links:
      - mtu_bytes: 1500
        rtt_ms: 20
        forward: ["root handle 1: netem limit 10000 delay 10000us"]
        reverse: ["root handle 1: netem limit 10000 delay 10000us"]
"""
RETURN = r"""
shown: {description: The chain as the kernel shows it., type: list, returned: always}
hops:
  description: Each router with its addresses as both hosts see it, and its RTT from each.
  type: list
  returned: always
ends: {description: The devices of each link for M(landspeed_rates)., type: list, returned: always}
"""

import ipaddress  # noqa: E402
from typing import TypedDict  # noqa: E402

from ansible.module_utils.basic import AnsibleModule  # noqa: E402

from ..module_utils.landspeed_host import Unavailable, run  # noqa: E402
from ..module_utils.landspeed_kinds import KINDS, CannotPutBack  # noqa: E402
from ..module_utils.landspeed_state import State  # noqa: E402

PRIORITY_FORWARD, PRIORITY_REVERSE = 7801, 7802  # of the rules; also the numbers of their routing tables
SENDERS_END, RECEIVERS_END = "a", "b"
KEY = "path box"  # of what was asked for and how it is shown, in the state file


class Link(TypedDict):
    """A link; `forward` and `reverse` are lines for tc."""

    mtu_bytes: int
    rtt_ms: float
    forward: list[str]
    reverse: list[str]


class Wanted(TypedDict):
    """The module's parameters."""

    to_sender: str
    to_receiver: str
    sender: str
    receiver: str
    links: list[Link]


class Hop(TypedDict):
    """A router as one host sees it."""

    address: str
    rtt_ms: float


class End(TypedDict):
    """One end of a link; the namespace None is the box itself."""

    device: str
    namespace: str | None


class Chain:
    """The chain: node 0 and the last are the box itself, what is between them are namespaces.

    Link i joins nodes i and i + 1. Its ends have the addresses 198.18.0.0 + 4 i + 1 and + 2 (RFC 2544; IPv6: RFC 5180),
    known to each other by fixed neighbour entries, so that no ARP has to cross a link of 60 ms. The box's own ends have
    none: nothing in the box listens there.
    """

    def __init__(self, wanted: Wanted) -> None:
        """`wanted` are the module's parameters."""
        self.links, self.last = wanted["links"], len(wanted["links"])
        self.ports = (wanted["to_sender"], wanted["to_receiver"])
        self.hosts = (wanted["sender"], wanted["receiver"])
        self.version = "-6" if ":" in wanted["sender"] else "-4"
        self.width = "128" if self.version == "-6" else "32"

    def namespace(self, node: int) -> str | None:
        """Name of a router's namespace; None is the box."""
        return self.router(node) if 0 < node < self.last else None

    @staticmethod
    def router(node: int) -> str:
        """Name of the namespace that is a router."""
        return f"landspeed-hop{node}"

    @staticmethod
    def device(link: int, end: str) -> str:
        """Name of an end of a link."""
        return f"lspeed{link}{end}"

    def address(self, link: int, end: str) -> str:
        """Address of an end of a link."""
        side = 1 if end == SENDERS_END else 2
        if self.version == "-6":
            return str(ipaddress.ip_address(f"2001:2:0:{link:x}::{side}"))  # as traceroute writes it
        number = 4 * link + side
        return f"198.18.{number // 256}.{number % 256}"

    @staticmethod
    def hardware(link: int, end: str) -> str:
        """MAC address of an end of a link; locally administered."""
        return f"02:6c:73:{link // 256:02x}:{link % 256:02x}:{1 if end == SENDERS_END else 2:02x}"

    def ip(self, node: int, words: str) -> str:
        """`ip` in a node."""
        name = self.namespace(node)
        return run("ip", *(["-n", name] if name else []), *words.split())

    def tc(self, node: int, words: str) -> str:
        """`tc` in a node."""
        name = self.namespace(node)
        return run("tc", *(["-n", name] if name else []), *words.split())

    def entries(self) -> list[tuple[str, str]]:
        """Kinds and names for the state file, in the order in which they are made."""
        found = [("netns", self.router(node)) for node in range(1, self.last)]
        found += [("link", self.device(0, SENDERS_END)), ("link", self.device(self.last - 1, RECEIVERS_END))]
        return found + [("ip_rule", f"{self.version} {each}") for each in (PRIORITY_FORWARD, PRIORITY_REVERSE)]

    def build(self) -> None:
        """Make all of it; nothing of it is there."""
        # Routers that answer each traceroute, and take answers of the others on.
        values = {"ipv4/conf/all/rp_filter": 0, "ipv4/conf/default/rp_filter": 0}
        values |= {
            "ipv4/ip_forward": 1,
            "ipv4/icmp_ratelimit": 0,
            "ipv6/conf/all/forwarding": 1,
            "ipv6/icmp/ratelimit": 0,
        }
        script = "; ".join(f"echo {value} >/proc/sys/net/{key}" for key, value in values.items())
        for node in range(1, self.last):
            run("ip", "netns", "add", self.router(node))
            run("ip", "netns", "exec", self.router(node), "sh", "-c", script)
            self.ip(node, "link set lo up")
        for link in range(self.last):
            self._add_link(link)
        self._add_routes()

    def _add_link(self, link: int) -> None:
        near, far = self.device(link, SENDERS_END), self.device(link, RECEIVERS_END)
        if link < self.last - 1:
            self.ip(link, f"link add {near} type veth peer name {far} netns {self.namespace(link + 1)}")
        else:  # the far end is in the box, which has no name as a namespace: made from there
            other = self.namespace(link)
            self.ip(self.last, f"link add {far} type veth peer name {near}" + (f" netns {other}" if other else ""))
        for node, end, peer, lines in (
            (link, SENDERS_END, RECEIVERS_END, self.links[link]["forward"]),
            (link + 1, RECEIVERS_END, SENDERS_END, self.links[link]["reverse"]),
        ):
            device, mtu = self.device(link, end), self.links[link]["mtu_bytes"]
            self.ip(node, f"link set {device} address {self.hardware(link, end)} mtu {mtu} txqueuelen 1000")
            self.ip(node, f"link set {device} up")
            if self.namespace(node):
                nodad = " nodad" if self.version == "-6" else ""
                self.ip(node, f"{self.version} addr add {self.address(link, end)}/{self.width} dev {device}{nodad}")
            neighbour = f"{self.address(link, peer)} lladdr {self.hardware(link, peer)}"
            self.ip(node, f"{self.version} neigh replace {neighbour} dev {device} nud permanent")
            for line in lines:
                self.tc(node, f"qdisc add dev {device} {line}")

    def _add_routes(self) -> None:
        """Routers know both hosts; on the box a rule sends what comes in at a port into the chain."""
        sender, receiver = self.hosts
        for node in range(1, self.last):
            self._route(node, receiver, node, SENDERS_END)
            self._route(node, sender, node - 1, RECEIVERS_END)
        # The box has to know where its routers are, or it takes their answers to a traceroute for forged (rp_filter).
        for hop in self.hops():
            self._route(0, hop["sender"]["address"], 0, SENDERS_END)
            self._route(0, hop["receiver"]["address"], self.last - 1, RECEIVERS_END)
        for priority, port, host, link, end in (
            (PRIORITY_FORWARD, self.ports[0], receiver, 0, SENDERS_END),
            (PRIORITY_REVERSE, self.ports[1], sender, self.last - 1, RECEIVERS_END),
        ):
            self._route(0, host, link, end, f" table {priority}")
            self.ip(0, f"{self.version} rule add priority {priority} iif {port} to {host} lookup {priority}")

    def _route(self, node: int, host: str, link: int, end: str, table: str = "") -> None:
        """Add a route to a host over a link, of which `end` is the one here."""
        gateway = self.address(link, RECEIVERS_END if end == SENDERS_END else SENDERS_END)
        device = self.device(link, end)
        self.ip(node, f"{self.version} route add {host}/{self.width} via {gateway} dev {device} onlink{table}")

    def hops(self) -> list[dict[str, Hop]]:
        """The routers as a traceroute of each host finds them."""
        times = [link["rtt_ms"] for link in self.links]
        return [
            {
                "sender": {"address": self.address(node - 1, RECEIVERS_END), "rtt_ms": sum(times[:node])},
                "receiver": {"address": self.address(node, SENDERS_END), "rtt_ms": sum(times[node:])},
            }
            for node in range(1, self.last)
        ]

    def ends(self) -> list[dict[str, End]]:
        """Device and namespace of both ends of each link."""
        return [
            {
                "near": {"device": self.device(link, SENDERS_END), "namespace": self.namespace(link)},
                "far": {"device": self.device(link, RECEIVERS_END), "namespace": self.namespace(link + 1)},
            }
            for link in range(self.last)
        ]

    def shown(self) -> list[str]:
        """All of it as the kernel shows it; `missing` where a part is not there."""
        found: list[str] = []
        for link in range(self.last):
            for end, node in ((SENDERS_END, link), (RECEIVERS_END, link + 1)):
                device = self.device(link, end)
                try:
                    mtu = self.ip(node, f"-o link show dev {device}").partition(" mtu ")[2].split()[0]
                    lines = self.tc(node, f"qdisc show dev {device}").splitlines()
                    routes = self.ip(node, f"{self.version} route show dev {device}").splitlines()
                except Unavailable:
                    found.append(f"{device}: missing")
                    continue
                found += [f"{device}: mtu {mtu}", *(f"{device}: {line.strip()}" for line in [*lines, *routes])]
        for priority in (PRIORITY_FORWARD, PRIORITY_REVERSE):
            found.append(self.ip(0, f"{self.version} rule show priority {priority}").strip())
            try:
                found.append(self.ip(0, f"{self.version} route show table {priority}").strip())
            except Unavailable:  # a table that nobody ever used
                found.append("")
        return found


def remove_ours(state: State, chain: Chain) -> None:
    """Take away what an earlier run made; refuse what is somebody else's.

    Raises:
        CannotPutBack: something of the same name was there before landspeed.
    """
    made = [(entry["kind"], entry["name"]) for entry in state.entries if entry["kind"] in ("netns", "link", "ip_rule")]
    for kind, name in chain.entries():
        if (kind, name) not in made and KINDS[kind].read(name):
            raise CannotPutBack(f"there is {kind} {name} already, and landspeed did not make it; remove it first")
    for kind, name in reversed(made):
        KINDS[kind].write(name, False)


def main() -> None:
    """Entry."""
    module = AnsibleModule(
        argument_spec={
            "to_sender": {"type": "str", "required": True},
            "to_receiver": {"type": "str", "required": True},
            "sender": {"type": "str", "required": True},
            "receiver": {"type": "str", "required": True},
            "links": {"type": "list", "elements": "dict", "required": True},
        },
        supports_check_mode=True,
    )
    chain, asked = Chain(module.params), dict(module.params)
    try:
        with State() as state:
            before = chain.shown()
            if state.applied.get(KEY) == {"asked": asked, "shown": before}:
                module.exit_json(changed=False, shown=before, hops=chain.hops(), ends=chain.ends())
            after = [
                f"link {number}: {way}: {'; '.join(link[way])}"
                for number, link in enumerate(chain.links)
                for way in ("forward", "reverse")
            ]
            if not module.check_mode:
                remove_ours(state, chain)
                for kind, name in chain.entries():
                    state.remember(kind, name, False, "shape")
                chain.build()
                after = chain.shown()
                state.applied[KEY] = {"asked": asked, "shown": after}
                state.save()
    except (Unavailable, CannotPutBack) as reason:
        module.fail_json(msg=f"the path cannot be made: {reason}")
        return
    difference = {"before": "\n".join([*before, ""]), "after": "\n".join([*after, ""])}
    module.exit_json(changed=True, shown=after, hops=chain.hops(), ends=chain.ends(), diff=difference)


if __name__ == "__main__":
    main()
