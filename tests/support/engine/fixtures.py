"""The C transfer engine for tests: built as its sources are now, started and always ended."""

import contextlib
import hmac
import json
import random
import re
import shutil
import socket
import struct
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.support import builds

ENGINE_FOLDER = Path(__file__).resolve().parents[3] / "engine"
# Of the control connection's messages, as the engine has it.
PROTOCOL = int(
    re.findall(r"#define PROTOCOL_VERSION (\d+)", (ENGINE_FOLDER / "src" / "control" / "message.h").read_text())[0]
)
MAGIC = b"lspdata\x03"  # of the challenge to whoever connects, and of a data connection's answer
CHALLENGE, HELLO = 40, 48  # bytes (control/hello.h)
T = TypeVar("T")
REPORTS = ("Sanitizer", "runtime error")
PORTS = range(12_000, 32_000)
HELD = 100  # ports at once, more than any test needs
# Of each stream: a transfer whose rate is nobody's matter leaves the processor to others.
PACED = ("--pacing", "500M")


@pytest.fixture(scope="session", name="engine")
def engine_fixture() -> Path:
    """The engine's binary, of the sources as they are now, in the build that was chosen (builds.py)."""
    if shutil.which("meson") is None:
        pytest.skip("meson is not installed: whether the engine is of these sources cannot be known")
    return builds.build_of("engine") / "landspeed-engine"


_held: deque[socket.socket] = deque()


def free_port() -> int:
    """A port that nobody uses, and that neither the kernel nor another test gives away meanwhile.

    A port that was bound and is let go again belongs to whoever connects or listens next: another worker's transfer
    may have it before this test's does. So it lies below those that the kernel chooses from (ip_local_port_range
    begins at 32768), and its number is claimed among all tests of this machine by an abstract socket (unix(7)).
    """
    first = random.SystemRandom().randrange(len(PORTS))
    for port in (*PORTS[first:], *PORTS[:first]):
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0landspeed-test-port/{port}")
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind(("::", port))
        except OSError:
            claim.close()
            continue
        _held.append(claim)
        if len(_held) > HELD:
            _held.popleft().close()
        return port
    raise AssertionError("all ports are taken")


def challenged(connection: socket.socket) -> bytes:
    """The nonce that the server meets every connection with (control/hello.h)."""
    challenge = connection.recv(CHALLENGE, socket.MSG_WAITALL)
    assert challenge[:8] == MAGIC
    return challenge[8:]


def control_connection(port: int, source: str = "127.0.0.1") -> socket.socket:
    """A control connection that has said nothing; its challenge is for data connections."""
    control = socket.create_connection(("127.0.0.1", port), timeout=20, source_address=(source, 0))
    challenged(control)
    return control


def say_hello(data: socket.socket, stream: int, secret: bytes, session: int = 0) -> None:
    """What a sender says first on a data connection (control/hello.h), written from its description."""
    data.sendall(hello(stream, secret, challenged(data), session))


def hello(stream: int, secret: bytes, nonce: bytes, session: int = 0) -> bytes:
    """The answer to that challenge."""
    label = b"landspeed-engine/3 data from sender to receiver\0"
    proof = hmac.digest(secret, label + struct.pack(">I", stream) + nonce, "sha512")[:32]
    return MAGIC + struct.pack(">II", stream, session) + proof


def numbered(secret: bytes, number: int, session: int) -> bytes:
    """The hello of a new connection, as probe/trips.h describes it."""
    label = b"landspeed-engine/3 data from sender to receiver\0"
    nonce = struct.pack(">24xQ", number)
    proof = hmac.digest(secret, label + struct.pack(">I", 0) + nonce, "sha512")[:32]
    return MAGIC + struct.pack(">II", 0, session) + proof + struct.pack(">Q", number)


class Program:
    """An engine process with its output in files, so that no pipe can fill up."""

    def __init__(self, words: list[str], folder: Path, name: str) -> None:
        self.error_file = folder / f"{name}.err"
        self.output_file = folder / f"{name}.out"
        with self.error_file.open("wb") as errors, self.output_file.open("wb") as output:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)

    @property
    def errors(self) -> str:
        """Standard error so far."""
        return self.error_file.read_text()

    @property
    def output(self) -> str:
        """Standard output so far."""
        return self.output_file.read_text()

    def wait(self, timeout: float = 60) -> int:
        """Exit status; a sanitizer's report is a failure of the test."""
        status = self.process.wait(timeout * builds.patience())
        assert not any(word in self.errors for word in REPORTS), self.errors
        return status

    def wait_for(self, pattern: str, timeout: float = 20) -> str:
        """Until standard error has a line with the pattern."""
        return wait_until(lambda: next(iter(re.findall(f".*{pattern}.*", self.errors)), None), timeout, self.process)


def wait_until(look: Callable[[], T | None], timeout: float, process: subprocess.Popen[bytes] | None = None) -> T:
    """Wait for a condition, not for a time; fails when the process has gone or the time is over."""
    end = time.monotonic() + timeout * builds.patience()
    while time.monotonic() < end:
        gone = process is not None and process.poll() is not None
        found = look()
        if found is not None:
            return found
        if gone:
            break
        time.sleep(0.01)
    raise AssertionError("what the test waits for did not come")


def children(program: Program) -> list[int]:
    """The processes of its sessions."""
    pid = program.process.pid
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def only_child(program: Program) -> int:
    """The process of its one session."""
    (child,) = children(program)
    return child


class Bench:
    """Starts receivers and senders on a port of its own; everything ends with the test."""

    def __init__(self, binary: Path, folder: Path) -> None:
        self.binary = binary
        self.folder = folder
        self.port = free_port()
        self.programs: list[Program] = []

    def start(self, command: str, *options: str, host: str | None = None) -> Program:
        """Start `receive` or `send`; JSON and samples go to files named after the command."""
        number = len(self.programs)
        words = [str(self.binary), command, *([host] if host else []), "--port", str(self.port), *options]
        program = Program(words, self.folder, f"{command}-{number}")
        self.programs.append(program)
        return program

    def receive(self, *options: str) -> Program:
        """A receiver that listens already, with result and samples in files."""
        files = ["--json", str(self.folder / "receive.json"), "--samples", str(self.folder / "receive.csv")]
        receiver = self.start("receive", *files, *options)
        receiver.wait_for("listening")
        return receiver

    def send(self, *options: str, host: str = "127.0.0.1") -> Program:
        """A sender with result and samples in files."""
        files = ["--json", str(self.folder / "send.json"), "--samples", str(self.folder / "send.csv")]
        return self.start("send", *files, *options, host=host)

    def result(self, command: str = "send") -> dict[str, Any]:
        """The JSON that the command left."""
        return json.loads((self.folder / f"{command}.json").read_text())

    def rows(self, command: str) -> list[dict[str, int]]:
        """The samples that the command left, all of them integers."""
        head, *lines = (self.folder / f"{command}.csv").read_text().splitlines()
        names = head.split(",")
        return [dict(zip(names, map(int, line.split(",")), strict=True)) for line in lines]

    def close(self) -> None:
        """End what still runs."""
        for program in self.programs:
            end(program.process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill it; of a build that tells something as it ends, ask first."""
    if process.poll() is None and builds.chosen("engine"):
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
    if process.poll() is None:
        process.kill()
    process.wait()


@pytest.fixture(name="bench")
def bench_fixture(engine: Path, tmp_path: Path) -> Iterator[Bench]:
    """A bench in a folder of its own."""
    made = Bench(engine, tmp_path)
    yield made
    made.close()
