"""Fuzz of every reader of measurements and maps: damaged files, each to end in a scenario or in an error with a remedy.

    python -m tests.bench.fuzz_readers --seconds 300             # until each reader has had so long, in turns
    python -m tests.bench.fuzz_readers --seconds 60 ping capture  # these alone

Readers take turns, and what each has had is kept (build/fuzz-readers/had.json): a run that was ended goes on there.
A reader's files are those of tests/scenario: importer_inputs, map_inputs, dialects, packets made here. They are cut,
changed in bits, lines, numbers, words and members of JSON. What ends in anything else is kept in build/fuzz-readers.
"""

import argparse
import gzip
import json
import random
import re
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from landspeed.base.errors import LandspeedError, ScenarioError
from landspeed.scenario.importers.import_files import import_files
from landspeed.scenario.importers.path_evidence import MeasurementError
from landspeed.scenario.importers.registry import all_readers, reader_of
from landspeed.scenario.importers.topologies.maps import KINDS, map_kind
from tests.support.importer_inputs import importer_inputs
from tests.support.packets import pcap, pcapng, talk
from tests.support.places import ROOT, TESTS
from tests.support.trace_dialects import PINGS, TRACES

KEPT = ROOT / "build" / "fuzz-readers"
PING = TESTS / "scenario" / "importer_inputs" / "ping.txt"
SETTINGS = ("host", "tc")  # such files tell no round trip, which a ping beside them does
HAD = KEPT / "had.json"  # reader → seconds
TURN_S = 30.0
SLOW_S = 5.0  # of one file of a few kB: then something grows faster than the file
REMEDIES = ("give", "import", "say", "add", "right is", "unpack", "write")
ODD = (
    "",
    "nan",
    "-1",
    "0",
    "1e400",
    "9" * 400,
    "-0.0",
    "\0",
    "☃",
    "[",
    "}",
    '"',
    "null",
    "true",
    "255.255.255.255",
    "\r",
    "%",
    "1e308",
    "2147483648",
    "18446744073709551616",
    "Inf",
    "<",
    "0x10",
    "１",
    "x" * 5000,
)
ODD_MEMBERS: tuple[Any, ...] = (None, True, -1, 0, 2**64, 1e308, -1e308, "", "x", [], {}, [[]], {"": None}, "1" * 400)
_NUMBER = re.compile(rb"\d+")


@dataclass
class Found:
    """What became of a reader's files.

    Attributes:
        read, refused: how many; `faults`: tracebacks and errors without a remedy, each once.
        slowest_s: of one file.
    """

    name: str
    read: int = 0
    refused: int = 0
    slowest_s: float = 0.0
    faults: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def __str__(self) -> str:
        told = "nothing found" if not self.faults else f"{len(self.faults)} FOUND"
        return f"{self.name}: {self.read} files read, {self.refused} refused, slowest {self.slowest_s:.2f} s, {told}"


def seeds() -> dict[str, list[bytes]]:
    """Reader → files that it reads."""
    packets = talk(packets=120)
    files = [pcap(packets), pcapng(packets), gzip.compress(pcap(packets, order=">"), mtime=0)]
    files += [each if isinstance(each, bytes) else each.encode() for each, _ in (*TRACES.values(), *PINGS.values())]
    inputs = [each for folder in (importer_inputs(), TESTS / "scenario" / "map_inputs") for each in folder.iterdir()]
    files += [each.read_bytes() for each in sorted(inputs) if each.is_file() and each.suffix != ".py"]
    found: dict[str, list[bytes]] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "seed"
        for content in files:
            file.write_bytes(content)
            kind = map_kind(file)
            found.setdefault(kind.what if kind else reader_of(file).kind, []).append(content)
    return found


def damaged(content: bytes, others: Sequence[bytes], draw: random.Random) -> bytes:
    """The file with one to four things changed."""
    if content.startswith(b"\x1f\x8b") and draw.random() < 0.8:
        return gzip.compress(damaged(gzip.decompress(content), others, draw), 1, mtime=0)
    for _ in range(draw.randint(1, 4)):
        content = draw.choice(ACTS)(content, others, draw)
    return content


def _place(content: bytes, draw: random.Random) -> int:
    return draw.randrange(len(content) + 1)


def _cut(content: bytes, _: Sequence[bytes], draw: random.Random) -> bytes:
    return content[: _place(content, draw)]


def _flip(content: bytes, _: Sequence[bytes], draw: random.Random) -> bytes:
    found = bytearray(content)
    for _at in range(draw.randint(1, 8) if found else 0):
        found[draw.randrange(len(found))] ^= 1 << draw.randrange(8)
    return bytes(found)


def _hole(content: bytes, _: Sequence[bytes], draw: random.Random) -> bytes:
    begin, length = _place(content, draw), draw.randint(1, 64)
    return content[:begin] + draw.choice((b"", bytes(length))) + content[begin + length :]


def _splice(content: bytes, others: Sequence[bytes], draw: random.Random) -> bytes:
    other = draw.choice(others)
    return content[: _place(content, draw)] + other[_place(other, draw) :]


def _number(content: bytes, _: Sequence[bytes], draw: random.Random) -> bytes:
    known = list(_NUMBER.finditer(content))
    if not known:
        return content
    where = draw.choice(known)
    return content[: where.start()] + draw.choice(ODD).encode() + content[where.end() :]


def _word(content: bytes, _: Sequence[bytes], draw: random.Random) -> bytes:
    words = re.split(rb"(\s+)", content)
    words[draw.randrange(len(words))] = draw.choice((draw.choice(ODD).encode(), draw.choice(words)))
    return b"".join(words)


