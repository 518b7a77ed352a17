"""Makes the figures and pictures of the documents anew, or says which of them are stale.

    .venv/bin/python docs/figures.py [--kind quick,slow,measured] [--check] [DOCUMENT…]

docs/blocks.py says what a document can show of commands. All blocks of a document run in one scratch folder that looks
like the clone, but has `results/runs` of its own.
"""

import argparse
import contextlib
import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from docs.blocks import KINDS, Block, read_blocks

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = ("README.md", "scenarios/README.md", "sim/README.md")  # documents that are not in docs/
BUNDLE = re.compile(r"\b([a-z0-9][a-z0-9-]*)-\d{8}T\d{6}Z-[0-9a-f]{6}\b")
STAMP = "20261122T120000Z-1a2b3c"  # a bundle's name in a document
WORDS = {"run": "--out", "compare": "--out", "results": "--runs"}  # the option that names the folder of bundles
OF_CI = {"CI", "BUILD_NUMBER"}  # pytest shows more where either is set
COMMAND = shlex.quote(str(ROOT / ".venv" / "bin" / "landspeed"))
LOCALE = "C.UTF-8"
WRAPPER = """#!/bin/sh
case "${{1:-}}" in
{cases}
esac
exec {command} "$@"
"""


def documents() -> list[Path]:
    """Every document whose blocks are kept true."""
    site = [file for file in sorted((ROOT / "docs").rglob("*.md")) if "generators" not in file.parts]
    return [*(ROOT / name for name in OUTSIDE), *site]


