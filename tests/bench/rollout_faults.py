"""A kill, a power cut and a full disk at each step of a rollout in the lab, then `restore`: as before, to the byte?

`python -m tests.bench.rollout_faults --kept FILE [--labs N] [--faults kill,power,disk] [--steps TEXT]` prints a line
a cell: fault, step, how long it took, what differs; at the end a table of all in the file, where a later run goes on.
A lab is two servers, as root; while one waits, another one works. Exit status 1 if a cell differs. `--table` prints
the table alone.

A step is a task at the receiver: the fault comes as soon as the play has said that it is done. The plays before are
run once in a lab; then their end is brought back (tests/lab/server_state.py), which has to be the same to the byte,
too. All faults come at the steps of a play before those of the next: first where a step changes something, last where
no server hears of it, so that it leaves them as the step before. SIGTERM ends it after the cells that are begun.

kill   of the play and all that it started on the operator's machine
power  of the receiver, which boots again
disk   of the receiver, which is full from then on, also for the first `restore`
"""

import argparse
import contextlib
import difflib
import itertools
import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypedDict

from landspeed.worlds.real.runner import PLAYBOOKS
from tests.lab.lab import LabError
from tests.support.lab_fixtures import fleet_lab
from tests.support.real_fixtures import Servers, kill_session, read_until

HOST = "receiver1"
UNREHEARSED = ("--unrehearsed", "the lab")
PLAYS = {
    "tune": (),
    "deploy": UNREHEARSED,
    "attempt": (*UNREHEARSED, "--attempt", "first", "--lead", "15"),
    "collect": ("--attempt", "first"),
}
FAULTS = ("kill", "power", "disk")
PLAY_S = 300.0
MOST_FAILED = 3  # labs of one worker that ended before their cells
OPERATORS = "assert|fail|debug|set_fact|include_role|include_tasks"  # modules that no server hears of


class Cell(TypedDict):
    """One fault at one step, and the lines that were not as before."""

    fault: str
    play: str
    step: str
    took_s: float
    differs: list[str]


def steps_of(servers: Servers, play: str) -> list[str]:
    """Run a play to its end; what it says of each of its tasks at the host."""
    done = servers.play(play, *PLAYS[play])
    if done.returncode and play != "collect":  # what it collects has not passed: the lab's cables have no delay
        raise LabError(f"{play}: {done.stderr[-2000:]}")
    ended = rf"^(?:\w+: )?[^:\n]+: {HOST} (?:ok|changed)$"
    return list(dict.fromkeys(re.findall(ended, done.stderr, re.MULTILINE)))


def is_operators(step: str) -> bool:
    """Whether a step is done on the operator's machine alone: the servers are as the step before has left them."""
    said = step.removesuffix(f": {HOST} ok")
    role, colon, task = said.rpartition(": ")
    files = PLAYBOOKS.glob(f"roles/{role}/tasks/*.yml" if colon else "*.yml")
    pattern = rf"- name: {re.escape(task)}\n(?: *#.*\n| *run_once: .*\n)*\s*ansible\.builtin\.(?:{OPERATORS}):"
    return any(re.search(pattern, file.read_text()) for file in files)


def strike(servers: Servers, fault: str, play: str, step: str) -> None:
    """Run a play, and have the fault come at a step of it."""
    shutil.rmtree(servers.inventory / "collected", ignore_errors=True)  # what is there is not fetched again
    begun = servers.start(play, *PLAYS[play])
    try:
        read_until(begun, step)
        if fault == "power":
            servers.lab.cut_power(HOST)
        elif fault == "disk":
            servers.lab.fill_disk(HOST, full=True)
        if fault != "kill":
            begun.communicate(timeout=PLAY_S)
    finally:
        kill_session(begun.pid)
        begun.communicate()


def put_back(servers: Servers) -> str:
    """Restore, as if what was begun were collected; why it failed, or nothing."""
    for host in servers.lab.hosts:
        servers.lab.root(host, "for each in /var/lib/landspeed/attempts/*/; do touch $each/collected; done || true")
    done = servers.play("restore", "--remove-engine")
    return done.stderr if done.returncode else ""


