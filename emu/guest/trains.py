"""Packet trains of the calibration: the rate of the bottleneck by their spacing, the size of a queue by its overflow.

Packet-pair dispersion: Keshav, SIGCOMM 1991.
"""

from __future__ import annotations

import contextlib
import math
import socket
import struct
from typing import Any

from .network import Network
from .shaping import burst_bytes, host_burst_bytes, shaped_device

TRAIN_PACKETS = 200
SO_TIMESTAMPNS_NEW = 64
UDP_SEGMENT = 103
FAST_BPS = 20e9
SEQUENCE = struct.Struct("!I")


def rates(plan: Any, *, forward: bool) -> list[tuple[float, str]]:
    """Bit/s of IP packets of full size that each part of a direction carries, and the part's name."""
    mtu = min(link.mtu_bytes for link in plan.links)
    found = [
        ((link.forward if forward else link.reverse).rate_bps * mtu / (mtu + link.framing_bytes), link_name(link))
        for link in plan.links
    ]
    for node, link in ((plan.nodes[0], plan.links[0]), (plan.nodes[-1], plan.links[-1])):
        found.append((node.nic_rate_bps * mtu / (mtu + link.framing_bytes), f"network interface of {node.name}"))
        if node.bus_rate_bps is not None:
            found.append((node.bus_rate_bps, f"bus of {node.name}"))
    return found


def link_name(link: Any) -> str:
    """A link as messages name it; they count from 1, as `landspeed show` does."""
    return f"link {link.index + 1} ({link.a} – {link.b})"


def slowest_rate(plan: Any, *, forward: bool) -> float:
    """The bottleneck's rate, of full-size IP packets."""
    return min(rates(plan, forward=forward))[0]


def planned_rate_error(plan: Any, *, forward: bool) -> float:
    """How far the plan itself may move a train's rate: copies take room on the line, jitter moves its ends."""
    lanes = [link.forward if forward else link.reverse for link in plan.links]
    mtu = min(link.mtu_bytes for link in plan.links)
    lasts_ns = TRAIN_PACKETS * mtu * 8e9 / slowest_rate(plan, forward=forward)
    return sum(2 * lane.duplicate + 2 * lane.jitter_ns / lasts_ns for lane in lanes)


