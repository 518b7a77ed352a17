"""The kernel's routing tables, from the plan's routes: few prefixes a node, sent to the kernel in few calls.

Subnets of links are numbered in the plan's order, so links that lie the same way fall together. What lies beyond a
node's last link is its default route. The messages are made here (rtnetlink(7)): a large network has thousands.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from landspeed.scenario.plan.routing import Routes, nodes_of, routes_of

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Flow, Plan
    from landspeed.worlds.emu.guest.network.network import Network

RTM_NEWROUTE = 24
NLM_F_REQUEST, NLM_F_ACK, NLM_F_EXCL, NLM_F_CREATE = 1, 4, 0x200, 0x400
NLMSG_ERROR = 2
RTA_DST, RTA_OIF, RTA_GATEWAY, RTA_PREFSRC, RTA_METRICS = 1, 4, 5, 7, 8
RTAX_INITCWND = 11
RT_TABLE_MAIN, RTPROT_STATIC, RTN_UNICAST = 254, 4, 1
FAMILY = {4: socket.AF_INET, 6: socket.AF_INET6}
BASE = {4: int(ipaddress.IPv4Address("10.0.0.0")), 6: int(ipaddress.IPv6Address("fd00::"))}
ADDRESS_BITS, LINK_BITS = {4: 32, 6: 128}, {4: 2, 6: 64}  # a link's subnet is of so many bits
MOST_BYTES = 1 << 15  # of one call


@dataclass(frozen=True)
class RouteEntry:
    """A route: addresses that begin with these bits leave over a link.

    Attributes:
        value, length: the prefix.
        link: index of the link.
        initial_window: packets that a connection there may send at first; None: as Linux has it.
        source: the address from which the node sends there, if it has to choose; None: as Linux does.
    """

    value: int
    length: int
    link: int
    initial_window: int | None = None
    source: int | None = None


def add_routes(network: Network) -> None:
    """Put the routes of every node into its namespace.

    Raises:
        OSError: the kernel refuses one.
    """
    plan = network.plan
    routes = None if plan.is_path else routes_of(plan)
    reaching = Counter[str]()  # how many others each node reaches
    if routes:
        for name in network.names:
            reaching.update(routes.to(name).keys() - {name})
    begins = [flow for flow in plan.flows if flow.transfer.initial_window_packets is not None]
    second = [(flow, flow.second_route) for flow in plan.flows if flow.second_route]
    own_ways = [flow for flow in plan.flows if flow.own_way]
    for position, name in enumerate(network.names):
        own = {link.index for link in network.links_of[name]}
        if len(own) == 1 and reaching[name] == len(network.names) - 1:
            ways = iter([RouteEntry(0, 0, *own)])  # as that of all subnets comes to, in the time of one
        else:
            ways = _to_subnets(plan, routes, name, own)
        entries = {(entry.value, entry.length): entry for entry in ways}
        more = [
            *_initial_windows(network, begins, name),
            *_second_routes(network, second, name),
            *_own_ways(network, routes, own_ways, name),
        ]
        entries |= {(entry.value, entry.length): entry for entry in more}
        messages: list[bytes] = []
        for entry in entries.values():
            side = 0 if plan.links[entry.link].a == name else 1
            interface = network.interface(position, network.end(entry.link, side)[1])
            messages.append(_message(plan.ip_version, entry, interface, side))
        with network.nodes[position].inside():
            kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
        with kernel:
            _send(kernel, messages)


def _to_subnets(plan: Plan, routes: Routes | None, name: str, own: set[int]) -> Iterator[RouteEntry]:
    """Find the routes of a node over its links. The kernel knows the node's own subnets."""
    version = plan.ip_version
    bits, width = LINK_BITS[version], ADDRESS_BITS[version]
    beyond, whole = max(own), True
    runs: list[tuple[int, int, int]] = []  # first subnet, the one after the last, link
    for index, ways in enumerate(_ways(plan, routes, name)):
        if None in ways and index not in own:
            whole = False
        if ways[0] == ways[1]:
            if ways[0] is None:
                continue
            if runs and runs[-1][2] == ways[0] and own.issuperset(range(runs[-1][1], index)):
                runs[-1] = (runs[-1][0], index + 1, ways[0])
            else:
                runs.append((index, index + 1, ways[0]))
            continue
        for side, way in enumerate(ways):
            if way is not None:
                yield RouteEntry(BASE[version] + (index << bits) + 1 + side, width, way)
    for first, after, way in runs:
        if not (whole and way == beyond):
            for start, size in _aligned(first, after):
                yield RouteEntry(BASE[version] + (start << bits), width - bits - size, way)
    if whole:
        yield RouteEntry(0, 0, beyond)


def _ways(plan: Plan, routes: Routes | None, name: str) -> Iterator[tuple[int | None, int | None]]:
    """Yield, for each link, the link of this node that leads to each of its two ends; None if the kernel knows it."""
    if routes is None:  # a path: what is before this node, and what is behind it
        here = next(position for position, node in enumerate(plan.nodes) if node.name == name)
        for index in range(len(plan.links)):
            way = None if index in (here - 1, here) else here - 1 if index < here else here
            yield way, way
        return
    to = {node.name: routes.to(node.name).get(name) for node in plan.nodes}
    for link in plan.links:
        near = name in (link.a, link.b)
        ends = [None if end == name or (near and to[end] == link.index) else to[end] for end in (link.a, link.b)]
        yield ends[0], ends[1]


