"""Packets that overtake others: how far they may here, and what is refused.

ns-3's TCP takes what three packets overtook for lost (RFC 6675's DupThresh), sends it again and makes its window
smaller. Linux waits for it, longer when it was wrong, and takes back what it did in vain (RFC 8985, RFC 3522). Where a
delay holds fewer than three packets none can be overtaken by three. And what skips most of a path's delay makes its
shortest round trip shorter, to which the worlds answer differently (BBR by 9 % at a sixteenth of it). Below both bounds
they agree within 1 % (tests/scenario/test_overtaking.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from landspeed.scenario.plan.flow_path import lanes, path_of
from landspeed.scenario.theory.timing import data_rtt_ns, packet_mtu

if TYPE_CHECKING:
    from landspeed.base.errors import Problem
    from landspeed.scenario.file.document import KeyPath
    from landspeed.scenario.file.load import LoadedScenario
    from landspeed.scenario.plan.plan import Event, Link, Plan

ENOUGH = 3
"""So many packets that overtook another are taken for a sign that it is lost."""
PART = 50
"""What skips a delay may make a round trip shorter by so small a part of it."""


def skipped_ns(plan: Plan, link: Link, *, forward: bool) -> int:
    """Return the most delay that a packet skips on a direction of a link; 0 where none overtakes."""
    way = link.forward if forward else link.reverse
    if not way.reorder:
        return 2 * way.varies_ns if way.jitters_freely else 0
    changed = [event.delay_ns for event in _touching(plan, link, forward=forward) if event.delay_ns is not None]
    return max(*way.delays_ns, *changed, 0) + way.varies_ns


def overtaken(plan: Plan, link: Link, *, forward: bool) -> int:
    """Return how many full packets one can overtake on a direction of a link."""
    way = link.forward if forward else link.reverse
    changed = [event.rate_bps for event in _touching(plan, link, forward=forward) if event.rate_bps is not None]
    bits = 8 * (packet_mtu(plan, link) + link.framing_bytes)
    return skipped_ns(plan, link, forward=forward) * max(*way.rates_bps, *changed, 0) // (bits * 10**9)


def _touching(plan: Plan, link: Link, *, forward: bool) -> list[Event]:
    direction = "forward" if forward else "reverse"
    return [event for event in plan.events if event.link == link.index and direction in event.directions]


def overtaking(loaded: LoadedScenario, plan: Plan) -> list[Problem]:
    """List the links on which packets of TCP overtake further than this world's TCP bears; located in the file."""
    return [
        problem
        for link in plan.links
        for forward in (True, False)
        if (problem := _problem(loaded, plan, link, forward=forward))
    ]


def _problem(loaded: LoadedScenario, plan: Plan, link: Link, *, forward: bool) -> Problem | None:
    """One direction's, at the key that says it; none for a reverse that is its forward once more."""
    skips_ns = skipped_ns(plan, link, forward=forward)
    others = overtaken(plan, link, forward=forward)
    rtt_ns = _shortest_rtt_ns(plan, link)
    if not skips_ns or rtt_ns is None or (others < ENOUGH and PART * skips_ns <= rtt_ns):
        return None
    place: KeyPath = (loaded.scenario.links_key, link.index)
    section = whole = loaded.scenario.all_links[link.index]
    if not forward and whole.reverse and (whole.reverse.reorder or whole.reverse.netem):
        place, section = (*place, "reverse"), whole.reverse
    elif not forward and skipped_ns(plan, link, forward=True):
        return None
    what = f"link {link.index + 1} lets a packet overtake {others} others"
    why = "this world's TCP takes one that three others overtook for lost, where Linux waits for it (RFC 8985)"
    if others < ENOUGH:
        what = f"link {link.index + 1} lets a packet skip {skips_ns / 1e6:.4g} ms of the round trip"
        why = f"above 1/{PART} of it this world's TCP measures another one than Linux does"
    right = f"--world emu carries it, with Linux's TCP; here write a delay of less than {ENOUGH} packets on the line"
    right += f", and of 1/{PART} of the round trip"
    return loaded.problem((*place, "reorder" if section.reorder else "netem"), f"{what}: {why}", right)


def _shortest_rtt_ns(plan: Plan, link: Link) -> int | None:
    """Shortest round trip of TCP's flows that pass it; None if none does: of datagrams both worlds count the same."""
    of_tcp = (flow for flow in plan.flows if flow.transfer.protocol == "tcp")
    passing = (flow for flow in of_tcp if any(link.index == at for way in lanes(plan, flow) for at, _ in way))
    return min((data_rtt_ns(path_of(plan, flow)) for flow in passing), default=None)
