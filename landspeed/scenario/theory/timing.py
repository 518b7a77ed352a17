"""Timing of a lone packet over a path, and the path's capacity: one formula for every world and every verdict.

RTT of a probe = propagation + the serialization of the packet that is sent on every line, there and back (each router
stores and forwards). Queues are empty. The guest uses these very functions, so importing this module stays cheap.
"""

# The guest imports this: dataclasses and typing are guest/stdlib_stand_ins there.
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from landspeed.scenario.plan.flow_path import path_of, subflows
from landspeed.scenario.theory import physics as ph

if TYPE_CHECKING:
    from landspeed.scenario.plan.direction import Direction
    from landspeed.scenario.plan.plan import Link, Node, Plan

NAME, MTU_BYTES = attrgetter("name"), attrgetter("mtu_bytes")  # in C, for networks ask it of all nodes or links
ECHO_PAYLOAD_BYTES = 56  # what ping sends when it is not told (ping(8))
ICMP_HEADER_BYTES = 8  # RFC 792, RFC 4443
# What a router quotes of a packet whose TTL ended: Linux fills 576 B (RFC 1812 section 4.3.2.3) or 1280 B (RFC 4443).
ERROR_BYTES_MOST = {4: 576, 6: 1280}
TRAIN_PACKETS = 200
IDLE_ECHOES = 20  # before a transfer beside which there are echoes


@dataclass(frozen=True)
class Serializer:
    """One direction of a link, as a packet meets it: first its propagation counts, then the time to send it.

    The rate is the line's, or that of the receiving host's bus (which moves bare IP packets) where that is slower.
    """

    name: str
    delay_ns: int
    jitter_ns: int
    rate_bps: int
    framing_bytes: int
    pads: Link | None = None  # whose cells or least size it has

    def line_bytes(self, packet_bytes: int) -> int:
        """Count what an IP packet takes of the line."""
        return self.pads.line_bytes(packet_bytes) if self.pads else packet_bytes + self.framing_bytes

    def takes_ns(self, packet_bytes: int) -> int:
        """Propagation and serialization of an IP packet that waits for none."""
        return self.delay_ns + ph.serialization_ns(
            packet_bytes, self.line_bytes(packet_bytes) - packet_bytes, self.rate_bps
        )

    def carries_bps(self, packet_bytes: int) -> float:
        """Bits of IP packets of this size per second."""
        return self.rate_bps * packet_bytes / self.line_bytes(packet_bytes)


def link_name(link: Link) -> str:
    """A link as messages name it; they count from 1, as `landspeed show` does."""
    return f"link {link.index + 1} ({link.a} – {link.b})"


def line_of(plan: Plan, link: Link, direction: Direction, *, forward: bool) -> Serializer:
    """The line of a direction; `direction` is the link's own, or what an event has made of it."""
    rate, framing, name = direction.rate_bps, link.framing_bytes, link_name(link)
    bus = node_of(plan, link.b if forward else link.a).bus_rate_bps
    mtu, pads = packet_mtu(plan, link), link if link.pads else None
    if bus is not None and bus * link.line_bytes(mtu) < rate * mtu:
        rate, framing, name, pads = bus, 0, f"bus of {link.b if forward else link.a}", None
    return Serializer(name, direction.delay_ns, direction.varies_ns, rate, framing, pads)


def way(plan: Plan, origin: int, target: int) -> Iterator[Serializer]:
    """The lines that a packet passes from one node to another; nodes count from the sender's, 0.

    Where answers pass other nodes than data, the way back is only known as a whole.
    """
    forward = target > origin
    links = plan.links[origin:target] if forward else plan.links[target:origin][::-1]
    if not forward and plan.flow.route_back:
        links = plan.returned
    for link in links:
        yield line_of(plan, link, link.forward if forward else link.reverse, forward=forward)


def node_of(plan: Plan, name: str) -> Node:
    """The node of a name."""
    return plan.nodes[list(map(NAME, plan.nodes)).index(name)]


def path_mtu(plan: Plan, *, forward: bool = True) -> int:
    """Largest IP packet of a path's data: it passes every link there, and the receiver's own, which it tells (MSS).

    Not `forward`: of what the receiver may send.
    """
    there, back = plan.links[: plan.hops], plan.returned
    return min(link.mtu_bytes for link in ((*there, back[0]) if forward else (*back, there[0])))


def packet_mtu(plan: Plan, link: Link) -> int:
    """Largest IP packet that a flow's ends send over a link."""
    if len(set(map(MTU_BYTES, plan.links))) == 1:
        return link.mtu_bytes
    both = [(each.route, each.route_back or each.route[::-1]) for flow in plan.flows for each in subflows(flow)]
    passing = [(*way, other[0]) for pair in both for way, other in (pair, pair[::-1]) if link.index in way]
    return max((min(plan.links[each].mtu_bytes for each in way) for way in passing), default=link.mtu_bytes)


def one_way_ns(plan: Plan, origin: int, target: int, packet_bytes: int) -> int:
    """Propagation and serialization of one IP packet from node to node."""
    return sum(line.takes_ns(packet_bytes) for line in way(plan, origin, target))


