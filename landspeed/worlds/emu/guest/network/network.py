"""The emulated network: one namespace a node, veth pairs between them, addresses, routes; shaping/ has their qdiscs.

A flow with a way of its own has an address of its own at both hosts, 10.128.0.0 + 2·n (fd01::2n): routers forward by
destination, and so tell it from others between these hosts as a hash of ports would.

Link i has the IPv4 subnet 10.0.0.0 + 4·i /30 and the IPv6 subnet fd00:0:0:i::/64; its end `a`, on a path that nearer
the sender, has the first address. A node's own address is that of its first link. Neighbours are fixed entries, so that
no ARP crosses a link of 60 ms before the first packet.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from landspeed.scenario.plan.routing import edges_of, second_ends
from landspeed.worlds.emu.guest.network import netlink as nl
from landspeed.worlds.emu.guest.network import nodes, offloads

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Flow, Link, Node, Plan, Transfer
    from landspeed.scenario.plan.routing import Edge

LOOPBACK = 1  # index of the interface that a namespace begins with
IPV4_BASE = int(ipaddress.IPv4Address("10.0.0.0"))
IPV6_BASE = int(ipaddress.IPv6Address("fd00::"))
OWN_IPV4_BASE = int(ipaddress.IPv4Address("10.128.0.0"))
OWN_IPV6_BASE = int(ipaddress.IPv6Address("fd01::"))
BACKLOG_PACKETS = 10_000_000  # a veth hands packets over through this queue; dropping there would be no network's loss
MOST_HOPS = 255  # what a TTL can say (RFC 791)
# Sockets may have what a TCP window can have at all (RFC 7323: 1 GiB) with the kernel's own overhead. Not 2 GiB: the
# kernel counts what is queued in an int, which would run over, and then nothing limits a queue any more.
SOCKET_BYTES_MAX = 1750 << 20
# Linux waits for what ends a handshake for 63 s (tcp_synack_retries). Who waits for longer tries for longer.
SYN_WAITS_NS, MANY_RETRIES = 60 * 10**9, 20


class Network:
    """The nodes of one plan and their netlink sockets.

    Attributes:
        plan: the plan.
        late_ns: how late the guest's timers may be; buckets are as deep as that.
        nodes: in the plan's order; a node's place there is its position.
        position: name → position.
        edges: the links as routing sees them.
        links_of: node → its links, in the plan's order.
        sysctls: of each node, in the plan's order.
    """

    def __init__(self, plan: Plan, late_ns: int = 1_000) -> None:
        """Build nodes, links and addresses; routes.py and multipath.py do the rest (build.py)."""
        self.plan, self.late_ns = plan, late_ns
        self.names = [node.name for node in plan.nodes]
        self.position = {name: position for position, name in enumerate(self.names)}
        self._ends = interface_names(plan)
        self._own = own_ends(plan)
        self.links_of: dict[str, list[Link]] = {name: [] for name in self.names}
        for link in plan.links:
            self.links_of[link.a].append(link)
            self.links_of[link.b].append(link)
        self.edges = edges_of(plan)
        self._second = second_ends_of(plan, self.edges)
        self.nodes = [nodes.GuestNode(name) for name in self.names]
        self._netlink = [nl.Netlink(node) for node in self.nodes]
        self._index: dict[tuple[int, str], int] = {}
        self._interface_names: dict[tuple[int, int], str] = {}
        self._counts = [LOOPBACK] * len(self.nodes)  # of interfaces
        set_host_wide_limits(dctcp=has_dctcp([flow.transfer for flow in plan.flows]))
        self.sysctls = sysctls_of(plan)
        for position, node in enumerate(self.nodes):
            self._set_sysctls(position, node)
        for link in plan.links:
            self._add_link(link)
        for flow in plan.flows:
            if flow.own_way:
                self._add_own_addresses(flow)

    def node(self, name: str) -> nodes.GuestNode:
        """The node of a name.

        Raises:
            KeyError: there is none; the message lists the names.
        """
        if name not in self.position:
            raise KeyError(f"no node {name!r}; there are {', '.join(self.names)}")
        return self.nodes[self.position[name]]

    def netlink(self, position: int) -> nl.Netlink:
        """Netlink socket in the namespace of a node."""
        return self._netlink[position]

    def interface(self, position: int, name: str) -> int:
        """Index of an interface of a node."""
        return self._index[position, name]

    def interface_name(self, position: int, index: int) -> str:
        """Name of an interface of a node, by its index."""
        return self._interface_names.get((position, index), "lo")

    def new_interface(self, position: int, name: str) -> int:
        """The index that an interface is to get: the next one, as the kernel would choose it."""
        self._counts[position] += 1
        index = self._counts[position]
        self._index[position, name] = index
        self._interface_names[position, index] = name
        return index

    def interfaces(self, position: int) -> list[str]:
        """Names of a node's interfaces, in the order of its links."""
        name = self.names[position]
        return [self._ends[link.index, int(link.a != name)][1] for link in self.links_of[name]]

    def end(self, link: int, side: int) -> tuple[int, str]:
        """Position of the node at an end of a link, and its interface there; side 0 is the link's `a`."""
        name, interface = self._ends[link, side]
        return self.position[name], interface

    def is_host(self, position: int) -> bool:
        """Return whether a node forwards nothing."""
        return self.plan.nodes[position].kind == "host"

    def address(self, position: int) -> str:
        """A node's own address: that of its first link (on a path, on the side of the sender)."""
        return link_address(self.plan.ip_version, *self._own[self.names[position]])

    def second_address(self, position: int) -> str | None:
        """The address of a host at which second subflows of MPTCP begin or end; None: it has no such flow."""
        end = self._second.get(self.names[position])
        return link_address(self.plan.ip_version, *end) if end else None

    def flow_address(self, flow: Flow, *, target: bool) -> str:
        """The address of a flow's receiver or sender: the host's own, or where it has its own way one of its own."""
        if not flow.own_way:
            return self.address(self.position[flow.target if target else flow.source])
        return own_address(self.plan, flow, target=target)

    def host_names(self) -> list[tuple[str, str]]:
        """Address and name of every node, and of each of its other interfaces (for traceroutes)."""
        found = [(self.address(position), name) for position, name in enumerate(self.names)]
        others = [
            (self.position[name], link_address(self.plan.ip_version, *end), f"{name}-{interface}")
            for end, (name, interface) in self._ends.items()
            if self._own[name] != end
        ]
        return [*found, *((address, name) for _, address, name in sorted(others, key=lambda other: other[0]))]

    def _set_sysctls(self, position: int, node: nodes.GuestNode) -> None:
        node.write_sysctls(self.sysctls[position])
        self._netlink[position].set_link(LOOPBACK, up=True)

    def _add_own_addresses(self, flow: Flow) -> None:
        for target, link in ((False, flow.route[0]), (True, flow.route[-1])):
            name = flow.target if target else flow.source
            position, side = self.position[name], 0 if self.plan.links[link].a == name else 1
            index = self.interface(position, self.end(link, side)[1])
            width = 32 if self.plan.ip_version == 4 else 128
            self._netlink[position].add_address(index, own_address(self.plan, flow, target=target), width)

    def _add_link(self, link: Link) -> None:
        version, i = self.plan.ip_version, link.index
        ends = [self.end(i, side) for side in (0, 1)]
        indexes = [self.new_interface(position, name) for position, name in ends]
        first, second = (
            nl.veth_end(index, name, hardware_address(i, side), link.mtu_bytes)
            for side, (index, (_, name)) in enumerate(zip(indexes, ends, strict=True))
        )
        (near, _), (far, _) = ends
        self._netlink[near].add_veth(first, second, self.nodes[far].namespace)
        for side, (index, (position, name)) in enumerate(zip(indexes, ends, strict=True)):
            netlink = self._netlink[position]
            merged = self.plan.fidelity == "super-packets"
            offloads.set_offloads(netlink, name, merged=merged)
            if merged:
                offloads.allow_super_packets(netlink, index)
            netlink.set_link(index, up=True)
            own, peer = (link_address(version, i, which) for which in (side, 1 - side))
            netlink.add_address(index, own, 30 if version == 4 else 64)
            netlink.add_neighbour(index, peer, hardware_address(i, 1 - side))
            if self.plan.fidelity == "packets" and not self.is_host(position):
                # A program may merge UDP packets itself (UDP_SEGMENT, as QUIC does); no ethtool ioctl stops that.
                netlink.set_link(index, (nl.GSO_MAX_SEGS, 1))


