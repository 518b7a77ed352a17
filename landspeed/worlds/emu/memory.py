"""Memory: what the guest needs, and what the host can give; told before anything starts."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from landspeed.base.units import UnitError, parse_size
from landspeed.scenario.plan.flow_path import lanes, path_of, subflows
from landspeed.scenario.plan.plan import Plan
from landspeed.scenario.theory import physics as ph
from landspeed.scenario.theory.timing import path_mtu, slowest_rate_bps

if TYPE_CHECKING:
    from landspeed.scenario.plan.direction import Direction

SMALLEST_GUEST_BYTES = 128 << 20  # below this its programs do not even start
KEEP_FREE_BYTES = 512 << 20  # for this program and the host

# What the engine's transfer takes, fitted to 20 paths and networks (tests/emu/network/test_sizes.py holds some).
KERNEL_BYTES = 44 << 20  # the kernel, the programs, what they read of files
PAGES_SHARE = 1 / 64  # of `mem=`: the kernel has 64 B for each page of 4 KiB
PACKET_BYTES, PACKET_SHARE = 1000, 0.05  # of a packet under way: descriptors in netem and in the sender's queue, ACKs
FLOW_BYTES = 1_300_000  # both engines of a further flow; what is sent takes none
STREAM_BYTES, HOP_BYTES = 450_000, 640_000  # thread and buffers of a stream; namespace, interfaces, qdiscs of a node

# Ceilings: programs of the user's have pages of their own, and a guest that needs more must not break for it.
BASE_BYTES = 1 << 30  # kernel, file cache, programs, sockets at rest
SKB_BYTES = 1536  # per packet in flight: sk_buff, head, shared info
SKB_COPIES = 2  # in flight, and in the sender's retransmit queue
PAYLOAD_COPIES = 1.0  # payload in flight held once: none with the engine's shared pages, one with plain programs
MARGIN = 1.25
STEP_BYTES = 256 << 20
SINK_BYTES = 64 << 20  # receive: memory
PROGRAMS_BYTES = 16 << 20  # both engines of a further flow
NODE_BYTES, MOST_IN_BASE = 1 << 20, 256  # a namespace with its interfaces; those of the longest path are in the base


def guest_memory_bytes(plan: Plan, *, transfer: bool = False) -> int:
    """The most memory (`mem=`) that a plan's guest may take. If only the plan's `transfer` is made, it can be less."""
    return _most_bytes(plan, _under_way_bytes(plan, transfer=transfer))


def _most_bytes(plan: Plan, in_flight: float) -> int:
    mtu = min(link.mtu_bytes for link in plan.links)
    copies = any(flow.transfer.receive != "discard" for flow in plan.flows)
    memory = memory_for_bytes(in_flight, mtu, plan.fidelity, "memory" if copies else "discard")
    beside = (len(plan.flows) - 1) * PROGRAMS_BYTES + max(len(plan.nodes) - MOST_IN_BASE, 0) * NODE_BYTES
    return memory + math.ceil(beside / STEP_BYTES) * STEP_BYTES


def transfer_memory(plan: Plan, asked_bytes: int | None) -> tuple[int, int]:
    """The most memory (`mem=`) of the guest that makes the plan's transfer, and what it takes of it; both if asked."""
    if asked_bytes:
        return asked_bytes, asked_bytes
    under_way = _under_way_bytes(plan, transfer=True)
    most = _most_bytes(plan, under_way)
    return most, _used_bytes(plan, most, under_way)


def _used_bytes(plan: Plan, memory_bytes: int, under_way: float) -> int:
    """Memory that the engine's transfer of a plan takes in a guest of this `mem=`, within 30 %.

    Payload that is under way is zeros that have no memory, unless each block is made anew: `receive: verify`, or
    protection.
    """
    mtu = min(link.mtu_bytes for link in plan.links)
    packet = mtu if plan.fidelity == "packets" else ph.SUPER_PACKET_BYTES
    in_flight = min(under_way, _narrow_bytes(plan))
    made = any(flow.transfer.receive == "verify" or flow.transfer.protect != "none" for flow in plan.flows)
    streams = sum(flow.transfer.streams for flow in plan.flows)
    taken = KERNEL_BYTES + memory_bytes * PAGES_SHARE
    taken += in_flight / packet * (PACKET_BYTES + PACKET_SHARE * packet) + (in_flight if made else 0)
    taken += (len(plan.flows) - 1) * FLOW_BYTES + streams * STREAM_BYTES + len(plan.nodes) * HOP_BYTES
    return min(math.ceil(taken), memory_bytes)


