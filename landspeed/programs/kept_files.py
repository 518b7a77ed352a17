"""Files of a path that are kept for people: all of a failed test; the captures of a passed one, to compare with."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path as File
from typing import TYPE_CHECKING, Any

from landspeed.base.errors import LandspeedError
from landspeed.programs.frames import CaptureDifference, CaptureReader, Frame, first_difference
from landspeed.results.facts import spun_text
from landspeed.results.own_logs import keep_logs
from landspeed.results.packet_ring import write_pcap

if TYPE_CHECKING:
    from landspeed.programs.node_program import Program
    from landspeed.programs.path import NetworkPath

SAMPLES = ["sockets.parquet", "links.parquet"]
SHOWN_LINES = 20
SHOWN_COLUMNS = 400
LATER_NS = 1_000


@dataclass(frozen=True)
class Kept:
    """A folder with captures and facts of a path.

    Attributes:
        folder: where.
        facts: its `path.json`.
    """

    folder: File
    facts: dict[str, Any]

    @classmethod
    def read(cls, folder: File) -> Kept:
        """Read what `keep_captures` wrote."""
        return cls(folder, json.loads((folder / "path.json").read_text()))

    def frames(self, node: str) -> list[Frame]:
        """List the packets that passed the interface of an end."""
        names = {address: name for name, address in self.facts["addresses"].items()}
        return list(CaptureReader(names).frames(self.folder / f"{node}.ring", self.facts["start_unix_ns"]))


def keep_captures(path: NetworkPath, folder: File) -> None:
    """Keep what was captured at both ends, as it is, and what is needed to read it."""
    folder.mkdir(parents=True, exist_ok=True)
    path.session.ask("keep")
    for node in path.ends:
        shutil.move(path.folder / "captures" / f"{node}.ring", folder / f"{node}.ring")
    facts = {
        "seed": path.seed,
        "ends": path.ends,
        "addresses": path.session.addresses,
        "start_unix_ns": path.session.start_unix_ns,
    }
    (folder / "path.json").write_text(json.dumps(facts))


def keep_failure(path: NetworkPath, folder: File, repeat: str) -> str:
    """Keep all that is known of a path whose test failed.

    Args:
        path: it may be broken.
        folder: is emptied first.
        repeat: the command that repeats the test.

    Returns:
        what a person reads first.
    """
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "programs").mkdir(parents=True)
    text = ["What happened, in virtual time:", *path.story, f"{path.elapsed_s:12.6f} s  the test failed"]
    for program in path.programs:
        text += ["", *_output_lines(program)]
    counts: list[str] = []
    try:
        if spun := path.spun:
            text += ["", f"Virtual time passed for programs that spin: {spun_text(spun)}"]
        keep_captures(path, folder)
        for node in path.ends:
            ring = folder / f"{node}.ring"
            count = write_pcap(ring, folder / f"{node}.pcap", path.session.start_unix_ns)
            counts.append(f"{node}.pcap ({count} packet{'s' * (count != 1)})")
    except (LandspeedError, OSError) as error:
        counts.append(f"no captures: {error}")
    try:
        if path.is_sampled:
            path.samples()
            for name in SAMPLES:
                shutil.copyfile(path.folder / name, folder / name)
            counts += SAMPLES
    except (LandspeedError, OSError) as error:
        counts.append(f"no samples: {error}")
    counts += keep_logs(path.folder, folder)
    for file in (path.folder / "programs").iterdir():
        if file.suffix in (".out", ".err", ".in"):
            shutil.copyfile(file, folder / "programs" / file.name)
    console = path.folder / "log" / "console.log"
    if console.exists():
        shutil.copyfile(console, folder / "console.log")
    (folder / "scenario.yaml").write_text(path.scenario.text)
    text += [
        "",
        f"Kept in {folder}: {', '.join(counts)}, programs/, scenario.yaml, console.log",
        f"Repeat it: {repeat}",
    ]
    (folder / "story.txt").write_text("\n".join(text) + "\n")
    return "\n".join(text)


def _output_lines(program: Program) -> list[str]:
    state = "still running" if program.returncode is None else f"exit status {program.returncode}"
    lines = [f"Output of {program}, {state}:"]
    for name, said in (("out", program.stdout), ("err", program.stderr)):
        shown = [line[:SHOWN_COLUMNS] for line in said.splitlines()]
        if len(shown) > SHOWN_LINES:
            shown = [f"… {len(shown) - SHOWN_LINES} lines before these", *shown[-SHOWN_LINES:]]
        lines += [f"  {name}: {line}" for line in shown]
    return lines if len(lines) > 1 else [f"{lines[0]} nothing"]


def parting_lines(failed: Kept, passed: Kept) -> list[str]:
    """Describe, for each end, where a failing seed first differs from a passing one."""
    lines: list[str] = []
    for node in failed.facts["ends"]:
        ours, theirs = failed.frames(node), passed.frames(node)
        if found := first_difference(ours, theirs):
            lines += _told(f"at {node}, packet {found.number} is another one:", found, failed, passed)
        else:
            lines.append(f"at {node}, all {len(ours)} packets are the same")
        late = first_difference(ours, theirs, later_ns=LATER_NS)
        if late and (found is None or late.number < found.number):
            lines += _told(f"at {node}, packet {late.number} comes at another time:", late, failed, passed)
    return lines


def _told(what: str, found: CaptureDifference, failed: Kept, passed: Kept) -> list[str]:
    pairs = ((failed, "failed", found.one), (passed, "passed", found.other))
    return [what, *(f"  seed {kept.facts['seed']} ({word}): {frame or 'no packet'}" for kept, word, frame in pairs)]


def safe_name(text: str) -> str:
    """A name of a folder for a test's id."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-")[-180:]