def own_address(plan: Plan, flow: Flow, *, target: bool) -> str:
    """Address of an end of a flow that has a way of its own."""
    number = 2 * plan.flows.index(flow) + target
    if plan.ip_version == 4:
        return str(ipaddress.IPv4Address(OWN_IPV4_BASE + number))
    return str(ipaddress.IPv6Address(OWN_IPV6_BASE + number))


def interface_names(plan: Plan) -> dict[tuple[int, int], tuple[str, str]]:
    """(link, side) → node and interface there: eth1, eth3, … where the link begins (side 0), eth0, eth2, … else."""
    counts: dict[tuple[str, int], int] = {}
    found: dict[tuple[int, int], tuple[str, str]] = {}
    for link in plan.links:
        for side, node in ((0, link.a), (1, link.b)):
            number = counts.setdefault((node, side), 0)
            counts[node, side] += 1
            found[link.index, side] = node, f"eth{2 * number + 1 - side}"
    return found


def own_ends(plan: Plan) -> dict[str, tuple[int, int]]:
    """Node → the (link, side) whose address is its own: its first link's."""
    found: dict[str, tuple[int, int]] = {}
    for link in plan.links:
        for side, node in ((0, link.a), (1, link.b)):
            found.setdefault(node, (link.index, side))
    return found


