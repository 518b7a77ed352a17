"""The program that compares samples before and after a change: what it calls the same, and what it tells git bisect."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from landspeed.scenario.file.packaged import packaged_names
from tests.bench.same_samples import RUNS, SKIP, differences

ROOT = Path(__file__).resolve().parents[2]


def program(*words: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """A copy of it, as `git bisect run` has one."""
    copy = cwd / "copy.py" if cwd != ROOT else ROOT / "tests" / "bench" / "same_samples.py"
    if cwd != ROOT:
        copy.write_text((ROOT / "tests" / "bench" / "same_samples.py").read_text())
    return subprocess.run([sys.executable, copy, *words], cwd=cwd, capture_output=True, text=True, check=False)


def test_there_are_twelve_runs_of_scenarios_that_come_along() -> None:
    assert len(RUNS) == 12
    assert {words.split()[0] for words in RUNS.values()} <= set(packaged_names())


def test_a_file_that_differs_is_new_or_is_gone_is_named() -> None:
    before = {"a": {"x": "1", "y": "2", "z": "3"}, "b": {"x": "1"}}
    assert differences(before, before) == []
    assert differences(before, {"a": {"x": "1", "y": "9", "w": "4"}, "c": {"x": "5"}}) == [
        "a: w: missing before, 4 now",
        "a: y: 2 before, 9 now",
        "a: z: 3 before, missing now",
    ]


def test_bad_input(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text("{}")
    for words in (["--only", "nothing", "--write", "f"], ["--only", "first", "--against", tmp_path / "old.json"]):
        assert program(*words).returncode == 2


def test_a_commit_on_which_nothing_runs_is_skipped(tmp_path: Path) -> None:
    command = tmp_path / ".venv" / "bin" / "landspeed"
    command.parent.mkdir(parents=True)
    command.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    command.chmod(0o755)
    done = program("--only", "first", "--write", "hashes.json", cwd=tmp_path)
    assert (done.returncode, "broken" in done.stderr) == (SKIP, True)


@pytest.mark.guest
def test_the_same_run_twice_is_the_same_and_another_is_not(tmp_path: Path) -> None:
    file = tmp_path / "hashes.json"
    assert program("--only", "loss", "--write", file).returncode == 0
    again = program("--only", "loss", "--against", file)
    assert (again.returncode, again.stdout.splitlines()[-1]) == (0, "the same samples")
    known = json.loads(file.read_text())
    file.write_text(json.dumps({"loss": dict.fromkeys(known["loss"], "0")}))
    other = program("--only", "loss", "--against", file)
    assert other.returncode == 1
    assert other.stdout.count(" before, ") == len(known["loss"]) == 2
