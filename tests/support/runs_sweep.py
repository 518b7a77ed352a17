"""Shared by tests: what test_sweep and others use."""

import json
from pathlib import Path
from typing import Any

from pyarrow import parquet

from tests.support.command_process import COMMAND, run
from tests.support.emu_fixtures import FIRST
from tests.support.toy_world import environment


class Sweeps:
    """Sweeps of one file in one folder."""

    def __init__(self, folder: Path, site: Path) -> None:
        self.folder, self.site, self.out = folder, site, folder / "out"
        self.log = folder / "log"
        self.log.touch()

    def file(self, vary: str) -> Path:
        file = self.folder / "grid.yaml"
        file.write_text(f"extends: {FIRST}\nname: grid\nexpect: null\ntransfer: {{duration: 2 s}}\nvary: {vary}\n")
        return file

    def words(self, vary: str, *more: object) -> list[str]:
        words = [COMMAND, "sweep", self.file(vary), "--world", "toy", "--out", self.out, "--log", self.log, *more]
        return [str(word) for word in words]

    def run(self, vary: str, *more: object, status: int = 0, **variables: str) -> tuple[dict[str, Any], str]:
        """The JSON object, and standard error."""
        words = self.words(vary, "--json", *more)
        env = environment(self.site, **variables)
        done = run(words, capture_output=True, text=True, env=env, timeout=300)
        assert done.returncode == status, done.stderr
        return json.loads(done.stdout or "{}"), done.stderr

    @property
    def runs(self) -> int:
        """Runs that were begun so far."""
        return len(self.log.read_text().splitlines())

    def rows(self) -> list[dict[str, Any]]:
        return parquet.read_table(self.out / "table.parquet").to_pylist()
