"""Packet trains of the calibration: the rate of the bottleneck by their spacing, the size of a queue by its overflow.

Packet-pair dispersion: Keshav, SIGCOMM 1991.
"""

from __future__ import annotations

import bisect
import contextlib
import itertools
import math
import socket
import struct
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from landspeed.scenario.theory import physics as ph
from landspeed.scenario.theory.timing import (
    TRAIN_PACKETS,
    link_name,
    one_way_ns,
    path_mtu,
    slowest_rate_bps,
)
from landspeed.worlds.emu.guest import clock
from landspeed.worlds.emu.guest.calibration.batches import SEQUENCE, SO_TXTIME, receive, send_at
from landspeed.worlds.emu.guest.calibration.settling import packets_until_settled
from landspeed.worlds.emu.guest.network.flow_path import FlowPath
from landspeed.worlds.emu.guest.network.network import Network, link_address
from landspeed.worlds.emu.guest.shaping.direction_options import burst_bytes
from landspeed.worlds.emu.guest.shaping.link_qdiscs import host_burst_bytes, shaped_device

if TYPE_CHECKING:
    from landspeed.scenario.plan.direction import Direction
    from landspeed.scenario.plan.plan import Link

TRAIN_AHEAD_NS = 1_000_000_000  # long enough to hand over a whole train before its first packet leaves
OVERLOAD = 1.25  # a train comes so much faster than the bottleneck's rate
REAL_CLOCK_TRAIN_S = 0.2
SO_TIMESTAMPNS_NEW = 64
# Of the clock, for each packet that Python receives by itself. Samples are the same bytes as when each was: what
# follows has the same instants to the nanosecond. (To sleep for as long is not the same: the kernel is idle then.)
READINGS = 3


@dataclass(frozen=True)
class _Train:
    """Shape of a packet train.

    Attributes:
        packets: how many.
        skipped: those at the head that a host's full bucket may let through faster than its bus is.
        gap_ns: time between two packets, shorter than the bottleneck's.
    """

    packets: int
    skipped: int
    gap_ns: float


def _train(network: FlowPath, *, forward: bool, real_clock: bool) -> _Train:
    """A train that keeps the bottleneck busy from its first packet on, whatever is lost before it comes there.

    A line lets nothing through early, so two packets in a row leave it spaced. A host's bus is a bucket: full at first,
    of B bytes, it lets B / (1 - r/R) through at the rate R of what fills it.
    """
    plan = network.plan
    mtu, slowest = path_mtu(plan), slowest_rate_bps(plan, forward=forward)
    directions = [link.forward if forward else link.reverse for link in plan.links]
    position = 0 if forward else len(plan.nodes) - 1
    arrives = math.prod((1 - direction.loss) * (1 - direction.corrupt) for direction in directions)
    excess, skipped = OVERLOAD / max(arrives, 0.1), 1
    if plan.nodes[position].bus_rate_bps == slowest:
        excess = 2 * excess
        skipped = (
            round(
                2
                * host_burst_bytes(plan, plan.nodes[position], plan.links[0 if forward else -1], network.late_ns)
                / mtu
            )
            + 2
        )
    skipped += packets_until_settled(plan, excess * slowest, forward=forward)
    packets = TRAIN_PACKETS
    if real_clock:  # late timers are to be little of it; it must fit the smallest queue, for what is lost is counted
        packets = max(packets, round(REAL_CLOCK_TRAIN_S * slowest / (8 * mtu)))
        room = min((direction.queue_bytes for direction in directions if direction.can_queue), default=1 << 40) // (
            mtu + 100
        )
        packets = max(min(packets, round(room / (1 - 1 / excess))), 16)
    gap_ns = mtu * 8e9 / (slowest * excess)
    return _Train(packets + skipped, skipped, gap_ns)


