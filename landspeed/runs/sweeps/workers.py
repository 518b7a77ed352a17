"""Workers that run the cells: threads of this computer, or a running cluster; both by Dask.

A run's work is in processes of its own, a guest on a core of its own or a simulator. So on this computer a thread for
each core waits for them; no worker process has to be started. A cell that the loss of a worker took is run again.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import tempfile
import time
import uuid
from collections.abc import Callable, Generator, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from landspeed.base.failures import NotReady, RunInterrupted
from landspeed.base.log import Log
from landspeed.base.progress import Progress
from landspeed.runs.sweeps.work import CellOutcome, CellWork, do

LOG = Log(__name__)
WAIT_S = "15 s"  # for a scheduler's answer
TRIES = 10  # of a cell whose worker was lost: more, and it is the cell that ends its workers
THREADS = 8  # of one process: more wait for each other
MEMORY = "MEMORY"  # the resource's name, as in Dask's own documents: dask worker --resources "MEMORY=64e9"
KEEP_FREE_BYTES = 1 << 30  # of this computer's memory


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise NotReady("a sweep needs Dask, which is not installed: pip install 'landspeed[sweep]'") from error
    return distributed


def _run(work: CellWork, stop: str) -> CellOutcome:
    """Run a cell on a worker until the sweep is told to end."""
    from distributed import Event

    told = Event(stop)

    def tell(_: Progress) -> None:
        if told.is_set():
            raise RunInterrupted("interrupted")

    return do(work, _now_and_then(tell))


def _now_and_then(tell: Callable[[Progress], None]) -> Callable[[Progress], None]:
    """Asking the scheduler costs a message: once a second is enough."""
    last = [time.monotonic()]

    def asked(progress: Progress) -> None:
        if time.monotonic() - last[0] >= 1:
            last[0] = time.monotonic()
            tell(progress)

    return asked


class Workers:
    """Work is handed in, outcomes come out as they are done."""

    def __init__(self, client: Any, slots: int, dashboard: str = "") -> None:
        """Use a client of Dask.

        Args:
            slots: cells that can run at once.
            dashboard: the address of Dask's own page; "" where it has none.

        Where every worker says how much memory it has (`MEMORY`), so many cells run on it at once as fit.
        """
        told = [each["resources"].get(MEMORY) for each in client.scheduler_info()["workers"].values()]
        self._memory_bytes = max(told) if told and all(told) else None
        self._client, self.slots, self.dashboard = client, slots, dashboard
        self._stop = f"landspeed-{uuid.uuid4().hex}"
        self._works: dict[str, CellWork] = {}
        self._lost: dict[str, int] = {}
        self._going: Any = None

    @property
    def running(self) -> int:
        """Cells handed in and not yet out."""
        return len(self._works)

    def hand_in(self, work: CellWork) -> None:
        """Run a cell, when a worker has time."""
        from distributed import as_completed

        self._works[work.key] = work
        name = f"cell-{work.key}-{self._lost.get(work.key, 0)}"
        # One that needs more than any worker has is not left to wait for ever: it runs alone.
        needs = (
            {MEMORY: min(work.memory_bytes, self._memory_bytes)} if self._memory_bytes and work.memory_bytes else None
        )
        LOG.debug("cell %s is handed in; %d wait or run", work.key, len(self._works))
        future = self._client.submit(_run, work, self._stop, key=name, pure=False, resources=needs)
        if self._going is None:
            self._going = as_completed([future], raise_errors=False)
        else:
            self._going.add(future)

    def outcomes(self) -> Iterator[CellOutcome]:
        """Yield the outcomes of the cells as they are done; end when none is left. More may be handed in meanwhile.

        Raises:
            OtherBuild, NotReady, OutputError: a worker cannot work; nothing more is of use.
        """
        while self._works:
            future = next(self._going)
            work = self._works.pop(str(future.key).split("-")[1])
            LOG.debug("cell %s came back: %s", work.key, future.status)
            outcome = self._outcome(work, future)
            if outcome is not None:
                yield outcome

    def _outcome(self, work: CellWork, future: Any) -> CellOutcome | None:
        from distributed.scheduler import KilledWorker

        if future.status == "cancelled" or isinstance(future.exception(), KilledWorker):
            self._lost[work.key] = self._lost.get(work.key, 0) + 1
            LOG.info("cell %s: its worker was lost, for the %d. time", work.key, self._lost[work.key])
            if self._lost[work.key] < TRIES:
                self.hand_in(work)
                return None
            why = f"the worker was lost {TRIES} times while this cell ran"
            return CellOutcome(work.key, work.seed, "failed", why, {}, None, None)
        return future.result()

    def end(self) -> None:
        """End what runs, soon."""
        from distributed import Event

        with contextlib.suppress(Exception):
            Event(self._stop, client=self._client).set()
            self._client.cancel(list(self._going.futures) if self._going else [])


class _LateDashboard:
    """Dask's own page, imported when somebody opens it: Bokeh takes half a second, and few look."""

    def __init__(self, scheduler: Any) -> None:
        """Stand for the page of this scheduler, among its applications."""
        self._scheduler = scheduler

    def find_handler(self, *_: Any, **__: Any) -> None:
        """Put the page, at the first request, behind this one: there it is asked next."""
        scheduler, self._scheduler = self._scheduler, None
        if scheduler is not None:
            dashboard = import_module("distributed.dashboard.scheduler")
            dashboard.connect(scheduler.http_application, scheduler.http_server, scheduler)


