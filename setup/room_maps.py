"""Each room's map: the lines of its `__init__.py` that name every file, written anew from the files' first sentences.

A line of a map is the beginning of the file's own docstring, as much of it as fits. So a file says once what is in it.
Whatever else stands in a room's docstring stays, such as why a file is short.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "landspeed"
WIDTH = 110
ENTRY = re.compile(r" *(\w+(?:\.py|/)) {2,}\S.*")
LEAST_LINES = 40  # a shorter file needs a reason, in its room's docstring


def rooms() -> Iterator[Path]:
    """Every folder of the package with modules, but the package itself: its docstring is the library's."""
    for init in sorted(PACKAGE.rglob("__init__.py")):
        if init.parent != PACKAGE and "data" not in init.relative_to(PACKAGE).parts:
            yield init.parent


def members(room: Path) -> list[Path]:
    """Files and subpackages of a room, as its map lists them."""
    files = [file for file in sorted(room.glob("*.py")) if file.name != "__init__.py"]
    return files + [init.parent for init in sorted(room.glob("*/__init__.py"))]


def map_of(room: Path) -> list[str]:
    """The lines of a room's map."""
    names = [each.name + ("/" if each.is_dir() else "") for each in members(room)]
    width = max(map(len, names))
    told = [_told(each, WIDTH - width) for each in members(room)]
    return [f"{name:{width}}  {text}" for name, text in zip(names, told, strict=True)]


def _told(member: Path, room_for: int) -> str:
    """The first sentence of a docstring, or as many of its clauses as there is room for."""
    text = docstring(member).splitlines()[0]
    sentence = re.split(r"(?<=\w[.])\s(?=[A-Z])", text)[0].rstrip(".:")
    while len(sentence) > room_for:
        shorter = max(sentence.rfind(mark) for mark in (": ", "; ", ", ", " ("))
        sentence = sentence[: shorter if shorter > 0 else sentence.rfind(" ", 0, room_for)]
    return sentence


def docstring(member: Path) -> str:
    """What a file or a room says of itself.

    Raises:
        ValueError: nothing.
    """
    file = member / "__init__.py" if member.is_dir() else member
    if not (text := ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")), clean=False)):
        raise ValueError(f"{file.relative_to(ROOT)} has no docstring: write in its first line what is in it")
    return text


def with_map(room: Path) -> str:
    """The room's `__init__.py` with its map as it should be."""
    source = (room / "__init__.py").read_text(encoding="utf-8")
    before = docstring(room)
    kept = [line for line in before.rstrip().splitlines() if not ENTRY.fullmatch(line)]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join([kept[0], "", *map_of(room), "", *kept[1:]])).rstrip()
    return source.replace(before, text + "\n", 1)


def reasonless(room: Path) -> list[str]:
    """Short files whose room does not say why they are."""
    prose = [line for line in docstring(room).splitlines() if not ENTRY.fullmatch(line)]
    told = set(re.findall(r"\w+\.py", "\n".join(prose)))
    short = [file.name for file in members(room) if file.is_file() and file.read_bytes().count(b"\n") < LEAST_LINES]
    return [name for name in short if name not in told]


def main() -> int:
    """Write every map; exit status 2: a file says nothing of itself."""
    try:
        for room in rooms():
            if members(room):
                (room / "__init__.py").write_text(with_map(room), encoding="utf-8")
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
