"""Limit of a flow of datagrams: what its sender was told to send, or where the rest of it was dropped.

A sender of datagrams heeds nobody, so nothing makes it wait: it sends its rate, and what of it does not arrive was lost
by chance, cut off by an event, or found a queue full.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from landspeed.base import limits
from landspeed.base.text import percent_of, rate_text
from landspeed.scenario.theory.datagrams import active_share, payload_rate_bps

if TYPE_CHECKING:
    from collections.abc import Collection

    from landspeed.results.flow_result import FlowResult
    from landspeed.results.samples_reader import Samples
    from landspeed.scenario.plan.plan import Plan

AHEAD = "forward"
SIGMAS = 5
FEW = 0.001
"""Share of what was sent that may be lost on the way while the sender's rate is still its limit."""


def datagram_limit(
    plan: Plan, flow: FlowResult, samples: Samples | None, shared: Collection[int]
) -> tuple[limits.RunLimit | None, str | None]:
    """Find what a flow of datagrams was bound by.

    Args:
        plan: of its path.
        flow: what was measured.
        samples: of the transfer, links numbered along its path.
        shared: the links of its path that others pass, too.
    """
    if not flow.udp_sent or flow.udp_lost is None or flow.goodput_bps is None:
        return None, None
    transfer = plan.transfer
    sent_bps = payload_rate_bps(transfer, plan.ip_version) * active_share(transfer)
    told = f"{percent_of(flow.udp_lost, 1.0)} of {flow.udp_sent} datagrams sent at {rate_text(sent_bps)} were lost"
    chance, spread = _chance(plan, flow.udp_sent)
    paced = f"the sender sent {rate_text(sent_bps)} and heeds nobody; {told}"
    if flow.udp_lost - chance <= max(FEW, spread):
        return limits.PACING, paced + (" by chance" if chance else "")
    drops = {key[0]: count for key, count in (samples.drops_by_link() if samples else {}).items() if key[1] == AHEAD}
    full = {place: count for place, count in drops.items() if plan.links[place].forward.can_queue}
    if full:
        place = max(full, key=lambda each: full[each])
        link = plan.links[place]
        where = f"before the line of link {place + 1} {link.a}–{link.b}"
        if place in shared:
            return limits.SHARED_LINE, f"{told}, {where}, which others use, too"
        return limits.LINE_RATE, f"{told}, {where}: {rate_text(flow.goodput_bps)} came"
    if any(event.kind in ("down", "loss") for event in plan.events):
        return limits.OUTAGE, f"{told}: events took them"
    return limits.UNKNOWN, told


def _chance(plan: Plan, sent: int) -> tuple[float, float]:
    """Share of the datagrams that links lose by chance, and five standard deviations of it: losses come in bursts."""
    arrives, burst = 1.0, 1.0
    for link in plan.links:
        arrives *= (1 - link.forward.loss) * (1 - link.forward.corrupt)
        burst = max(burst, link.forward.losses_in_a_row if link.forward.loss < 1 else 1.0)
    return 1 - arrives, SIGMAS * math.sqrt((2 * burst - 1) * arrives * (1 - arrives) / sent)