def _train_length(plan: Any, *, forward: bool) -> tuple[int, int]:
    """Packets of a train, and how many of them a full token bucket lets through faster than the bottleneck.

    A bucket of B bytes that drains at the faster rate R and fills at r lasts for B / (1 - r/R) bytes.
    """
    mtu = min(link.mtu_bytes for link in plan.links)
    slowest = slowest_rate(plan, forward=forward)
    faster = [rate for rate, _ in rates(plan, forward=forward) if rate > 1.005 * slowest]
    refill = 1 - slowest / min(faster) if faster else 1.0
    bucket = max(burst_bytes(plan), host_burst_bytes(plan, 0 if forward else len(plan.nodes) - 1))
    skipped = round(2 * bucket / mtu / refill) + 2
    # The train must fit the smallest queue it could build up in.
    directions = [link.forward if forward else link.reverse for link in plan.links]
    room = min((each.queue_bytes for each in directions if each.can_queue), default=1 << 40) // (mtu + 100)
    packets = max(min(skipped + TRAIN_PACKETS, room), 16)
    return packets, min(skipped, packets // 2)


def train_rate(network: Network, origin: int, target: int, *, real_clock: bool) -> float | None:
    """Rate at which a packet train arrives, without what a full token bucket lets through at once.

    Returns:
        bit/s of IP packets; None if too few of them arrived.
    """
    plan = network.plan
    forward = target > origin
    mtu = min(link.mtu_bytes for link in plan.links)
    header = 28 if plan.ip_version == 4 else 48
    packets, skipped = _train_length(plan, forward=forward)
    slowest = slowest_rate(plan, forward=forward)
    # Each send reads the clock a few times, 256 ns of virtual time each: above this rate one send carries several.
    together = max(1, 60_000 // mtu) if slowest > FAST_BPS or real_clock else 1
    family = socket.AF_INET if plan.ip_version == 4 else socket.AF_INET6
    with network.nodes[target].inside():
        receiver = socket.socket(family, socket.SOCK_DGRAM)
    with network.nodes[origin].inside():
        sender = socket.socket(family, socket.SOCK_DGRAM)
    with receiver, sender:
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 28)
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 28)
        receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS_NEW, 1)
        sender.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, mtu - header)
        receiver.bind((network.address(target), 0))
        sender.connect((network.address(target), receiver.getsockname()[1]))
        filling = b"\0" * (mtu - header - SEQUENCE.size)
        packets = -(-packets // together) * together
        for first in range(0, packets, together):
            sender.send(b"".join(SEQUENCE.pack(first + number) + filling for number in range(together)))
        arrivals: list[tuple[int, int]] = []
        receiver.settimeout(5 * max(plan.physics.rtt_ns / 1e9, 0.1) + packets * mtu * 8 / slowest)
        with contextlib.suppress(TimeoutError):
            while len(arrivals) < packets:
                data, control, _, _ = receiver.recvmsg(SEQUENCE.size, 64)
                seconds, nanoseconds = struct.unpack("qq", control[0][2])
                arrivals.append((SEQUENCE.unpack(data)[0], seconds * 1_000_000_000 + nanoseconds))
    lanes = [link.forward if forward else link.reverse for link in plan.links]
    if any(lane.jitter_ns for lane in lanes):
        lost = 1 - math.prod(1 - lane.loss for lane in lanes)
        return shuffled_train_rate_bps([time_ns for _, time_ns in arrivals], skipped, mtu, lost)
    return train_rate_bps(arrivals, skipped, mtu)


def shuffled_train_rate_bps(times_ns: list[int], skipped: int, mtu_bytes: int, lost: float) -> float | None:
    """Rate of a train that jitter has shuffled, by counting: its sequence numbers say nothing of order any more.

    Args:
        times_ns: of what arrived, in order.
        skipped: how many packets to leave out at the beginning.
        mtu_bytes: size of each packet.
        lost: share of the packets that the plan loses (0…1).
    """
    counted = times_ns[skipped:]
    later = [time_ns for time_ns in counted if time_ns > counted[0]]
    return len(later) / (1 - lost) * mtu_bytes * 8e9 / (later[-1] - counted[0]) if later else None


def train_rate_bps(arrivals: list[tuple[int, int]], skipped: int, mtu_bytes: int) -> float | None:
    """Rate of a train after its first packets, whatever was lost, doubled or early on the way.

    Args:
        arrivals: (sequence number, time in ns) of what arrived. A lost packet counts: the line had carried it. One that
            came before a packet sent earlier does not, nor does a second copy.
        skipped: how many sequence numbers to leave out at the beginning.
        mtu_bytes: size of each packet.

    Returns:
        bit/s; packets that arrive together count with the last of them. None if fewer than two times are left.
    """
    in_order: list[tuple[int, int]] = []
    for sequence, time_ns in sorted(arrivals):
        if sequence >= skipped and (not in_order or (sequence > in_order[-1][0] and time_ns >= in_order[-1][1])):
            in_order.append((sequence, time_ns))
    if not in_order or in_order[-1][1] == in_order[0][1]:
        return None
    start = max(each for each in in_order if each[1] == in_order[0][1])
    return (in_order[-1][0] - start[0]) * mtu_bytes * 8e9 / (in_order[-1][1] - start[1])


def queues(network: Network, link: Any) -> list[dict[str, Any]]:
    """Fill the queue of both directions of a link until it overflows, from the router itself."""
    found: list[dict[str, Any]] = []
    for forward in (True, False):
        direction = link.forward if forward else link.reverse
        position, device = shaped_device(network, link.index, forward=forward)
        entry: dict[str, Any] = {
            "link": link.index,
            "name": link_name(link),
            "direction": "forward" if forward else "reverse",
            "device": f"{network.names[position]}:{device}",
        }
        if not direction.can_queue or device.startswith("ifb"):
            found.append(
                entry
                | {"expected_bytes": None, "measured_bytes": None, "note": "cannot queue: nothing faster leads into it"}
            )
            continue
        found.append(
            entry
            | {
                "expected_bytes": direction.queue_bytes,
                "measured_bytes": _overflow(network, link, direction, forward=forward),
            }
        )
    return found


def _overflow(network: Network, link: Any, direction: Any, *, forward: bool) -> int:
    """Bytes (as a veth counts them) that passed of a burst larger than the queue, less what the bucket let through."""
    plan = network.plan
    origin, target = (link.index, link.index + 1) if forward else (link.index + 1, link.index)
    header = 28 if plan.ip_version == 4 else 48
    family = socket.AF_INET if plan.ip_version == 4 else socket.AF_INET6
    frame = link.mtu_bytes + 14
    address = network.facing_address(target, viewer=origin)
    with network.nodes[target].inside():
        receiver = socket.socket(family, socket.SOCK_DGRAM)
    with network.nodes[origin].inside():
        sender = socket.socket(family, socket.SOCK_DGRAM)
    count = (direction.queue_bytes + 2 * burst_bytes(plan)) // frame + 20
    with receiver, sender:
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 30)
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)
        receiver.bind((address, 0))
        sender.connect((address, receiver.getsockname()[1]))
        payload = b"\0" * (link.mtu_bytes - header)
        for _ in range(count):
            sender.send(payload)
        receiver.settimeout(2 * direction.delay_ns / 1e9 + 2 * direction.queue_bytes * 8 / direction.rate_bps + 0.1)
        received = 0
        with contextlib.suppress(TimeoutError):
            while received < count:
                receiver.recv(1)
                received += 1
    return received * frame - burst_bytes(plan) // frame * frame
