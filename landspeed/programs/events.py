"""`path.at`: what shall happen to a link, read and checked as an entry of a scenario's `events`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from landspeed.programs.errors import PathError
from landspeed.runs.scenario import Scenario
from landspeed.scenario.file.events import KINDS, plan_events
from landspeed.scenario.plan.plan import Event

WORDS = {"for_": "for", "from_": "from"}
LATEST = "168 h"  # the transfer that a scenario describes does not happen here: its end is as late as one may be


class PathEvents:
    """The events of a path: the scenario's own, and those that were added."""

    def __init__(self, scenario: Scenario) -> None:
        """Keep the events of a scenario."""
        lasting: dict[str, Any] = {"transfer.duration": LATEST}
        for number in range(len(scenario.contents.flows or ())):
            lasting[f"flows.{number}.duration"] = LATEST
        self._scenario = scenario.with_({**lasting, "expect": None})
        self._entries: list[Any] = scenario.loaded.tree.plain().get("events") or []

    def add(self, when: str, link: str | Sequence[str] | None, what: Mapping[str, Any]) -> Event:
        """Add an event, checked together with those that are there.

        Raises:
            PathError: no such link.
            ScenarioError: whatever is wrong with it.
        """
        entry = {WORDS.get(key, key): value for key, value in what.items()}
        if not set(entry) & set(KINDS):
            raise PathError(f"path.at({when!r}): nothing happens; add one of: {', '.join(KINDS)}")
        if link is not None:
            entry["between"] = list(self._ends(link))
        entries = [*self._entries, {"at": when, **entry}]
        every = self._scenario.with_({"events": entries})  # checked beside the others
        self._entries = entries
        alone = every.with_({"events": entries[-1:]})
        return plan_events(alone.contents)[0]

    def _ends(self, link: str | Sequence[str]) -> tuple[str, str]:
        lines = self._scenario.contents.all_links
        if not isinstance(link, str):
            first, second = link
            return first, second
        for each in lines:
            if link in (each.name, f"{each.from_}-{each.to}", f"{each.to}-{each.from_}"):
                return each.from_, each.to
        names = ", ".join(each.name or f"{each.from_}-{each.to}" for each in lines)
        raise PathError(f"no link {link!r}; there are {names}")


def plain(event: Event) -> dict[str, Any]:
    """Convert an event to plain values for the guest."""
    return {each.name: getattr(event, each.name) for each in fields(event)}
