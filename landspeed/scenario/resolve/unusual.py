"""Warnings of what is unusual in a plan, and may be a slip of the pen: it can be meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from landspeed.base.units_text import time_text

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Plan

LONG_DELAY_NS = 10**9
"""From here on a one-way delay is longer than any on Earth; to the Moon it is 1.3 s."""


def unusual(plan: Plan) -> list[str]:
    """Warn of delays of a second and more, where a unit may have been mistaken."""
    return [
        f"{source} → {target}: a one-way delay of {time_text(way.delay_ns)} is longer than any on Earth; was ms meant?"
        for link in plan.links
        for source, target, way in ((link.a, link.b, link.forward), (link.b, link.a, link.reverse))
        if way.delay_ns >= LONG_DELAY_NS
    ]
