"""Limit of a flow beside others: a link that they fill together, or a line back that others' data fills."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from landspeed.base import limits
from landspeed.base.text import rate_text
from landspeed.judge.loaded_delay import settled_s
from landspeed.scenario.plan.flow_path import lanes, steps, subflows

if TYPE_CHECKING:
    from landspeed.judge.fairness import FlowShares
    from landspeed.results.flow_result import FlowResult
    from landspeed.results.record import RunRecord
    from landspeed.scenario.plan.plan import Flow, Plan
    from landspeed.scenario.plan.routing import Lane

MOST_NAMED = 4
ALWAYS = (-math.inf, math.inf)


class _Together(NamedTuple):
    """Goodput of each flow of a lane and of all, in a time."""

    begin_s: float
    end_s: float
    goodput_bps: dict[str, float]
    total_bps: float


class SharedLanes:
    """The flows that pass each lane of a network: when they ran, and what they got there together."""

    def __init__(self, plan: Plan, record: RunRecord, shares: FlowShares) -> None:
        """Find which flows pass which lanes.

        Args:
            plan: of the network.
            record: what was measured.
            shares: of all flows.
        """
        self._plan, self._shares = plan, shares
        self._results = {flow.name: flow for flow in record.flows}
        self._passing: dict[Lane, list[Flow]] = {}
        for flow in plan.flows:
            for lane in {lane for route in subflows(flow) for lane in lanes(plan, route)[0]}:
                self._passing.setdefault(lane, []).append(flow)
        self._together: dict[Lane, _Together | None] = {}

    def others_beside(self, flow: Flow, path: Plan) -> dict[int, list[tuple[float, float]]]:
        """Times at which data of other flows, or background traffic, passed the links of a flow's path.

        They are in s since its start; links have their numbers along the path.
        """
        origin_s, found = self._results[flow.name].begins_s or 0.0, dict[int, list[tuple[float, float]]]()
        for number, step in enumerate(steps(self._plan, flow)):
            passing = self._passing[step.ahead] if step.ahead else []
            if spans := [self._span(each, origin_s) for each in passing if each.name != flow.name]:
                found[number] = spans
        return add_background(path, found)

    def _span(self, flow: Flow, origin_s: float) -> tuple[float, float]:
        """Begin and end of a flow, in s since `origin_s`."""
        begins_s, lasts_s = self._results[flow.name].begins_s, self._results[flow.name].duration_s
        return (begins_s - origin_s, begins_s - origin_s + lasts_s) if begins_s is not None and lasts_s else ALWAYS

    def limit_of(self, flow: Flow, path: Plan, found: FlowResult) -> tuple[limits.RunLimit | None, str | None]:
        """Find the limit of a flow beside others: what it would have alone, or a link that they fill together.

        Args:
            flow: as planned.
            path: the plan of its path.
            found: the flow as it was judged alone.
        """
        if found.limited_by in {limits.SHARED_LINE, limits.UNKNOWN} and (
            shared := self._filled(flow, path, (found.begins_s or 0.0) + settled_s(found.duration_s or 0.0)[0])
        ):
            return shared
        if found.limited_by == limits.ACK_PATH:
            return limits.ACK_PATH, _shared_back(self._plan, flow, str(found.limited_by_why))
        return found.limited_by, found.limited_by_why

    def _filled(self, flow: Flow, path: Plan, judged_s: float) -> tuple[limits.RunLimit, str] | None:
        """A link that this flow fills with others, while all that pass it run, after the begin of what is judged."""
        best: tuple[float, str] | None = None
        for lane, link in zip(lanes(self._plan, flow)[0], path.links, strict=False):
            shared = self._got_together(lane)
            if shared is None or shared.end_s <= judged_s:
                continue
            allowed, together = _line_rate_bps(path, link.index), shared.total_bps
            if together >= limits.SHARED_LINE_SHARE * allowed and (best is None or together / allowed > best[0]):
                why = (
                    f"{len(shared.goodput_bps)} flows share {link.a} → {link.b} (link {lane[0] + 1}): from "
                    f"{shared.begin_s:.3g} s to {shared.end_s:.4g} s they got {rate_text(together)} of the "
                    f"{rate_text(allowed)} that it allows after headers, this one "
                    f"{shared.goodput_bps[flow.name] / together * 100:.1f} % of it"
                )
                best = together / allowed, why
        return (limits.SHARED_LINE, best[1]) if best else None

    def _got_together(self, lane: Lane) -> _Together | None:
        """Goodput of the flows of a lane while all of them ran; None if they never did, or one was not sampled.

        Not where MPTCP passes: how much of such a flow's goodput went over one link, its goodput does not say.
        """
        if lane not in self._together:
            passing = self._passing[lane]
            names = [] if any(each.second_route for each in passing) else [each.name for each in passing]
            span = self._shares.together_s(names) if len(names) > 1 else None
            goodput = self._shares.goodput_bps(names) if span else {}
            self._together[lane] = _Together(*span, goodput, sum(goodput.values())) if span and goodput else None
        return self._together[lane]


def add_background(path: Plan, found: dict[int, list[tuple[float, float]]]) -> dict[int, list[tuple[float, float]]]:
    """The times of others, and those of background traffic."""
    for event in path.events:
        if event.kind == "background":
            span = event.at_ns / 1e9, (event.at_ns + (event.duration_ns or 0)) / 1e9
            found.setdefault(event.link, []).append(span)
    return found


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
