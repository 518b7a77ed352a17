"""Faults: each ends with a message and the right status, keeps what was measured, and leaves nothing behind."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from landspeed.results.bundle import list_bundles
from landspeed.worlds.emu import machine
from landspeed.worlds.emu.kernel_build import SYMBOLS, Kernel
from landspeed.worlds.emu.watchdog import GuestError, follow
from tests.support.command import COMMAND, landspeed
from tests.support.emu_faults import Running, nothing_left, only_record  # noqa: F401 (nothing_left is used by every test)
from tests.support.emu_fixtures import FIRST, processes_in, wait_until
from tests.support.stopwatch import one_of_few, undisturbed

pytestmark = pytest.mark.guest

LONG = ("--set", "transfer.duration=3600 s")


# --- Stopped from outside --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("moment", ["build", "calibrate", "moving"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_what_it_had(tmp_path: Path, moment: str, number: int) -> None:
    """Ctrl-C goes to the whole group, as a terminal sends it."""

    def attempt(turn: int) -> None:
        running = Running(tmp_path / str(turn), FIRST, *LONG)
        running.wait_for(moment)
        if number == signal.SIGINT:
            os.killpg(running.process.pid, number)
        else:
            running.process.send_signal(number)
        status, out, err = running.ended()
        assert status == 1
        assert "Error: interrupted" in err
        assert "Traceback" not in err
        result = json.loads(out)
        assert result["complete"] is False
        assert result["error"] == "interrupted"
        assert Path(result["bundle"]) == running.bundle()
        record = only_record(running.out)
        assert record.error == "interrupted"
        assert not running.bundle().name.endswith(".partial")
        assert (running.bundle() / "report.html").exists()
        if moment == "moving":
            assert result["calibration"] is not None
            assert (running.bundle() / "samples.parquet").stat().st_size > 1000
            assert (running.bundle() / "links.parquet").exists()
        else:
            undisturbed(result["calibration"] is None, "all was calibrated before the signal was sent")

    one_of_few(attempt)


@pytest.mark.parametrize("moment", ["build", "moving"])
def test_kill_9_leaves_a_bundle_marked_incomplete_and_nothing_else(tmp_path: Path, moment: str) -> None:
    running = Running(tmp_path, FIRST, *LONG)
    running.wait_for(moment)
    if moment == "moving":
        samples = running.bundle() / "sender.csv"
        wait_until(lambda: samples.read_text().count("\n") > 10, "samples on the disk while the run goes on")
    assert len(processes_in(running.out)) >= 1, "the guest runs in the bundle's folder"
    running.process.kill()
    running.process.wait()
    running.ended()
    wait_until(lambda: not processes_in(running.out), "the guest to die with its parent")
    assert running.bundle().name.endswith(".partial")
    assert only_record(running.out).complete is False
    names = {path.name for path in running.bundle().iterdir()}
    known = {
        "job.json",
        "log",
        "plan.json",
        "result.json",
        "scenario.yaml",
        "sender.csv",
        "receiver.csv",
        "links.csv",
        "measured.json",
    }
    assert names <= known | {"live.jsonl", ".reserve"}
    if moment == "moving":
        assert (running.bundle() / "sender.csv").read_text().count("\n") > 10, "still there"


def test_kill_9_of_exec_leaves_no_folder(tmp_path: Path) -> None:
    scratch = Path(os.environ["TMPDIR"])
    words = [
        str(COMMAND),
        "exec",
        str(FIRST),
        "--at",
        "athens",
        "--no-calibration",
        "--",
        "sh",
        "-c",
        "echo up; sleep 1e7",
    ]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"up\n"
        assert processes_in(scratch)
        process.kill()
    wait_until(lambda: not processes_in(scratch), "the guest to die")
    wait_until(lambda: not list(scratch.iterdir()), "the folder to be removed")


# --- Broken inside ---------------------------------------------------------------------------------------------------


def in_guest(*command: str, at: str = "athens", options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """`landspeed exec` on the first example."""
    return landspeed("exec", FIRST, "--at", at, "--no-calibration", *options, "--", *command)


def test_a_program_that_spins_is_named_and_ended() -> None:

    def attempt(number: int) -> None:
        stall_s = 3 * (number + 1)
        done = in_guest("sh", "-c", "while :; do :; done", options=("--stall", str(stall_s)))
        assert done.returncode == 1
        assert f"for {stall_s} s of wall time" in done.stderr
        assert "Traceback" not in done.stderr
        undisturbed("in the phase 'exec'" in done.stderr, done.stderr)  # a busy machine may halt it before
        assert re.search(r"Error: the virtual clock has stood still at 3\.0\d+ s ", done.stderr)
        assert "the task that ran is 'sh'" in done.stderr

    one_of_few(attempt)


def test_a_transfer_program_that_spins_keeps_the_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine itself hangs: what was measured before stays, and the message names it."""
    from landspeed.worlds.engine import tool

    spinning = ["sh", "-c", "while :; do :; done"]

    def attempt(number: int) -> None:
        stall = ("--stall", str(3 * (number + 1)))
        with monkeypatch.context() as patch:
            status, record, err = run_with(tmp_path / str(number), patch, sender=spinning, options=stall, module=tool)
        assert status == 1
        assert record.complete is False
        assert "stood still" in record.error
        undisturbed("in the phase 'transfer'" in err, err)  # a busy machine may halt it before
        assert "the task that ran is 'sh'" in err

    one_of_few(attempt)


