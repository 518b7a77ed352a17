"""Rates, queues, delays and impairments of the plan as qdiscs, on routers.

A direction of a link is one netem at the router that sends into it. Where the plan proves that the link cannot queue,
netem has the rate too. Where it can, netem delays only and its child is a token bucket over a queue limited in bytes:
the queue holds what waits for the line, and what is being sent, never what is under way. (A constant delay and a
first-in-first-out queue commute: whichever comes first, each packet leaves, or is dropped, at the same time. Where a
packet may skip the delay, `reorder`, they do not: there netem takes from the bucket what has been sent, and then delays
it, patch 0023.)

Both are lines, not Linux's own netem and bucket (patch 0013): a packet is through when its last bit has left, also when
it is alone, with the framing of each segment. A super-packet's segments arrive spaced where they come out of a line; so
what is still to be sent of one that need not wait is its last segment, as with routers that forward packets.

A host sends through its own token bucket, at the slower of NIC and bus, over fq: a machine's own limit drops nothing,
it makes the socket wait. netem never stands there, since it takes the packet from the socket's account and TCP's pacing
and small queues go wrong; the delay of a host's access link is on an IFB at the router's side.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import TYPE_CHECKING

from landspeed.scenario.theory.timing import packet_mtu
from landspeed.worlds.emu.guest.network.netlink import INGRESS, PARENT_INGRESS, PARENT_ROOT, TXQLEN, everything_to
from landspeed.worlds.emu.guest.network.network import Network, waits_long
from landspeed.worlds.emu.guest.network.offloads import allow_super_packets
from landspeed.worlds.emu.guest.shaping.direction_options import LATE_NS, bucket_rate, burst_bytes, direction_options
from landspeed.worlds.emu.guest.shaping.discipline_options import managed
from landspeed.worlds.emu.guest.shaping.encode_qdisc import options_of, size_table

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Link, Node, Plan

ROOT, CHILD, GRANDCHILD = 0x10000, 0x20000, 0x30000  # handles 1:, 2: and 3:
FIRST_CLASS, SECOND_CLASS = 0x10001, 0x20001  # parents 1:1 and 2:1
EVERYTHING = 3  # ETH_P_ALL
GSO_BUCKET_BYTES = 80_000  # a packet of 64 KB with the headers of all its segments
FAST_HOST_BPS = 4_000_000_000
LONG_HORIZON_US = 3_600_000_000  # fq's own is 10 s: it drops what is to leave later
IFB = "ifb"


def shape(network: Network) -> None:
    """Put every qdisc of the plan in place."""
    for link in network.plan.links:
        _shape_direction(network, link, forward=True)
        _shape_direction(network, link, forward=False)
    waits = waits_long(network.plan)
    for position in range(len(network.nodes)):
        if network.is_host(position):
            _shape_host(network, position, waits=waits)


def shaped_device(network: Network, link: int, *, forward: bool) -> tuple[int, str]:
    """Node and interface that hold the qdiscs of a direction: a router's own, or an IFB where a host sends."""
    return _shaped_devices(network)[link, forward]


@cache
def _shaped_devices(network: Network) -> dict[tuple[int, bool], tuple[int, str]]:
    """Node and interface of each link, and whether forward; a router has an IFB for each host that sends to it."""
    found: dict[tuple[int, bool], tuple[int, str]] = {}
    senders: dict[tuple[int, bool], int] = {}
    for link, forward in itertools.product(range(len(network.plan.links)), (True, False)):
        (sender, device), (far, _) = network.end(link, 0 if forward else 1), network.end(link, 1 if forward else 0)
        if network.is_host(sender):
            before = senders.get((far, forward), 0)
            senders[far, forward] = before + 1
            found[link, forward] = far, f"{IFB}{before}{'' if forward or network.is_host(far) else 'r'}"
        else:
            found[link, forward] = sender, device
    return found