def second_ends_of(plan: Plan, edges: list[Edge]) -> dict[str, tuple[int, int]]:
    """Host → the (link, side) whose address second subflows of MPTCP have there."""
    found: dict[str, tuple[int, int]] = {}
    for flow in plan.flows:
        if flow.second_route:
            ends = second_ends(edges, flow.source, flow.route, flow.second_route)
            found |= dict(zip((flow.source, flow.target), ends, strict=True))
    return found


def link_address(version: int, link: int, side: int) -> str:
    """Address of one end of a link (side 0 is nearer the sender)."""
    if version == 4:
        return str(ipaddress.IPv4Address(IPV4_BASE + 4 * link + 1 + side))
    return str(ipaddress.IPv6Address(IPV6_BASE + (link << 64) + 1 + side))


def hardware_address(link: int, side: int) -> str:
    """Locally administered MAC address, the same in every run."""
    return f"02:00:00:{link >> 8:02x}:{link & 255:02x}:{side:02x}"


def sysctls_of(plan: Plan) -> list[dict[str, object]]:
    """Sysctls of each node's namespace, in the plan's order."""
    asked: dict[str, list[Transfer]] = {node.name: [] for node in plan.nodes}
    for flow in plan.flows:
        asked[flow.source].append(flow.transfer)
        asked[flow.target].append(flow.transfer)
    waits = waits_long(plan)
    return [_node_sysctls(plan, node, asked[node.name], waits=waits) for node in plan.nodes]


