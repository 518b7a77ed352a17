"""Shared by tests: what test_third_party and others use."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.engine.auth import make_key
from tests.support.engine.fixtures import Bench, Program, free_port


class Three:
    """Host A, which sends, and host B, which receives, on ports of this machine; with one key."""

    def __init__(self, bench: Bench, *options: str, receiver: Sequence[str] = ()) -> None:
        self.bench = bench
        self.key = make_key(bench)
        (bench.folder / "b").mkdir()
        self.b = Bench(bench.binary, bench.folder / "b")
        self.a = bench.start("receive", "--quiet", "--key", str(self.key), *options)
        self.a.wait_for("listening")
        self.data_port = free_port()
        words = ["--quiet", "--key", str(self.key), "--data-port", str(self.data_port), *receiver]
        self.receiver = self.b.start("receive", *words)
        self.receiver.wait_for("listening")

    def ask(self, *options: str, key: Path | None = None) -> Program:
        """A client of A."""
        words = ["--from", "127.0.0.1", "--from-port", str(self.bench.port), "--key", str(key or self.key)]
        words += ["--to", "127.0.0.1", "--to-port", str(self.b.port), *options]
        program = Program(
            [str(self.bench.binary), "third-party", *words], self.bench.folder, f"ask-{len(self.b.programs)}"
        )
        self.b.programs.append(program)
        return program

    def moving(self) -> bool:
        """Whether B has read payload: before that its session's end would have another reason."""
        words = ["ss", "-HOtni", "state", "established", f"sport = :{self.data_port}"]
        shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        return any(int(count) > 100_000 for count in re.findall(r"bytes_received:(\d+)", shown))


@pytest.fixture(name="three")
def three_fixture(bench: Bench):
    """A that serves third parties, and B."""
    made = Three(bench, "--third-party")
    yield made
    made.b.close()
