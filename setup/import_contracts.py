"""docs/ARCHITECTURE.md's table of rooms as contracts of import-linter: build/importlinter.ini, which `make lint` holds.

Each row of a room below landspeed/ names the rooms that it may import; every other one is forbidden to it. So the table
is the law: there is no second list. A room has the modules of its folder, without those of a deeper folder (or a single
file) that has a row of its own.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs" / "ARCHITECTURE.md"
TARGET = ROOT / "build" / "importlinter.ini"
PACKAGE = "landspeed"
HEAD = re.compile(r"\| room +\| .*\| may import +\|")
ROW = re.compile(r"\| `([\w/.]+)` \| .* \| ([^|]*) \|")
NAME = re.compile(r"`([\w/.]+)`")


@dataclass(frozen=True)
class Room:
    """A row of the table.

    Attributes:
        name: its folder below landspeed/, such as `worlds/emu/`, or a single file.
        may_import: names of other rooms.
    """

    name: str
    may_import: tuple[str, ...]


def rooms(text: str) -> list[Room]:
    """The rows of the table, in its order.

    Raises:
        ValueError: there is none; or a room may import one that has no row above its own, so that a circle would be
            allowed.
    """
    found: dict[str, Room] = {}
    for line in _table(text.splitlines()):
        if (row := ROW.fullmatch(line)) is None:
            raise ValueError(f"{line[:60]}…: not a row; right is: | `room/` | what lives there | `other/`, `third/` |")
        room = Room(row[1], tuple(NAME.findall(row[2])))
        if unknown := [name for name in room.may_import if name not in found]:
            raise ValueError(f"{room.name} may import {unknown[0]}, which has no row above it")
        found[room.name] = room
    if not found:
        raise ValueError("no table of rooms with a column 'may import'")
    return list(found.values())


def _table(lines: list[str]) -> Iterator[str]:
    heads = [number for number, line in enumerate(lines) if HEAD.fullmatch(line)]
    for line in lines[heads[0] + 2 :] if heads else ():
        if not line.startswith("|"):
            return
        yield line


def modules(names: list[str], folder: Path = ROOT / PACKAGE) -> dict[str, list[str]]:
    """Room → its modules.

    Raises:
        ValueError: a module is in no room, or a room has none.
    """
    found: dict[str, list[str]] = {name: [] for name in names}
    for file in sorted(folder.rglob("*.py")):
        path = file.relative_to(folder).as_posix()
        if path in ("__init__.py", "__main__.py") or path.startswith("data/"):  # no room's; a wheel's data
            continue
        own = max((name for name in names if path == name or path.startswith(_folder(name))), key=len, default=None)
        if own is not None:
            found[own].append(_module(path))
        elif file.name != "__init__.py":
            raise ValueError(f"{PACKAGE}/{path} is in no room of the table")
    if empty := [name for name, own in found.items() if not own]:
        raise ValueError(f"{PACKAGE}/{empty[0]} is a row of the table, and has no module")
    return found


def _folder(name: str) -> str:
    return name if name.endswith("/") else name + "\0"


def _module(path: str) -> str:
    return ".".join((PACKAGE, *path.removesuffix(".py").removesuffix("/__init__").split("/")))


def contracts(table: list[Room]) -> str:
    """import-linter's configuration: a contract for each room that may not import all others."""
    members = modules([room.name for room in table])
    parts = [f"[importlinter]\nroot_package = {PACKAGE}\n"]
    for number, room in enumerate(table):
        foreign = [other.name for other in table if other != room and other.name not in room.may_import]
        forbidden = [module for name in foreign for module in members[name]]
        allowed = ", ".join(room.may_import) or "nothing"
        parts.append(
            f"[importlinter:contract:{number}]\nname = {room.name} may import {allowed}\ntype = forbidden\n"
            f"source_modules =\n{_lines(members[room.name])}\nforbidden_modules =\n{_lines(forbidden)}\n"
            "as_packages = False\nallow_indirect_imports = True\n"
        )
    return "\n".join(parts)


def _lines(names: list[str]) -> str:
    return "\n".join(f"    {name}" for name in names)


def main() -> int:
    """Write the contracts; exit status 2: the table is not right."""
    try:
        text = contracts(rooms(TABLE.read_text(encoding="utf-8")))
    except ValueError as error:
        print(f"{TABLE.relative_to(ROOT)}: {error}", file=sys.stderr)
        return 2
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
