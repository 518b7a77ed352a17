"""Story of a path, line by line, each with its virtual time: the first thing that a failed test shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from landspeed.base.units import TIME, format_round
from landspeed.scenario.plan.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from landspeed.results.record import EventResult


class Story:
    """Lines with their times, in the order of the times."""

    def __init__(self) -> None:
        """Begin an empty story."""
        self._lines: list[tuple[int, str]] = []

    def tell(self, now_ns: int, text: str) -> None:
        """Add a line."""
        self._lines.append((now_ns, text))

    def lines(self, plan: Plan, events: Sequence[EventResult]) -> list[str]:
        """All of it, with what became of the links' events, as text."""
        told = [*self._lines, *event_lines(plan, events)]
        return [f"{now_ns / 1e9:12.6f} s  {text}" for now_ns, text in sorted(told, key=lambda each: each[0])]


def event_lines(plan: Plan, events: Sequence[EventResult]) -> list[tuple[int, str]]:
    """Say when events began and ended, and what they did."""
    found: list[tuple[int, str]] = []
    for event in events:
        what = f"{place_words(plan, event)}: {event.kind}"
        if event.at_s is None:
            found.append((round(event.planned_s * 1e9), f"{what} was planned and has not happened"))
            continue
        found.append((round(event.at_s * 1e9), f"{what} begins"))
        if event.until_s is not None:
            lost = event.packets_lost
            more = "" if lost is None else f", {lost} packet{'s' * (lost != 1)} lost"
            found.append((round(event.until_s * 1e9), f"{what} is over{more}"))
    return found


def place_words(plan: Plan, event: EventResult) -> str:
    """The link of an event, as people write it."""
    link = plan.links[event.link]
    first, second = (link.b, link.a) if event.direction == "reverse" else (link.a, link.b)
    return f"{first} {'–' if event.direction == 'both' else '→'} {second}"


def time_text(time_ns: float) -> str:
    """A time of the path's clock with its unit."""
    return format_round(TIME, time_ns)