@contextlib.contextmanager
def local_workers(jobs: int) -> Generator[Workers]:
    """Start workers for `jobs` cells at once on this computer."""
    distributed = _distributed()
    from dask.config import set as dask_set

    processes = max(1, -(-jobs // THREADS))
    # Dask's own folder is one for all users of a computer, and stays there.
    with (
        tempfile.TemporaryDirectory(prefix="landspeed-workers-", ignore_cleanup_errors=True) as folder,
        dask_set({"temporary-directory": folder}),
    ):
        cluster = distributed.LocalCluster(
            host=None if processes == 1 else "127.0.0.1",
            n_workers=processes,
            threads_per_worker=-(-jobs // processes),
            processes=processes > 1,
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
            resources={MEMORY: max(0, _available_bytes() - KEEP_FREE_BYTES) // processes},
        )
        cluster.scheduler.http_application.add_application(_LateDashboard(cluster.scheduler))
        with cluster, distributed.Client(cluster) as client:
            LOG.info("workers: %d cells at once, in %d processes of %s", jobs, processes, folder)
            port = client.scheduler_info()["services"].get("dashboard")
            yield Workers(client, jobs, f"http://127.0.0.1:{port}/status" if port else "")


@contextlib.contextmanager
def cluster_workers(address: str) -> Generator[Workers]:
    """The workers of a scheduler that is there.

    Raises:
        NotReady: it does not answer, or has no worker.
    """
    distributed = _distributed()
    try:
        client = distributed.Client(address, timeout=WAIT_S)
    except (OSError, ValueError, TimeoutError) as error:
        what = str(error) or "it does not answer"
        raise NotReady(f"no Dask scheduler at {address}: {what}; start one, or leave --scheduler out") from error
    with client:
        threads = sum(client.nthreads().values())
        if not threads:
            raise NotReady(f"the Dask scheduler at {address} has no worker; start some with: dask worker {address}")
        LOG.info("workers: %d cells at once, of the scheduler at %s", threads, address)
        yield Workers(client, threads, str(client.dashboard_link))


def _available_bytes() -> int:
    """Memory that this computer can give without swapping."""
    import psutil

    return int(psutil.virtual_memory().available)


def usual_jobs() -> int:
    """Cells at once: the cores that this process may use, by its affinity and by what its control groups allow it."""
    return max(1, int(min(len(os.sched_getaffinity(0)), quota_cores())))


def quota_cores(groups: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> float:
    """Least quota of this process's control group and those above it, in cores (cgroup-v2.rst, cpu.max)."""
    try:
        name = next(line[3:] for line in own.read_text().splitlines() if line.startswith("0::"))
    except (OSError, StopIteration):
        return math.inf
    least = math.inf
    here = groups / name.lstrip("/")
    for group in (here, *here.parents):
        with contextlib.suppress(OSError, ValueError):  # no such file at the top; "max" is no number
            quota_us, period_us = map(int, (group / "cpu.max").read_text().split())
            least = min(least, quota_us / period_us)
        if group == groups:
            break
    return least
