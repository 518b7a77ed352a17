"""Evidence of a bundle: a chain of hashes over every file and what they were made from, and what was altered since.

    evidence/chain.jsonl      a line a file: what it is, its SHA-256, and `chain`, which follows from all lines above
    evidence/chain.jsonl.sig  the signature of that file (signature.py)

A line's `chain` is the SHA-256 of the one above and of the line without it. So a line that was altered, taken out or
put in is found even without a signature; who alters a file and makes the whole chain anew is found by the signature.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from landspeed.base.files import write_atomically
from landspeed.base.json_form import is_object
from landspeed.results.bundle import EVIDENCE, OutputError
from landspeed.results.check import Check

CHAIN = f"{EVIDENCE}/chain.jsonl"
SIGNATURE = f"{CHAIN}.sig"
FORMAT = "landspeed evidence 1"
"""The first link of every chain."""

ABOUT = {
    "plan.json": "plan",
    "scenario.yaml": "plan",
    "job.json": "plan",
    "result.json": "result",
    "report.html": "report",
    f"{EVIDENCE}/inventory": "inventory",
    f"{EVIDENCE}/tuning": "tuning",
    "engine.json": "samples",
    "receiver.json": "samples",
    "samples.parquet": "samples",
    "links.parquet": "samples",
    "pings.parquet": "samples",
    "live.jsonl": "samples",
    "flows": "samples",
    "log": "log",
}
"""A file of a bundle, or a folder → what it is; all others are evidence."""


@dataclass(frozen=True)
class ChainEntry:
    """A line of the chain.

    Attributes:
        about: what it is, such as `plan`, `tuning`, `binary`.
        file: its path in the bundle; where it is elsewhere, its name for a reader.
        here: it is in the bundle.
    """

    about: str
    file: str
    size_bytes: int
    sha256: str
    here: bool = True

    @classmethod
    def elsewhere(cls, about: str, name: str, file: Path) -> ChainEntry:
        """The line of a file that is not in the bundle.

        Raises:
            OSError: it cannot be read.
        """
        return cls(about, name, *_content_of(file), here=False)


class BrokenChain(ValueError):  # noqa: N818 (it says what was found)
    """A line of the chain that cannot be; the message says which and why."""


def write_chain(bundle: Path, elsewhere: Iterable[ChainEntry] = ()) -> str:
    """Write the chain of a bundle as it is now; a signature that was there goes.

    Args:
        bundle: its folder.
        elsewhere: what it was made from and does not have.

    Returns:
        the chain's last link, which stands for all of it.

    Raises:
        OutputError: it cannot be read or written.
    """
    before, lines = FORMAT, list[str]()
    try:
        own = [ChainEntry(_about(name), name, *_content_of(bundle / name)) for name in _files(bundle)]
        for link in (*own, *elsewhere):
            words = {
                "about": link.about,
                "file": link.file,
                "bytes": link.size_bytes,
                "sha256": link.sha256,
                "here": link.here,
            }
            before = _next(before, words)
            lines.append(json.dumps(words | {"chain": before}))
        (bundle / EVIDENCE).mkdir(exist_ok=True)
        (bundle / SIGNATURE).unlink(missing_ok=True)
        write_atomically(bundle / CHAIN, ("\n".join(lines) + "\n").encode())
    except OSError as error:
        raise OutputError(f"cannot write {bundle / CHAIN}: {error.strerror or error}") from error
    return before


def read_chain(bundle: Path) -> list[ChainEntry]:
    """The lines of a bundle's chain, each of which follows from those above.

    Raises:
        BrokenChain: one does not, or is no line of a chain.
        OSError: there is none.
    """
    before, found = FORMAT, list[ChainEntry]()
    for number, text in enumerate((bundle / CHAIN).read_bytes().splitlines(), start=1):
        try:
            words: Any = json.loads(text)
        except ValueError as error:
            raise BrokenChain(f"line {number} is no line of a chain") from error
        link = _link(words)
        if link is None or (link.here and not _inside(link.file)):
            raise BrokenChain(f"line {number} is no line of a chain")
        told = words.pop("chain", None)
        before = _next(before, words)
        if told != before:
            raise BrokenChain(f"line {number} ({link.file}) does not follow from the lines above it")
        found.append(link)
    return found


def compare_files(bundle: Path, links: Iterable[ChainEntry]) -> list[Check]:
    """Compare a bundle's files with its chain.

    Returns:
        a check that failed for each file that was altered, is missing, or was added.
    """
    signed = {link.file: link for link in links if link.here}
    present = set(_files(bundle))
    found: list[Check] = []
    for name, link in signed.items():
        if name not in present:
            found.append(Check("missing", False, f"{name} ({link.about}) is not in the bundle"))
            continue
        now = _content_of(bundle / name)
        if now != (link.size_bytes, link.sha256):
            text = f"{name} ({link.about}) has {now[0]} B, SHA-256 {now[1][:12]}…"
            found.append(
                Check("altered", False, f"{text}; the chain has {link.size_bytes} B, SHA-256 {link.sha256[:12]}…")
            )
    return found + [
        Check("added", False, f"{name} is in the bundle, and not in the chain") for name in sorted(present - {*signed})
    ]


def _content_of(file: Path) -> tuple[int, str]:
    """Size and SHA-256 of a file's content; of a link, that of its target's name: it has no content of its own."""
    if file.is_symlink():
        content = f"link to {file.readlink()}".encode()
        return len(content), hashlib.sha256(content).hexdigest()
    if not file.is_file():
        return 0, "no ordinary file"
    with file.open("rb") as handle:
        return file.stat().st_size, hashlib.file_digest(handle, "sha256").hexdigest()


def _files(bundle: Path) -> Iterator[str]:
    """Paths of all that a bundle has, but the chain and its signature."""
    for file in sorted(bundle.rglob("*")):
        name = file.relative_to(bundle).as_posix()
        if name not in (CHAIN, SIGNATURE) and (file.is_symlink() or not file.is_dir()):
            yield name


def _about(name: str) -> str:
    places = [name, *(str(each) for each in PurePosixPath(name).parents)]
    return next((ABOUT[place] for place in places if place in ABOUT), EVIDENCE)


def _inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and path.parts != ()


def _next(before: str, words: dict[str, Any]) -> str:
    """The link after another."""
    text = json.dumps(words, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()


def _link(words: object) -> ChainEntry | None:
    """A line of the chain; None: it is none."""
    if not is_object(words) or {*words} != {"about", "file", "bytes", "sha256", "here", "chain"}:
        return None
    made = ChainEntry(words["about"], words["file"], words["bytes"], words["sha256"], words["here"])
    kinds = zip(
        (made.about, made.file, made.size_bytes, made.sha256, made.here), (str, str, int, str, bool), strict=True
    )
    return made if all(type(value) is kind for value, kind in kinds) else None
