"""Mininet's own tests in the guest, unmodified: which pass, which are skipped by themselves, which fail and why.

`python -m tests.bench.mininet_own FOLDER [FILE…] [--twice]` prints the table of docs/how-to/mininet.md. FOLDER has
Mininet's source, such as `apt-get source mininet` unpacks (version 2.3.0); its tests run with the modules beside them.
Exit status 1 if one fails that is not in `REASONS`, or if two outputs differ.
"""

import argparse
import difflib
import os
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.support.command import landspeed

BEGIN = re.compile(r"^(test\w+) \((?:__main__\.)?([\w.]+)\)", re.MULTILINE)
END = re.compile(r"(?:^|\s)(ok|FAIL|ERROR|skipped ['\"].*['\"])$", re.MULTILINE)
CPU = "computing takes no virtual time, so nothing limits it"
USER_SWITCH = "its program, the reference user switch, is in no distribution"
REASONS = {
    "testCPULimits": CPU,
    "testCPU": CPU,
    "testSwitches": USER_SWITCH,
    "testOwnNamespace": USER_SWITCH,
    "testPingUser": USER_SWITCH,
    "testPingall": USER_SWITCH,
    "testFailover": USER_SWITCH,
    "testTreePing64": USER_SWITCH,
    "testNAT": "the guest has no internet",
    "testClusterPingAll": "it wants other machines by ssh",
}
"""Test → why it cannot pass."""
BEGINNING = """
import os, runpy, sys
sys.argv = sys.argv[1:]
sys.path[0] = os.getcwd()
os.environ["PATH"] = os.environ["PYTHONPATH"].split(":")[1] + "/bin:" + os.environ["PATH"]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""What begins a file of tests: `mn` is that of the source, too."""
BY_CPU_TIME = ("testCPULimits",)
"""Tests of what computing takes: those run with --cpu-time, and what they print is not compared."""
CPU_TIME_OK = "ok with --cpu-time"
LONG = ("test_tree1024",)  # left out unless named: more than an hour


@dataclass(frozen=True)
class OwnTest:
    """Result of a test: "ok", "FAIL", "ERROR", or "skipped" and its own words; `place` is its class and its name."""

    name: str
    result: str
    place: str = ""


def results(said: str) -> list[OwnTest]:
    """The tests of a run of unittest with -v."""
    begins = list(BEGIN.finditer(said))
    ends = [*(each.start() for each in begins[1:]), len(said)]
    found: list[OwnTest] = []
    for begin, end in zip(begins, ends, strict=False):  # a file that cannot be read has none
        ended = END.search(said, begin.end(), end)
        found.append(OwnTest(begin[1], ended[1] if ended else "not ended", begin[2]))
    return found


def run(file: Path, out: Path) -> tuple[list[OwnTest], str]:
    """Run a file of tests; what each became, and both outputs.

    A test that cannot pass may leave its net to the next ones: those that fail after it run once more without it.
    """
    found, said = run_tests(file, out)
    failed = [each.place for each in found if each.result in ("FAIL", "ERROR") and each.name not in REASONS]
    if failed and any(each.result in ("FAIL", "ERROR") and each.name in REASONS for each in found):
        again, more = run_tests(file, out, *failed)
        results_again = {each.place: each for each in again}
        found, said = [results_again.get(each.place, each) for each in found], said + more
    if computing := [each.place for each in found if each.name in BY_CPU_TIME and each.result != "ok"]:
        timed = {each.place: each.result for each in run_tests(file, out, *computing, options=("--cpu-time",))[0]}
        found = [
            OwnTest(each.name, CPU_TIME_OK, each.place) if timed.get(each.place) == "ok" else each for each in found
        ]
    return found, said


def run_tests(file: Path, out: Path, *names: str, options: tuple[str, ...] = ()) -> tuple[list[OwnTest], str]:
    """Run all tests of a file, or some, in one guest."""
    (out / "begin.py").write_text(BEGINNING)
    patience = ("--time-limit", 36_000, "--stall", 600)  # much else may run beside
    words = ("mn", "--quiet", *options, "--out", out, *patience, out / "begin.py", file.name, "-v", *names)
    environment = {**os.environ, "PYTHONPATH": str(file.parents[2])}
    done = landspeed(*words, cwd=file.parent, env=environment, timeout=None)
    told = done.stderr.partition("\n======")[0]  # after it come the tracebacks, which name tests once more
    return results(told), done.stdout + done.stderr


def row(file: Path, found: list[OwnTest]) -> tuple[str, bool]:
    """A row of the table, and whether each failure has its reason."""
    passed = [each for each in found if each.result in ("ok", CPU_TIME_OK)]
    skipped = [each for each in found if each.result.startswith("skipped")]
    failed = [each for each in found if each not in passed and each not in skipped]
    told = [f"`{each.name}`: {REASONS.get(each.name, each.result)}" for each in failed]
    told += [f"`{each.name}` with `--cpu-time`" for each in passed if each.result == CPU_TIME_OK]
    if skipped:
        reasons = sorted({each.result.removeprefix("skipped ").strip("'\"") for each in skipped})
        told.append(f"{len(skipped)} skipped by themselves: {'; '.join(reasons)}")
    fine = bool(found) and all(each.name in REASONS for each in failed)
    name = f"{file.parents[1].name}: {file.stem.removeprefix('test_')}"
    return f"| {name} | {len(passed)} of {len(passed) + len(failed)} | {'; '.join(told)} |", fine


def main() -> int:
    """Run them and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", nargs="*", help="such as test_hifi (default: all)")
    parser.add_argument("--twice", action="store_true", help="see that both outputs are the same")
    parsed = parser.parse_args()
    folder = parsed.folder.resolve()
    files = [
        *sorted(folder.glob("mininet/test/test_*.py")),
        *sorted(folder.glob("examples/test/test_*.py")),
    ]
    wanted = [each for each in files if each.stem in parsed.files or (not parsed.files and each.stem not in LONG)]
    all_fine = bool(wanted)
    print("| tests | pass | others |\n|---|---|---|")
    for file in wanted:
        with tempfile.TemporaryDirectory(prefix="mininet-own-") as out:
            began = time.monotonic()
            found, said = run(file, Path(out))
            told, fine = row(file, found)
            if parsed.twice and (again := run(file, Path(out))[1]) != said:
                print(
                    "\n".join(difflib.unified_diff(said.splitlines(), again.splitlines(), lineterm="")), file=sys.stderr
                )
                told, fine = told.removesuffix(" |") + " **another output the second time** |", False
        print(told, flush=True)
        print(f"{file.stem}: {time.monotonic() - began:.0f} s", file=sys.stderr)
        if not fine:
            print(said, file=sys.stderr)
        all_fine &= fine
    return 0 if all_fine else 1


if __name__ == "__main__":
    sys.exit(main())
