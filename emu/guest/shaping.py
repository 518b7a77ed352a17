"""Rates, queues, delays and impairments of the plan as qdiscs, on routers.

A direction of a link is one netem at the router that sends into it. Where the plan proves that the link cannot queue,
netem has the rate too, and serialization is exact (super-packets are serialized at the first such line only). Where it
can, netem delays only and its child is a token bucket over a queue limited in bytes: the queue holds what waits for the
line, never what is under way. (A constant delay and a first-in-first-out queue commute: whichever comes first, each
packet leaves, or is dropped, at the same time.)

A host sends through its own token bucket, at the slower of NIC and bus, over fq: a machine's own limit drops nothing,
it makes the socket wait. netem never stands there, since it takes the packet from the socket's account and TCP's pacing
and small queues go wrong; the delay of a host's access link is on an IFB at the router's side.
"""

from __future__ import annotations

from typing import Any

from .network import LEFT, RIGHT, Network
from .offloads import allow_super_packets

ROOT, CHILD, GRANDCHILD = 0x10000, 0x20000, 0x30000  # handles 1:, 2: and 3:
FIRST_CLASS, SECOND_CLASS = 0x10001, 0x20001  # parents 1:1 and 2:1
INGRESS = 0xFFFF0000
VETH_HEADER_BYTES = 14  # what a veth's qdisc counts beyond the IP packet
SUPER_PACKET_BUCKET_BYTES = 200_000  # a super-packet with the headers of all its segments
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


def _shape_direction(network: Network, link: Any, direction: Any, *, forward: bool, far: int, far_device: str) -> None:
    position, name = shaped_device(network, link.index, forward=forward)
    if name.startswith(IFB):
        _redirect_ingress(network, far, far_device, name)
    netlink, index = network.netlink(position), network.interface(position, name)
    netem, bucket = lane_options(network.plan, link, direction, forward=forward)
    netlink.tc("add", "netem", index, ROOT, **netem)
    if bucket is not None:
        netlink.tc("add", "tbf", index, CHILD, parent=FIRST_CLASS, **bucket)
        if direction.discipline != "fifo":
            options = _discipline_options(network.plan, link, direction, bucket)
            netlink.tc("add", direction.discipline, index, GRANDCHILD, parent=SECOND_CLASS, **options)


def _spaced_before(plan: Any, index: int, *, forward: bool) -> bool:
    """Whether what enters a direction comes out of a line, spaced, and not out of a token bucket with its burst."""
    before = index - 1 if forward else index + 1
    if before not in range(len(plan.links)):
        return False  # a host's own bucket
    return not (plan.links[before].forward if forward else plan.links[before].reverse).can_queue


def _redirect_ingress(network: Network, position: int, device: str, ifb: str) -> None:
    """What arrives at a router from a host goes through an IFB first."""
    netlink = network.netlink(position)
    netlink.link("add", ifname=ifb, kind="ifb")
    index = network.interface(position, ifb)
    if network.plan.fidelity == "super-packets":
        allow_super_packets(netlink, index)
    netlink.link("set", index=index, state="up", txqlen=1000)
    arriving = network.interface(position, device)
    netlink.tc("add", "ingress", arriving)
    action = {"kind": "mirred", "direction": "egress", "action": "redirect", "ifindex": index}
    netlink.tc("add-filter", "matchall", arriving, parent=INGRESS, prio=1, protocol=3, action=action)  # 3: ETH_P_ALL


def wire_rate(plan: Any, link: Any, rate_bps: int, *, merged: bool = False) -> tuple[int, int]:
    """Rate in bytes per second and bytes to add per packet, so that framing is counted.

    Where a packet may be a super-packet (by the plan's fidelity, or `merged`), overhead per packet would be counted
    once for many; there the rate is lowered by the ratio for full-size segments instead. The same where the overhead is
    negative (POS is smaller than the Ethernet header that a veth counts), which a token bucket cannot take.
    """
    overhead = link.framing_bytes - VETH_HEADER_BYTES
    if plan.fidelity == "packets" and overhead >= 0 and not merged:
        return round(rate_bps / 8), overhead
    mtu = min(each.mtu_bytes for each in plan.links)
    return round(rate_bps / 8 * (mtu + VETH_HEADER_BYTES) / (mtu + link.framing_bytes)), 0


def burst_bytes(plan: Any, rate_bytes_per_s: int = 0) -> int:
    """Token bucket depth: one packet of the largest kind, and a microsecond of the rate for timers that come late."""
    mtu = max(each.mtu_bytes for each in plan.links)
    packet = SUPER_PACKET_BUCKET_BYTES if plan.fidelity == "super-packets" else mtu + 100
    return packet + rate_bytes_per_s // 1_000_000


