"""Table of what can be completed: options, values and keys, by command. Made once, since that imports everything.

It is kept as JSON below the cache, under the state of the sources; a wheel brings its own.
"""

# argparse has no public way to a parser's arguments.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from landspeed.base.places import PACKAGE, ROOT, is_clone

SHIPPED = ROOT / "completion.json"
READ = ("cli", "scenario/file", "worlds")
"""Folders of the package from which the table is made."""

KINDS = {
    "overrides": "key",
    "world": "world",
    "worlds": "world",
    "tool": "tool",
    "kernel": "kernel",
    "at": "node",
    "servers": "node",
    "targets": "scenario bundle",
    "bundle": "bundle",
    "what": "scenario bundle",
    "sql": "",
    "word": "word",
    "name": "packaged",
    "names": "packaged",
    "goal": "goal",
}
"""`dest` of an argument → kinds of its values; else files, if it is a path."""


def table() -> dict[str, Any]:
    """The table, from where it is kept; else made, and kept if that is possible."""
    if not is_clone() and SHIPPED.is_file():
        return json.loads(SHIPPED.read_bytes())
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    kept = f"{base}/landspeed/completion.json"
    state = _state()
    with contextlib.suppress(OSError, ValueError), open(kept, "rb") as handle:  # noqa: PTH123
        found = json.loads(handle.read())
        if found["state"] == state:
            return found
    made = make_table() | {"state": state}
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(kept), exist_ok=True)  # noqa: PTH103, PTH120
        partial = f"{kept}.{os.getpid()}"
        with open(partial, "w", encoding="utf-8") as handle:  # noqa: PTH123
            json.dump(made, handle)
        os.replace(partial, kept)  # noqa: PTH105
    return made


def _state() -> list[Any]:
    """Mark of the package: which it is, and when its sources were changed last."""
    newest = 0
    for folder in READ:
        for place, _, names in os.walk(PACKAGE / folder):
            for name in names:
                if name.endswith(".py"):
                    newest = max(newest, os.stat(f"{place}/{name}").st_mtime_ns)  # noqa: PTH116
    return [str(PACKAGE), newest]


def make_table() -> dict[str, Any]:
    """The table, from the parser and the model of scenario files."""
    from landspeed.cli.command_table import make_parser
    from landspeed.scenario.file.keys import values_of_keys
    from landspeed.worlds.registry import tools, world_names

    return {
        **_of(make_parser()),
        "keys": values_of_keys(),
        "world": world_names(),
        "tool": list(tools()),
    }


def _of(parser: argparse.ArgumentParser) -> dict[str, Any]:
    """Words that a parser takes: options with the kinds of their values, positional arguments, commands below it."""
    from landspeed.cli.parser import commands_of

    found: dict[str, Any] = {"options": {}, "positionals": [], "commands": {}}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found["commands"] = {word: _of(below) for word, below in commands_of(parser).items()}
        elif action.help != argparse.SUPPRESS or action.option_strings == []:
            kinds = None if action.nargs == 0 else _kinds(action, parser.prog)
            for option in action.option_strings:
                found["options"][option] = kinds
            if not action.option_strings:
                found["positionals"].append([kinds, action.nargs in ("*", "+")])
    return found


def _kinds(action: argparse.Action, prog: str) -> list[str] | str:
    """The values themselves, or the kinds of them."""
    if action.choices is not None:
        return [str(each) for each in action.choices]
    if action.dest == "words":
        return "lesson"
    if action.dest in ("file", "files"):
        return "file" if prog.split()[1] in ("new", "import") else "scenario"
    if str(action.metavar).startswith("KEY"):
        return "key"
    from pathlib import Path

    return KINDS.get(action.dest, "file" if action.type is Path else "")


def options_of(found: dict[str, Any]) -> Iterator[str]:
    """Every option of a command and of those below it."""
    yield from found["options"]
    for below in found["commands"].values():
        yield from options_of(below)


if __name__ == "__main__":
    json.dump(make_table(), sys.stdout)
