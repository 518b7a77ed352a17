"""Objects that a build of the guest's kernel compiles: how long each took, and which option asked for it.

The build appends them to its log: an object's time is from make's line `CC …` to the time of its file.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

MARK = "compiled"  # the first word of a line of the trace in a log
ALWAYS = "–"  # no option asked: Linux has no kernel without it
COMPILES = re.compile(r"  CC (?:\[M\])?\s+(\S+\.o)$")
RULE = re.compile(
    r"([\w-]+)-(?:y|m|objs|\$\(CONFIG_(\w+)(?::m=y)?\)|\$\(subst m,y,\$\(CONFIG_(\w+)\)\))\s*[+:]?=\s*(.*)"
)
CONDITION = re.compile(r"if(?:n?def\s+CONFIG_(\w+)|n?eq\s*\(\$\(CONFIG_(\w+)\))?")


@dataclass(frozen=True)
class Compiled:
    """One object of a build.

    Attributes:
        object: its name in Linux's tree.
        option: the option that asks for it or for the nearest folder, such as CONFIG_NET_SCHED; `ALWAYS`: none.
        asked: the recipe names the option. Otherwise it follows from others, or is Linux's own default.
        seconds: wall time of its compilation, of which as many run at once as the machine has cores.
    """

    object: str
    option: str
    asked: bool
    seconds: float

    @property
    def folder(self) -> str:
        """The object's folder."""
        return self.object.rpartition("/")[0]

    def line(self) -> str:
        """A line of the log."""
        return f"{MARK}\t{self.seconds:.2f}\t{self.object}\t{self.option}\t{'asked' if self.asked else 'follows'}"


def run_logged(
    words: Sequence[str], cwd: Path, environment: Mapping[str, str], log: TextIO, *, check: bool = True
) -> dict[str, float]:
    """Run make, and write what it prints into the log. Returns when it began with each object, in Unix seconds.

    Raises:
        subprocess.CalledProcessError: it failed, and `check` is true.
    """
    began: dict[str, float] = {}
    nothing, pipe, both = subprocess.DEVNULL, subprocess.PIPE, subprocess.STDOUT
    with subprocess.Popen(words, cwd=cwd, env=environment, stdin=nothing, stdout=pipe, stderr=both) as made:
        for raw in made.stdout or ():
            line = raw.decode(errors="replace")
            log.write(line)
            log.flush()
            if found := COMPILES.match(line.rstrip("\n")):
                began.setdefault(found[1], time.time())
    if made.returncode and check:
        raise subprocess.CalledProcessError(made.returncode, words)
    return began


def write_trace(began: Mapping[str, float], source: Path, output: Path, configs: list[Path], log: TextIO) -> None:
    """Append to a build's log what it compiled; `configs` are the recipe's files of options."""
    asked = {name for config in configs for name in re.findall(r"^(CONFIG_\w+)=", config.read_text(), re.MULTILINE)}
    rules = Rules(source)
    for name, begin in began.items():
        option = rules.option(name)
        if (made := output / name).exists():
            log.write(Compiled(name, option, option in asked, max(0.0, made.stat().st_mtime - begin)).line() + "\n")


@dataclass
class Rules:
    """Options that Linux's makefiles ask for objects and folders by."""

    source: Path
    _folders: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict[str, dict[str, tuple[str, str]]])

    def option(self, name: str) -> str:
        """The option of an object, else of the objects that it is a part of, else of the nearest folder with one."""
        folder, _, part = name.rpartition("/")
        while True:
            rules, seen = self._of(folder), set[str]()
            while part in rules and part not in seen:
                seen.add(part)
                option, part = rules[part]
                if option:
                    return option
            if not folder:
                return ALWAYS
            folder, _, last = folder.rpartition("/")
            part = f"{last}/"

    def _of(self, folder: str) -> dict[str, tuple[str, str]]:
        """Map a folder's objects and folders to the option, or "", and the object that each is a part of."""
        if folder not in self._folders:
            there = (self.source / folder / each for each in ("Kbuild", "Makefile"))
            made: dict[str, tuple[str, str]] = {}
            for file in (each for each in there if each.exists()):
                made |= _rules(file.read_text(errors="replace"))
            self._folders[folder] = made
        return self._folders[folder]


def _rules(text: str) -> dict[str, tuple[str, str]]:
    made: dict[str, tuple[str, str]] = {}
    conditions: list[str] = []
    for line in text.replace("\\\n", " ").splitlines():
        words = line.split("#")[0].strip()
        if words.startswith("if") and (found := CONDITION.match(words)):
            conditions.append(found[1] or found[2] or "")
        elif words.startswith("endif") and conditions:
            conditions.pop()
        elif found := RULE.match(words):
            whole, option = found[1], found[2] or found[3] or next((each for each in reversed(conditions) if each), "")
            part_of = "" if whole in ("obj", "lib") else f"{whole}.o"
            for each in found[4].split():
                if each.endswith((".o", "/")) and (each not in made or not made[each][0]):
                    made[each] = (f"CONFIG_{option}" if option else "", part_of)
    return made