def lane_options(
    plan: Any, link: Any, direction: Any, *, forward: bool
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """All options of a direction's netem and, if it can queue, of the token bucket below it.

    Args:
        plan: the whole.
        link: the link.
        direction: one of its directions, as planned or as an event has made it.
        forward: which.
    """
    rate, overhead = wire_rate(plan, link, direction.rate_bps)
    can_queue = direction.can_queue
    # What a receiving host's bus can take is a limit of the link that reaches it.
    bus_bps = plan.nodes[link.index + 1 if forward else link.index].bus_rate_bps
    if bus_bps is not None:
        bus_rate, bus_overhead = bus_wire_rate(plan, bus_bps)
        if bus_rate < rate:
            rate, overhead, can_queue = bus_rate, bus_overhead, True
    netem: dict[str, Any] = {
        "delay_ns": direction.delay_ns,
        "jitter_ns": direction.jitter_ns,
        "loss": direction.loss,
        "corrupt": direction.corrupt,
        "duplicate": direction.duplicate,
        "reorder": direction.reorder,
        "limit_packets": direction.limit_packets,
        "seed": direction.seed,
    }
    if can_queue:
        return netem, {
            "rate_bytes_per_s": rate,
            "overhead_bytes": overhead,
            "limit_bytes": max(direction.queue_bytes, burst_bytes(plan)),
            "burst_bytes": burst_bytes(plan, rate),
        }
    if plan.fidelity == "super-packets" and _spaced_before(plan, link.index, forward=forward):
        # Routers pass on packets, not super-packets: one that is spaced already must not be serialized whole at each
        # hop, which would make 40 hops at 10 Gbit/s 6 ms longer. What is left out is one packet's time a hop.
        return netem, None
    return netem | {"rate_bytes_per_s": rate, "overhead_bytes": overhead}, None


def _discipline_options(plan: Any, link: Any, direction: Any, bucket: dict[str, Any]) -> dict[str, Any]:
    """Of RED or FqCoDel, set up as every world has them."""
    from ...scenarios import physics as ph  # the one module of that room that needs nothing else

    if direction.discipline == "red":
        least, most = ph.red_thresholds_bytes(direction.queue_bytes)
        return {
            "limit_bytes": bucket["limit_bytes"],
            "min_bytes": least,
            "max_bytes": most,
            "weight_log": ph.red_weight_log(direction.queue_bytes),
            "probability": ph.RED_MAX_PROBABILITY,
            "packet_us": min(each.mtu_bytes for each in plan.links) * 1e6 / bucket["rate_bytes_per_s"],
        }
    frame = link.mtu_bytes + VETH_HEADER_BYTES
    return {
        "limit_packets": max(bucket["limit_bytes"] // frame, 1),
        "quantum_bytes": frame,
        "target_ns": ph.CODEL_TARGET_NS,
        "interval_ns": ph.CODEL_INTERVAL_NS,
        "flows": ph.FQ_CODEL_FLOWS,
    }


def bus_wire_rate(plan: Any, bus_bps: int) -> tuple[int, int]:
    """A bus moves IP packets: its rate counts none of the 14 bytes that a veth adds (full-size packets taken)."""
    mtu = min(each.mtu_bytes for each in plan.links)
    return round(bus_bps / 8 * (mtu + VETH_HEADER_BYTES) / mtu), 0


def host_rate(plan: Any, position: int) -> tuple[int, int]:
    """Bytes per second, and bytes to add per packet, of a host's own limit: the slower of its NIC and its bus."""
    node, link = plan.nodes[position], plan.links[0 if position == 0 else -1]
    nic = wire_rate(plan, link, node.nic_rate_bps, merged=_is_fast(node))
    return nic if node.bus_rate_bps is None else min(nic, bus_wire_rate(plan, node.bus_rate_bps))


def _is_fast(node: Any) -> bool:
    """Whether a host takes TCP's packets of up to 64 KB whole and segments them behind its bucket.

    Linux does so without offloads, and a NIC with them: a seventh of the events. The first link spaces them out again.
    """
    return min(node.nic_rate_bps, node.bus_rate_bps or node.nic_rate_bps) >= FAST_HOST_BPS


def host_burst_bytes(plan: Any, position: int) -> int:
    """Token bucket depth of a host: at least the largest packet that it takes whole."""
    rate, _ = host_rate(plan, position)
    return max(burst_bytes(plan, rate), GSO_BUCKET_BYTES if _is_fast(plan.nodes[position]) else 0)


def _shape_host(network: Network, position: int, device: str) -> None:
    """A host's own limit: a token bucket over fq, which makes sockets wait and drops nothing."""
    plan = network.plan
    netlink, index = network.netlink(position), network.interface(position, device)
    rate, overhead = host_rate(plan, position)
    netlink.tc(
        "add",
        "tbf",
        index,
        ROOT,
        rate_bytes_per_s=rate,
        overhead_bytes=overhead,
        limit_bytes=1 << 30,
        burst_bytes=host_burst_bytes(plan, position),
    )
    netlink.tc("add", "fq", index, CHILD, parent=FIRST_CLASS, limit_packets=1_000_000)
