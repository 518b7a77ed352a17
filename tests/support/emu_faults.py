"""What the tests of faults share: the command running, and the proof that nothing of it is left."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from landspeed.results.bundle import list_bundles, load_record
from tests.support.command import COMMAND, DEADLINE_S
from tests.support.emu_fixtures import host_state, processes_in, wait_until


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
        out, err = self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode, out, err


def only_record(out: Path) -> Any:
    """The one bundle's record."""
    (bundle,) = list_bundles(out)
    return load_record(bundle)
