"""The parser of the command: help in groups, the worlds' options apart, errors that say what would be right."""

# argparse has no public way to a parser's arguments.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn, cast

from landspeed.base.near import meant_or_all, nearest
from landspeed.cli.errors import BAD_INPUT, say

# argparse would look on the disk for a translation of each of its words, for each parser anew: three quarters of the
# time in which a command's parser is made. There is none, and PLAINER replaces the English ones.
setattr(argparse, "_", str)  # noqa: B010

REQUIRED = "the following arguments are required: "
PLAINER = {
    "argument ": "",
    "expected one argument": "needs a value",
    "expected at least one argument": "needs at least one value",
    "one of the arguments ": "missing: one of ",
    " is required": "",
}
"""What argparse says → what we say."""


class Parser(argparse.ArgumentParser):
    """Parser of the command, or of one of its words.

    Attributes:
        of_worlds: options that only some worlds have: `--help-all` shows them, `--help` does not.
        groups: heading → commands below it, in the help of the command itself.
    """

    def __init__(self, **known: Any) -> None:
        super().__init__(**known)
        self.of_worlds: list[argparse.Action] = []
        self.groups: Mapping[str, Sequence[str]] = {}

    def add_world_option(self, group: argparse._ArgumentGroup, word: str, **known: Any) -> None:
        """Add an option that only some worlds have, and `--help-all` with the first."""
        if not self.of_worlds:
            self.add_argument("--help-all", action=_HelpAll, help="show the options of the worlds, too, and exit")
        self.of_worlds.append(group.add_argument(word, **known))

    def format_help(self, *, everything: bool = False) -> str:
        """The help: without the options of the worlds unless everything is asked for."""
        if self.groups:
            return self._grouped_help()
        hidden = [] if everything else self.of_worlds
        texts = [action.help for action in hidden]
        for action in hidden:
            action.help = argparse.SUPPRESS
        try:
            return super().format_help()
        finally:
            for action, text in zip(hidden, texts, strict=True):
                action.help = text

    def _grouped_help(self) -> str:
        commands = commands_of(self)
        width = max(map(len, commands)) + 2
        lines = [f"{self.format_usage()}\n{self.description}"]
        for heading, words in self.groups.items():
            lines += ["", f"{heading}:", *(f"  {word:<{width}}{commands[word].description}" for word in words)]
        formatter = self._get_formatter()
        formatter.start_section("Options")
        formatter.add_arguments([action for action in self._actions if action.option_strings])
        formatter.end_section()
        more = "`landspeed help WORD` says more of a command, an option, or a key of scenario files."
        return "\n".join([*lines, "", formatter.format_help() + "\n" + more]) + "\n"

    def parse_words(self, words: Sequence[str]) -> argparse.Namespace:
        """Parse the words; one that is left over is an error of the command that it was given to."""
        parsed, left = self.parse_known_args(words)
        if left:
            parser: Parser = getattr(parsed, "parser", self)
            parser.error(parser.left_over(left[0]))
        return parsed

    def left_over(self, word: str) -> str:
        """Complaint about a word that no argument takes, and what would be right."""
        if word.startswith("-"):
            word = word.partition("=")[0]
            near = nearest(word, _options(self))
            return f"no option {word}" + (f"; did you mean {near}?" if near else "")
        return f"'{word}' is one word too many"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        if isinstance(action, argparse._SubParsersAction):
            near = nearest(str(value), known)
            raise argparse.ArgumentError(None, f"no command '{value}'" + (f"; did you mean {near}?" if near else ""))
        raise argparse.ArgumentError(action, f"'{value}' is none of its values; {meant_or_all(str(value), known)}")

    def _meaning(self, message: str) -> str:
        """First option that a complaint of argparse misses, in words."""
        word = message.removeprefix(REQUIRED).split(",")[0] if message.startswith(REQUIRED) else ""
        found = [each for each in self._actions if word in each.option_strings]
        return "".join(f"; write {word} {each.metavar}: {each.help}" for each in found)

    def error(self, message: str) -> NoReturn:
        """End the command: what is wrong, and where to read what would be right."""
        message = message.replace(REQUIRED, "missing: ") + self._meaning(message)
        for theirs, ours in PLAINER.items():
            message = message.replace(theirs, ours)
        say(f"{self.prog}: {message}\n`{self.prog} --help` lists what it takes", BAD_INPUT)
        raise SystemExit(BAD_INPUT)


class _HelpAll(argparse._HelpAction):
    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:  # noqa: ARG002
        print(parser.format_help(everything=True), end="")
        parser.exit()


def commands_of(parser: argparse.ArgumentParser) -> dict[str, Parser]:
    """Word → parser of its commands; empty when it has none."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(cast("Mapping[str, Parser]", cast(Any, action).choices))
    return {}


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The options of a parser and of its commands."""
    for action in parser._actions:
        if action.help != argparse.SUPPRESS:
            yield from action.option_strings
    for below in commands_of(parser).values():
        yield from _options(below)


def own_words(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    """Count the words before the first one that is neither an option of the parser nor such an option's value."""
    place = 0
    while place < len(words) and (action := parser._option_string_actions.get(words[place].partition("=")[0])):
        place += 2 if action.nargs is None and "=" not in words[place] else 1
    return place
