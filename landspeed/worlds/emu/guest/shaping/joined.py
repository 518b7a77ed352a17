"""Links at which nothing can queue, passed in one step: one event for a packet instead of one at each router.

Where the plan proves that a direction cannot queue (scenario/theory/queueing.py), a packet's time at each of its lines
follows from its arrival at the first one. So one netem (patch 0014) is all lines of such a run: it takes a packet
through line after line with the figures and the rounding that a netem for each would have, counts for each what has
left it, and does what the routers within would do, with TTL and Ethernet addresses. The packet then leaves through the
last link's own interface, past its queue, and arrives where it would have arrived.

In a network the flows that pass such links are the same on all of them. That way go packets for these flows' hosts
whose TTL is at least 128: all that a host sends without asking for another. Traceroutes, and whatever is for a router,
go hop by hop over the same delays and rates. The two ways share no line, and need not: nothing waits on a line that
cannot queue, but for the end of the packet before.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from landspeed.worlds.emu.guest.joined_links import LEAST_TTL, JoinedLinks, runs_of
from landspeed.worlds.emu.guest.network import offloads
from landspeed.worlds.emu.guest.network.netlink import INGRESS, PARENT_INGRESS, PARENT_ROOT, TXQLEN, matching_to, packed
from landspeed.worlds.emu.guest.network.network import Network, hardware_address
from landspeed.worlds.emu.guest.shaping.direction_options import direction_options
from landspeed.worlds.emu.guest.shaping.encode_qdisc import options_of
from landspeed.worlds.emu.guest.shaping.link_qdiscs import ROOT

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Plan

UINT32_MAX = (1 << 32) - 1
ETHERTYPE = {4: 0x0800, 6: 0x86DD}


def join(network: Network) -> list[JoinedLinks]:
    """Build the short way of each run that the plan allows; what was built."""
    runs = runs_of(network.plan)
    taken: set[tuple[int, int]] = set()  # where a router has a filter already
    for number, run in enumerate(runs):
        _build(network, run, device_name(number), first=not run.from_host and run.arrives not in taken)
        taken.add(run.arrives)
    return runs


def described(plan: Plan, runs: list[JoinedLinks]) -> list[dict[str, Any]]:
    """Describe the runs for the record: of a path, direction, first and last link; else the links in turn."""
    if plan.is_path:
        return [
            {"direction": "forward" if run.places[0][1] else "reverse", "first": min(run.links), "last": max(run.links)}
            for run in runs
        ]
    return [{"links": list(run.links), "to": [name for name, _ in run.hosts]} for run in runs]


def device_name(number: int) -> str:
    """The interface of a run's netem."""
    return f"join{number}"


def _build(network: Network, run: JoinedLinks, name: str, *, first: bool) -> None:
    plan, (enters, arriving_name) = network.plan, network.end(*run.arrives)
    netlink = network.netlink(enters)
    index = network.new_interface(enters, name)
    netlink.add_ifb(index, name, plan.links[run.links[0]].mtu_bytes)
    if plan.fidelity == "super-packets":
        offloads.allow_super_packets(netlink, index)
    netlink.set_link(index, (TXQLEN, 1000), up=True)
    netlink.add_qdisc("netem", index, ROOT, PARENT_ROOT, options_of("netem", **netem_options(network, run)))
    arriving = network.interface(enters, arriving_name)
    if first:  # from a host the way hop by hop begins with one, too (link_qdiscs.py)
        netlink.add_qdisc("ingress", arriving, INGRESS, PARENT_INGRESS, b"")
    version = plan.ip_version
    for host, second in run.hosts:
        position = network.position[host]
        address = network.second_address(position) if second else network.address(position)
        wanted = keys(version, address or "")
        netlink.add_filter("u32", arriving, 1, ETHERTYPE[version], matching_to(index, wanted))


def netem_options(network: Network, run: JoinedLinks) -> dict[str, Any]:
    """Options of the netem that stands for all lines of a run."""
    directions: list[dict[str, Any]] = []
    for index, ahead in run.places:
        link = network.plan.links[index]
        netem, bucket = direction_options(network.plan, link, link.forward if ahead else link.reverse, forward=ahead)
        assert bucket is None, "a run has no link that can queue"
        directions.append(netem)
    last, ahead = run.places[-1]
    source, destination = (0, 1) if ahead else (1, 0)
    before, leaving = network.end(last, source)
    end = (
        network.nodes[before].namespace,
        network.interface(before, leaving),
        run.routers,
        bytes.fromhex(hardware_address(last, source).replace(":", "")),
        bytes.fromhex(hardware_address(last, destination).replace(":", "")),
    )
    return {
        "delay_ns": sum(direction["delay_ns"] for direction in directions),
        "limit_packets": min(sum(direction["limit_packets"] for direction in directions), UINT32_MAX),
        "seed": directions[0]["seed"],
        "joined_end": end,
        "joined": [
            (
                direction["delay_ns"],
                direction["rate_bytes_per_s"],
                direction["line"]["framing_bytes"],
                direction["line"]["spaced"],
            )
            for direction in directions
        ],
    }


def keys(version: int, host: str) -> list[tuple[int, int, int]]:
    """u32's keys for packets to a host with a TTL of `LEAST_TTL` or more: offset, mask, value of 32-bit words."""
    ip, whole = packed(host), 0xFFFFFFFF
    at, ttl = (8, LEAST_TTL << 24) if version == 4 else (4, LEAST_TTL)
    words = struct.unpack(f">{len(ip) // 4}I", ip)
    destination = 16 if version == 4 else 24
    return [(at, ttl, ttl), *((destination + 4 * number, whole, word) for number, word in enumerate(words))]
