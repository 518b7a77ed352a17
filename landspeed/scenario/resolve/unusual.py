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
    found: list[str] = []
    for link in plan.links:
        ways = {f"{link.a} → {link.b}": link.forward.delay_ns, f"{link.b} → {link.a}": link.reverse.delay_ns}
        if len(set(ways.values())) == 1:
            ways = {f"{link.a} – {link.b}": link.forward.delay_ns}
        for name, delay_ns in ways.items():
            if delay_ns >= LONG_DELAY_NS:
                delay = time_text(delay_ns)
                found.append(f"{name}: a one-way delay of {delay} is longer than any on Earth; was ms meant?")
    return found
