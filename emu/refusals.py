"""What a scenario can ask and netem cannot do, located in the file."""

from __future__ import annotations

from ..scenarios.errors import Problem
from ..scenarios.events import place_of
from ..scenarios.load import LoadedScenario


def uncountable_losses(loaded: LoadedScenario) -> list[Problem]:
    """netem draws the loss of a packet and of its copy from one generator: with copies, a number cannot be kept to."""
    scenario, problems = loaded.scenario, list[Problem]()
    for number, event in enumerate(scenario.events):
        if event.loss is None or event.loss.packets is None or (place := place_of(scenario, event)) is None:
            continue
        link, (index, direction) = scenario.lines[place[0]], place
        back = link.reverse.duplicate if link.reverse and link.reverse.duplicate is not None else link.duplicate
        copies = {"forward": link.duplicate, "reverse": back, "both": link.duplicate or back}[direction]
        if copies:
            what = f"a number of packets cannot be lost where link {index + 1} duplicates, in the world 'emu'"
            right = "the world sim can (--world sim); here write a share for a time: loss: 100 %, for: 1 ms"
            problems.append(loaded.problem(("events", number, "loss"), what, right))
    return problems
