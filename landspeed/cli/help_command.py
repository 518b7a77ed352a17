"""The command `help`: what a command, an option or a key of scenario files is."""

# argparse has no public way to a parser's arguments.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import argparse
from collections.abc import Iterator

from landspeed.base.near import nearest
from landspeed.cli.errors import UsageError
from landspeed.cli.parser import Parser, commands_of


def add_help(made: argparse.ArgumentParser) -> None:
    """Arguments of `help`."""
    made.add_argument("word", nargs="?", metavar="WORD", help="run, kernel (of --kernel), transfer.window, window …")


def do_help(parsed: argparse.Namespace) -> int:
    """The help of a command, else all options and keys of that name."""
    from landspeed.cli.command_table import COMMANDS, make_parser

    word = parsed.word
    if word is None or word in COMMANDS:
        parser = make_parser(word or "")
        print((commands_of(parser)[word] if word else parser).format_help(), end="")
        return 0
    options = dict[str, dict[str, list[str]]]()
    for option, text, command in _options(make_parser()):
        options.setdefault(option, {}).setdefault(text, []).append(command)
    from landspeed.scenario.file.keys import scenario_keys

    keys = scenario_keys()
    name = f"--{word.lstrip('-')}"
    lines = [f"{name} ({', '.join(commands)}): {text}" for text, commands in options.get(name, {}).items()]
    if not word.startswith("-"):
        lines += [f"{key}: {text}" for key, text in keys.items() if word in (key, key.rpartition(".")[2])]
    if not lines:
        near = nearest(word, [*COMMANDS, *options, *keys, *(key.rpartition(".")[2] for key in keys)])
        right = f"did you mean {near}?" if near else "`landspeed --help` lists the commands"
        raise UsageError(f"'{word}' is no command, option or key of a scenario; {right}")
    print("\n".join(lines))
    return 0


def _options(parser: Parser) -> Iterator[tuple[str, str, str]]:
    """Option, its text, and the command that takes it."""
    for command, made in commands_of(parser).items():
        for action in made._actions:
            if action.help != argparse.SUPPRESS:
                text = (action.help or "").replace("%%", "%")
                yield from ((option, text, command) for option in action.option_strings)
        yield from ((option, text, f"{command} {below}") for option, text, below in _options(made))
