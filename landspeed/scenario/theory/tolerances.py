"""Tolerances: how far a measured figure may be from the planned one, in one place for every world and every verdict.

A scenario states its own (`calibration`, `expect`: scenario/plan/plan.py has what holds where it does not). Here are
the floors, the tolerances that no scenario states, and the rules that make an allowed error of a share. The guest
imports this, so importing it stays cheap.
"""

# The guest imports this: dataclasses and typing are guest/stdlib_stand_ins there.
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from landspeed.scenario.theory.timing import TRAIN_PACKETS, path_mtu, slowest_rate_bps, way

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Plan

RTT_FLOOR_MS = 0.001
"""The least error of an RTT that counts: a program's readings of the clock are part of what it measures."""
FORMER_RTT_FLOOR_MS = 0.05  # of records from before it was written down
QUEUE_TOLERANCE, QUEUE_FLOOR_BYTES = 0.01, 200_000  # where a world says nothing of a queue's
GOODPUT_TOLERANCE = 0.01  # of an expected goodput for which the scenario states none

# In real time (`landspeed shell`) the host's other work is part of what is measured.
REAL_CLOCK_RTT_FLOOR_MS = 2.0
REAL_CLOCK_RATE_TOLERANCE = 0.05

REAL_PATH_RTT_TOLERANCE = 0.01  # against the plan, and against a rehearsal; playbooks/roles have it, too
# A run on real servers beside its rehearsal: what is farther apart is named.
BESIDE_REHEARSAL_GOODPUT_TOLERANCE = 0.02
BESIDE_REHEARSAL_WINDOW_TOLERANCE = 0.05


def rtt_allowed_ms(
    plan: Plan, origin: int, target: int, expected_ms: float, *, tolerance: float, floor_ms: float = RTT_FLOOR_MS
) -> float:
    """Tolerance of a measured RTT between two nodes; the plan's own jitter is no error."""
    ends = (0, plan.hops) if plan.flow.route_back else (origin, target)  # of an answer from between one knows no better
    lines = (*way(plan, *ends), *way(plan, *ends[::-1]))
    return max(tolerance * abs(expected_ms), floor_ms) + sum(line.jitter_ns for line in lines) / 1e6


def rate_allowed(plan: Plan, tolerance: float, *, forward: bool) -> float:
    """Tolerance of a packet train's rate: jitter moves its ends, and then copies count too."""
    directions = [link.forward if forward else link.reverse for link in plan.links]
    lasts_ns = TRAIN_PACKETS * path_mtu(plan) * 8e9 / slowest_rate_bps(plan, forward=forward)
    jitter = sum(2 * direction.varies_ns / lasts_ns for direction in directions)
    return tolerance + (jitter + sum(2 * direction.duplicate for direction in directions) if jitter else 0.0)


def unskipped(
    plan: Plan, origin: int, target: int, expected_ms: float, answers: list[tuple[float, Any]]
) -> list[tuple[float, Any]]:
    """Round trips of an echo with the delays that were skipped there or back (`reorder`), sorted; what they came with.

    Of all sums of such delays, the one counts that comes nearest; sums a thousandth of the round trip apart are one.
    """
    links = plan.links if plan.flow.route_back else plan.links[min(origin, target) : max(origin, target)]
    both = [direction for link in links for direction in (link.forward, link.reverse)]
    step, sums_ms = max(expected_ms / 1000, RTT_FLOOR_MS), {0: 0.0}
    for direction in both:
        if direction.reorder:
            more = [each + direction.delay_ns / 1e6 for each in sums_ms.values()]
            sums_ms |= {round(each / step): each for each in more if each <= expected_ms}
    return sorted(
        (min((rtt_ms + each for each in sums_ms.values()), key=lambda whole: abs(whole - expected_ms)), said)
        for rtt_ms, said in answers
    )