def _line(content: bytes, _: Sequence[bytes], draw: random.Random) -> bytes:
    lines = content.split(b"\n")
    at, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    act = draw.randrange(3)
    if act == 0:
        del lines[at]
    elif act == 1:
        lines.insert(at, lines[other])
    else:
        lines[at], lines[other] = lines[other], lines[at]
    return b"\n".join(lines)


def _member(content: bytes, _: Sequence[bytes], draw: random.Random) -> bytes:
    try:
        data: Any = json.loads(content)
    except (ValueError, RecursionError):
        return content
    parent: Any = None
    step: Any = None
    at = data
    while isinstance(at, dict | list) and at and (parent is None or draw.random() < 0.85):
        parent = cast("Any", at)
        step = draw.choice(list(cast("dict[str, Any]", at))) if isinstance(at, dict) else draw.randrange(len(parent))
        at = parent[step]
    if parent is not None:
        if draw.random() < 0.3:
            del parent[step]
        else:
            parent[step] = draw.choice(ODD_MEMBERS)
    return json.dumps(data).encode()


ACTS: tuple[Callable[[bytes, Sequence[bytes], random.Random], bytes], ...] = (
    _cut, _flip, _hole, _splice, _number, _number, _number, _word, _line, _member, _member,
)  # fmt: skip


def fault_of(kind: str, file: Path) -> str | None:
    """What is wrong with how a file ended; None: nothing. Raises LandspeedError where it is refused as it should."""
    try:
        if kind in all_readers():
            import_files({kind: [file], **({"ping": [PING]} if kind in SETTINGS else {})})
        else:
            import_files({}, found=[file])
    except ScenarioError as error:
        if not all(problem.place and problem.right for problem in error.problems):
            return f"no place, or nothing that would be right: {error}"
        raise
    except MeasurementError as error:
        if not any(word in str(error) for word in REMEDIES):
            return f"no remedy: {error}"
        if file.name not in str(error) and "no round-trip time in these files" not in str(error):
            return f"no place: {error}"
        raise
    except Exception:  # whatever it is: that is what is looked for
        lines = traceback.format_exc().strip().splitlines()
        where = [line.strip() for line in lines if "/landspeed/" in line][-1:]
        return " ".join([lines[-1][:200], *where])
    return None


def fuzz(kind: str, known: dict[str, list[bytes]], seconds: float, draw: random.Random, folder: Path) -> Found:
    """Damage files of a reader and read them, for so long; `known`: files of each reader."""
    found, file = Found(kind), folder / "fuzzed.dat"
    files, others = known[kind], [content for each in known.values() for content in each]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        content = damaged(draw.choice(files), others, draw)
        file.write_bytes(content)
        began = time.process_time()
        try:
            fault = fault_of(kind, file)
            found.read += 1
        except LandspeedError:
            fault = None
            found.refused += 1
        took_s = time.process_time() - began
        found.slowest_s = max(found.slowest_s, took_s)
        if took_s > SLOW_S:
            fault = f"slow: {took_s:.1f} s for {len(content)} B"
        if fault and re.sub(r"\d+", "#", fault)[:160] not in {re.sub(r"\d+", "#", each)[:160] for each in found.faults}:
            found.faults[fault] = content
    return found


def had() -> dict[str, float]:
    """Reader → seconds that it has had up to now."""
    return json.loads(HAD.read_text()) if HAD.exists() else {}


def turns(wanted: Sequence[str], known: dict[str, list[bytes]], seconds: float) -> int:
    """Give each reader its turns until it has had so long; print a line for each, and how many faults there are."""
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        while left := [kind for kind in wanted if had().get(kind, 0.0) < seconds]:
            kind = min(left, key=lambda each: had().get(each, 0.0))
            before_s = had().get(kind, 0.0)
            turn_s = min(TURN_S, seconds - before_s)
            found = fuzz(kind, known, turn_s, random.Random(f"{kind} from {before_s:g} s"), Path(folder))
            HAD.write_text(json.dumps(had() | {kind: before_s + turn_s}, indent=1))
            print(f"{before_s + turn_s:g} s of {found}", flush=True)
            for number, (fault, content) in enumerate(found.faults.items()):
                kept = KEPT / f"{kind.replace(' ', '-')}-{before_s:g}-{number}"
                kept.write_bytes(content)
                print(f"  {fault}\n  kept: {kept}", flush=True)
            count += len(found.faults)
    return count


def main() -> int:
    """Print a line for each turn, with what was found; exit status 1: something was."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readers", nargs="*", metavar="READER", help="kinds of file (default: all)")
    parser.add_argument("--seconds", type=float, default=300, help="for each reader (default: 300)")
    parser.add_argument("--anew", action="store_true", help="forget what was done and found before")
    parsed = parser.parse_args()
    known = seeds()
    wanted = [*all_readers(), *(each.what for each in KINDS)]
    if missing := [kind for kind in wanted if kind not in known]:
        parser.error(f"no file in tests/scenario for the reader of {', '.join(missing)}; add one")
    if unknown := [kind for kind in parsed.readers if kind not in wanted]:
        parser.error(f"{unknown[0]}: no reader; there are {', '.join(wanted)}")
    if parsed.anew:
        shutil.rmtree(KEPT, ignore_errors=True)
    KEPT.mkdir(parents=True, exist_ok=True)
    count = turns(parsed.readers or wanted, known, parsed.seconds)
    print(f"{len(parsed.readers or wanted)} readers had {parsed.seconds:g} s each; {count} found in this run")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