class Scratch:
    """A folder that looks like the clone to whoever types the commands of a document."""

    def __init__(self, folder: Path, landspeed: str = COMMAND) -> None:
        """Make it.

        Args:
            folder: an empty one.
            landspeed: the command, as a shell's words.
        """
        self.folder = folder
        for entry in ROOT.iterdir():
            if entry.name not in {"results", ".git", "build"}:
                (folder / entry.name).symlink_to(entry)
        self.runs = folder / "results" / "runs"
        self.runs.mkdir(parents=True)
        programs = folder.parent / f"{folder.name}-bin"
        programs.mkdir()
        cases = "\n".join(
            f'{word}) shift; set -- {word} {option} "{self.runs}" "$@";;' for word, option in WORDS.items()
        )
        program = programs / "landspeed"
        program.write_text(WRAPPER.format(cases=cases, command=landspeed))
        program.chmod(0o755)
        path = f"{programs}:{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}"
        inherited = {name: value for name, value in os.environ.items() if name not in OF_CI}
        self.environment = {**inherited, "PATH": path, "COLUMNS": "120", "LC_ALL": LOCALE, "TZ": "UTC"}
        self.environment["LANDSPEED_WALL_TIMES"] = os.devnull  # what `show` says is the same on every machine

    def shell(self, command: str, status: int | None = 0, *, errors: bool = True) -> str:
        """What a command prints, standard error too; what changes from run to run is put in a fixed form.

        Raises:
            RuntimeError: its exit status is another.
        """
        with contextlib.suppress(StopIteration):
            newest = next(iter(sorted(self.runs.iterdir(), key=lambda each: each.stat().st_mtime, reverse=True)))
            command = command.replace("BUNDLE", newest.name)
        done = subprocess.run(
            ["bash", "-e", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if errors else None,
            text=True,
            check=False,
        )
        if status is not None and done.returncode != status:
            raise RuntimeError(f"`{command}` ended with status {done.returncode}, not {status}:\n{done.stdout}")
        text = BUNDLE.sub(rf"\1-{STAMP}", done.stdout.replace(f"{self.folder}/", ""))
        shown = [line.rstrip() for line in text.splitlines() if not line.startswith("landspeed: ")]
        return "\n".join(shown)


def made_anew(block: Block, scratch: Scratch) -> str:
    """The block's body as its commands make it now."""
    if block.verb == "file":
        file = scratch.folder / block.text
        file.parent.mkdir(exist_ok=True)
        file.write_text(block.body, encoding="utf-8")
        return block.body
    if block.verb == "made":
        # A bench ends with status 1 where a promise is not kept; its table says so.
        said = scratch.shell(block.command, None if block.kind == "measured" else 0, errors=False)
        if not said.strip():
            raise RuntimeError(f"`{block.command}` prints nothing")
        when = f"*Measured on {_today()}, {_machine()}.*\n\n" if block.kind == "measured" else ""
        return f"\n{when}{said.strip()}\n\n"
    if block.verb == "drawn":
        scratch.shell(block.command)
        return block.body
    if block.language == "python":
        (scratch.folder / "example.py").write_text(block.body, encoding="utf-8")
        scratch.shell("python example.py", block.status)
        return block.body
    if block.language == "sh":
        scratch.shell(block.body, block.status)
        return block.body
    lines = []
    for command in _commands(block.body):
        lines += [f"$ {command}", *_shown(scratch.shell(command.replace("\n> ", "\n"), block.status), block)]
    return "\n".join(lines) + "\n"


def _commands(body: str) -> Iterator[str]:
    """Commands of a console block: lines after `$ `, and those after `> ` that continue them."""
    yield from (match.removeprefix("$ ") for match in re.findall(r"^\$ .*(?:\n> .*)*", body, re.MULTILINE))


def _shown(said: str, block: Block) -> list[str]:
    """The lines that the block keeps; `…` at the end where any was left out."""
    lines = said.splitlines()
    kept = [line for line in lines if not block.keep or re.search(block.keep, line)]
    kept = [line for line in kept if not block.drop or not re.search(block.drop, line)]
    return kept if len(kept) == len(lines) or not kept else [*kept, "…"]


def _today() -> str:
    return datetime.now(UTC).strftime("%-d %B %Y")


def _machine() -> str:
    model = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return f"{os.cpu_count()} cores{f', {model[1]}' if model else ''}"


def remake(document: Path, kinds: Sequence[str], *, pictures: bool = True, landspeed: str = COMMAND) -> tuple[str, str]:
    """(The document's text, that text with all blocks of these kinds made anew; pictures are drawn where they lie).

    `landspeed` is the command in its scripts, as a shell's words.
    """
    before = document.read_text(encoding="utf-8")
    blocks = [block for block in read_blocks(document) if block.verb not in ("", "not run")]
    blocks = [block for block in blocks if block.verb == "file" or block.kind in kinds]
    blocks = [block for block in blocks if pictures or block.verb != "drawn"]
    if all(block.verb == "file" for block in blocks):
        return before, before
    after, moved = before, 0
    with tempfile.TemporaryDirectory(prefix="landspeed-figures-") as folder:
        place = Path(folder) / "landspeed"
        place.mkdir()
        scratch = Scratch(place, landspeed)
        for block in blocks:
            body = made_anew(block, scratch)
            begin, end = (moved + each for each in block.span)
            after = after[:begin] + body + after[end:]
            moved += len(body) - len(block.body)
    return before, after


def differences(document: Path, before: str, after: str) -> str:
    """What is stale, as a unified diff; empty: nothing."""
    name = str(document.relative_to(ROOT)) if document.is_relative_to(ROOT) else str(document)
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name, "made anew", lineterm="", n=1)
    return "\n".join(lines)


def main() -> int:
    """Run it; exit status 1 if `--check` found something stale."""
    parser = argparse.ArgumentParser(description="Makes the figures and pictures of the documents anew.")
    parser.add_argument("documents", nargs="*", type=Path, metavar="DOCUMENT", help="only these (default: all)")
    parser.add_argument("--kind", default=",".join(KINDS), help="only these kinds, with commas (default: all)")
    parser.add_argument("--check", action="store_true", help="write nothing: show what is stale, and exit with 1")
    parsed = parser.parse_args()
    kinds = parsed.kind.split(",")
    if set(kinds) - set(KINDS):
        parser.error(f"--kind {parsed.kind}: write some of {','.join(KINDS)}")
    stale = False
    for document in [each.resolve() for each in parsed.documents] or documents():
        try:
            before, after = remake(document, kinds)
        except RuntimeError as error:
            print(f"{document.relative_to(ROOT)}: {error}", file=sys.stderr)
            return 1
        if before != after:
            stale = True
            print(differences(document, before, after))
            if not parsed.check:
                document.write_text(after, encoding="utf-8")
    return 1 if stale and parsed.check else 0


if __name__ == "__main__":
    sys.exit(main())
