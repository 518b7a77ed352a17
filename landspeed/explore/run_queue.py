"""Runs that are asked for while the page is served: one at a time for each core, with progress, until cancelled."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from landspeed.base.errors import LandspeedError
from landspeed.base.failures import RunInterrupted
from landspeed.explore.measured_runs import Collection, ShownRun
from landspeed.explore.setting import Setting, Slider, setting_at
from landspeed.runs.library import RunHandle, arun

MOST_WAITING = 50
OVER = ("done", "failed", "cancelled")


class RequestRefused(Exception):  # noqa: N818
    """A request that cannot be served; the message says why."""


@dataclass
class RunRequest:
    """One run that was asked for."""

    number: int
    at: list[int]
    setting: Setting
    state: str = "waiting"  # running, done, failed, cancelled
    share: float = 0.0
    words: str = ""
    error: str | None = None
    measured: ShownRun | None = None
    going: RunHandle | None = field(default=None, repr=False)
    task: asyncio.Task[None] | None = field(default=None, repr=False)

    @property
    def is_over(self) -> bool:
        """True if the request has ended and will not change any more."""
        return self.state in OVER


class RunQueue:
    """Takes what is asked, runs it, tells how far it is."""

    def __init__(self, chosen: Sequence[Slider], collection: Collection, jobs: int) -> None:
        """Serve requests for these sliders.

        Args:
            jobs: runs at once.
        """
        self.chosen, self.collection = chosen, collection
        self._free = asyncio.Semaphore(jobs)
        self._asked: dict[int, RunRequest] = {}
        self._numbers = itertools.count(1)
        self._listeners: set[Callable[[RunRequest], None]] = set()

    def ask(self, at: Any) -> RunRequest:
        """A run at these places of the sliders; one that is known, or under way, is not made again.

        Raises:
            Refused: there is no such setting, the world cannot make it, or too many wait.
        """
        try:
            places = _places(at, self.chosen)
            setting = setting_at(self.chosen, places)
            known = self.collection.find(setting)
        except LandspeedError as error:
            raise RequestRefused(str(error)) from error
        for each in self._asked.values():
            if each.setting == setting and not each.is_over:
                return each
        if known is None and sum(not each.is_over for each in self._asked.values()) >= MOST_WAITING:
            raise RequestRefused(f"{MOST_WAITING} runs are waiting; cancel some, or wait for them")
        made = RunRequest(next(self._numbers), places, setting)
        self._asked[made.number] = made
        if known is not None:
            made.state, made.share, made.measured = "done", 1.0, known
        else:
            made.task = asyncio.create_task(self._make(made))
        self._tell(made)
        return made

    def cancel(self, number: int) -> RunRequest:
        """End a run, or take it from those that wait.

        Raises:
            Refused: there is none of this number.
        """
        asked = self._asked.get(number)
        if asked is None:
            raise RequestRefused(f"there is no run {number}")
        if asked.state == "waiting":
            asked.state = "cancelled"
        elif asked.going is not None and not asked.is_over:
            asked.words = "ending"
            asked.going.end()
        self._tell(asked)
        return asked

    async def close(self) -> None:
        """End everything that goes on, and wait for that."""
        for asked in list(self._asked.values()):
            self.cancel(asked.number)
        tasks = [asked.task for asked in self._asked.values() if asked.task is not None]
        await asyncio.gather(*tasks, return_exceptions=True)

    def told(self, asked: RunRequest) -> dict[str, Any]:
        """Describe a request for the page."""
        return {
            "id": asked.number,
            "at": asked.at,
            "state": asked.state,
            "share": round(asked.share, 4),
            "words": asked.words,
            "error": asked.error,
            "point": None if asked.measured is None else asked.measured.told(self.chosen),
        }

    def everything(self) -> list[dict[str, Any]]:
        """List all requests so far."""
        return [self.told(asked) for asked in self._asked.values()]

    def listen(self, listener: Callable[[RunRequest], None]) -> Callable[[], None]:
        """Call it with every change; what is returned ends that."""
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    def _tell(self, asked: RunRequest) -> None:
        for listener in list(self._listeners):
            listener(asked)

    async def _make(self, asked: RunRequest) -> None:
        async with self._free:
            if asked.state == "cancelled":
                return
            asked.state, asked.words = "running", "begins"
            self._tell(asked)
            try:
                await self._run(asked)
                asked.state, asked.share = "done", 1.0
            except RunInterrupted:
                asked.state = "cancelled"
            except LandspeedError as error:
                asked.state, asked.error = "failed", str(error)
            except Exception as error:
                asked.state, asked.error = "failed", f"{type(error).__name__}: {error}"
                raise
            finally:
                asked.going = None
                self._tell(asked)

    async def _run(self, asked: RunRequest) -> None:
        store = self.collection.store
        store.make()
        async with arun(asked.setting.scenario(), world=self.collection.world, runs_dir=store.bundles) as going:
            asked.going = going
            async for progress in going:
                asked.share, asked.words = progress.share, str(progress)
                self._tell(asked)
            run = await going.finished()
        asked.measured = await asyncio.to_thread(self.collection.keep, asked.setting, run)


def _places(at: Any, chosen: Sequence[Slider]) -> list[int]:
    """Places that somebody sent, looked at.

    Raises:
        Refused: they are none.
    """
    right = f"write {len(chosen)} whole numbers, a place for each slider"
    places = cast("list[Any]", at) if isinstance(at, list) else []
    if len(places) != len(chosen):
        raise RequestRefused(f"'at' is no list of {len(chosen)}; {right}")
    for place, slider in zip(places, chosen, strict=True):
        if type(place) is not int or not 0 <= place < len(slider.values):
            raise RequestRefused(f"{slider.key}: no place {place!r}; it has 0 to {len(slider.values) - 1}")
    return places
