"""Arguments that several commands share, and the options of worlds as arguments."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landspeed.cli import values
from landspeed.cli.errors import UsageError
from landspeed.cli.parser import Parser

if TYPE_CHECKING:
    from landspeed.worlds.world import World


def with_overrides(made: argparse.ArgumentParser, *, seed: bool = True) -> None:
    """`--set` and `--seed`."""
    made.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a value of the scenario, such as transfer.streams=4",
    )
    if seed:
        made.add_argument("--seed", type=values.seed, help="seed of everything random (default: the scenario's)")


def with_output(made: argparse.ArgumentParser) -> None:
    """`--json` and `--quiet`."""
    made.add_argument("--json", action="store_true", help="one JSON object on standard output")
    made.add_argument("--quiet", action="store_true", help="no progress, no table")


def with_world(made: argparse.ArgumentParser) -> None:
    """`--world`."""
    from landspeed.worlds.registry import DEFAULT_WORLD, worlds

    text = "; ".join(f"{name}: {kind.summary}" for name, kind in worlds().items())
    made.add_argument("--world", default=DEFAULT_WORLD, metavar="NAME", help=f"{text} (default: {DEFAULT_WORLD})")


def with_world_options(made: Parser, word: str = "run") -> None:
    """The options of every world that `word` takes, each once; `--help-all` shows them.

    What is not given is not in the parsed arguments.
    """
    from landspeed.worlds.options import option_word, options_of
    from landspeed.worlds.registry import worlds

    known: set[str] = set()
    for name, kind in worlds().items():
        group = None
        for option, (facts, default) in options_of(kind.Options).items():
            if option in known or not (word in ("run", "compare") or word in facts.words):
                continue
            known.add(option)
            group = group or made.add_argument_group(f"options of the world {name}")
            about: dict[str, Any] = {"help": facts.help.replace("%", "%%"), "default": argparse.SUPPRESS}
            if default is False:
                about["action"] = "store_true"
            else:
                about |= {"choices": facts.choices} if facts.choices else {"metavar": facts.metavar}
                about |= {"type": values.argument(facts.parse)} if facts.parse else {}
            made.add_world_option(group, option_word(option), **about)


def given_options(parsed: argparse.Namespace) -> dict[str, Any]:
    """The worlds' options that were given, by name."""
    from landspeed.worlds.options import options_of
    from landspeed.worlds.registry import worlds

    names = {option for kind in worlds().values() for option in options_of(kind.Options)}
    return {name: value for name, value in vars(parsed).items() if name in names}


def chosen_worlds(names: Sequence[str], given: dict[str, Any]) -> list[World]:
    """The worlds of these names, each with those of the given options that are its own.

    Raises:
        UsageError: an option is of none of these worlds: it would be ignored.
        UnknownWorld: there is no such world.
    """
    from landspeed.worlds.make_world import make_world
    from landspeed.worlds.options import option_word, options_of
    from landspeed.worlds.registry import world_type, worlds

    own = {name: set(options_of(world_type(name).Options)) for name in names}
    for option in given:
        if not any(option in known for known in own.values()):
            able = next(name for name, kind in worlds().items() if option in options_of(kind.Options))
            word = option_word(option)
            raise UsageError(f"{word} works only with --world {able}; add --world {able}, or leave {word} out")
    return [make_world(name, **{key: given[key] for key in given if key in own[name]}) for name in names]


def runs_folder(given: Path | None) -> Path:
    """The folder of bundles: as asked, else the usual one."""
    from landspeed.base.places import runs_dir

    return given if given is not None else runs_dir()
