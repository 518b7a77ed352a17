"""Sweeps over a Dask cluster on loopback: lost and preempted workers, other builds; the table is the local one."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.emu_fixtures import wait_until
from tests.support.runs_sweep import Sweeps
from tests.support.toy_world import environment, make_site

pytestmark = pytest.mark.slow
GRID = "{transfer.streams: [1, 2, 3, 4], seeds: 6}"


class Cluster:
    """A scheduler and its workers, each a process group of its own."""

    def __init__(self, folder: Path, site: Path) -> None:
        self.folder, self.site = folder, site
        self.scratch = folder / "scratch"  # of cells that keep no bundle, and of Dask
        self.scratch.mkdir()
        self.programs: list[subprocess.Popen[bytes]] = []
        self.log = folder / "scheduler.log"
        self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", log=self.log)
        wait_until(lambda: self._found() is not None, "the scheduler to say its address", deadline_s=120)
        found = self._found()
        assert found is not None
        self.address = found[1]

    def _found(self) -> re.Match[str] | None:
        return re.search(r"Scheduler at: +(tcp://\S+)", self.log.read_text())

    def _start(self, *words: str, log: Path, **variables: str) -> subprocess.Popen[bytes]:
        program = [sys.executable, "-m", "dask", *words]
        env = environment(self.site, TMPDIR=str(self.scratch), **variables)
        with log.open("wb") as out:
            made = subprocess.Popen(program, stdout=out, stderr=out, env=env, cwd=self.folder, start_new_session=True)
        self.programs.append(made)
        return made

    def worker(self, **variables: str) -> subprocess.Popen[bytes]:
        """Another worker of one thread, without a nanny: what kills it is not mended."""
        log = self.folder / f"worker{len(self.programs)}.log"
        made = self._start("worker", self.address, "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1",
                           "--no-dashboard", log=log, **variables)  # fmt: skip
        wait_until(lambda: "Registered to" in log.read_text(), "the worker to be there", deadline_s=120)
        return made

    def end(self) -> None:
        for program in reversed(self.programs):
            if program.poll() is None:
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    site = make_site(tmp_path)
    made = Cluster(tmp_path, site)
    try:
        yield made
    finally:
        made.end()


def test_lost_workers_cost_only_their_cells(cluster: Cluster, tmp_path: Path) -> None:
    """One is killed while it runs a cell; another is preempted twice: it ends politely and comes again."""
    sweeps = Sweeps(tmp_path, cluster.site)
    _, killed, preempted = cluster.worker(), cluster.worker(), cluster.worker()
    hold = tmp_path / "go"
    words = sweeps.words(GRID, "--scheduler", cluster.address, "--hold", hold, "--no-bundles", "--json")
    going = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(cluster.site))
    try:
        wait_until(lambda: sweeps.runs >= 3, "three cells to run", deadline_s=120)
        scratch = list(cluster.scratch.glob("landspeed-*"))
        assert len(scratch) == 3
        killed.kill()
        wait_until(lambda: not all(folder.exists() for folder in scratch), "the cell's folder to go with its worker")
        for _ in range(2):
            preempted.terminate()
            preempted.wait(timeout=60)
            before = sweeps.runs
            preempted = cluster.worker()
            wait_until(lambda before=before: sweeps.runs > before, "another cell to run", deadline_s=120)
        hold.touch()
        _, said = going.communicate(timeout=240)
    finally:
        going.kill()
        going.wait()
    assert going.returncode == 0, said
    assert not list(cluster.scratch.glob("landspeed-*"))
    table = (sweeps.out / "table.parquet").read_bytes()
    cells = [row["cell"] for row in sweeps.rows()]
    assert len(cells) == len(set(cells)) == 24
    assert all(row["state"] == "done" for row in sweeps.rows())

    here = Sweeps(tmp_path / "here", cluster.site) if (tmp_path / "here").mkdir() is None else sweeps
    here.run(GRID, "--no-bundles")
    assert (here.out / "table.parquet").read_bytes() == table


def test_a_worker_of_another_build_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    sweeps = Sweeps(tmp_path, cluster.site)
    _, said = sweeps.run(GRID, "--scheduler", cluster.address, status=2)
    assert "has no worker" in said
    cluster.worker(TOY_BUILD="brush")
    _, said = sweeps.run(GRID, "--scheduler", cluster.address, status=2)
    assert "this worker has another build: brush instead of pencil" in said
    assert sweeps.runs == 0
