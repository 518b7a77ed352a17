"""Progress of a run on standard error: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Protocol

from landspeed.base.progress import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

PLAIN_EVERY_S = 10.0


class Reporter(Protocol):
    """Interface of an object that a run reports to."""

    def __call__(self, progress: Progress) -> None:
        """Show the present state."""
        ...

    def close(self) -> None:
        """The run has ended."""
        ...


def make_reporter(*, quiet: bool) -> Reporter:
    """The reporter that fits standard error; `quiet`: nothing at all."""
    if quiet:
        return _Silent()
    return _Bar() if sys.stderr.isatty() else _Plain()


class _Silent:
    def __call__(self, progress: Progress) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class _Plain:
    def __init__(self) -> None:
        self._phase, self._next = "", 0.0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.phase != self._phase:
            self._phase, self._next = progress.phase, now + PLAIN_EVERY_S
            print(f"landspeed: {progress.words}", file=sys.stderr, flush=True)
        elif progress.moves and now >= self._next:
            self._next = now + PLAIN_EVERY_S
            print(f"landspeed: {progress.figures}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Do nothing; there is nothing to release."""


class _Bar:
    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __call__(self, progress: Progress) -> None:
        if self._bar is None or self._task is None:
            self._start()
        assert self._bar is not None
        assert self._task is not None
        text = progress.figures if progress.moves else ""
        self._bar.update(self._task, completed=progress.share, description=progress.words, figures=text)

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn("{task.description:<18}"), BarColumn(bar_width=24), TextColumn("{task.fields[figures]}"))
        self._bar = Bar(*columns, console=Console(stderr=True))
        self._task = self._bar.add_task("", total=1.0, figures="")
        self._bar.start()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
