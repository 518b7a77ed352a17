"""Words for what differs between scenarios of runs: `discipline fifo` beside `discipline cake`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from landspeed.base.json_form import is_array, is_object
from landspeed.report.configuration import scenario_data

MOST_KEYS = 2  # scenarios that differ in more are told apart by their names
MOST_LETTERS = 40
NOT_WORK = frozenset({"name", "title", "description", "sources", "assumptions", "extends", "contest", "expect", "seed"})
UNSAID = {
    "discipline": "fifo",
    "congestion_control": "cubic",
    "streams": "1",
    "loss": "0 %",
    "window": "autotuned",
    "ping": "false",
}
"""What holds where a scenario says nothing of a key."""


def what_differs(bundles: Sequence[Path]) -> list[str] | None:
    """Keys in which each bundle's scenario differs from the others'; None if that is nothing or much."""
    scenarios = [dict(_leaves(scenario_data(bundle), ())) for bundle in bundles]
    if not all(scenarios):
        return None
    keys = [key for key in dict.fromkeys(key for each in scenarios for key in each) if key[0] not in NOT_WORK]
    apart = [key for key in keys if len({each.get(key) for each in scenarios}) > 1]
    if not 1 <= len(apart) <= MOST_KEYS:
        return None
    found = [
        ", ".join(f"{_name(key)} {each.get(key, UNSAID.get(key[-1], 'unset'))}" for key in apart) for each in scenarios
    ]
    return None if any(len(words) > MOST_LETTERS for words in found) else found


def _leaves(value: Any, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each value that is not a list or mapping, with the keys that lead to it."""
    if is_object(value):
        for key, each in value.items():
            yield from _leaves(each, (*above, str(key)))
    elif is_array(value):
        for number, each in enumerate(value):
            yield from _leaves(each, (*above, str(number)))
    else:
        yield above, str(value).lower() if isinstance(value, bool) else str(value)


def _name(key: tuple[str, ...]) -> str:
    """The last key, with what it is of where that is not the forward direction."""
    return f"reverse {key[-1]}" if "reverse" in key[:-1] else key[-1].replace("_", " ")
