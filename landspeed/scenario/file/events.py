"""Events on links during the transfer: what an event must say, and the plan's form of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from landspeed.base.near import meant
from landspeed.base.units import TIME, format_exact
from landspeed.scenario.file.document import KeyPath
from landspeed.scenario.file.fault import Fault
from landspeed.scenario.file.flow_transfer import flow_transfer
from landspeed.scenario.file.model import EventSection as ScenarioEvent
from landspeed.scenario.file.model import ScenarioFile
from landspeed.scenario.file.network_routes import host_names, node_names
from landspeed.scenario.plan.plan import Event

Kind: TypeAlias = Literal["loss", "rate", "delay", "down", "background"]
Where: TypeAlias = Literal["forward", "reverse", "both"]

KINDS: dict[str, Kind] = {
    "loss": "loss",
    "line_rate": "rate",
    "one_way_delay": "delay",
    "down": "down",
    "background": "background",
}
"""Key of the file → kind in the plan."""


def check_events(scenario: ScenarioFile) -> list[Fault]:
    """Every contradiction in the scenario's events, in their order."""
    found = [
        finding
        for number, event in enumerate(scenario.events)
        for finding in _check(scenario, event, ("events", number))
    ]
    return found or list(_overlaps(scenario))


def plan_events(scenario: ScenarioFile) -> list[Event]:
    """The events in the order in which they happen. The scenario has been checked."""
    planned: list[Event] = []
    for event in scenario.events:
        link, direction = place_of(scenario, event) or (0, "forward")
        planned.append(
            Event(
                at_ns=event.at,
                kind=KINDS[_kinds(event)[0]],
                link=link,
                direction=direction,
                packets=event.loss.packets if event.loss else None,
                duration_ns=event.down or event.for_,
                probability=event.loss.probability if event.loss else None,
                rate_bps=event.line_rate or event.background,
                delay_ns=event.one_way_delay,
            )
        )
    return sorted(planned, key=lambda event: event.at_ns)  # sorted is stable: equal times keep the file's order


def _kinds(event: ScenarioEvent) -> list[str]:
    return [key for key in KINDS if getattr(event, key) is not None]


def place_of(scenario: ScenarioFile, event: ScenarioEvent) -> tuple[int, Where] | None:
    """Link and direction of an event; None if there is no such link."""
    first, second = event.between or (event.from_, event.to)
    for index, link in enumerate(scenario.all_links):
        if event.link is not None and event.link != link.name:
            continue
        if (link.from_, link.to) == (first, second):
            return index, "both" if event.between else "forward"
        if (link.to, link.from_) == (first, second):
            return index, "both" if event.between else "reverse"
    return None


def _check(scenario: ScenarioFile, event: ScenarioEvent, where: KeyPath) -> Iterator[Fault]:
    yield from _check_kind(event, where)
    yield from _check_place(scenario, event, where)
    ends = _ends(scenario)
    end = None if None in ends else max(each for each in ends if each is not None)
    if end is not None and event.at >= end:
        what = f"the event is at {format_exact(TIME, event.at)}, and the transfer ends at {format_exact(TIME, end)}"
        yield Fault((*where, "at"), what, f"write an earlier time, or transfer: duration above {event.at / 1e9:g} s")


def _ends(scenario: ScenarioFile) -> list[int | None]:
    """End of each flow; None if its bytes decide that."""
    if not scenario.is_network:
        return [scenario.transfer.duration]
    lasting = [(flow.start, flow_transfer(scenario, flow).duration) for flow in scenario.flows]
    return [None if duration is None else start + duration for start, duration in lasting]


def _check_kind(event: ScenarioEvent, where: KeyPath) -> Iterator[Fault]:
    kinds = _kinds(event)
    if not kinds:
        yield Fault(where, "the event does not say what happens", f"add one of: {', '.join(KINDS)}")
        return
    for key in kinds[1:]:
        what = f"one event cannot be both {kinds[0]} and {key}"
        yield Fault((*where, key), what, "write two events", at_key=True)
    kind, lasting = kinds[0], event.for_ is not None
    if kind == "loss" and event.loss and event.loss.packets and lasting:
        what = "a number of packets is lost at once, not for a time"
        yield Fault((*where, "for"), what, "remove it, or write a share: loss: 100 %", at_key=True)
    elif kind == "loss" and event.loss and event.loss.probability and not lasting:
        what = "a loss in per cent needs a time"
        yield Fault((*where, "loss"), what, "add for: 1 s, or write a number: loss: 1 packet", at_key=True)
    elif kind == "down" and lasting:
        yield Fault(
            (*where, "for"),
            "down is a time itself",
            f"remove it: down: {format_exact(TIME, event.down or 0)}",
            at_key=True,
        )
    elif kind == "background" and not lasting:
        yield Fault((*where, "background"), "background traffic needs a time", "add for: 10 s", at_key=True)


