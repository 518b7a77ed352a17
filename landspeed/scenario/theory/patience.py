"""Patience of a transfer: how long nothing may move before it is given up, longer than TCP itself may be silent."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from landspeed.scenario.theory.timing import data_rtt_ns

if TYPE_CHECKING:
    from landspeed.scenario.plan.direction import Direction
    from landspeed.scenario.plan.plan import Event, Plan

USUAL_STALL_NS, MOST_STALL_NS = 30 * 10**9, 24 * 3600 * 10**9  # of a transfer tool that is not told, and at most
LEAST_TIMEOUT_NS, MOST_TIMEOUT_NS = 200_000_000, 120 * 10**9  # Linux: TCP_RTO_MIN, TCP_RTO_MAX
FEW_TRIES, MOST_TRIES, RARE = 4, 15, 1e-6  # of a packet; the most is Linux's tcp_retries2
LATE = 1 / 4  # of a long timer: Linux's may come an eighth late, and a retransmission may be lost at the very end
MOSTLY_LOST = 0.5  # a link that loses so much is as good as cut


def patience_ns(plan: Plan) -> int | None:
    """Time without progress after which the flow of a path is given up; None: the usual 30 s suffices.

    A packet may be lost again and again, and each of TCP's timeouts is twice the one before (RFC 6298 section 5.5); the
    first is bounded by a round trip with a full queue. When an outage ends, TCP tries again after as long as the outage
    was at most, and never more than its greatest timeout.
    """
    ways = [
        (way, [event for event in plan.events if event.link == link.index and side in event.directions], link)
        for link in plan.links
        for side, way in (("forward", link.forward), ("reverse", link.reverse))
    ]
    slowest = [slowest_bps(way, events) for way, events, _ in ways]
    packets = [link.line_bytes(link.mtu_bytes) for *_, link in ways]
    waits_ns = [
        way.queue_bytes * 8 * 10**9 // rate for (way, *_), rate in zip(ways, slowest, strict=True) if way.can_queue
    ]
    later_ns = sum(
        _longest_ns(way, events) - way.delay_ns + size * 8 * 10**9 // rate - size * 8 * 10**9 // way.rate_bps
        for (way, events, _), rate, size in zip(ways, slowest, packets, strict=True)
    )
    outage_ns = sum(event.duration_ns or 0 for event in plan.events if _cuts(event)) + max(
        _gap_ns(way) for way, *_ in ways
    )
    again_ns = min(outage_ns, MOST_TIMEOUT_NS)
    needed_ns = _timeouts_ns(data_rtt_ns(plan) + later_ns + max(waits_ns, default=0), [way for way, *_ in ways])
    needed_ns += outage_ns + again_ns + round(LATE * again_ns)
    return min(needed_ns, MOST_STALL_NS) if needed_ns > USUAL_STALL_NS else None


def _timeouts_ns(first_ns: int, ways: list[Direction]) -> int:
    """Timeouts in a row, as many as chance makes of a million: four of them at least, all that TCP has at most."""
    arrives = math.prod(1 / way.losses_in_a_row for way in ways)
    tries = MOST_TRIES if arrives <= 0 else math.ceil(math.log(RARE) / math.log(1 - arrives)) if arrives < 1 else 0
    if tries <= FEW_TRIES:
        return (2**FEW_TRIES - 1) * first_ns
    return sum(
        min((first_ns + LEAST_TIMEOUT_NS) << number, MOST_TIMEOUT_NS) for number in range(min(tries, MOST_TRIES))
    )


def slowest_bps(way: Direction, events: list[Event]) -> int:
    """The least rate of a direction at any time, by its trace and its events; times at which it is cut do not count."""
    changed = [event.rate_bps for event in events if event.kind == "rate" and event.rate_bps]
    return min(rate for rate in (*way.rates_bps, *changed) if rate)


def _longest_ns(way: Direction, events: list[Event]) -> int:
    return max([*way.delays_ns, *(event.delay_ns or 0 for event in events)])


def _cuts(event: Event) -> bool:
    return event.kind == "down" or (event.kind == "loss" and (event.probability or 0) >= MOSTLY_LOST)


def _gap_ns(way: Direction) -> int:
    """The longest time in a row in which a trace lets next to nothing through."""
    trace = way.trace
    if trace is None:
        return 0
    longest_ns = gap_ns = 0
    ends_ns = [*trace.at_ns[1:], trace.lasts_ns]
    for place, (at_ns, end_ns) in enumerate(zip(trace.at_ns, ends_ns, strict=True)):
        cut = (trace.rate_bps and not trace.rate_bps[place]) or (trace.loss and trace.loss[place] >= MOSTLY_LOST)
        gap_ns = gap_ns + end_ns - at_ns if cut else 0
        longest_ns = max(longest_ns, gap_ns)
    return longest_ns
