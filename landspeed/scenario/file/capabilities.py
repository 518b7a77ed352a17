"""Capabilities of a world beyond those that every world has, and the located refusal of anything else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from landspeed.base.errors import Problem
from landspeed.base.near import meant
from landspeed.scenario.file.document import KeyPath
from landspeed.scenario.file.events import KINDS
from landspeed.scenario.file.key_names import special_keys
from landspeed.scenario.file.load import LoadedScenario
from landspeed.scenario.file.model import ScenarioFile, TransferSection
from landspeed.scenario.file.model_links import HostSection, LinkSection
from landspeed.scenario.theory.physics import CELLS, LEAST_BYTES

CONGESTION_CONTROLS = (
    "reno", "cubic", "bbr", "htcp", "highspeed", "scalable", "bic", "westwood", "vegas", "illinois", "yeah", "dctcp",
)  # fmt: skip
"""Every control that a world of this project has; the emulated world's kernel has them all (emu/kernel/config)."""

PADDED = (*CELLS, *LEAST_BYTES)
"""Framings that pad packets."""
SPECIAL_KEYS = (*special_keys(TransferSection), *special_keys(HostSection), *special_keys(ScenarioFile))
"""Keys of `transfer`, and of the file's top, that not every world honours (model.py marks them)."""


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """Capabilities of a world. A key or name that is not in them is refused, with the worlds that have it.

    Attributes:
        congestion_controls: names that `transfer.congestion_control` may have.
        disciplines: ways in which a queue is kept.
        events: kinds of events, by their key in the file.
        special_keys: which of `SPECIAL_KEYS`.
        link_keys: which of the keys of a link that not every world honours: `trace`, and framings that pad (`cells`).
        shapes: "path", and "network" for files with links and flows.
    """

    congestion_controls: tuple[str, ...] = CONGESTION_CONTROLS
    disciplines: tuple[str, ...] = ("fifo",)
    events: tuple[str, ...] = ()
    special_keys: tuple[str, ...] = ()
    link_keys: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ("path",)


def refusals(loaded: LoadedScenario, world: str, worlds: Mapping[str, Capabilities]) -> list[Problem]:
    """List the features that the scenario asks for and the world lacks, each with the worlds that have it.

    Args:
        loaded: the scenario.
        world: the world that is to run it.
        worlds: every world by name, this one included.
    """
    scenario, problems = loaded.scenario, list[Problem]()

    def ask(kind: str, asked: str, where: KeyPath, name: str, *, key: bool = False) -> None:
        if asked in getattr(worlds[world], kind):
            return
        able = [other for other, honours in worlds.items() if asked in getattr(honours, kind)]
        right = f"the world {' or '.join(able)} can (--world {able[0]}); here" if able else "no world can;"
        known = getattr(worlds[world], kind)
        near = "" if able else meant(asked, known)
        choice = f"{near}write one of: {', '.join(known)}" if known and not kind.endswith("_keys") else "leave it out"
        problems.append(loaded.problem(where, f"{name} is not in the world '{world}'", f"{right} {choice}", key=key))

    if scenario.is_network:
        ask("shapes", "network", ("links",), "a network (links and flows)", key=True)
    given: list[tuple[TransferSection, KeyPath]] = [(scenario.transfer, ("transfer",))]
    given += [(flow, ("flows", number)) for number, flow in enumerate(scenario.flows)]
    for transfer, at in given:
        asked = transfer.congestion_control
        ask("congestion_controls", asked, (*at, "congestion_control"), f"congestion control '{asked}'")
        for number, name in enumerate(transfer.congestion_controls or []):
            where = (*at, "congestion_controls", number)
            ask("congestion_controls", name, where, f"congestion control '{name}'")
    for name, where in _special(scenario, given):
        ask("special_keys", name, where, ".".join(map(str, where)), key=True)
    for index, link in enumerate(scenario.all_links):
        place: KeyPath = (scenario.links_key, index)
        for side, where in ((link, place), (link.reverse, (*place, "reverse"))):
            if side and side.discipline:
                name = side.discipline.kind
                ask("disciplines", name, (*where, "discipline"), f"queue discipline '{name}'")
            if isinstance(side, LinkSection) and (framing := side.framing or scenario.framing) in PADDED:
                key: KeyPath = (*where, "framing") if side.framing else ("framing",)
                ask("link_keys", "cells", key, f"framing: {framing}")
            if side and side.trace:
                ask("link_keys", "trace", (*where, "trace"), "a trace", key=True)
    for number, event in enumerate(scenario.events):
        for kind in KINDS:
            if getattr(event, kind) is not None:
                ask("events", kind, ("events", number, kind), f"an event of the kind {kind}", key=True)
    return problems


def _special(scenario: ScenarioFile, given: list[tuple[TransferSection, KeyPath]]) -> Iterator[tuple[str, KeyPath]]:
    """The special keys that the file has, and where."""
    yield from ((name, (name,)) for name in special_keys(ScenarioFile) if getattr(scenario, name) is not None)
    for host, section in scenario.hosts.items():
        given_here = (name for name in special_keys(HostSection) if getattr(section, name) is not None)
        yield from ((name, ("hosts", host, name)) for name in given_here)
    for transfer, at in given:
        for name in special_keys(TransferSection):
            if getattr(transfer, name) != TransferSection.model_fields[name].default:
                yield name, (*at, name)
