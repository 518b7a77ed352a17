"""Do the engine's sources keep to their rooms? What holds is written in src/README.md; `make lint` runs this.

Without arguments it looks at src/ beside it; exit status 1 when something is wrong, each on a line of its own.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Set
from pathlib import Path

MADE = {"build_id.h"}  # by the build, in no room
ROW = re.compile(r"^\| `(\w+)` \|.*\|([^|]*)\|$", re.M)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
# clang-format puts a definition's first line at column 0: a type, then the name.
DEFINITION = re.compile(r"^(?!static\b|extern\b|typedef\b)[a-z_][\w ]*[ *](\w+)(?:\(|\[\w*\] = | = )", re.M)
UNSAID = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\])*"', re.S)  # comments and strings


def circle(arrows: Mapping[str, Set[str]]) -> list[str]:
    """Some way from a node back to itself; empty when there is none."""
    clear: set[str] = set()

    def follow(node: str, way: list[str]) -> list[str]:
        if node in way:
            return [*way[way.index(node) :], node]
        if node in clear:
            return []
        for following in sorted(arrows.get(node, ())):
            if found := follow(following, [*way, node]):
                return found
        clear.add(node)
        return []

    for start in sorted(arrows):
        if found := follow(start, []):
            return found
    return []


def rooms_of(readme: str) -> dict[str, set[str]]:
    """The table's rooms, and for each those it may include from besides itself."""
    return {room: set(re.findall(r"`(\w+)`", others)) for room, others in ROW.findall(readme)}


def include_problems(files: Mapping[str, str], rooms: Mapping[str, Set[str]]) -> list[str]:
    """Each include that names no room, no file there, or a room that the table does not allow."""
    problems: list[str] = []
    for name, text in files.items():
        room = name.split("/", maxsplit=1)[0]
        if room not in rooms:
            problems.append(f"{name}: the table in README.md has no room '{room}'")
            continue
        for included in INCLUDE.findall(text):
            other = included.split("/")[0]
            if included in MADE:
                continue
            if included not in files:
                problems.append(f'{name}: "{included}" is no header of a room: write "room/header.h"')
            elif other != room and other not in rooms[room]:
                problems.append(f'{name}: "{included}": README.md does not let {room} include from {other}')
    return problems


def include_arrows(files: Mapping[str, str]) -> dict[str, set[str]]:
    """Which header includes which."""
    return {name: set(INCLUDE.findall(text)) for name, text in files.items() if name.endswith(".h")}


def call_arrows(files: Mapping[str, str]) -> dict[str, set[str]]:
    """Which source uses what another one defines: headers that several sources share hide that."""
    sources = {name: UNSAID.sub("", text) for name, text in files.items() if name.endswith(".c")}
    home = {word: name for name, text in sources.items() for word in DEFINITION.findall(text)}
    words = {name: set(re.findall(r"(?<![\w.>])\w+", text)) for name, text in sources.items()}
    return {name: {home[word] for word in used & home.keys()} - {name} for name, used in words.items()}


def problems_of(src: Path) -> list[str]:
    """All that is wrong below `src`; empty when nothing is."""
    rooms = rooms_of((src / "README.md").read_text())
    files = {
        str(path.relative_to(src)): path.read_text() for path in sorted([*src.rglob("*.[ch]"), *src.rglob("*.inc")])
    }
    problems = include_problems(files, rooms)
    for what, arrows in (
        ("rooms of README.md", rooms),
        ("includes", include_arrows(files)),
        ("calls", call_arrows(files)),
    ):
        if found := circle(arrows):
            problems.append(f"a circle of {what}: {' → '.join(found)}")
    return problems


if __name__ == "__main__":
    found_problems = problems_of(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "src")
    for problem in found_problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if found_problems else 0)
