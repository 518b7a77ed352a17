"""A kill, a power cut and a full disk at each step of a rollout in the lab, then `restore`: as before, to the byte?

`python -m tests.bench.rollout_faults [--faults kill,power,disk] [--steps TEXT] [--every N]` prints a line a cell:
fault, step, how long it took, what differs. Two servers, as root; some minutes for each ten cells. Exit status 1 if
one differs.

A step is a task at the receiver: the fault comes as soon as the play has said that it is done.

kill   of the play and all that it started on the operator's machine
power  of the receiver, which boots again
disk   of the receiver, which is full from then on, also for the first `restore`
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
import tempfile
import time
from pathlib import Path

from tests.lab.lab import LabError
from tests.support.lab_fixtures import fleet_lab
from tests.support.real_fixtures import Servers, kill_session, read_until

HOST = "receiver1"
UNREHEARSED = ("--unrehearsed", "the lab")
PLAYS = {
    "tune": (),
    "deploy": UNREHEARSED,
    "attempt": (*UNREHEARSED, "--attempt", "first"),
    "collect": ("--attempt", "first"),
}
PLAY_S = 300.0


def steps_of(servers: Servers, play: str) -> list[str]:
    """Run a play to its end; what it says of each of its tasks at the host."""
    done = servers.play(play, *PLAYS[play])
    if done.returncode and play != "collect":  # what it collects has not passed: the lab's cables have no delay
        raise LabError(f"{play}: {done.stderr[-2000:]}")
    ended = rf"^(?:\w+: )?[^:\n]+: {HOST} (?:ok|changed)$"
    return list(dict.fromkeys(re.findall(ended, done.stderr, re.MULTILINE)))


def strike(servers: Servers, fault: str, play: str, step: str) -> None:
    """Run a play, and have the fault come at a step of it."""
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
    """Restore; what was begun is collected, and what cannot be is removed by hand, as `restore` says.

    Returns:
        why it failed, or nothing.
    """
    done = servers.play("restore", "--remove-engine")
    if "not collected" in done.stderr:
        servers.play("collect", "--attempt", "first")
        done = servers.play("restore", "--remove-engine")
        if "not collected" in done.stderr:
            for host in servers.lab.hosts:
                servers.lab.root(host, "rm -rf /var/lib/landspeed/attempts/*")
            done = servers.play("restore", "--remove-engine")
    return done.stderr if done.returncode else ""


def differences(servers: Servers, before: dict[str, str]) -> list[str]:
    """Lines of all servers that are not as before."""
    found: list[str] = []
    for host, now in servers.dump().items():
        lines = difflib.unified_diff(before[host].splitlines(), now.splitlines(), lineterm="", n=0)
        found += [f"{host}: {line}" for line in lines][2:]
    return found


def cell(servers: Servers, before: dict[str, str], fault: str, play: str, step: str) -> list[str]:
    """One fault at one step; lines that are not as before."""
    for earlier in PLAYS:
        if earlier == play:
            break
        steps_of(servers, earlier)
    strike(servers, fault, play, step)
    refused = put_back(servers)
    if fault == "disk":
        servers.lab.fill_disk(HOST, full=False)
        refused = put_back(servers) if refused else ""
    return [*refused.splitlines()[-3:], *differences(servers, before)]


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", default="kill,power,disk", help="those that come, with commas")
    parser.add_argument("--steps", default="", help="only steps with this text, such as `deploy: `")
    parser.add_argument("--every", type=int, default=1, help="only each so manyth of them")
    asked = parser.parse_args()
    broken = 0
    with tempfile.TemporaryDirectory() as folder, fleet_lab(Path(folder), 1) as servers:
        before = servers.dump()
        steps = [(play, step) for play in PLAYS for step in steps_of(servers, play) if asked.steps in step]
        if wrong := [put_back(servers), *differences(servers, before)][1:]:
            print("without a fault:", *wrong, sep="\n    ")
            return 1
        for fault in asked.faults.split(","):
            for play, step in steps[:: asked.every]:
                began = time.monotonic()
                found = cell(servers, before, fault, play, step)
                broken += bool(found)
                said = "\n    ".join(["DIFFERS", *found]) if found else "as before"
                print(
                    f"{fault:6}{step.partition(f': {HOST}')[0]:75}{time.monotonic() - began:5.0f} s  {said}", flush=True
                )
    print(f"{len(asked.faults.split(',')) * len(steps[:: asked.every])} cells, {broken} not as before")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
