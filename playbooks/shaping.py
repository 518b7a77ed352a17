"""The plan's path folded into one Linux box between the hosts, as lines for `tc qdisc add`.

The box has one port for each direction. A port has netem with the sum of the links' delays, and below it the slowest
link's rate and queue, the same two that the guest has for a link that can queue (emu/guest/shaping.py). What chance
does to packets adds up: one minus the product of what passes. What is lost by folding: the hops are one hop, and a
second queue in the path is not there.
"""

from __future__ import annotations

import math

from ..emu.guest.shaping import burst_bytes, wire_rate
from ..scenarios.plan import Direction, Link, Plan

LATE_TIMER_S = 0.001  # a real machine's timers are late: what a token bucket may make up for


def shape_lines(plan: Plan) -> dict[str, list[str]]:
    """Lines of `tc qdisc add dev PORT …` for the port to the receiver (`forward`) and to the sender (`reverse`)."""
    return {
        "forward": _port(plan, [(link, link.forward) for link in plan.links]),
        "reverse": _port(plan, [(link, link.reverse) for link in plan.links]),
    }


def _port(plan: Plan, lanes: list[tuple[Link, Direction]]) -> list[str]:
    directions = [direction for _, direction in lanes]
    netem = [f"root handle 1: netem limit {sum(each.limit_packets for each in directions)}"]
    netem.append(f"delay {sum(each.delay_ns for each in directions) / 1e3:g}us")
    # Independent deviations: their squares add.
    if jitter := math.sqrt(sum(each.jitter_ns**2 for each in directions)):
        netem.append(f"{jitter / 1e3:g}us")
    for word in ("loss", "corrupt", "duplicate", "reorder"):
        passing = math.prod(1 - getattr(each, word) for each in directions)
        if passing < 1:
            netem.append(f"{word} {(1 - passing) * 100:.9g}%")
    slowest, lane = min(lanes, key=lambda each: each[1].rate_bps)
    rate, overhead = wire_rate(plan, slowest, lane.rate_bps)
    burst = burst_bytes(plan) + math.ceil(rate * LATE_TIMER_S)
    bucket = f"parent 1:1 handle 2: tbf rate {rate * 8}bit burst {burst} limit {max(lane.queue_bytes, burst)}"
    return [" ".join(netem), bucket + (f" overhead {overhead}" if overhead else "")]
