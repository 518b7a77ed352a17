"""Warnings of what is unusual in a plan, and may be a slip of the pen: it can be meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from landspeed.base.units_text import time_text
from landspeed.scenario.theory import physics as ph

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Link, Plan

ETHERNET_BYTES = 1500
"""Payload of an Ethernet frame (IEEE 802.3)."""
LONG_DELAY_NS = 10**9
"""From here on a one-way delay is longer than any on Earth; to the Moon it is 1.3 s."""


def unusual(plan: Plan) -> list[str]:
    """Warn of delays of a second and more, where a unit may have been mistaken; and of tunnels in larger frames."""
    found = [text for link in plan.links if (text := _inside(link))]
    for link in plan.links:
        ways = {f"{link.a} → {link.b}": link.forward.delay_ns, f"{link.b} → {link.a}": link.reverse.delay_ns}
        if len(set(ways.values())) == 1:
            ways = {f"{link.a} – {link.b}": link.forward.delay_ns}
        for name, delay_ns in ways.items():
            if delay_ns >= LONG_DELAY_NS:
                delay = time_text(delay_ns)
                found.append(f"{name}: a one-way delay of {delay} is longer than any on Earth; was ms meant?")
    return found


def _inside(link: Link) -> str | None:
    """Tell the MTU that a tunnel leaves in frames of 1500 B, where the link's is larger and no jumbo frame's."""
    beside = ph.INSIDE_BYTES.get(link.framing)
    if beside is None or not ETHERNET_BYTES - beside < link.mtu_bytes <= ETHERNET_BYTES:
        return None
    frames = f"{link.mtu_bytes} B inside {link.framing} need frames of {link.mtu_bytes + beside} B"
    return f"{link.a} – {link.b}: {frames}; in those of 1500 B mtu: {ETHERNET_BYTES - beside} B is left"