def _check_place(scenario: ScenarioFile, event: ScenarioEvent, where: KeyPath) -> Iterator[Fault]:
    names = node_names(scenario)
    if event.between is None and (event.from_ is None or event.to is None):
        lacking = "to" if event.from_ else "from"
        right = "add from: and to: two neighbouring nodes (that direction), or between: [a, b] (both directions)"
        yield Fault(where, f"the event names no link ('{lacking}' is missing)", right)
        return
    if event.between is not None and (event.from_ or event.to):
        right = "keep from and to for one direction, or between for both"
        yield Fault((*where, "between"), "the event names its link twice", right, at_key=True)
        return
    given: list[tuple[KeyPath, str | None]] = [((*where, "from"), event.from_), ((*where, "to"), event.to)]
    if event.between:
        given = [((*where, "between", place), name) for place, name in enumerate(event.between)]
    unknown = [(key, name) for key, name in given if name not in names]
    for key, name in unknown:
        yield Fault(
            key,
            f"the {'network' if scenario.is_network else 'path'} has no node {name}",
            f"{meant(str(name), names)}write one of: {', '.join(names)}",
        )
    if unknown:
        return
    (_, first), (key, second) = given
    joining = [link for link in scenario.all_links if {link.from_, link.to} == {first, second}]
    if not joining:
        ends = [(link.from_, link.to) for link in scenario.all_links if first in (link.from_, link.to)]
        near = [b if a == first else a for a, b in ends]
        what = f"{first} and {second} are not neighbours: there is no link between them"
        yield Fault(key, what, f"write {' or '.join(near)}, next to {first}")
    elif event.link is not None and event.link not in [link.name for link in joining]:
        right = ", ".join(link.name or "(none has a name)" for link in joining)
        yield Fault((*where, "link"), f"no link between {first} and {second} is called {event.link}", f"write {right}")
    elif len(joining) > 1 and event.link is None:
        right = "add link: " + " or ".join(str(link.name) for link in joining)
        yield Fault(key, f"{len(joining)} links join {first} and {second}", right)
    elif event.background is not None:
        yield from _check_background(scenario, event, where)


def _check_background(scenario: ScenarioFile, event: ScenarioEvent, where: KeyPath) -> Iterator[Fault]:
    """A host sends the transfer and nothing else."""
    hosts = host_names(scenario)
    entering = event.between or [event.from_]
    for name in entering:
        if name in hosts:
            key = "between" if event.between else "from"
            what = f"background traffic enters at a router, and {name} is a host"
            yield Fault((*where, key), what, "let it enter at the next router, or set the host's bus lower")


def _overlaps(scenario: ScenarioFile) -> Iterator[Fault]:
    """Two events of a kind at once on one direction: which of them holds would be a guess."""
    directions: dict[tuple[str, int, str], list[tuple[int, int | None, int]]] = {}
    for number, event in enumerate(scenario.events):
        kind = _kinds(event)[0]
        place = place_of(scenario, event)
        if place is None or kind == "background":  # that adds up
            continue
        until = event.down or event.for_
        for direction in ("forward", "reverse") if place[1] == "both" else (place[1],):
            entry = (event.at, None if until is None else event.at + until, number)
            directions.setdefault((kind, place[0], direction), []).append(entry)
    told: set[int] = set()
    for (kind, _, _), entries in directions.items():
        for (at, until, first), (later, _, number) in _pairs(sorted(entries)):
            if (later == at or (until is not None and later < until)) and number not in told:
                told.add(number)
                what = f"event {first + 1} of the kind {kind} still holds on this link at {format_exact(TIME, later)}"
                yield Fault(("events", number, "at"), what, "write a time after its end, or combine the two")


def _pairs(entries: list[tuple[int, int | None, int]]) -> Iterator[tuple[tuple[int, int | None, int], ...]]:
    """Each entry with the one before it that lasts longest."""
    longest = None
    for entry in entries:
        if longest is not None:
            yield longest, entry
        if longest is None or longest[1] is None or (entry[1] or entry[0]) >= longest[1]:
            longest = entry
