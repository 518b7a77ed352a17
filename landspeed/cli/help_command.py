"""The command `help`: what a command, an option or a key of scenario files is."""

# argparse has no public way to a parser's arguments.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from landspeed.base.limits import MEANINGS
from landspeed.base.near import nearest
from landspeed.cli.errors import UsageError
from landspeed.cli.parser import Parser, commands_of

MOST_LINES = 8  # of what is found in texts


def add_help(made: argparse.ArgumentParser) -> None:
    """Arguments of `help`."""
    made.add_argument(
        "word", nargs="?", metavar="WORD", help="run, kernel (of --kernel), transfer.window, window, line rate …"
    )


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
        lines += _together(keys, {word})
        lines += _limit(word) if lines else []
    lines = lines or _told(word, options, keys)
    if not lines:
        from landspeed.scenario.file.packaged import packaged_names

        known = [*COMMANDS, *options, *keys, *(key.rpartition(".")[2] for key in keys), *packaged_names()]
        near = nearest(word, known)
        right = f"did you mean {near}?" if near else "`landspeed --help` lists the commands"
        raise UsageError(f"'{word}' is no command, option or key of a scenario; {right}")
    print("\n".join(lines))
    return 0


def _told(word: str, options: dict[str, dict[str, list[str]]], keys: dict[str, str]) -> list[str]:
    """Text about a word: a limit, a scenario, a value, a key's other name; or where it stands."""
    from landspeed.scenario.file.key_names import keys_meant
    from landspeed.scenario.file.keys import values_of_keys
    from landspeed.scenario.file.packaged import packaged_names

    if word in packaged_names():
        return [f"{word}: a scenario that comes with landspeed; `landspeed show {word}`, `landspeed run {word}`"]
    if limit := _limit(word):
        return limit
    meant = (*keys_meant(word), *(key for key, values in values_of_keys().items() if word in values))
    if found := _together(keys, set(meant)):
        return found[:MOST_LINES]
    whole = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    of_options = {
        f"{option} ({', '.join(commands)})": text for option in options for text, commands in options[option].items()
    }
    return [f"{name}: {text}" for name, text in (of_options | keys).items() if whole.search(text)][:MOST_LINES]


def _limit(word: str) -> list[str]:
    """Meaning of a word for what bounds a transfer."""
    meaning = {limit.lower(): text for limit, text in MEANINGS.items()}.get(word.lower())
    return [f"{word}: what limits a transfer. {meaning}"] if meaning else []


def _together(keys: dict[str, str], words: set[str]) -> list[str]:
    """The keys of these names, those with the same text in one line."""
    of_text = dict[str, list[str]]()
    for key, text in keys.items():
        if {key, key.rpartition(".")[2]} & words:
            of_text.setdefault(text, []).append(key)
    return [f"{', '.join(names)}: {text}" for text, names in of_text.items()]


def _options(parser: Parser) -> Iterator[tuple[str, str, str]]:
    """Option, its text, and the command that takes it."""
    for command, made in commands_of(parser).items():
        for action in made._actions:
            if action.help != argparse.SUPPRESS:
                text = (action.help or "").replace("%%", "%")
                yield from ((option, text, command) for option in action.option_strings)
        yield from ((option, text, f"{command} {below}") for option, text, below in _options(made))