def run_with(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    sender: list[str] | None = None,
    receiver: list[str] | None = None,
    options: tuple[str, ...] = (),
    module: Any,
) -> tuple[int, Any, str]:
    """The command in this process, with other programs in the place of the engine."""
    import contextlib
    import io

    from landspeed.cli.main import main

    real = module.engine_commands

    def commands(*args: Any, **more: Any) -> tuple[list[str], list[str]]:
        theirs, ours = real(*args, **more)
        return receiver or theirs, sender or ours

    monkeypatch.setattr(module, "engine_commands", commands)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(["run", str(FIRST), "--json", "--out", str(tmp_path / "out"), *options])
    return status, only_record(tmp_path / "out"), err.getvalue()


def test_a_sender_that_dies_is_told_with_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from landspeed.worlds.engine import tool

    dying = ["sh", "-c", "echo the disk ate my homework >&2; kill -SEGV $$"]
    status, record, err = run_with(tmp_path, monkeypatch, sender=dying, module=tool)
    assert status == 1
    assert "the disk ate my homework" in err
    assert record.complete is False
    assert record.calibration is not None
    assert record.calibration.passed


def test_a_receiver_that_dies_at_once_is_told_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from landspeed.worlds.engine import tool

    status, record, err = run_with(
        tmp_path, monkeypatch, receiver=["sh", "-c", "echo no room >&2; exit 3"], module=tool
    )
    assert status == 1
    assert "Traceback" not in err
    assert record.complete is False
    assert "no room" in err or "refused" in err


def test_an_engine_killed_in_the_middle_keeps_its_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sender is ended by SIGKILL after five virtual seconds."""
    from landspeed.worlds.engine import tool

    real = tool.engine_commands

    def commands(*args: Any, **more: Any) -> tuple[list[str], list[str]]:
        theirs, ours = real(*args, **more)
        return theirs, ["timeout", "--signal=KILL", "5", *ours]

    monkeypatch.setattr(tool, "engine_commands", commands)
    status, record, err = run_with(tmp_path, monkeypatch, module=tool)
    assert status == 1
    assert record.complete is False
    assert "Traceback" not in err
    (bundle,) = list_bundles(tmp_path / "out")
    assert (bundle / "samples.parquet").stat().st_size > 1000


def test_a_guest_that_is_switched_off_by_a_program_is_told() -> None:
    done = in_guest("python3", "-c", "import ctypes; ctypes.CDLL(None).reboot(0x4321FEDC)")
    assert done.returncode == 1
    assert re.search(r"Error: the guest ended in the phase 'exec' at [\d.]+ s .* without a result", done.stderr)


def test_a_hungry_program_is_out_of_memory_by_name() -> None:
    """It takes memory bit by bit, so that nothing refuses it at once."""
    eat = "import sys; kept = []\nwhile True: kept.append(b'x' * (1 << 22))"
    done = in_guest("python3", "-c", eat, options=("--memory", "128MiB"))
    assert done.returncode == 1
    told = r"Error: the guest ran out of memory in the phase 'exec' at [\d.]+ s .*while 'python3' ran"
    assert re.search(told, done.stderr), done.stderr
    assert "--memory" in done.stderr


def test_a_transfer_without_enough_memory_is_told_and_kept(tmp_path: Path) -> None:
    """The smallest guest, and 220 000 packets that want to be under way."""
    file = FIRST.parent / "one-stream-10g.yaml"
    done = landspeed("run", file, "--memory", "128MiB", "--set", "mtu=1500 B", *LONG, "--out", tmp_path / "out")
    assert done.returncode == 1
    assert "the guest ran out of memory in the phase 'transfer'" in done.stderr
    record = only_record(tmp_path / "out")
    assert record.complete is False
    assert (record.guest.memory_touched_bytes or 0) > 64 << 20
    assert record.calibration.passed


@pytest.mark.parametrize("size", ["1MiB", "127MiB"])
def test_memory_too_small_for_any_guest_is_bad_input(tmp_path: Path, size: str) -> None:
    done = landspeed("run", FIRST, "--memory", size, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "a guest needs at least 128 MiB" in done.stderr
    assert not (tmp_path / "out").exists()


OVERWRITE_INIT = """
import re
for line in open("/proc/1/maps"):
    if " r-xp " in line and "libc.so" in line:
        start, end = (int(word, 16) for word in line.split()[0].split("-"))
        with open("/proc/1/mem", "r+b", buffering=0) as memory:
            memory.seek(start)
            memory.write(bytes([0xCC]) * (end - start))
