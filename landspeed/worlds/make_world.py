"""A world by its name, with its options by theirs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from landspeed.base.failures import NotPossible
from landspeed.worlds.options import options_of
from landspeed.worlds.program_world import ProgramWorld
from landspeed.worlds.registry import DEFAULT_WORLD, world_type
from landspeed.worlds.world import World


def make_world(name: str = DEFAULT_WORLD, **options: Any) -> World:
    """A world with its options, such as `make_world("emu", tool="iperf3")`.

    Raises:
        UnknownWorld: there is no such world.
        NotPossible: it has no such option, or not with this value.
    """
    kind = world_type(name)
    known = options_of(kind.Options)
    if unknown := sorted(options.keys() - known):
        raise NotPossible(f"the world '{name}' has no option {', '.join(unknown)}; it has {', '.join(known) or 'none'}")
    for option, value in options.items():
        choices, parse = known[option][0].choices, known[option][0].parse
        if parse is not None and isinstance(value, str):
            try:
                options[option] = parse(value)
            except ValueError as error:
                raise NotPossible(f"{option}: {error}") from error
        if choices and value not in choices:
            raise NotPossible(f"{option}={value!r}: write one of {', '.join(choices)}")
    return kind(replace(kind.Options(), **options))


def make_program_world(name: str = DEFAULT_WORLD, **options: Any) -> ProgramWorld:
    """Make a world that runs programs of the user's.

    Raises:
        UnknownWorld, NotPossible: as of `make_world`, or this world runs none.
    """
    world = make_world(name, **options)
    if not isinstance(world, ProgramWorld):
        raise NotPossible(f"the world '{name}' runs no programs of yours; '{DEFAULT_WORLD}' does")
    return world
