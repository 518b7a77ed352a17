"""Faults: each ends with a message and the right status, keeps what was measured, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from emu_fixtures import COMMAND, FIRST, host_state, landspeed, plan_of, processes_in, wait_until
from landspeed.emu import machine, memory
from landspeed.emu.kernel import SYMBOLS, Kernel
from landspeed.emu.watch import GuestError, follow
from landspeed.results.bundle import list_bundles, load_record

LONG = ("--set", "transfer.duration=3600 s")


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """After each test: no process, mount, namespace, interface or file of the run on the host."""
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    before = host_state()
    yield
    while Running.started:
        Running.started.pop().kill()
    wait_until(lambda: not processes_in(tmp_path), "the run's processes to end")
    wait_until(lambda: host_state() == before, "the host to be as before")
    wait_until(lambda: not list(scratch.iterdir()), "temporary files to be gone")


class Running:
    """The command, running."""

    started: ClassVar[list[subprocess.Popen[str]]] = []

    def __init__(self, folder: Path, *words: object) -> None:
        """Start it, in a group of its own, with its bundles in `folder/out`."""
        self.out = folder / "out"
        command = [str(COMMAND), "run", *map(str, words), "--json", "--out", str(self.out)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        self.started.append(self.process)

    def bundle(self) -> Path:
        """The bundle's folder as it is named now."""
        (folder,) = self.out.iterdir()
        return folder

    def reached(self, moment: str) -> bool:
        """Whether the guest has begun a phase; `moving`: has transferred for some seconds."""
        assert self.process.poll() is None, self.process.stderr.read() if self.process.stderr else ""
        if not self.out.is_dir() or not list(self.out.iterdir()):
            return False
        if moment == "moving":
            live = self.bundle() / "live.jsonl"
            return live.exists() and live.read_text().count("\n") > 3
        console = self.bundle() / "log" / "console.log"
        return console.exists() and f'"phase": "{moment}"' in console.read_text(errors="replace")

    def wait_for(self, moment: str) -> None:
        """Wait until a moment is reached."""
        wait_until(lambda: self.reached(moment), moment)

    def ended(self) -> tuple[int, str, str]:
        """Exit status, standard output, standard error."""
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


def only_record(out: Path) -> Any:
    """The one bundle's record."""
    (bundle,) = list_bundles(out)
    return load_record(bundle)


# --- Stopped from outside --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("moment", ["build", "calibrate", "moving"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_what_it_had(tmp_path: Path, moment: str, number: int) -> None:
    """Ctrl-C goes to the whole group, as a terminal sends it."""
    running = Running(tmp_path, FIRST, *LONG)
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
    assert (result["calibration"] is not None) == (moment == "moving")
    assert Path(result["bundle"]) == running.bundle()
    record = only_record(running.out)
    assert record.error == "interrupted"
    assert not running.bundle().name.endswith(".partial")
    if moment == "moving":
        assert (running.bundle() / "samples.parquet").stat().st_size > 1000
        assert (running.bundle() / "links.parquet").exists()
    assert (running.bundle() / "report.html").exists()


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
    done = in_guest("sh", "-c", "while :; do :; done", options=("--stall", "3"))
    assert done.returncode == 1
    assert re.search(r"Error: the virtual clock has stood still at 2\.\d+ s for 3 s of wall time", done.stderr)
    assert "in the phase 'exec'" in done.stderr
    assert "the task that ran is 'sh'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_transfer_program_that_spins_keeps_the_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine itself hangs: what was measured before stays, and the message names it."""
    from landspeed.emu import world

    spinning = ["sh", "-c", "while :; do :; done"]
    status, record, err = run_with(tmp_path, monkeypatch, sender=spinning, options=("--stall", "3"), module=world)
    assert status == 1
    assert "in the phase 'transfer'" in err
    assert "the task that ran is 'sh'" in err
    assert record.complete is False
    assert "stood still" in record.error


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

    from landspeed.cli import main

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
    from landspeed.emu import world

    dying = ["sh", "-c", "echo the disk ate my homework >&2; kill -SEGV $$"]
    status, record, err = run_with(tmp_path, monkeypatch, sender=dying, module=world)
    assert status == 1
    assert "the disk ate my homework" in err
    assert record.complete is False
    assert record.calibration is not None
    assert record.calibration.passed


def test_a_receiver_that_dies_at_once_is_told_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from landspeed.emu import world

    status, record, err = run_with(
        tmp_path, monkeypatch, receiver=["sh", "-c", "echo no room >&2; exit 3"], module=world
    )
    assert status == 1
    assert "Traceback" not in err
    assert record.complete is False
    assert "no room" in err or "refused" in err


