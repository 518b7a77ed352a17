"""The command `config`: defaults of options in a file, shown, set and removed; and how they come into a command."""

# argparse has no public way to a parser's arguments.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from landspeed.base.config import ConfigError, config_file, read_config, write_config
from landspeed.base.near import nearest
from landspeed.cli.errors import UsageError
from landspeed.cli.parser import Parser, commands_of

RUNS = "runs"
"""Key of the folder of runs: no option, but where all commands look for runs and put them (base/places.py)."""


def add_config(made: argparse.ArgumentParser) -> None:
    """Arguments of `config`."""
    made.usage = "landspeed config [set KEY VALUE | unset KEY | where]"
    made.add_argument("words", nargs="*", metavar="set KEY VALUE|unset KEY|where", help="none: show all defaults")
    made.epilog = (
        "A KEY is COMMAND.OPTION, such as run.kernel, or runs, the folder of all runs. "
        "What is given with a command goes before its default."
    )


def do_config(parsed: argparse.Namespace) -> int:
    """Show, set or remove."""
    match parsed.words:
        case []:
            if not (known := read_config()):
                print("no defaults are set; `landspeed config set run.kernel 6.12` sets one", file=sys.stderr)
            for key, value in known.items():
                print(f"{key} = {str(value).lower() if isinstance(value, bool) else value}")
        case ["where"]:
            print(config_file())
        case ["set", str(key), str(text)]:
            value = {"true": True, "false": False}.get(text, text)
            _check(key, value)
            write_config(key, str(Path(text).absolute()) if key == RUNS else value)
        case ["unset", str(key)]:
            known = read_config()
            if key not in known:
                raise UsageError(f"{key} is not set; set are: {', '.join(known) or 'none'}")
            write_config(key, None)
        case _:
            raise UsageError("write landspeed config, config set KEY VALUE, config unset KEY, or config where")
    return 0


def default_words(made: Parser, command: str, given: Sequence[str]) -> list[str]:
    """Words to stand before those that are given: the defaults that the file has for this command.

    Options of a world are left out where a world is named. Raises ConfigError.
    """
    words: list[str] = []
    named = any(each.partition("=")[0] in ("--world", "--worlds") for each in given)
    for key, value in read_config().items():
        head, _, option = key.rpartition(".")
        if head == command:
            action = _checked(made, key, value, f"{config_file()}: ")
            if value is not False and not (named and action in made.of_worlds):
                words.append(f"--{option}" if value is True else f"--{option}={value}")
        elif key != RUNS:
            _check_command(key, f"{config_file()}: ")
    return words


def _check_command(key: str, where: str) -> None:
    """Check that a key begins with a command. Raises ConfigError."""
    from landspeed.cli.command_table import COMMANDS

    command, dot, option = key.rpartition(".")
    if command not in COMMANDS:
        near = nearest(command, COMMANDS) if dot else ""
        right = f"did you mean {near}.{option}?" if near else f"write COMMAND.OPTION, such as run.{option}, or {RUNS}"
        raise ConfigError(f"{where}'{key}' is no option of a command; {right}")


def _check(key: str, value: str | bool) -> None:
    """Check that a key may be set so. Raises ConfigError."""
    from landspeed.cli.command_table import make_parser

    if key != RUNS:
        _check_command(key, "")
        command = key.rpartition(".")[0]
        _checked(commands_of(make_parser(command))[command], key, value, "")


def _checked(made: Parser, key: str, value: str | bool, where: str) -> argparse.Action:
    """The option of a key, which takes this value. Raises ConfigError."""
    command, _, option = key.rpartition(".")
    options = {word: action for action in made._actions for word in action.option_strings}
    action = options.get(f"--{option}")
    if action is None:
        near = nearest(f"--{option}", options).removeprefix("--")
        right = f"did you mean {command}.{near}?" if near else f"`landspeed {command} --help` lists them"
        raise ConfigError(f"{where}landspeed {command} has no option --{option}; {right}")
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise ConfigError(f"{where}{key}: --{option} takes no value; write true or false")
        return action
    try:
        made._check_value(action, made._get_value(action, str(value)))
    except argparse.ArgumentError as error:
        raise ConfigError(f"{where}{key}: {error.message}") from None
    return action
