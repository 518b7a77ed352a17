"""Limit of a flow beside others: a link that they fill together, or a line back that others' data fills."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from landspeed.base import limits
from landspeed.base.text import rate_text
from landspeed.judge.loaded_delay import settled_s
from landspeed.scenario.plan.flow_path import lanes, path_of, steps, subflows

if TYPE_CHECKING:
    from landspeed.judge.fairness import FlowShares
    from landspeed.results.flow_result import FlowResult
    from landspeed.results.record import RunRecord
    from landspeed.scenario.plan.plan import Flow, Plan

MOST_NAMED = 4
ALWAYS = (-math.inf, math.inf)


def among_others(
    plan: Plan, flow: Flow, found: FlowResult, shares: FlowShares
) -> tuple[limits.RunLimit | None, str | None]:
    """Find the limit of a flow beside others: what it would have alone, or a link that they fill together.

    Args:
        plan: of the network.
        flow: as planned.
        found: the flow as it was judged alone.
        shares: of all flows.
    """
    if found.limited_by in {limits.SHARED_LINE, limits.UNKNOWN} and (
        shared := _shared(plan, flow, shares, (found.begins_s or 0.0) + settled_s(found.duration_s or 0.0)[0])
    ):
        return shared
    if found.limited_by == limits.ACK_PATH:
        return limits.ACK_PATH, _shared_back(plan, flow, str(found.limited_by_why))
    return found.limited_by, found.limited_by_why


def others_beside(plan: Plan, flow: Flow, record: RunRecord) -> dict[int, list[tuple[float, float]]]:
    """Times at which data of other flows, or background traffic, passed the links of a flow's path.

    They are in s since its start; links have their numbers along the path.
    """
    way = steps(plan, flow)
    known = {each.name: each for each in record.flows}
    origin_s, found = known[flow.name].begins_s or 0.0, dict[int, list[tuple[float, float]]]()
    for each in plan.flows:
        passed = {lane for route in subflows(each) for lane in lanes(plan, route)[0]}
        begin_s, lasts_s = known[each.name].begins_s, known[each.name].duration_s
        span = (begin_s - origin_s, begin_s - origin_s + lasts_s) if begin_s is not None and lasts_s else ALWAYS
        for number, step in enumerate(way) if each.name != flow.name else ():
            if step.ahead in passed:
                found.setdefault(number, []).append(span)
    return add_background(path_of(plan, flow), found)


def add_background(path: Plan, found: dict[int, list[tuple[float, float]]]) -> dict[int, list[tuple[float, float]]]:
    """The times of others, and those of background traffic."""
    for event in path.events:
        if event.kind == "background":
            span = event.at_ns / 1e9, (event.at_ns + (event.duration_ns or 0)) / 1e9
            found.setdefault(event.link, []).append(span)
    return found


def _shared(plan: Plan, flow: Flow, shares: FlowShares, judged_s: float) -> tuple[limits.RunLimit, str] | None:
    """A link that this flow fills together with others, while all that pass it run, after the begin of what is judged.

    Not where MPTCP passes: how much of such a flow's goodput went over one link, its goodput does not say.
    """
    ways = {each.name: {lane for route in subflows(each) for lane in lanes(plan, route)[0]} for each in plan.flows}
    multipath = {each.name for each in plan.flows if each.second_route}
    best: tuple[float, str] | None = None
    path = path_of(plan, flow)
    for lane, link in zip(lanes(plan, flow)[0], path.links, strict=False):
        others = [name for name, way in ways.items() if lane in way]
        if len(others) < 2 or multipath.intersection(others):
            continue
        span, goodput = shares.together_s(others), shares.goodput_bps(others)
        if span is None or not goodput or span[1] <= judged_s:
            continue
        allowed, together = _line_rate_bps(path, link.index), sum(goodput.values())
        if together >= limits.SHARED_LINE_SHARE * allowed and (best is None or together / allowed > best[0]):
            why = (
                f"{len(others)} flows share {link.a} → {link.b} (link {lane[0] + 1}): from {span[0]:.3g} s to "
                f"{span[1]:.4g} s they got {rate_text(together)} of the {rate_text(allowed)} that it allows after "
                f"headers, this one {goodput[flow.name] / together * 100:.1f} % of it"
            )
            best = together / allowed, why
    return (limits.SHARED_LINE, best[1]) if best else None


def _shared_back(plan: Plan, flow: Flow, why: str) -> str:
    """Explain a full line back if data of other flows goes over one of these lines, too."""
    back = set(lanes(plan, flow)[1])
    others = [each.name for each in plan.flows if each.name != flow.name and not back.isdisjoint(lanes(plan, each)[0])]
    full = why.partition(":")[0]
    return f"{full}: the data of {', '.join(others[:MOST_NAMED])} goes that way, too" if others else why


def _line_rate_bps(path: Plan, index: int) -> float:
    # saves 1.5 ms where it is not needed
    from landspeed.scenario.theory import physics as ph
    from landspeed.scenario.theory.timing import path_mtu

    link = path.links[index]
    mtu = path_mtu(path)
    return ph.line_rate_limit_bps(link.forward.rate_bps, mtu, link.framing_of(mtu), path.ip_version)