def train_rate(
    network: FlowPath, origin: int, target: int, *, real_clock: bool, ttl: int | None = None
) -> float | None:
    """Rate at which a packet train leaves the bottleneck; its packets have the usual TTL, or the one given.

    Returns:
        bit/s of IP packets; None if too few of them arrived.
    """
    plan = network.plan
    forward = target > origin
    mtu, header = path_mtu(plan), ph.IP_HEADER[plan.ip_version] + 8
    train = _train(network, forward=forward, real_clock=real_clock)
    family = socket.AF_INET if plan.ip_version == 4 else socket.AF_INET6
    with network.nodes[target].inside():
        receiver = socket.socket(family, socket.SOCK_DGRAM)
    with network.nodes[origin].inside():
        sender = socket.socket(family, socket.SOCK_DGRAM)
    with receiver, sender:
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 28)
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 28)
        receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS_NEW, 1)
        receiver.bind((network.address(target), 0))
        if ttl is not None:
            version4 = plan.ip_version == 4
            level, option = (
                (socket.IPPROTO_IP, socket.IP_TTL) if version4 else (socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS)
            )
            sender.setsockopt(level, option, ttl)
        sender.connect((network.address(target), receiver.getsockname()[1]))
        start_ns = _send(sender, train, mtu - header)
        lasts_s = train.packets * max(train.gap_ns / 1e9, mtu * 8 / slowest_rate_bps(plan, forward=forward))
        # A program that waits is woken by each packet, and its readings of the clock fall between the others' times.
        clock.sleep_until(start_ns + round(lasts_s * 1e9) + one_way_ns(plan, origin, target, mtu))
        arrivals = receive(receiver, train.packets)
        for reads_clock in itertools.repeat(time.monotonic_ns, READINGS * len(arrivals)):
            reads_clock()
        receiver.settimeout(max(one_way_ns(plan, origin, target, mtu) / 1e9, 0.1))
        with contextlib.suppress(TimeoutError):
            while len(arrivals) < train.packets:  # the rest was lost, or comes too late to be of this train
                data, control, _, _ = receiver.recvmsg(SEQUENCE.size, 64)
                seconds, nanoseconds = struct.unpack("qq", control[0][2])
                arrivals.append((SEQUENCE.unpack(data)[0], seconds * 1_000_000_000 + nanoseconds))
    if real_clock:
        return train_rate_bps(arrivals, train.skipped, mtu)
    return paired_rate_bps(arrivals, train.skipped, mtu)


def _send(sender: socket.socket, train: _Train, payload_bytes: int) -> int:
    """Give the train to the host's fq, with the time at which each packet is to leave (SO_TXTIME; tc-fq(8), EDT).

    A program that sent each packet at its time would be woken for each, and reading the clock takes 256 ns of it.

    Returns:
        when the first one leaves.
    """
    sender.setsockopt(socket.SOL_SOCKET, SO_TXTIME, struct.pack("iI", time.CLOCK_MONOTONIC, 0))
    start_ns = clock.now_ns() + TRAIN_AHEAD_NS
    due_ns = [start_ns + round(number * train.gap_ns) for number in range(train.packets)]
    done = 0
    while done < train.packets:
        after = bisect.bisect_right(due_ns, due_ns[done] + TRAIN_AHEAD_NS)  # fq looks no more than ten seconds ahead
        send_at(sender, done, due_ns[done:after], payload_bytes)
        done = after
        if done < train.packets:
            clock.sleep_until(due_ns[done] - TRAIN_AHEAD_NS)
    return start_ns


def paired_rate_bps(arrivals: list[tuple[int, int]], skipped: int, mtu_bytes: int) -> float | None:
    """Rate of a train of which any packet may be lost, by the spacing of neighbours.

    Args:
        arrivals: (sequence number, time in ns) of what arrived.
        skipped: how many sequence numbers to leave out at the beginning.
        mtu_bytes: size of each packet.

    Returns:
        bit/s: of packets that were sent one after the other and arrived so, the mean of the spacings near the most
        usual one (to a hundredth, or two nanoseconds). None if there are none.
    """
    gaps = sorted(
        later_ns - earlier_ns
        for (before, earlier_ns), (after, later_ns) in itertools.pairwise(arrivals)
        if after == before + 1 and before >= skipped
    )
    if not gaps:
        return None
    usual = gaps[len(gaps) // 2]
    most = max(usual / 100, 2)
    near = gaps[bisect.bisect_left(gaps, usual - most) : bisect.bisect_right(gaps, usual + most)]
    return mtu_bytes * 8e9 * len(near) / sum(near) if sum(near) else None


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


def queues(network: Network, link: Link) -> list[dict[str, Any]]:
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


def _overflow(network: Network, link: Link, direction: Direction, *, forward: bool) -> int:
    """Bytes (as a veth counts them) that passed of a burst larger than the queue, less what the bucket let through."""
    plan = network.plan
    (origin, _), (target, _) = network.end(link.index, 0 if forward else 1), network.end(link.index, int(forward))
    header = 28 if plan.ip_version == 4 else 48
    family = socket.AF_INET if plan.ip_version == 4 else socket.AF_INET6
    frame = link.mtu_bytes + 14
    address = link_address(plan.ip_version, link.index, int(forward))
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
    return (received - 1) * frame  # the first was being sent
