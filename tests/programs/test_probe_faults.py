"""Bad input and faults, as a user meets them in a shell: exit status, what is said, and that nothing is left behind."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import PROGRAMS

ROOT = Path(__file__).resolve().parents[2]
SERVE = f"{sys.executable} {PROGRAMS}/probe_program.py serve 9000"
CLIENT = ["sh", "-c", "exit 0"]
BAD_INPUT, FAILED = 2, 1


def probed(
    folder: Path, client: list[str], *, serve: str = SERVE, rest: tuple[str, ...] = (), cwd: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """`landspeed probe` with a place of its own for all that it makes; nothing of it may be left there."""
    scratch = folder / "tmp"
    scratch.mkdir()
    words = [sys.executable, "-m", "landspeed.cli.main", "probe", "--serve", f"b={serve}", "--listen", "9000"]
    words += ["--at", "a", "--rtt", "1 ms", "--out", str(folder / "out"), *rest, "--", *client]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, cwd=cwd,
        env={**os.environ, "TMPDIR": str(scratch), "LANDSPEED_TEST_MARK": str(folder)},
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    assert list(scratch.iterdir()) == []
    assert processes_with(f"LANDSPEED_TEST_MARK={folder}") == []
    return done


def processes_with(variable: str) -> list[str]:
    """Programs on this computer that have such a variable: a guest's have the command's."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and entry.name != str(os.getpid()):
            try:
                if variable.encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((entry / "cmdline").read_text().replace("\0", " "))
            except OSError:  # it has ended, or is somebody else's
                continue
    return found


@pytest.mark.guest
@pytest.mark.parametrize(
    ("serve", "said"),
    [
        ("sleep 1000", "nobody listens at all"),
        (f"{SERVE[:-1]}1", "somebody listens on tcp port 9001"),
        ("sh -c 'echo no such option; exit 3'", "ended (exit status 3) before somebody listens on tcp port 9000"),
        ("sh -c 'kill -SEGV $$'", "ended (signal 11)"),
    ],
    ids=["never listens", "elsewhere", "dies early", "killed"],
)
def test_a_server_that_is_not_there(serve: str, said: str, tmp_path: Path) -> None:
    done = probed(tmp_path, CLIENT, serve=serve, rest=("--ready", "2 s"))
    assert done.returncode == BAD_INPUT
    assert said in done.stderr


@pytest.mark.guest
@pytest.mark.parametrize(
    ("client", "rest", "said"),
    [
        (
            ["sleep", "infinity"],
            ("--at-most", "20 s"),
            "the client still ran after 20 s of virtual time, and was ended",
        ),
        (["sh", "-c", "trap '' TERM INT HUP QUIT; while :; do sleep 1; done"], ("--at-most", "20 s"), "was ended"),
        (["sh", "-c", "sleep infinity & exit 0"], ("--at-most", "20 s"), "what the client left behind (sleep)"),
        (["sh", "-c", "echo cannot connect >&2; exit 7"], (), "exit status 7; its last words:\n  cannot connect"),
        (["sh", "-c", "kill -ABRT $$"], (), "the client ended with signal 6"),
    ],
    ids=["hangs", "catches signals", "forks and leaves", "fails", "aborts"],
)
def test_a_client_that_does_not_end_well(client: list[str], rest: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = probed(tmp_path, client, rest=rest)
    assert done.returncode == FAILED
    assert f"at 1 ms: {said}" in done.stderr or said in done.stderr
    assert not re.search("^[ab] → [ab]: ", done.stdout, re.MULTILINE), "what limits a client that fails is no answer"


@pytest.mark.guest
def test_a_client_that_writes_gigabytes(tmp_path: Path) -> None:
    done = probed(tmp_path, ["head", "-c", "1G", "/dev/zero"])
    assert done.returncode == 0, done.stderr
    assert sum(file.stat().st_size for file in (tmp_path / "out").rglob("*") if file.is_file()) < 20_000_000


@pytest.mark.guest
def test_a_program_that_cannot_be_run(workspace: Path, tmp_path: Path) -> None:
    plain, foreign = workspace / "plain", workspace / "foreign"
    plain.write_text("#!/bin/sh\n")
    elf = bytearray(Path(sys.executable).resolve().read_bytes()[:4096])
    elf[18:20] = (183).to_bytes(2, "little")  # e_machine: AArch64
    foreign.write_bytes(elf)
    foreign.chmod(0o755)
    for number, (name, said) in enumerate(
        [("no-such-client", "write its path"), (str(plain), "chmod +x"), (str(foreign), "another machine")]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        done = probed(folder, [name])
        assert (done.returncode, said in done.stderr) == (BAD_INPUT, True), done.stderr


@pytest.mark.guest
def test_a_client_and_its_files_below_tmp(tmp_path: Path) -> None:
    """The guest has a /tmp of its own; what the command names is there."""
    program, data = tmp_path / "client", tmp_path / "data"
    program.write_text("#!/bin/sh\nexec grep -q data $1\n")
    program.chmod(0o755)
    data.write_text("data")
    done = probed(tmp_path, [str(program), str(data)])
    assert (done.returncode, "of its own" in done.stderr) == (0, False), done.stderr


@pytest.mark.guest
def test_the_folder_of_the_command_is_seen_below_tmp_too(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("data")
    done = probed(tmp_path, ["grep", "-q", "data", "data"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_node_that_is_not_there(tmp_path: Path) -> None:
    done = probed(tmp_path, CLIENT, rest=("first",))
    assert done.returncode == BAD_INPUT
    assert "no such host; the path has amsterdam" in done.stderr