def _under_way_bytes(plan: Plan, *, transfer: bool) -> float:
    """One BDP and full queues of each flow, or its windows if less, or all that its transfer sends.

    All flows together cannot have more under way than the network's lines and queues hold.
    """
    paths = [path_of(plan, each) for flow in plan.flows for each in subflows(flow)]
    in_flight = sum(min(_in_flight_bytes(path), _sent_bytes(path) if transfer else math.inf) for path in paths)
    return in_flight if plan.is_path else min(in_flight, _held_bytes(plan))


def _narrow_bytes(plan: Plan) -> float:
    """Bytes that the narrowest lines of the flows' paths let through in the longest round trip, and their queues.

    Of lines that are equally narrow, the one that most flows pass. No queue forms elsewhere for long.
    """
    ways = [(each, lanes(plan, each)[0]) for flow in plan.flows for each in subflows(flow)]
    passed = Counter(lane for _, way in ways for lane in way)
    longest: dict[tuple[int, bool], int] = {}
    for flow, way in ways:
        narrow = min(way, key=lambda lane: (_direction(plan, lane).rate_bps, -passed[lane]))
        longest[narrow] = max(longest.get(narrow, 0), flow.physics.rtt_ns)
    held = [(_direction(plan, lane), rtt_ns) for lane, rtt_ns in longest.items()]
    return sum(ph.bdp_bytes(line.rate_bps, rtt_ns) + line.queue_bytes for line, rtt_ns in held)


def _direction(plan: Plan, lane: tuple[int, bool]) -> Direction:
    link = plan.links[lane[0]]
    return link.forward if lane[1] else link.reverse


def _in_flight_bytes(plan: Plan) -> int:
    """Bytes in flight for the flow of a path."""
    in_flight = plan.physics.bdp_bytes + sum(each.forward.queue_bytes for each in plan.links if each.forward.can_queue)
    transfer = plan.transfer
    if (usable := transfer.window_bytes) is not None:
        if not transfer.window_exact:
            usable = ph.linux_usable_window_bytes(usable, plan.physics.mss_bytes, plan.fidelity)
        in_flight = min(in_flight, transfer.streams * usable)
    return in_flight


def _sent_bytes(plan: Plan) -> float:
    """All that the flow of a path sends, headers included: what it is asked to, or as much as its time allows."""
    if plan.transfer.bytes is not None:
        return plan.transfer.bytes * path_mtu(plan) / plan.physics.mss_bytes
    return (plan.transfer.duration_ns or 0) / 1e9 * slowest_rate_bps(plan, forward=True) / 8


def _held_bytes(plan: Plan) -> int:
    directions = [direction for link in plan.links for direction in (link.forward, link.reverse)]
    return sum(ph.bdp_bytes(direction.rate_bps, direction.delay_ns) + direction.queue_bytes for direction in directions)


def memory_for_bytes(in_flight_bytes: float, mtu: int, fidelity: str, receive: str) -> int:
    """Memory for so much in flight; it costs the host only the pages that are touched.

    (base + payload in flight and queued + skb metadata per packet, twice) × margin, a buffer if the receiver copies;
    rounded up to 256 MiB. 10 Gbit/s × 264 ms: 2 GiB; with a full queue of one BDP 2.5 GiB.
    """
    unit = mtu if fidelity == "packets" else ph.SUPER_PACKET_BYTES
    packets = math.ceil(in_flight_bytes / unit)
    metadata = packets * SKB_BYTES * SKB_COPIES
    wanted = (BASE_BYTES + PAYLOAD_COPIES * in_flight_bytes + metadata) * MARGIN
    wanted += SINK_BYTES if receive != "discard" else 0
    return math.ceil(wanted / STEP_BYTES) * STEP_BYTES


def available_bytes() -> int:
    """Memory the host can give without swapping (MemAvailable of proc(5))."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def check_memory(need_bytes: int) -> None:
    """Refuse a run that the host cannot hold.

    Raises:
        MemoryError: with both numbers and what would help.
    """
    available = available_bytes()
    if available < need_bytes + KEEP_FREE_BYTES:
        raise MemoryError(
            f"the run needs up to {need_bytes / 2**30:.2f} GiB and {KEEP_FREE_BYTES / 2**30:.2f} GiB for the host; "
            f"{available / 2**30:.2f} GiB are available. Smaller windows or fewer streams need less; --memory SIZE "
            "overrides the figure"
        )


def parse_memory(text: str) -> int:
    """A guest's memory in bytes, from text such as `4GiB`. Raises ValueError."""
    try:
        size = parse_size(text)
    except UnitError as error:
        raise ValueError(str(error)) from error
    if size < SMALLEST_GUEST_BYTES:
        raise ValueError(f"a guest needs at least {SMALLEST_GUEST_BYTES >> 20} MiB, not {text}")
    return size
