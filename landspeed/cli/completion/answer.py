"""Answers to the shell's Tab: what may stand where the cursor is. It imports little, since somebody waits."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from landspeed.base.places import ROOT, runs_dir
from landspeed.cli.completion.table import options_of, table
from landspeed.scenario.file.packaged import packaged_file, packaged_names

MOST_EXTENDS = 16


def answer(words: Sequence[str]) -> list[str]:
    """Candidates for the last of the words after `landspeed`; it may be empty, or begun."""
    *before, word = words or [""]
    found = _files(word) if "--" in before else _Place(table(), before).candidates(word)
    return sorted(each for each in found if each.startswith(word))


class _Place:
    """Place of the cursor: the command, what it still takes, and the scenario that it is about."""

    def __init__(self, known: dict[str, Any], before: Sequence[str]) -> None:
        self._all, self._now = known, known
        self._option: Any = None  # kinds of the option whose value is next
        self._told: list[str] = []
        for word in before:
            if self._option is not None:
                self._option = None
            elif word.startswith("-"):
                name, equals, _ = word.partition("=")
                self._option = None if equals else self._now["options"].get(name)
            elif word in self._now["commands"]:
                self._now = self._now["commands"][word]
            else:
                self._told.append(word)

    def candidates(self, word: str) -> Iterable[str]:
        if self._option is not None:
            return self._values(self._option, word)
        if word.startswith("-"):
            name, equals, value = word.partition("=")
            values = self._values(self._now["options"].get(name) or "", value) if equals else ()
            return [f"{name}={each}" for each in values] if equals else self._now["options"]
        places = self._now["positionals"]
        if self._now["commands"] or not places:
            return () if self._told else self._now["commands"]
        kinds, repeated = places[min(len(self._told), len(places) - 1)]
        return self._values(kinds, word) if repeated or len(self._told) < len(places) else ()

    def _values(self, kinds: list[str] | str, word: str) -> Iterable[str]:
        if isinstance(kinds, list):
            return kinds
        makers: dict[str, Callable[[], Iterable[str]]] = {
            "key": lambda: self._keys(word),
            "node": lambda: _nodes(self._scenario()),
            "scenario": lambda: [*packaged_names(), *_files(word, ".yaml")],
            "packaged": packaged_names,
            "bundle": lambda: [*_bundles(), *_files(word, "/")],
            "lesson": _lessons,
            "word": lambda: {*self._all["commands"], *options_of(self._all), *self._all["keys"]},
            "kernel": _kernels,
            "file": lambda: _files(word),
            "world": lambda: self._list("world", word),
            "tool": lambda: self._all["tool"],
            "goal": lambda: ("goodput", "retransmits", "rtt"),
        }
        return [each for kind in kinds.split() for each in makers[kind]()]

    def _list(self, kind: str, word: str) -> list[str]:
        """Names, several of which may stand with commas."""
        first, comma, _ = word.rpartition(",")
        return [f"{first}{comma}{each}" for each in self._all[kind]]

    def _scenario(self) -> str:
        """Text of the scenario, or of the one that it extends if that has the links; empty: none is named."""
        if not self._told:
            return ""
        name, folder = Path(self._told[0]), Path()
        for _ in range(MOST_EXTENDS):
            file = packaged_file(name, folder) or folder / name
            try:
                text = file.read_text(encoding="utf-8")
            except (OSError, ValueError):
                break
            base = re.search(r"^extends:\s*(\S+)", text, re.MULTILINE)
            if base is None or _nodes(text):
                return text
            folder, name = file.parent, Path(base[1])
        return ""

    def _keys(self, word: str) -> list[str]:
        """The next part of a dotted key, or a value of the key before `=`."""
        key, equals, _ = word.partition("=")
        parts = key.split(".") if equals else key.split(".")[:-1]
        known: dict[str, list[str]] = self._all["keys"]
        patterns = {pattern: pattern.split(".") for pattern in known}
        matching = {name: steps for name, steps in patterns.items() if _fits(steps, parts)}
        if equals:
            return [
                f"{key}={value}"
                for name, steps in matching.items()
                if len(steps) == len(parts)
                for value in known[name]
            ]
        here = ".".join([*parts, ""]) if parts else ""
        found: set[str] = set()
        for steps in matching.values():
            if len(steps) > len(parts):
                more = len(steps) > len(parts) + 1
                found |= {f"{here}{step}{'.' if more else '='}" for step in self._steps(steps[len(parts)], parts)}
        # What has parts of its own is begun, not set.
        return [each for each in found if not (each.endswith("=") and f"{each[:-1]}." in found)]

    def _steps(self, step: str, parts: Sequence[str]) -> list[str]:
        if step == "NAME":
            return _nodes(self._scenario())
        if step == "N":
            links = len(re.findall(r"\bfrom:\s*[a-z]", self._scenario())) if parts in (["path"], ["links"]) else 1
            return [str(number) for number in range(max(links, 1))]
        return [step]


def _fits(steps: Sequence[str], parts: Sequence[str]) -> bool:
    """Return whether a key may begin with these parts."""
    return len(steps) >= len(parts) and all(
        step in (part, "NAME") or (step == "N" and part.isdigit()) for step, part in zip(steps, parts, strict=False)
    )


def _nodes(text: str) -> list[str]:
    """Names of nodes in a scenario's text, in the order of the links."""
    return list(dict.fromkeys(re.findall(r"\b(?:from|to):\s*([a-z][a-z0-9-]*)", text)))


def _bundles() -> list[str]:
    folder = runs_dir()
    try:
        names = [each.name for each in os.scandir(folder) if each.is_dir() and not each.name.startswith(".")]
    except OSError:
        return []
    here = os.path.relpath(folder)
    shown = str(folder) if here.startswith("..") else here
    return [f"{shown}/{name}" for name in names]


def _lessons() -> list[str]:
    folder = ROOT / "lessons"
    words = ["start", "check", "hint", "key", "new", "serve"]
    return [*words, *(each.name for each in folder.iterdir() if (each / "lesson.md").is_file())]


def _kernels() -> list[str]:
    """Series of Linux: those that the patches are known to fit; of a wheel, that it brings."""
    try:
        lines = (ROOT / "emu" / "kernel" / "releases").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    return [line for line in lines if line[:1].isdigit()]


def _files(word: str, ending: str = "") -> list[str]:
    """Files that begin so, those with this ending, and all folders; `/`: folders alone."""
    folder = os.path.dirname(word)  # noqa: PTH120
    found: list[str] = []
    try:
        for each in os.scandir(os.path.expanduser(folder) or "."):  # noqa: PTH111
            name = f"{folder.rstrip('/')}/{each.name}" if folder else each.name
            if each.name.startswith(".") and not os.path.basename(word).startswith("."):  # noqa: PTH119
                continue
            if each.is_dir():
                found.append(f"{name}/")
            elif each.name.endswith(ending):
                found.append(name)
    except OSError:
        return []
    return found
