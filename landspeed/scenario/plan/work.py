"""What counts of a plan: its work, which `Plan.sha256` is made of, without what is only told of it."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, cast

from landspeed.scenario.plan.plan import Direction, Flow, Link, Node, Plan, Transfer
from landspeed.scenario.plan.trace import Trace

NOT_WORK: dict[type, frozenset[str]] = {
    Plan: frozenset(("schema_version", "scenario", "title", "scenario_file", "contest")),
    Flow: frozenset(("expect", "physics")),
    Node: frozenset(("place", "label", "address_note", "latitude_deg", "longitude_deg", "bus_fitted", "bus_why")),
    Link: frozenset(("distance_m",)),
    Direction: frozenset(("can_queue",)),
    Trace: frozenset(("file",)),
}
"""Fields of each part that do not count for `Plan.sha256`. `can_queue` follows from the rest: a better proof does not
make another plan."""

WORK_IF_ASKED: dict[type, frozenset[str]] = {
    Plan: frozenset(("kernel", "spin_cost_ns")),
    Flow: frozenset(("second_route",)),
    Transfer: frozenset(("mptcp", "protect")),
}
"""Fields that count only where they are asked for: who asks for nothing has the plan of a time before they could be."""

NOT_ASKED = (None, False, "none")


def work_of(part: Any) -> Any:
    """What counts of a part of the plan, as plain values."""
    if isinstance(part, list):
        return [work_of(each) for each in cast(list[Any], part)]
    if not is_dataclass(part):
        return part
    told, asked = (which.get(type(part), frozenset[str]()) for which in (NOT_WORK, WORK_IF_ASKED))
    return {
        each.name: work_of(getattr(part, each.name))
        for each in fields(part)
        if each.name not in told and not (each.name in asked and getattr(part, each.name) in NOT_ASKED)
    }