def differences(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """Lines of all servers that are not as before."""
    found: list[str] = []
    for host, dump in now.items():
        lines = difflib.unified_diff(before[host].splitlines(), dump.splitlines(), lineterm="", n=0)
        found += [f"{host}: {line}" for line in lines][2:]
    return found


class Table:
    """Cells that were run, kept in a file a line each; several labs take the next ones from it."""

    def __init__(self, file: Path) -> None:
        """Read what there is."""
        self.file = file
        self.cells: list[Cell] = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        self._taken = {(cell["fault"], cell["play"], cell["step"]) for cell in self.cells}
        self._lock = threading.Lock()
        self.ended = False  # nothing more is taken

    def take(self, faults: list[str], play: str, steps: list[str]) -> tuple[str, str] | None:
        """Fault and step of a play's cell that nobody has taken, which is the caller's now; None: there is none.

        Steps that change something come first, those of the operator's machine last.
        """
        with self._lock:
            for cell in self.left(faults, play, steps):
                if not self.ended:
                    self._taken.add(cell)
                    return cell[0], cell[2]
        return None

    def give_back(self, fault: str, play: str, step: str) -> None:
        """Leave a cell that could not be run to whoever takes the next."""
        with self._lock:
            self._taken.remove((fault, play, step))

    def left(self, faults: list[str], play: str, steps: list[str]) -> list[tuple[str, str, str]]:
        """Cells of a play that nobody has taken, in the order in which they are."""
        cells = [(fault, play, step) for step in steps for fault in faults]
        cells.sort(key=lambda cell: (is_operators(cell[2]), not cell[2].endswith(" changed")))
        return [cell for cell in cells if cell not in self._taken]

    def add(self, cell: Cell) -> None:
        """Keep a cell."""
        with self._lock:
            self.cells.append(cell)
            with self.file.open("a") as out:
                out.write(json.dumps(cell) + "\n")

    def shown(self) -> str:
        """Render cells and seconds a play and fault, in Markdown."""
        lines = ["| fault | " + " | ".join(PLAYS) + " | not as before |", "|---|" + "---|" * (len(PLAYS) + 1)]
        for fault in FAULTS:
            ours = [cell for cell in self.cells if cell["fault"] == fault]
            counts = [str(len([cell for cell in ours if cell["play"] == play])) for play in PLAYS]
            lines.append(f"| {fault} | {' | '.join(counts)} | {len([cell for cell in ours if cell['differs']])} |")
        return "\n".join(lines)


@contextlib.contextmanager
def servers_as_new() -> Iterator[tuple[Servers, dict[str, str]]]:
    """A lab.

    Yields:
        its servers, and how they were.
    """
    with tempfile.TemporaryDirectory() as folder, fleet_lab(Path(folder), 1, "2 s") as servers:
        yield servers, servers.dump()


def run(table: Table, faults: list[str], text: str) -> bool:
    """Run cells that nobody has taken, until one differs: its servers are not used again.

    Returns:
        whether none is left.
    """
    with servers_as_new() as (servers, before):
        ready = before
        for play, following in itertools.zip_longest(PLAYS, [*PLAYS][1:]):
            if ready is not before:
                servers.lab.keep(play, bring=True)
                if wrong := differences(ready, servers.dump()):
                    raise LabError(f"what was before {play} was not brought back: " + "\n    ".join(wrong))
            steps = [step for step in steps_of(servers, play) if text in step]
            if following:
                servers.lab.keep(following)
                ready = servers.dump()
            if not table.left(faults, play, steps):
                continue
            if wrong := [*put_back(servers).splitlines()[-3:], *differences(before, servers.dump())]:
                raise LabError(f"{play}, without a fault: " + "\n    ".join(wrong))
            print(f"{play}: {len(faults) * len(steps)} cells", flush=True)
            while cell := table.take(faults, play, steps):
                fault, step = cell
                began = time.monotonic()
                try:
                    found = cell_of(servers, before, fault, play, step)
                except BaseException:
                    table.give_back(fault, play, step)
                    raise
                took_s = time.monotonic() - began
                table.add({"fault": fault, "play": play, "step": step, "took_s": round(took_s, 1), "differs": found})
                said = "\n    ".join(["DIFFERS", *found]) if found else "as before"
                print(f"{fault:6}{step.partition(f': {HOST}')[0]:75}{took_s:5.0f} s  {said}", flush=True)
                if found:
                    return table.ended
            if table.ended:
                break
    return True


def cell_of(servers: Servers, before: dict[str, str], fault: str, play: str, step: str) -> list[str]:
    """Have a fault come at a step of a play on servers that are as before, and restore; what differs then."""
    if play != next(iter(PLAYS)):
        servers.lab.keep(play, bring=True)
    strike(servers, fault, play, step)
    refused = put_back(servers)
    if fault == "disk":
        servers.lab.fill_disk(HOST, full=False)
        refused = put_back(servers) if refused else ""
    return [*refused.splitlines()[-3:], *differences(before, servers.dump())]


def run_all(table: Table, faults: list[str], text: str) -> None:
    """Run all cells, with a new lab after each that differs, or that a busy machine did not let come to its step."""
    for failed in range(MOST_FAILED + 1):
        try:
            while not run(table, faults, text):
                pass
        except (AssertionError, LabError, subprocess.SubprocessError) as error:
            print(f"a lab ended: {str(error)[-2000:]}", flush=True)
            if failed == MOST_FAILED:
                raise
        else:
            return


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kept", type=Path, required=True, help="file of the cells that were run; goes on from there")
    parser.add_argument("--faults", default=",".join(FAULTS), help="those that come, with commas")
    parser.add_argument("--steps", default="", help="only steps with this text, such as `deploy: `")
    parser.add_argument("--table", action="store_true", help="print the table of what was run alone")
    parser.add_argument("--labs", type=int, default=1, help="how many work beside each other")
    asked = parser.parse_args()
    table = Table(asked.kept)
    if not asked.table:
        signal.signal(signal.SIGTERM, lambda *_: setattr(table, "ended", True))
        with ThreadPoolExecutor(asked.labs) as pool:
            labs = [pool.submit(run_all, table, asked.faults.split(","), asked.steps) for _ in range(asked.labs)]
        for lab in labs:
            lab.result()
    print(table.shown())
    return 1 if any(cell["differs"] for cell in table.cells) else 0


if __name__ == "__main__":
    sys.exit(main())