"""


def test_a_guest_whose_kernel_panics_is_told() -> None:
    """PID 1 of the guest runs into a breakpoint in the C library: the kernel cannot go on without it."""
    done = in_guest("/usr/bin/python3", "-c", OVERWRITE_INIT)
    assert done.returncode == 1
    assert re.search(r"the guest's kernel panicked .*Attempted to kill init", done.stderr), done.stderr


@pytest.mark.parametrize(
    ("console", "wanted"),
    [
        (
            "Kernel panic - not syncing: Attempted to kill init!",
            r"the guest's kernel panicked in the phase 'boot' .*kill init",
        ),
        (
            "x invoked oom-killer\nComm: hungry Not tainted\nOut of memory: y",
            r"ran out of memory .* while 'hungry' ran",
        ),
        ("", r"the guest did not boot \(exit status 0\): it said nothing; `landspeed doctor` says more"),
    ],
)
def test_what_the_console_said_last_is_told(tmp_path: Path, console: str, wanted: str) -> None:
    """A guest that is a shell script: it prints and ends."""
    (tmp_path / "log").mkdir()
    log = (tmp_path / "log" / "console.log").open("w")
    process = subprocess.Popen(["printf", "%b", console.replace("\n", "\\n") + "\\n"], stdout=log)
    kernel = Kernel(Path("linux"), "key", "6.12", dict.fromkeys(SYMBOLS, 0))
    with log, pytest.raises(GuestError, match=wanted):
        follow(machine.Guest(process, kernel, tmp_path, virtual=False))


def test_what_a_guest_had_just_begun_ends_with_it(tmp_path: Path) -> None:
    """A shell script as guest, whose child has asked for no parent-death signal."""
    words = ["sh", "-c", "sleep 1000 & echo $!; wait"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout
    child = int(process.stdout.readline())
    kernel = Kernel(Path("linux"), "key", "6.12", dict.fromkeys(SYMBOLS, 0))
    machine.Guest(process, kernel, tmp_path, virtual=False).stop()
    process.stdout.close()
    # Nobody may be there to bury it: then its command line is empty.
    command = Path(f"/proc/{child}/cmdline")
    wait_until(lambda: not command.exists() or not command.read_bytes(), "the child to end")


# --- Side by side ----------------------------------------------------------------------------------------------------


def test_two_runs_at_once_do_not_meet(tmp_path: Path) -> None:
    both = [Running(tmp_path, FIRST) for _ in range(2)]
    results = [json.loads(out) for status, out, err in (each.ended() for each in both) if status == 0 or not err]
    assert len(results) == 2
    assert all(result["passed"] and result["complete"] for result in results)
    assert len({result["bundle"] for result in results}) == 2
    first, second = (Path(result["bundle"], "samples.parquet").read_bytes() for result in results)
    assert first == second
