"""The judge of a network: each flow as the transfer over its path, and the whole by its flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from landspeed.base import limits
from landspeed.base.text import rate_text
from landspeed.judge.fairness import FlowShares, jain_index
from landspeed.results.check import Check
from landspeed.results.flow_result import FlowResult
from landspeed.results.record import RunRecord
from landspeed.scenario.plan.flow_path import path_of, steps, subflows

if TYPE_CHECKING:
    from collections.abc import Callable

    from landspeed.results.samples_reader import Samples
    from landspeed.scenario.plan.plan import Flow, Plan

RTT_LOADED = [name for name in FlowResult.model_fields if name.startswith("rtt_loaded_")]
MOST_NAMED = 4


def judge_flows(
    plan: Plan,
    record: RunRecord,
    samples: Samples | None,
    judge_one: Callable[[Plan, RunRecord, Samples | None, frozenset[int]], RunRecord],
) -> RunRecord:
    """Fill in what is known of each flow, Jain's index, and the verdicts on the whole.

    Args:
        plan: of the network.
        record: what was measured.
        samples: of the run; None without a bundle.
        judge_one: the judge of one transfer over a path, of which others' data passes some links, too.
    """
    shares = FlowShares(record, samples)
    named = {flow.name: flow for flow in plan.flows}
    judged: list[FlowResult] = []
    for flow in record.flows:
        way = steps(plan, named[flow.name])
        alone = samples.of_flow(flow.name, flow.begins_s or 0.0, way) if samples else None
        common = _common(plan, named[flow.name])
        found = judge_one(path_of(plan, named[flow.name]), as_record(record, flow), alone, common)
        bound = found.limited_by, found.limited_by_why
        if found.limited_by in {limits.SHARED_LINE, limits.UNKNOWN} and (
            shared := _shared(plan, named[flow.name], shares)
        ):
            bound = shared
        elif found.limited_by == limits.ACK_PATH:
            bound = limits.ACK_PATH, _shared_back(plan, named[flow.name], str(found.limited_by_why))
        judged.append(
            flow.model_copy(
                update={
                    "steady_goodput_bps": found.steady_goodput_bps,
                    **{name: getattr(found, name) for name in RTT_LOADED},
                    "limited_by": bound[0],
                    "limited_by_why": bound[1],
                    "limit_shares": found.limit_shares,
                    "limit_phases": found.limit_phases,
                    limits.WINDOW: found.window,
                    "verdicts": found.verdicts,
                    "passed": found.passed,
                }
            )
        )
    whole = record.model_copy(
        update={"flows": judged, "jain_index": jain_index(list(shares.goodput_bps(list(named)).values()))}
    )
    whole.verdicts = _together(whole)
    whole.passed = all(flow.passed is not False for flow in judged) and all(
        verdict.ok is not False for verdict in whole.verdicts
    )
    return whole


def as_record(record: RunRecord, flow: FlowResult) -> RunRecord:
    """The record of a run that had nothing but this flow."""
    alone = {name: getattr(flow, name) for name in RunRecord.model_fields.keys() & FlowResult.model_fields.keys()}
    calibration = flow.calibration or record.calibration
    return record.model_copy(update=alone | {"flows": [], "jain_index": None, "calibration": calibration}, deep=True)


def _common(plan: Plan, flow: Flow) -> frozenset[int]:
    """The links of a flow's path, by their numbers along it, that data of other flows passes in its direction."""
    others = {
        (step.link, step.ahead)
        for each in plan.flows
        if each.name != flow.name
        for route in subflows(each)
        for step in steps(plan, route)
    }
    return frozenset(n for n, step in enumerate(steps(plan, flow)) if (step.link, step.ahead) in others)


def _shared(plan: Plan, flow: Flow, shares: FlowShares) -> tuple[limits.RunLimit, str] | None:
    """A link that this flow fills together with others, while all that pass it run.

    Not where MPTCP passes: how much of such a flow's goodput went over one link, its goodput does not say.
    """
    ways = {
        each.name: {(step.link, step.ahead) for route in subflows(each) for step in steps(plan, route)}
        for each in plan.flows
    }
    multipath = {each.name for each in plan.flows if each.second_route}
    best: tuple[float, str] | None = None
    path = path_of(plan, flow)
    for place, link in zip(steps(plan, flow), path.links, strict=True):
        others = [name for name, way in ways.items() if (place.link, place.ahead) in way]
        if multipath.intersection(others):
            continue
        span, goodput = shares.together_s(others), shares.goodput_bps(others)
        if len(others) < 2 or span is None or not goodput:
            continue
        allowed, together = _line_rate_bps(path, link.index), sum(goodput.values())
        if together >= limits.SHARED_LINE_SHARE * allowed and (best is None or together / allowed > best[0]):
            why = (
                f"{len(others)} flows share {link.a} → {link.b} (link {place.link + 1}): from {span[0]:.3g} s to "
                f"{span[1]:.4g} s they got {rate_text(together)} of the {rate_text(allowed)} that it allows after "
                f"headers, this one {goodput[flow.name] / together * 100:.1f} % of it"
            )
            best = together / allowed, why
    return (limits.SHARED_LINE, best[1]) if best else None


def _shared_back(plan: Plan, flow: Flow, why: str) -> str:
    """Explain a full line back if data of other flows goes over one of these lines, too."""
    back = {(step.link, not step.ahead) for step in steps(plan, flow)}
    others = [
        each.name
        for each in plan.flows
        if each.name != flow.name and any((step.link, step.ahead) in back for step in steps(plan, each))
    ]
    full = why.partition(":")[0]
    return f"{full}: the data of {', '.join(others[:MOST_NAMED])} goes that way, too" if others else why


def _line_rate_bps(path: Plan, index: int) -> float:
    # saves 1.5 ms where it is not needed
    from landspeed.scenario.theory import physics as ph

    link = path.links[index]
    mtu = min(each.mtu_bytes for each in path.links)
    return ph.line_rate_limit_bps(link.forward.rate_bps, mtu, link.framing_bytes, path.ip_version)


def _together(record: RunRecord) -> list[Check]:
    """One verdict for each kind, over all flows: it fails where one fails, and names those."""
    names = list(dict.fromkeys(verdict.name for flow in record.flows for verdict in flow.verdicts))
    found: list[Check] = []
    for name in names:
        checks = [(flow.name, verdict) for flow in record.flows for verdict in flow.verdicts if verdict.name == name]
        failed = [(flow, verdict) for flow, verdict in checks if verdict.ok is False]
        judged = [verdict for _, verdict in checks if verdict.ok is not None]
        if failed:
            told = "; ".join(f"{flow}: {verdict.text}" for flow, verdict in failed[:MOST_NAMED])
            more = f"; and {len(failed) - MOST_NAMED} more" if len(failed) > MOST_NAMED else ""
            text = f"{len(failed)} of {len(checks)} flows: {told}{more}"
        else:
            text = f"{len(judged)} of {len(checks)} flows as planned or wanted"
        ok = False if failed else True if judged else None
        found.append(Check(name, ok, text, what=checks[0][1].what))
    return found
