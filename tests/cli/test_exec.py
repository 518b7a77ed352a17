"""`landspeed exec` and `landspeed shell`: a user's program on the path, and a prompt on it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import COMMAND, landspeed
from tests.support.emu_fixtures import FIRST, wait_until
from tests.support.stopwatch import one_of_few, undisturbed

pytestmark = pytest.mark.guest
AT_ATHENS = ("exec", FIRST, "--at", "athens", "--no-calibration")


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Temporary files go here, and none may be left."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    wait_until(lambda: not list(folder.iterdir()), "temporary files to be gone")


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
    done = landspeed(*words)
    assert done.returncode == 2
    assert re.search(wanted, done.stderr), done.stderr
    assert "Traceback" not in done.stderr


def test_a_path_that_fails_calibration_runs_nothing(tmp_path: Path) -> None:
    over = ("--set", "calibration.rate_tolerance=0.001 %", "--set", "line_rate=10 Gbit/s")
    done = landspeed("exec", FIRST, "--at", "athens", *over, "--", "echo", "ran")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Error: calibration: " in done.stderr


# --- shell -----------------------------------------------------------------------------------------------------------


class Terminal:
    """A person at a terminal: types, and waits for what is shown."""

    def __init__(self, *words: object) -> None:
        """Start the command on a pseudo-terminal of its own."""
        self.master, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.seen = ""
        self.process = subprocess.Popen(
            [str(COMMAND), *map(str, words)],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        )

    def wait_for(self, text: str, deadline_s: float = 60.0) -> str:
        """What came until the text did; the rest is kept."""
        end = time.monotonic() + deadline_s
        while text not in self.seen:
            ready, _, _ = select.select([self.master], [], [], max(end - time.monotonic(), 0))
            assert ready, f"waited in vain for {text!r}; seen: {self.seen!r}"
            self.seen += os.read(self.master, 65536).decode(errors="replace")
        found, _, self.seen = self.seen.partition(text)
        return found

    def type(self, text: str) -> None:
        """As from a keyboard."""
        os.write(self.master, text.encode())

    def ask(self, line: str) -> str:
        """A line at the prompt, and its answer."""
        self.type(line + "\r")
        return self.wait_for("landspeed> ")

    def close(self) -> None:
        """End what still runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """`landspeed shell` on the first example, at its prompt."""
    made = Terminal("shell", FIRST)
    try:
        made.wait_for("landspeed> ")
        yield made
    finally:
        made.close()


def test_a_session_at_the_prompt(terminal: Terminal) -> None:
    assert "amsterdam athens bari frankfurt milan" in terminal.ask("nodes")
    assert re.search(r"0\s+amsterdam\s+10\.0\.0\.1\b.*4\s+athens\s+10\.0\.0\.14", terminal.ask("path"), re.DOTALL)

    def ping(_: int) -> None:
        answer = terminal.ask("amsterdam ping -c 1 athens")
        assert "1 packets transmitted, 1 received" in answer
        (rtt_ms,) = re.findall(r"time=([\d.]+) ms", answer)
        assert float(rtt_ms) >= 50
        undisturbed(float(rtt_ms) < 100, f"{rtt_ms} ms")  # in real time: the host's scheduling adds

    one_of_few(ping)
    assert "10.0.0.5" in terminal.ask("athens traceroute -n amsterdam")
    assert "neither a node" in terminal.ask("rome ping athens")
    assert "neither a node" in terminal.ask("amsterdam")
    said = terminal.ask("help")
    assert "EOF" in said
    assert "amsterdam ping -c 3 athens" in said
    assert "mininet>" not in said
    assert "xterm" not in said
    terminal.type("exit\r")
    assert "@landspeed" not in terminal.wait_for("Power down")
    assert terminal.process.wait(30) == 0
    assert termios.tcgetattr(terminal.slave) == terminal.before, "the terminal is as it was"


def test_ctrl_c_ends_the_program_and_not_the_prompt(terminal: Terminal) -> None:
    terminal.type("amsterdam ping athens\r")
    terminal.wait_for("icmp_seq=2")
    terminal.type("\x03")
    assert "packet loss" in terminal.wait_for("landspeed> ")
    assert "amsterdam" in terminal.ask("nodes")
    terminal.type("\x04")  # Ctrl-D
    assert terminal.process.wait(30) == 0
    assert termios.tcgetattr(terminal.slave) == terminal.before


def test_no_key_waits(terminal: Terminal) -> None:
    """A guest that sleeps wakes by every key: before patch 0020 one in a thousand waited for the next one."""
    for _ in range(2500):
        for key, echo in (("x", "x"), ("\x7f", "\b")):
            terminal.type(key)
            terminal.wait_for(echo, deadline_s=20)


def test_a_shell_that_is_killed_gives_the_terminal_back(terminal: Terminal) -> None:
    assert termios.tcgetattr(terminal.slave) != terminal.before, "the guest's console has it"
    terminal.process.terminate()
    assert terminal.process.wait(30) == 1
    assert termios.tcgetattr(terminal.slave) == terminal.before


def test_nothing_but_the_greeting_comes_before_the_prompt() -> None:
    """No kernel messages: what the machine keeps of the path's rates, then the greeting."""
    terminal = Terminal("shell", FIRST)
    try:
        shown = terminal.wait_for("landspeed> ")
        assert shown.split()[:4] == ["Rates", "of", "full", "packets,"]
        assert "The path is up, in real time." in shown
        assert "\n\n\n" not in shown.replace("\r", ""), "no screenful of empty lines"
    finally:
        terminal.close()


def test_a_shell_without_a_terminal_is_bad_input() -> None:
    done = landspeed("shell", FIRST, input="path\nexit\n")
    assert done.returncode == 2
    assert "the prompt needs a terminal" in done.stderr