def round_trip_ns(plan: Plan, origin: int, target: int, there_bytes: int, back_bytes: int | None = None) -> int:
    """Time of a packet and its answer, which is as large unless `back_bytes` is given."""
    back = there_bytes if back_bytes is None else back_bytes
    return one_way_ns(plan, origin, target, there_bytes) + one_way_ns(plan, target, origin, back)


def echo_bytes(ip_version: int, payload_bytes: int = ECHO_PAYLOAD_BYTES) -> int:
    """The IP packet of an echo request or its reply: 84 B for an ordinary ping over IPv4, 104 B over IPv6."""
    return ph.IP_HEADER[ip_version] + ICMP_HEADER_BYTES + payload_bytes


def echo_ns(plan: Plan, origin: int = 0, target: int | None = None, payload_bytes: int = ECHO_PAYLOAD_BYTES) -> int:
    """RTT of a ping between two nodes; of the whole path if no target is named."""
    target = plan.hops if target is None else target
    return round_trip_ns(plan, origin, target, echo_bytes(plan.ip_version, payload_bytes))


def idle_ns(plan: Plan) -> int:
    """Time for which echoes go over the idle path before the first flow begins, in whole seconds; 0: no flow asks."""
    longest_ns = 0
    for flow in plan.flows:
        if not (interval_ns := flow.transfer.ping_interval_ns):
            continue
        rtt_ns = sum(link.forward.delay_ns + link.reverse.delay_ns for link in path_of(plan, flow).links)
        longest_ns = max(longest_ns, IDLE_ECHOES * interval_ns + 2 * rtt_ns)
    return -(-longest_ns // 10**9) * 10**9


def hop_echo_ns(plan: Plan, origin: int, hop: int) -> int:
    """RTT of an echo whose TTL ends at a router: what comes back quotes it. At a path's end it is an ordinary reply."""
    if hop in (0, plan.hops):
        return echo_ns(plan, origin, hop)
    return round_trip_ns(plan, origin, hop, echo_bytes(plan.ip_version), error_bytes(plan.ip_version))


def error_bytes(ip_version: int) -> int:
    """The IP packet with which a router says that an echo's TTL ended there: it quotes the echo."""
    return min(ph.IP_HEADER[ip_version] + ICMP_HEADER_BYTES + echo_bytes(ip_version), ERROR_BYTES_MOST[ip_version])


def impaired(plan: Plan) -> bool:
    """Return whether chance has a part in what happens to a packet."""
    return any(direction.impairments for link in plan.links for direction in (link.forward, link.reverse))


def data_rtt_ns(plan: Plan) -> int:
    """RTT of TCP: a full packet to the receiver, an acknowledgment back."""
    return round_trip_ns(plan, 0, plan.hops, path_mtu(plan), ph.ack_bytes(plan.ip_version))


def _lines_bps(plan: Plan, *, forward: bool) -> list[tuple[float, str]]:
    """Bit/s that lines, interfaces and buses carry, and their names."""
    mtu, last = path_mtu(plan, forward=forward), plan.hops
    lines = list(way(plan, 0, last) if forward else way(plan, last, 0))
    found = [(line.carries_bps(mtu), line.name) for line in lines]
    source, framing = (plan.nodes[0], plan.links[0]) if forward else (plan.nodes[last], plan.returned[0])
    if source.nic_rate_bps is not None:
        carried = source.nic_rate_bps * mtu / framing.line_bytes(mtu)
        found.append((carried, f"network interface of {source.name}"))
    if source.bus_rate_bps is not None:
        found.append((float(source.bus_rate_bps), f"bus of {source.name}"))
    return found


def rates_bps(plan: Plan, *, forward: bool) -> list[tuple[float, str]]:
    """Bit/s of IP packets of full size that each part of a direction carries, and the part's name.

    A host's interface limits what the host sends; what it receives is the line's. A token bucket limits what comes
    after the bytes that it holds; a train does not come so far in a large one.
    """
    found = _lines_bps(plan, forward=forward)
    for link in plan.links:
        direction = link.forward if forward else link.reverse
        if bucket := small_bucket(plan, link, direction):
            found.append((bucket[1], f"token bucket of {link_name(link)}"))
    return found


def small_bucket(plan: Plan, link: Link, direction: Direction) -> tuple[float, float] | None:
    """Depth in s of a token bucket that a whole train does not fit into, and bits of IP packets per second.

    Linux's bucket (`psched_l2t_ns`) takes whole nanoseconds from each packet: above 100 Gbit/s that is some per cent.
    """
    tokens, mtu = direction.parameters if direction.discipline == "tbf" else None, path_mtu(plan)
    if tokens is None or not tokens.rate_bps or tokens.burst_bytes is None or tokens.burst_bytes >= TRAIN_PACKETS * mtu:
        return None
    packet_ns = max(link.line_bytes(mtu) * 8 * 10**9 // tokens.rate_bps, 1)
    return tokens.burst_bytes * 8 / tokens.rate_bps, mtu * 8e9 / packet_ns


def slowest_rate_bps(plan: Plan, *, forward: bool) -> float:
    """The bottleneck's rate, of IP packets of full size."""
    return min(rates_bps(plan, forward=forward))[0]
