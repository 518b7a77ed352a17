"""The worlds by name: what a run needs of one, how the command's options make one, and which options are whose."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .results.bundle import BundleWriter
from .results.progress import Progress
from .results.record import RunRecord
from .scenarios.plan import Plan


class World(Protocol):
    """What makes a run of a plan."""

    def check(self, plan: Plan) -> None:
        """What can be known before anything is made.

        Raises:
            NotReady, MemoryError: this host cannot run the plan; the message says what is missing.
        """
        ...

    def run(self, plan: Plan, bundle: BundleWriter, report: Callable[[Progress], None]) -> RunRecord:
        """Make the transfer.

        Returns:
            the record, not yet judged; it is in `bundle.record` as it grows.

        Raises:
            RunFailed: it broke; the bundle has what was measured.
        """
        ...


def _emu(options: argparse.Namespace, command: list[str]) -> World:
    from .emu.watch import STALL_WALL_S
    from .emu.world import EmuOptions, EmuWorld

    return EmuWorld(
        EmuOptions(
            clock=options.clock,
            tool=options.tool,
            memory_bytes=options.memory,
            with_queues=options.queues,
            with_evidence=options.evidence,
            exact_timers=options.exact_timers,
            stall_wall_s=options.stall or STALL_WALL_S,
            command=command,
        )
    )


def _sim(options: argparse.Namespace, command: list[str]) -> World:
    from .sim.world import SimOptions, SimWorld

    return SimWorld(SimOptions(collapse=options.collapse, scheduler=options.scheduler, command=command))


MAKERS: dict[str, Callable[[argparse.Namespace, list[str]], World]] = {"emu": _emu, "sim": _sim}
OPTIONS: dict[str, dict[str, Any]] = {
    "emu": {
        "clock": "virtual",
        "tool": "engine",
        "memory": None,
        "queues": False,
        "evidence": False,
        "exact_timers": False,
        "stall": None,
    },
    "sim": {"collapse": False, "scheduler": None},
}
"""World → its own options of `landspeed run` and their defaults."""
REPEATED = (
    "clock",
    "tool",
    "evidence",
    "exact_timers",
    "collapse",
    "scheduler",
)  # options that a record names, since they change what is measured


def make_world(name: str, options: argparse.Namespace, command: Sequence[str] = ()) -> World:
    """The world of a name, with its own options out of the command's; those that are absent are at their defaults.

    Raises:
        NotReady: something that every run of it needs is missing.
    """
    own = {key: getattr(options, key, default) for key, default in OPTIONS[name].items()}
    return MAKERS[name](argparse.Namespace(**own), list(command))


def option_word(key: str) -> str:
    """An option as it is typed."""
    return "--" + key.replace("_", "-")


def foreign_options(options: argparse.Namespace, worlds: Sequence[str]) -> list[tuple[str, str]]:
    """Options set that none of these worlds has: (option as typed, the world that has it)."""
    return [
        (option_word(key), world)
        for world, known in OPTIONS.items()
        for key, default in known.items()
        if world not in worlds and getattr(options, key, default) != default
    ]


def option_words(options: argparse.Namespace, world: str) -> list[str]:
    """The world and its options as words of the command, for the record: what repeats the run."""
    words = ["--world", world] if world != "emu" else []
    for key, default in OPTIONS[world].items():
        value = getattr(options, key, default)
        if key in REPEATED and value != default:
            words += [option_word(key)] if value is True else [option_word(key), str(value)]
    return words