def _aligned(first: int, after: int) -> Iterator[tuple[int, int]]:
    """The fewest blocks of 2^size numbers, each beginning at a multiple of its length, that make up a range."""
    while first < after:
        size = min((first & -first).bit_length() - 1 if first else after.bit_length(), (after - first).bit_length() - 1)
        yield first, size
        first += 1 << size


def _initial_windows(network: Network, flows: list[Flow], name: str) -> Iterator[RouteEntry]:
    """A route of its own to each receiver to which a flow begins with a window of its own."""
    for flow in flows:
        if flow.source == name:  # a TCP of its time may begin with two
            address = _value(network.address(network.position[flow.target]))
            width = ADDRESS_BITS[network.plan.ip_version]
            yield RouteEntry(address, width, flow.route[0], flow.transfer.initial_window_packets)


def _own_ways(network: Network, routes: Routes | None, flows: list[Flow], name: str) -> Iterator[RouteEntry]:
    """Yield the routes of flows with ways of their own: from own address to own address, there and back.

    A router of the one way alone answers (ICMP) to an address to which only the other leads: as to the host.
    """
    edges, width = network.edges, ADDRESS_BITS[network.plan.ip_version]
    for flow in flows:
        there, back = (_value(network.flow_address(flow, target=target)) for target in (True, False))
        ahead = dict(zip(nodes_of(edges, flow.source, flow.route)[:-1], flow.route, strict=True))
        returns = flow.route_back or flow.route[::-1]
        behind = dict(zip(nodes_of(edges, flow.target, returns)[:-1], returns, strict=True))
        if routes and {*ahead, flow.target} != {*behind, flow.source} and name not in (flow.source, flow.target):
            for address, passed, end in ((there, ahead, flow.target), (back, behind, flow.source)):
                if name not in passed and (link := routes.to(end).get(name)) is not None:
                    yield RouteEntry(address, width, link)
        if name in ahead:
            own = name == flow.source
            packets = flow.transfer.initial_window_packets if own else None
            yield RouteEntry(there, width, ahead[name], packets, back if own else None)
        if name in behind:
            yield RouteEntry(back, width, behind[name], None, there if name == flow.target else None)


def _second_routes(network: Network, flows: list[tuple[Flow, list[int]]], name: str) -> Iterator[RouteEntry]:
    """Yield the second routes to the hosts of MPTCP: from second address to second address.

    And from own address to own address over the first, since a host would send from the address of the interface.
    """
    plan, edges = network.plan, network.edges
    for flow, second in flows:
        for route, address in ((flow.route, network.address), (second, network.second_address)):
            nodes, packets = nodes_of(edges, flow.source, route), flow.transfer.initial_window_packets
            there = dict(zip(nodes[:-1], route, strict=True)), flow.target, packets
            back = dict(zip(nodes[1:], route, strict=True)), flow.source, None
            values = {end: _value(address(network.position[end])) for end in (flow.source, flow.target)}
            for ways, destination, window in (there, back):
                if name in ways:
                    own = values.get(name)
                    width = ADDRESS_BITS[plan.ip_version]
                    yield RouteEntry(values[destination], width, ways[name], window if own else None, own)


def _value(address: str | None) -> int:
    return int(ipaddress.ip_address(address or ""))


def _message(version: int, entry: RouteEntry, interface: int, side: int) -> bytes:
    """RTM_NEWROUTE (rtnetlink(7))."""
    size = ADDRESS_BITS[version] // 8
    gateway = BASE[version] + (entry.link << LINK_BITS[version]) + 2 - side
    table = (RT_TABLE_MAIN, RTPROT_STATIC, 0, RTN_UNICAST)
    body = struct.pack("BBBBBBBBI", FAMILY[version], entry.length, 0, 0, *table, 0)
    if entry.length:
        body += _attribute(RTA_DST, entry.value.to_bytes(size, "big"))
    body += _attribute(RTA_OIF, struct.pack("I", interface))
    body += _attribute(RTA_GATEWAY, gateway.to_bytes(size, "big"))
    if entry.source is not None:
        body += _attribute(RTA_PREFSRC, entry.source.to_bytes(size, "big"))
    if entry.initial_window is not None:
        body += _attribute(RTA_METRICS, _attribute(RTAX_INITCWND, struct.pack("I", entry.initial_window)))
    return body


def _attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("HH", 4 + len(value), kind) + value + b"\0" * (-len(value) % 4)


def _send(kernel: socket.socket, bodies: list[bytes]) -> None:
    """All messages, as many in a call as may be; the last of a call is answered, others only if refused."""
    kernel.bind((0, 0))
    while bodies:
        count, length = 0, 0
        while count < len(bodies) and length < MOST_BYTES:
            length += 16 + len(bodies[count])
            count += 1
        flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL
        called = [
            struct.pack("IHHII", 16 + len(body), RTM_NEWROUTE, flags | (NLM_F_ACK if number == count else 0), number, 0)
            + body
            for number, body in enumerate(bodies[:count], start=1)
        ]
        kernel.send(b"".join(called))
        _check(kernel, count)
        bodies = bodies[count:]


def _check(kernel: socket.socket, last: int) -> None:
    """Read answers up to that of the last message."""
    while True:
        answer = kernel.recv(1 << 16)
        while answer:
            length, kind, _, sequence, _ = struct.unpack_from("IHHII", answer)
            error = -struct.unpack_from("i", answer, 16)[0] if kind == NLMSG_ERROR else 0
            if error:
                raise OSError(error, f"route: {os.strerror(error)}")
            if sequence == last:
                return
            answer = answer[(length + 3) & ~3 :]