def _shape_direction(network: Network, link: Link, *, forward: bool) -> None:
    direction = link.forward if forward else link.reverse
    position, name = shaped_device(network, link.index, forward=forward)
    if name.startswith(IFB):
        _redirect_ingress(network, *network.end(link.index, 1 if forward else 0), name)
    netlink, index = network.netlink(position), network.interface(position, name)
    netem, bucket = direction_options(network.plan, link, direction, forward=forward, late_ns=network.late_ns)
    netlink.add_qdisc("netem", index, ROOT, PARENT_ROOT, options_of("netem", **netem) + size_table(link))
    if bucket is not None:
        netlink.add_qdisc("tbf", index, CHILD, FIRST_CLASS, options_of("tbf", **bucket))
        if kept := managed(network.plan, link, direction, bucket):
            kind, options = kept
            netlink.add_qdisc(kind, index, GRANDCHILD, SECOND_CLASS, options_of(kind, **options))


def _redirect_ingress(network: Network, position: int, device: str, ifb: str) -> None:
    """Send the packets that arrive at a router from a host through an IFB first."""
    netlink = network.netlink(position)
    index = network.new_interface(position, ifb)
    netlink.add_ifb(index, ifb)
    if network.plan.fidelity == "super-packets":
        allow_super_packets(netlink, index)
    netlink.set_link(index, (TXQLEN, 1000), up=True)
    arriving = network.interface(position, device)
    netlink.add_qdisc("ingress", arriving, INGRESS, PARENT_INGRESS, b"")
    # After the filter of what takes a shorter way (joined.py).
    netlink.add_filter("matchall", arriving, 2, EVERYTHING, everything_to(index))


def host_rate(plan: Plan, node: Node, link: Link) -> tuple[int, int]:
    """Bytes per second, and bytes to add per packet, of a host's own limit on a link: the slower of NIC and bus."""
    mtu = packet_mtu(plan, link)
    nic = bucket_rate(plan, node.host_nic_bps, link.framing_of(mtu), mtu, merged=_is_fast(node))
    return nic if node.bus_rate_bps is None else min(nic, bucket_rate(plan, node.bus_rate_bps, 0, mtu))


def _is_fast(node: Node) -> bool:
    """Return whether a host takes TCP's packets of up to 64 KB whole and segments them behind its bucket.

    Linux does so without offloads, and a NIC with them: a seventh of the events. The first link spaces them out again.
    """
    return min(node.host_nic_bps, node.bus_rate_bps or node.host_nic_bps) >= FAST_HOST_BPS


def host_burst_bytes(plan: Plan, node: Node, link: Link, late_ns: int = LATE_NS) -> int:
    """Token bucket depth of a host on a link: at least the largest packet that it takes whole."""
    rate, _ = host_rate(plan, node, link)
    return max(burst_bytes(plan, rate, late_ns), GSO_BUCKET_BYTES if _is_fast(node) else 0)


def _shape_host(network: Network, position: int, *, waits: bool) -> None:
    """A host's own limit, on each of its links: a token bucket over fq, which makes sockets wait and drops nothing."""
    plan, node, netlink = network.plan, network.plan.nodes[position], network.netlink(position)
    fair: dict[str, int] = {"limit_packets": 1_000_000}
    if waits:  # ten packets paced over a round trip of a minute lie further ahead than fq takes
        fair["horizon_us"] = LONG_HORIZON_US
    if node.paced is False:  # TCP then asks in vain whether fq paces, as with another discipline; nothing is dropped
        fair["paces"] = 0
    for link in network.links_of[node.name]:
        index = network.interface(position, network.end(link.index, 0 if link.a == node.name else 1)[1])
        rate, overhead = host_rate(plan, node, link)
        bucket = options_of(
            "tbf",
            rate_bytes_per_s=rate,
            overhead_bytes=overhead,
            limit_bytes=1 << 30,
            burst_bytes=host_burst_bytes(plan, node, link, network.late_ns),
        )
        netlink.add_qdisc("tbf", index, ROOT, PARENT_ROOT, bucket)
        netlink.add_qdisc("fq", index, CHILD, FIRST_CLASS, options_of("fq", **fair))
