"""What a disk may have after a crash, of what a program did to it until then (losing_disk.c writes it down).

Until fsync(2) of the file any of what was written may be lost: all, some writes, some sectors of one, or none; until
fsync of a directory its last changes may be. Nothing comes to be that was not written.
"""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SECTOR = 512
ENTRY = struct.Struct("=8sQQQQQ")


@dataclass
class Step:
    """One call of the program, as it was written down."""

    kind: str
    node: int
    other: int
    count: int
    first: bytes
    second: bytes


def steps(log: Path) -> list[Step]:
    """All that the log has."""
    found, data, at = list[Step](), log.read_bytes(), 0
    while at < len(data):
        kind, node, other, count, first, second = ENTRY.unpack_from(data, at)
        at += ENTRY.size
        words = data[at : at + first], data[at + first : at + first + second]
        found.append(Step(kind.rstrip(b"\0").decode(), node, other, count, *words))
        at += first + second
    return found


@dataclass
class File:
    """A file: what is on the disk for sure, and what was done to it since."""

    content: bytes = b""
    time_ns: int = 0
    since: list[Step] = field(default_factory=list)

    def sync(self) -> None:
        """All of it is on the disk."""
        for step in self.since:
            self._apply(step, 0, _length(step))
        self.since.clear()

    def _apply(self, step: Step, begin: int, end: int) -> None:
        """Of a write or a punch the bytes from `begin` to `end`; anything else as a whole."""
        if step.kind == "size":
            self.content = self.content[: step.other].ljust(step.other, b"\0")
        elif step.kind == "time":
            self.time_ns = step.other
        else:
            part = step.first[begin:end] if step.kind == "write" else bytes(end - begin)
            at = step.other + begin
            if step.kind == "punch":
                part = part[: max(len(self.content) - at, 0)]
            whole = self.content.ljust(at, b"\0")
            self.content = whole[:at] + part + whole[at + len(part) :]

    def lose(self, chance: random.Random | None) -> File:
        """What a crash leaves; without chance nothing that was not flushed."""
        left = File(self.content, self.time_ns)
        if chance is None:
            return left
        manner = chance.choice(["all", "writes", "writes", "sectors", "sectors", "end", "none"])
        cut = chance.randrange(len(self.since) + 1)
        for number, step in enumerate(self.since):
            if manner == "none" or (manner == "end" and number < cut) or (manner == "writes" and chance.random() < 0.5):
                left._apply(step, 0, _length(step))
            elif manner == "sectors":
                for begin, end in _pieces(step, chance):
                    left._apply(step, begin, end)
        return left


def _length(step: Step) -> int:
    return step.count if step.kind == "punch" else len(step.first)


def _pieces(step: Step, chance: random.Random) -> Iterator[tuple[int, int]]:
    """A few of its sectors, in runs; a step without bytes whole or not at all."""
    length, begin = _length(step), 0
    if step.kind not in ("write", "punch"):
        if chance.random() < 0.5:
            yield 0, 0
        return
    while begin < length:
        sectors = chance.choice([1, 1, 3, 200, 1000])
        end = min(begin + sectors * SECTOR - (step.other + begin) % SECTOR, length)
        if chance.random() < 0.5:
            yield begin, end
        begin = end


@dataclass
class Folder:
    """A directory: its names that are there for sure, and what changed since: names that come (or go: None) at once."""

    names: dict[str, File | Folder | str] = field(default_factory=dict)
    since: list[dict[str, File | Folder | str | None]] = field(default_factory=list)

    def now(self, changes: int | None = None) -> dict[str, File | Folder | str]:
        """Its names after so many of the changes, or all."""
        names: dict[str, File | Folder | str | None] = dict(self.names)
        for change in self.since[:changes]:
            names |= change
        return {name: what for name, what in names.items() if what is not None}

    def sync(self) -> None:
        """All of it is on the disk."""
        self.names, self.since = self.now(), []


class Disk:
    """A directory tree as a program changed it, call by call."""

    def __init__(self, root: Path) -> None:
        self.nodes: dict[int, File | Folder] = {}
        self.root = self._load(root)

    def _load(self, path: Path) -> Folder:
        """What lies there is on the disk for sure."""
        folder = self.nodes[path.stat().st_ino] = Folder()
        for each in path.iterdir():
            status = each.lstat()
            if each.is_symlink():
                folder.names[each.name] = str(each.readlink())
            elif each.is_dir():
                folder.names[each.name] = self._load(each)
            else:
                file = self.nodes[status.st_ino] = File(each.read_bytes(), status.st_mtime_ns)
                folder.names[each.name] = file
        return folder

    def do(self, step: Step) -> None:
        """The next call."""
        node = self.nodes[step.node]
        if step.kind == "sync":
            node.sync()
        elif isinstance(node, File):
            node.since.append(step)
        elif step.kind != "time":
            node.since.append(self._change(node, step, os.fsdecode(step.first), os.fsdecode(step.second)))

    def _change(self, folder: Folder, step: Step, name: str, second: str) -> dict[str, File | Folder | str | None]:
        if step.kind == "rename":
            assert step.node == step.other, "the engine renames within a directory"
            return {second: folder.now()[name], name: None}
        if step.kind == "unlink":
            return {name: None}
        if step.kind == "link":
            return {name: second}
        made = self.nodes[step.other] = File() if step.kind == "file" else Folder()
        return {name: made}

    def crash(self, target: Path, chance: random.Random | None) -> None:
        """Make in the folder what a crash leaves now; without chance nothing that was not flushed."""
        _make(self.root, target, chance)


def _make(folder: Folder, target: Path, chance: random.Random | None) -> None:
    target.mkdir(exist_ok=True)
    changes = len(folder.since)
    kept = chance.choice([0, changes, chance.randrange(changes + 1)]) if chance is not None else 0
    for name, what in folder.now(kept).items():
        path = target / name
        if isinstance(what, str):
            path.symlink_to(what)
        elif isinstance(what, Folder):
            _make(what, path, chance)
        else:
            left = what.lose(chance)
            path.write_bytes(left.content)
            os.utime(path, ns=(left.time_ns, left.time_ns))