def _node_sysctls(plan: Plan, node: Node, asked: list[Transfer], *, waits: bool) -> dict[str, object]:
    maximum = SOCKET_BYTES_MAX
    settings: dict[str, object] = {
        # An IPv4 path must not carry IPv6's own messages, nor an IPv6 path duplicate address detection.
        "net.ipv6.conf.all.disable_ipv6": 1 if plan.ip_version == 4 else 0,
        "net.ipv6.conf.default.disable_ipv6": 1 if plan.ip_version == 4 else 0,
        "net.ipv6.conf.default.accept_dad": 0,
        "net.ipv6.conf.default.router_solicitations": 0,
        "net.ipv4.ip_default_ttl": MOST_HOPS,
        "net.ipv6.conf.all.hop_limit": MOST_HOPS,
        "net.ipv6.conf.default.hop_limit": MOST_HOPS,
        # Traceroute asks all hops at once: no answer may be withheld.
        "net.ipv4.icmp_ratelimit": 0,
        "net.ipv6.icmp.ratelimit": 0,
        "net.ipv4.icmp_msgs_per_sec": 1_000_000,
        "net.ipv4.icmp_msgs_burst": 1_000_000,
    }
    if node.kind == "router":
        settings |= {
            "net.ipv4.ip_forward": 1,
            "net.ipv6.conf.all.forwarding": 1,
            "net.ipv4.ip_early_demux": 0,  # a router has no sockets to look for
        }
    else:
        settings |= {
            "net.ipv4.tcp_rmem": f"4096 131072 {maximum}",
            "net.ipv4.tcp_wmem": f"4096 16384 {maximum}",
            "net.ipv4.tcp_no_metrics_save": 1,  # each transfer starts without memory of the one before
            "net.ipv4.tcp_slow_start_after_idle": 0,
            "net.ipv4.tcp_ecn": ecn_setting(asked),
        }
        if has_dctcp(asked):
            # Its SYN is marked, which Linux answers only where it listens with DCTCP; and the receiver tells each mark.
            settings["net.ipv4.tcp_congestion_control"] = "dctcp"
        if waits:
            settings |= {"net.ipv4.tcp_syn_retries": MANY_RETRIES, "net.ipv4.tcp_synack_retries": MANY_RETRIES}
    return settings


def waits_long(plan: Plan) -> bool:
    """Return whether a transfer rests for longer than a host of Linux's own settings waits for what comes next."""
    return any((flow.transfer.stall_ns or 0) > SYN_WAITS_NS for flow in plan.flows)


def ecn_setting(asked: list[Transfer]) -> int:
    """Value of tcp_ecn for a host with these transfers: 3 accurate ECN, 1 ECN, 2 (Linux's own) as its peer asks."""
    if any(transfer.accurate_ecn for transfer in asked):
        return 3
    return 1 if any(transfer.ecn for transfer in asked) else 2


def has_dctcp(asked: list[Transfer]) -> bool:
    """Return whether one of these transfers is with DCTCP, which both ends must have (RFC 8257)."""
    return any("dctcp" in (each.congestion_controls or [each.congestion_control]) for each in asked)


def set_host_wide_limits(*, dctcp: bool) -> None:
    """Sysctls that no namespace has of its own; only what is allowed here may be a namespace's own control."""
    allowed = {"net.ipv4.tcp_allowed_congestion_control": "reno cubic dctcp"} if dctcp else {}
    for name, value in (HOST_WIDE_SYSCTLS | allowed).items():
        with open("/proc/sys/" + name.replace(".", "/"), "w") as handle:  # noqa: PTH123
            handle.write(str(value))


def read_host_wide(name: str) -> str:
    """Value of a sysctl that no namespace has of its own."""
    with open("/proc/sys/" + name.replace(".", "/")) as handle:  # noqa: PTH123
        return handle.read().strip()


HOST_WIDE_SYSCTLS: dict[str, object] = {
    "net.core.rmem_max": SOCKET_BYTES_MAX,
    "net.core.wmem_max": SOCKET_BYTES_MAX,
    "net.core.netdev_max_backlog": BACKLOG_PACKETS,
    # Pages for all TCP together. The default (a part of memory) starves many large windows at once; payload sent with
    # sendfile is one file's pages however often it is in flight, so the count says nothing of memory here.
    "net.ipv4.tcp_mem": "1000000000 1000000000 1000000000",
    # Half-written results reach the host within two seconds, so that a killed run keeps nearly all it measured.
    "vm.dirty_writeback_centisecs": 100,
    "vm.dirty_expire_centisecs": 100,
    "vm.panic_on_oom": 1,  # the host sees a panic; a killed process would only look like a strange result
}
