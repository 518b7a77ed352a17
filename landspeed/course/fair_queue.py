"""A queue of work for a room: each student in turn, whatever number of runs another one has asked for.

The next run is that of the student whose last one began the longest ago; who has had none comes before all others.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass, field
from typing import Any

MOST_WAITING = 3  # jobs of one student


class QueueFullError(Exception):
    """A student has enough work waiting."""


@dataclass
class RoomJob:
    """Work of one student.

    Attributes:
        work: a function and its arguments; it gives the text that the student sees.
        place: jobs that are begun before it; 0: it is under way, or done.
    """

    number: int
    student: str
    work: tuple[Callable[..., str], tuple[Any, ...]] = field(repr=False)
    place: int = 0
    done: bool = False
    told: str = ""


class FairQueue:
    """Gives an executor as much work as it has workers, and takes the next student's job when one is done."""

    def __init__(self, make: Callable[[], Executor], workers: int) -> None:
        """Begin with nothing; a pool whose worker died is made anew."""
        self._make, self._executor, self._free = make, make(), workers
        self._lock = threading.RLock()  # a future that is done already calls back at once
        self._waiting: dict[str, deque[RoomJob]] = {}
        self._began: dict[str, int] = {}  # student → how many jobs had begun when one of hers last did
        self._jobs: dict[int, RoomJob] = {}
        self.order: list[int] = []  # numbers of jobs as they were begun

    def put(self, student: str, work: Callable[..., str], *arguments: Any) -> RoomJob:
        """Ask for work.

        Raises:
            QueueFullError: the student has three jobs waiting.
        """
        with self._lock:
            own = self._waiting.setdefault(student, deque())
            if len(own) >= MOST_WAITING:
                raise QueueFullError(f"{len(own)} runs of yours are waiting; wait for one of them")
            job = RoomJob(len(self._jobs) + 1, student, (work, arguments))
            self._jobs[job.number] = job
            own.append(job)
            self._begin()
        return job

    def job(self, number: int, student: str) -> RoomJob | None:
        """A job of a student, with its present place; None if it is not hers."""
        with self._lock:
            job = self._jobs.get(number)
            if job is None or job.student != student:
                return None
            job.place = self._place(job)
            return job

    def _place(self, job: RoomJob) -> int:
        """Count what is begun before it: of each other student as many as of hers, or one less."""
        own = list(self._waiting.get(job.student, ()))
        if job not in own:
            return 0
        turns = self._turns()
        round_of, turn = own.index(job), turns.index(job.student)
        others = (
            min(len(self._waiting[name]), round_of + (1 if other < turn else 0))
            for other, name in enumerate(turns)
            if other != turn
        )
        return sum(others) + round_of + 1

    def _turns(self) -> list[str]:
        """Students who wait, the next one first; those who have had no run come as they have entered."""
        return sorted((name for name, own in self._waiting.items() if own), key=lambda name: self._began.get(name, 0))

    def _begin(self) -> None:
        """Begin jobs while a worker is free; the lock is held."""
        while self._free and (turns := self._turns()):
            job = self._waiting[turns[0]].popleft()
            self._free -= 1
            self.order.append(job.number)
            self._began[job.student] = len(self.order)
            function, arguments = job.work
            self._submit(function, arguments).add_done_callback(lambda future, job=job: self._end(job, future))

    def _submit(self, function: Callable[..., str], arguments: tuple[Any, ...]) -> Future[str]:
        try:
            return self._executor.submit(function, *arguments)
        except BrokenExecutor:
            self._executor = self._make()
            return self._executor.submit(function, *arguments)

    def close(self) -> None:
        """Begin nothing more."""
        with self._lock:
            self._waiting.clear()
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _end(self, job: RoomJob, future: Future[str]) -> None:
        error = future.exception()
        with self._lock:
            job.told = f"It broke: {error}" if error else future.result()
            job.done = True
            self._free += 1
            self._begin()
