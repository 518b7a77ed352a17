"""Logs: silent unless asked for, then what was decided and started; standard logging for whoever uses the library."""

import json
import logging
import os
import re
import subprocess
import sys
import timeit
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from landspeed.base import log
from landspeed.base.log import Log, LogError, wanted_level
from landspeed.cli.command_table import make_parser
from landspeed.cli.main import split_program
from tests.support.emu_fixtures import FIRST

SHORT = ["--set", "transfer.duration=1 s", "--set", "expect=null", "--quiet"]


def command(*words: str, level: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, log.VARIABLE: level}
    program = [sys.executable, "-m", "landspeed.cli.main", *words]
    return subprocess.run(program, capture_output=True, text=True, check=False, env=environment)


def test_without_the_words_nothing_is_logged_and_logging_is_not_even_imported() -> None:
    script = (
        "import sys; from landspeed.cli.main import main; main(['show', 'first']); assert 'logging' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_a_silent_call_costs_nearly_nothing() -> None:
    quiet = Log("landspeed.no-such-module")
    calls = 20_000
    assert min(timeit.repeat(lambda: quiet.debug("%s", 1), number=calls, repeat=5)) / calls < 5e-6


def test_while_another_thread_is_importing_logging_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "logging", ModuleType("logging"))
    Log("landspeed.no-such-module").info("%s", 1)


@pytest.mark.parametrize(
    ("verbose", "named", "level"),
    [(0, "", None), (1, "", "info"), (2, "", "debug"), (3, "", "debug"), (0, "info", "info"), (0, "debug", "debug"),
     (1, "debug", "debug"), (2, "info", "debug")],
)  # fmt: skip
def test_the_words_and_the_environment(
    monkeypatch: pytest.MonkeyPatch, verbose: int, named: str, level: str | None
) -> None:
    monkeypatch.setenv(log.VARIABLE, named)
    assert wanted_level(verbose) == level


def test_another_level_is_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(log.VARIABLE, "loud")
    with pytest.raises(LogError, match="LANDSPEED_LOG=loud: write info or debug"):
        wanted_level(0)
    assert command("check", "first", level="loud").returncode == 2


@pytest.mark.parametrize("words", ["-vv show first", "show -vv first", "show first --verbose -v"])
def test_before_and_after_the_word(words: str) -> None:
    assert make_parser("show").parse_args(words.split()).verbose == 2


def test_the_users_own_program_keeps_its_words() -> None:
    assert split_program(["-v", "exec", "first", "--", "ping", "-v"]) == (["-v", "exec", "first"], ["ping", "-v"])


def test_the_library_logs_as_any_other_does(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="landspeed"):
        Log("landspeed.some.module").info("core %d", 3)
        Log("landspeed.some.module").debug("not this")
    (record,) = caplog.records
    assert (record.name, record.getMessage(), record.pathname) == ("landspeed.some.module", "core 3", __file__)


@pytest.mark.guest
def test_a_run_tells_what_it_decided_and_started(tmp_path: Path) -> None:
    done = command("-vv", "run", str(FIRST), *SHORT, "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert all(re.match(r" *\d+ ms [a-z_.]+[0-9]?[a-z_.]*: ", line) for line in lines), lines
    told = done.stderr
    (file,) = tmp_path.glob("*/result.json")
    record: dict[str, Any] = json.loads(file.read_text())
    guest = record["world_facts"]["guest"]
    assert f"kernel: Linux {record['versions']['kernel']} ({guest['kernel_key']}), " in told
    assert f"memory: {guest['memory_bytes'] / 2**30:.2f} GiB in " in told
    assert f"worlds.emu.cores: core {guest['host_cores'][0]} of " in told
    assert re.findall(r"phase (\w[\w ]*) took", told) == ["boot", "build", "calibrate", "transfer", "read back"]
    assert "worlds.emu.run_facts: calibration: passed" in told
    assert told.count("calibration: ") == 1 + len(record["flows"][0]["calibration"]["checks"])
    assert re.search(r"processes: starts \S*/landspeed-launch \d.* um_seed=1 ", told)
    assert f"runs.one_run: run: first, world emu, seed {record['seed']}, in {tmp_path}" in told


@pytest.mark.guest
def test_a_sweep_tells_its_workers_and_one_v_leaves_details_out(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(f'extends: {FIRST}\nname: two\nvary:\n  transfer.duration: ["1 s", "2 s"]\nexpect: null\n')
    done = command("sweep", str(file), "--quiet", "--jobs", "2", "--out", str(tmp_path / "out"), level="info")
    assert done.returncode == 0, done.stderr
    assert "runs.sweeps.workers: workers: 2 cells at once, in 1 processes of " in done.stderr
    assert done.stderr.count("calibration: passed") == 2
    assert "processes: starts" not in done.stderr
