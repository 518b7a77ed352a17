"""The options of a direction's netem and token bucket, as figures: pure, so that the real world's box has them too.

link_qdiscs.py hands them to the kernel; worlds/real/shaping.py writes them as lines for tc, on an operator's machine,
where neither netlink nor Mininet is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from landspeed.scenario.theory.timing import MTU_BYTES, line_of, node_of, packet_mtu
from landspeed.worlds.emu.guest.shaping.encode_netem import impairments
from landspeed.worlds.emu.guest.shaping.packet_limit import packet_limit

if TYPE_CHECKING:
    from landspeed.scenario.plan.direction import Direction
    from landspeed.scenario.plan.plan import Link, Plan

VETH_HEADER_BYTES = 14  # what a veth's qdisc counts beyond the IP packet
SUPER_PACKET_BUCKET_BYTES = 200_000  # a super-packet with the headers of all its segments
LATE_NS = 1_000  # of timers in virtual time: what a program's readings of the clock may take
UINT32_MAX = (1 << 32) - 1
IN_ORDER_BYTES_PER_S = 10**15  # a rate at which a packet takes no time, for netem keeps the order of what has a rate


def bucket_rate(plan: Plan, rate_bps: int, framing_bytes: int, mtu: int, *, merged: bool = False) -> tuple[int, int]:
    """Rate in bytes per second and bytes to add per packet of a plain token bucket, so that framing is counted.

    Where a packet may be a super-packet (by the plan's fidelity, or `merged`), overhead per packet would be counted
    once for many; there the rate is lowered by the ratio for full-size segments instead. The same where the overhead is
    negative (POS is smaller than the Ethernet header that a veth counts, a bus has no framing), which a token bucket
    cannot take. `mtu` is that of the packets.
    """
    overhead = framing_bytes - VETH_HEADER_BYTES
    if plan.fidelity == "packets" and overhead >= 0 and not merged:
        return round(rate_bps / 8), overhead
    return round(rate_bps / 8 * (mtu + VETH_HEADER_BYTES) / (mtu + framing_bytes)), 0


def largest_bytes(plan: Plan) -> int:
    """The largest single packet with the header that a veth counts."""
    return max(map(MTU_BYTES, plan.links)) + VETH_HEADER_BYTES


def burst_bytes(plan: Plan, rate_bytes_per_s: int = 0, late_ns: int = LATE_NS) -> int:
    """Token bucket depth: one packet of the largest kind, and what the rate brings while a timer comes late."""
    mtu = max(map(MTU_BYTES, plan.links))
    packet = SUPER_PACKET_BUCKET_BYTES if plan.fidelity == "super-packets" else mtu + 100
    return min(packet + rate_bytes_per_s * late_ns // 10**9, UINT32_MAX)


def delays_after_line(direction: Direction) -> bool:
    """Return whether the delay comes after the line (patch 0023): a packet can then skip one and not the other."""
    return direction.overtakes


def direction_options(
    plan: Plan, link: Link, direction: Direction, *, forward: bool, stock: bool = False, late_ns: int = LATE_NS
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """All options of a direction's netem and, if it can queue, of the line below it.

    Args:
        plan: the whole.
        link: the link.
        direction: one of its directions, as planned or as an event has made it.
        forward: which.
        stock: for a kernel without patch 0013, whose token bucket lets a lone packet through at once.
        late_ns: how late timers may be; a line makes up for it while packets wait.
    """
    line = line_of(plan, link, direction, forward=forward)
    netem = impairments(direction) | {"limit_packets": packet_limit(plan, link, forward=forward)}
    serialized: dict[str, Any] = {
        "rate_bytes_per_s": max(round(line.rate_bps / 8), 1),
        "overhead_bytes": 0,
        "line": {
            "framing_bytes": 0 if line.pads else line.framing_bytes - VETH_HEADER_BYTES,  # 0: the root has counted it
            # What comes out of a line comes spaced; a host's bucket lets a whole super-packet through at once.
            "spaced": node_of(plan, link.a if forward else link.b).kind != "host",
        },
    }
    if stock:
        mtu = packet_mtu(plan, link)
        rate, overhead = bucket_rate(plan, line.rate_bps, line.line_bytes(mtu) - mtu, mtu)
        serialized = {"rate_bytes_per_s": rate, "overhead_bytes": overhead}
    if not direction.can_queue and line.rate_bps == direction.rate_bps and not direction.jitters_freely:
        return netem | serialized, None
    if (direction.jitter_ns and not direction.jitters_freely) or (direction.trace and direction.trace.delay_ns):
        netem |= {"rate_bytes_per_s": IN_ORDER_BYTES_PER_S, "overhead_bytes": 0}
    if not stock and delays_after_line(direction):
        netem["line"] = serialized["line"]  # it is below, and netem takes from it
    queue_bytes, largest, burst = direction.queue_bytes, largest_bytes(plan), burst_bytes(plan)
    late_bytes = burst_bytes(plan, serialized["rate_bytes_per_s"], late_ns)
    if link.pads and not stock:  # packets count as what they take of the line: as many full ones have room
        full, mtu = link.line_bytes(link.mtu_bytes), link.mtu_bytes
        queue_bytes, largest = queue_bytes // mtu * full, full
        burst, late_bytes = burst + full - mtu, late_bytes + full - mtu
    return netem, serialized | {
        # What is being sent is still in the line's queue, and is not what waits.
        "limit_bytes": max(queue_bytes + largest, burst),
        "burst_bytes": late_bytes,
    }