def test_an_engine_killed_in_the_middle_keeps_its_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sender is ended by SIGKILL after five virtual seconds."""
    from landspeed.emu import world

    real = world.engine_commands

    def commands(*args: Any, **more: Any) -> tuple[list[str], list[str]]:
        theirs, ours = real(*args, **more)
        return theirs, ["timeout", "--signal=KILL", "5", *ours]

    monkeypatch.setattr(world, "engine_commands", commands)
    status, record, err = run_with(tmp_path, monkeypatch, module=world)
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
    assert record.guest["memory_touched_bytes"] > 64 << 20
    assert record.calibration.passed


@pytest.mark.parametrize("size", ["1MiB", "127MiB"])
def test_memory_too_small_for_any_guest_is_bad_input(tmp_path: Path, size: str) -> None:
    done = landspeed("run", FIRST, "--memory", size, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "a guest needs at least 128 MiB" in done.stderr
    assert not (tmp_path / "out").exists()


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
        ("", r"without a result \(exit status 0; see log/console.log\)"),
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


# --- Nowhere to write ------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """A file system of a size, mounted for the test."""
    mounted: list[Path] = []

    def mount(size_bytes: int) -> Path:
        folder = tmp_path / f"disk{len(mounted)}"
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", str(folder)], check=True)
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        wait_until(lambda folder=folder: not processes_in(folder), "the guest to end")
        subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_full_at_the_start_is_bad_input(small_disk: Callable[[int], Path]) -> None:
    disk = small_disk(128 << 10)
    done = landspeed("run", FIRST, "--out", disk)
    assert done.returncode == 2
    assert "the disk is full; free some space or give another folder with --out" in done.stderr
    assert list(disk.iterdir()) == []


@pytest.mark.parametrize("kilobytes", [330, 400, 500, 700])
def test_a_disk_that_fills_up_ends_the_run_with_a_message(small_disk: Callable[[int], Path], kilobytes: int) -> None:
    """At whatever moment: never a trace, never a bundle that looks complete."""
    disk = small_disk(kilobytes << 10)
    done = landspeed("run", FIRST, "--json", "--set", "transfer.sample_interval=10 ms", "--out", disk)
    assert done.returncode in {1, 2}
    assert "Traceback" not in done.stderr
    assert re.search(
        r"Error: .*(disk is full|No space left|no space|wrote|left no result|cannot write)", done.stderr
    ), done.stderr
    for bundle in list_bundles(disk):
        assert load_record(bundle).complete is False


@pytest.mark.parametrize("what", ["file", "missing parent is a file", "read-only"])
def test_a_folder_that_cannot_be_written_is_bad_input(
    tmp_path: Path, what: str, small_disk: Callable[[int], Path]
) -> None:
    place = tmp_path / "place"
    place.write_text("")
    out = {"file": place, "missing parent is a file": place / "deeper"}.get(what)
    if out is None:
        out = small_disk(1 << 20)
        subprocess.run(["mount", "-o", "remount,ro", str(out)], check=True)
    done = landspeed("run", FIRST, "--out", out)
    assert done.returncode == 2
    assert f"cannot write {out}" in done.stderr
    assert "--out" in done.stderr
    assert "Traceback" not in done.stderr


# --- The host has too little -----------------------------------------------------------------------------------------


def test_too_little_memory_of_the_host_is_told_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from landspeed.cli import main

    monkeypatch.setattr(memory, "available_bytes", lambda: 1 << 30)
    assert main(["run", str(FIRST), "--out", str(tmp_path / "out")]) == 2
    err = capsys.readouterr().err
    assert re.search(r"the run needs up to \d\.\d\d GiB and 0\.50 GiB for the host; 1\.00 GiB are available", err)
    assert "--memory SIZE" in err
    assert not (tmp_path / "out").exists()


def test_a_shared_memory_too_small_falls_back_to_tmpdir(
    small_disk: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    small = small_disk(16 << 20)
    need = plan_of(tmp_path, FIRST).physics.guest_memory_bytes
    monkeypatch.setattr(machine, "SHARED_MEMORY", small)
    monkeypatch.delenv("TMPDIR")
    with pytest.raises(MemoryError, match=rf"{small} has 0\.02 GiB free, the run needs {need / 2**30:.2f} GiB.*TMPDIR"):
        machine.shared_memory_folder(need)
    large = tmp_path / "large"
    large.mkdir()
    monkeypatch.setenv("TMPDIR", str(large))
    assert machine.shared_memory_folder(1 << 20) == small
    assert machine.shared_memory_folder(need) == large
    monkeypatch.setenv("TMPDIR", str(small))
    subprocess.run(["mount", "-o", "remount,noexec", str(small)], check=True)
    with pytest.raises(MemoryError, match=rf"mounted noexec \(remedy: mount -o remount,exec {small}\)"):
        machine.shared_memory_folder(1 << 20)


def test_a_run_whose_memory_lies_in_the_fallback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from landspeed.cli import main

    monkeypatch.setattr(machine, "SHARED_MEMORY", Path("/nonexistent"))
    assert main(["run", str(FIRST), "--quiet", "--out", str(tmp_path / "out")]) == 0


# --- Side by side ----------------------------------------------------------------------------------------------------


def test_two_runs_at_once_do_not_meet(tmp_path: Path) -> None:
    both = [Running(tmp_path, FIRST) for _ in range(2)]
    results = [json.loads(out) for status, out, err in (each.ended() for each in both) if status == 0 or not err]
    assert len(results) == 2
    assert all(result["passed"] and result["complete"] for result in results)
    assert len({result["bundle"] for result in results}) == 2
    first, second = (Path(result["bundle"], "samples.parquet").read_bytes() for result in results)
    assert first == second
