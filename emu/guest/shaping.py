"""Rates, queues, delays and impairments of the plan as qdiscs, on routers.

A direction of a link is one netem at the router that sends into it. Where the plan proves that the link cannot queue,
netem has the rate too. Where it can, netem delays only and its child is a token bucket over a queue limited in bytes:
the queue holds what waits for the line, and what is being sent, never what is under way. (A constant delay and a
first-in-first-out queue commute: whichever comes first, each packet leaves, or is dropped, at the same time.)

Both are lines, not Linux's own netem and bucket (patch 0013): a packet is through when its last bit has left, also when
it is alone, with the framing of each segment. A super-packet's segments arrive spaced where they come out of a line; so
what is still to be sent of one that need not wait is its last segment, as with routers that forward packets.

A host sends through its own token bucket, at the slower of NIC and bus, over fq: a machine's own limit drops nothing,
it makes the socket wait. netem never stands there, since it takes the packet from the socket's account and TCP's pacing
and small queues go wrong; the delay of a host's access link is on an IFB at the router's side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .disciplines import managed
from .lane_options import LATE_NS, bucket_rate, burst_bytes, lane_options
from .netlink import INGRESS, PARENT_INGRESS, PARENT_ROOT, TXQLEN, everything_to
from .network import LEFT, RIGHT, Network
from .offloads import allow_super_packets
from .qdiscs import options_of

if TYPE_CHECKING:
    from ...scenarios.plan import Direction, Link, Node, Plan

ROOT, CHILD, GRANDCHILD = 0x10000, 0x20000, 0x30000  # handles 1:, 2: and 3:
FIRST_CLASS, SECOND_CLASS = 0x10001, 0x20001  # parents 1:1 and 2:1
EVERYTHING = 3  # ETH_P_ALL
GSO_BUCKET_BYTES = 80_000  # a packet of 64 KB with the headers of all its segments
FAST_HOST_BPS = 4_000_000_000
IFB = "ifb0"


def shape(network: Network) -> None:
    """Put every qdisc of the plan in place."""
    last = len(network.nodes) - 1
    for link in network.plan.links:
        a, b = link.index, link.index + 1
        _shape_direction(network, link, link.forward, forward=True, far=b, far_device=LEFT)
        _shape_direction(network, link, link.reverse, forward=False, far=a, far_device=RIGHT)
    _shape_host(network, 0, RIGHT)
    _shape_host(network, last, LEFT)


def shaped_device(network: Network, link: int, *, forward: bool) -> tuple[int, str]:
    """Node and interface that hold the qdiscs of a direction: a router's own, or the IFB of a host's router."""
    last = len(network.nodes) - 1
    sender, device = (link, RIGHT) if forward else (link + 1, LEFT)
    if sender not in (0, last):
        return sender, device
    far = link + 1 if forward else link
    if far in (0, last):  # two hosts back to back
        return far, IFB
    # A router between two hosts has one IFB for each side.
    return far, f"{IFB}{'' if forward else 'r'}"


def _shape_direction(
    network: Network, link: Link, direction: Direction, *, forward: bool, far: int, far_device: str
) -> None:
    position, name = shaped_device(network, link.index, forward=forward)
    if name.startswith(IFB):
        _redirect_ingress(network, far, far_device, name)
    netlink, index = network.netlink(position), network.interface(position, name)
    netem, bucket = lane_options(network.plan, link, direction, forward=forward, late_ns=network.late_ns)
    netlink.add_qdisc("netem", index, ROOT, PARENT_ROOT, options_of("netem", **netem))
    if bucket is not None:
        netlink.add_qdisc("tbf", index, CHILD, FIRST_CLASS, options_of("tbf", **bucket))
        if kept := managed(network.plan, link, direction, bucket):
            kind, options = kept
            netlink.add_qdisc(kind, index, GRANDCHILD, SECOND_CLASS, options_of(kind, **options))


def _redirect_ingress(network: Network, position: int, device: str, ifb: str) -> None:
    """What arrives at a router from a host goes through an IFB first."""
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


def host_rate(plan: Plan, position: int) -> tuple[int, int]:
    """Bytes per second, and bytes to add per packet, of a host's own limit: the slower of its NIC and its bus."""
    node, link = plan.nodes[position], plan.links[0 if position == 0 else -1]
    nic = bucket_rate(plan, node.host_nic_bps, link.framing_bytes, merged=_is_fast(node))
    return nic if node.bus_rate_bps is None else min(nic, bucket_rate(plan, node.bus_rate_bps, 0))


def _is_fast(node: Node) -> bool:
    """Whether a host takes TCP's packets of up to 64 KB whole and segments them behind its bucket.

    Linux does so without offloads, and a NIC with them: a seventh of the events. The first link spaces them out again.
    """
    return min(node.host_nic_bps, node.bus_rate_bps or node.host_nic_bps) >= FAST_HOST_BPS


def host_burst_bytes(plan: Plan, position: int, late_ns: int = LATE_NS) -> int:
    """Token bucket depth of a host: at least the largest packet that it takes whole."""
    rate, _ = host_rate(plan, position)
    return max(burst_bytes(plan, rate, late_ns), GSO_BUCKET_BYTES if _is_fast(plan.nodes[position]) else 0)


def _shape_host(network: Network, position: int, device: str) -> None:
    """A host's own limit: a token bucket over fq, which makes sockets wait and drops nothing."""
    plan = network.plan
    netlink, index = network.netlink(position), network.interface(position, device)
    rate, overhead = host_rate(plan, position)
    bucket = options_of(
        "tbf",
        rate_bytes_per_s=rate,
        overhead_bytes=overhead,
        limit_bytes=1 << 30,
        burst_bytes=host_burst_bytes(plan, position, network.late_ns),
    )
    netlink.add_qdisc("tbf", index, ROOT, PARENT_ROOT, bucket)
    netlink.add_qdisc("fq", index, CHILD, FIRST_CLASS, options_of("fq", limit_packets=1_000_000))
