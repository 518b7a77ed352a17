"""netem's limit in packets: of what is under way on a link and of what waits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from landspeed.scenario.theory import physics as ph

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Link, Plan

SPARE_PACKETS = 1000  # netem's own default, on top of what is computed
UINT32_MAX = (1 << 32) - 1


def packet_limit(plan: Plan, link: Link, *, forward: bool) -> int:
    """Packet limit of a direction's netem: the scenario's, or enough for the worst that its events make."""
    direction = link.forward if forward else link.reverse
    if direction.packet_limit is not None:
        return direction.packet_limit
    way = "forward" if forward else "reverse"
    touching = [event for event in plan.events if event.link == link.index and way in event.directions]
    longest = max([*direction.delays_ns, *(event.delay_ns or 0 for event in touching)]) + direction.varies_ns
    fastest = max([*direction.rates_bps, *(event.rate_bps or 0 for event in touching if event.kind == "rate")])
    return enough_packets(fastest, longest, direction.queue_bytes, link.framing_bytes, plan.ip_version)


def enough_packets(rate_bps: int, delay_ns: int, queue_bytes: int, framing_bytes: int, ip_version: int) -> int:
    """Bare ACKs at full line rate over the whole delay, the queue full of them, and some to spare.

    A limit is only a number: no memory is set aside for it. netem's own default of 1000 silently drops most of a long
    path's packets, so this is generous on purpose; the queue in bytes is what drops.
    """
    smallest = ph.ack_bytes(ip_version)
    needed = ph.packets_needed(rate_bps, delay_ns, 0, smallest, framing_bytes) + math.ceil(queue_bytes / smallest)
    return min(needed + SPARE_PACKETS, UINT32_MAX)
