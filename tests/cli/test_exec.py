"""`landspeed exec`: a user's program on the path."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import COMMAND, landspeed, landspeed_here
from tests.support.emu_fixtures import FIRST

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("scratch")]
AT_ATHENS = ("exec", FIRST, "--at", "athens", "--no-calibration")


# --- exec ------------------------------------------------------------------------------------------------------------


def test_output_and_status_pass_through() -> None:
    done = landspeed(*AT_ATHENS, "--", "sh", "-c", "echo to out; echo to err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "to out\n", "to err\n")


def test_bytes_arrive_as_they_were_written() -> None:
    """All 256 values, line ends of every kind, no newline at the end; more than five megabytes of them."""
    script = "import sys; o = sys.stdout.buffer; o.write(bytes(range(256)) * 4096 * 5); o.write(b'\\r\\n\\n\\r')"
    done = landspeed(*AT_ATHENS, "--", sys.executable, "-c", script, text=False)
    assert done.returncode == 0
    assert done.stdout == bytes(range(256)) * 4096 * 5 + b"\r\n\n\r"
    assert done.stderr == b""


def test_output_comes_while_the_program_runs() -> None:
    """Not only at its end."""
    words = [str(COMMAND), *map(str, AT_ATHENS), "--", "sh", "-c", "echo first; sleep 1e9"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"first\n"
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 1


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("sh", "-c", "kill -TERM $$"), 143),
        (("sh", "-c", "kill -SEGV $$"), 139),
        (("true",), 0),
        (("false",), 1),
        (("sh", "-c", "exit 255"), 255),
    ],
)
def test_the_status_is_the_programs_own(words: tuple[str, ...], status: int) -> None:
    assert landspeed(*AT_ATHENS, "--", *words).returncode == status


def test_a_program_that_is_not_there_is_127_and_one_that_cannot_be_run_126() -> None:
    done = landspeed(*AT_ATHENS, "--", "no-such-program", "--help")
    assert (done.returncode, done.stderr) == (127, "no-such-program: No such file or directory\n")
    done = landspeed(*AT_ATHENS, "--", str(FIRST))
    assert (done.returncode, done.stderr) == (126, f"{FIRST}: Permission denied\n")


def test_the_programs_own_options_are_not_ours() -> None:
    """Even those of the same name, and a second --."""
    done = landspeed(*AT_ATHENS, "--", "echo", "--seed", "x", "--", "--quiet", "--at")
    assert done.stdout == "--seed x -- --quiet --at\n"


def test_standard_input_is_empty() -> None:
    assert landspeed(*AT_ATHENS, "--", "wc", "-c", input="ignored").stdout == "0\n"


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (
            ("exec", FIRST, "--at", "geneva", "--", "true"),
            r"--at geneva: no such node; there are amsterdam, .*, athens",
        ),
        (("exec", FIRST, "--at", "athens"), r"no command given; write it after --"),
        (("exec", FIRST, "--at", "athens", "--"), r"no command given; write it after --"),
        (("exec", FIRST, "--", "true"), r"--at"),
        (("exec", FIRST, "--at", "athens", "true"), r"landspeed exec: .true. is one word too many"),
        (("exec", FIRST, "--at", "athens", "--seed", "x", "--", "true"), r"'x' is not a whole number"),
        (("exec", FIRST, "--at", "athens", "--stall", "0", "--", "true"), r"'0' is not a number of seconds above 0"),
        (("exec", FIRST, "--at", "athens", "--set", "bus=1", "--", "true"), r"bus"),
        (("exec", "no-such-file.yaml", "--at", "athens", "--", "true"), r"no-such-file.yaml"),
    ],
)
def test_bad_input_of_exec(words: tuple[object, ...], wanted: str) -> None:
    done = landspeed_here(*words)
    assert done.returncode == 2
    assert re.search(wanted, done.stderr), done.stderr
    assert "Traceback" not in done.stderr


def test_a_path_that_fails_calibration_runs_nothing(tmp_path: Path) -> None:
    over = ("--set", "calibration.rate_tolerance=0.00001 %", "--set", "line_rate=10 Gbit/s")
    done = landspeed("exec", FIRST, "--at", "athens", *over, "--", "echo", "ran")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Error: calibration: " in done.stderr
