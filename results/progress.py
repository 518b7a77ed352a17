"""Progress of a run: a bar on a terminal, a plain line now and then elsewhere. Always on standard error."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

PLAIN_EVERY_S = 10.0
PHASES = {
    "boot": "booting the guest",
    "build": "building the path",
    "calibrate": "calibrating",
    "transfer": "transfer",
    "exec": "running the program",
    "simulate": "simulating",
    "end": "done",
}
MOVING = ("transfer", "simulate", "end")  # phases in which the transfer's clock runs


@dataclass
class Progress:
    """What is known while a run goes on. Times in s, rates in bit/s."""

    phase: str = "boot"
    wall_s: float = 0.0
    virtual_s: float = 0.0
    transfer_s: float = 0.0
    transfer_wall_s: float = 0.0
    bytes: int = 0
    goodput_bps: float = 0.0


class Reporter(Protocol):
    """What a run reports to."""

    def __call__(self, progress: Progress) -> None:
        """Show the present state."""
        ...

    def close(self) -> None:
        """The run has ended."""
        ...


def make_reporter(total_s: float | None, total_bytes: int | None, *, quiet: bool) -> Reporter:
    """The reporter that fits standard error.

    Args:
        total_s: virtual seconds the transfer is to last, if it is limited by time.
        total_bytes: bytes it is to move, if it is limited by bytes.
        quiet: nothing at all.
    """
    if quiet:
        return _Silent()
    return _Bar(total_s, total_bytes) if sys.stderr.isatty() else _Plain(total_s, total_bytes)


def figures(progress: Progress, share: float) -> str:
    """One line: virtual time, goodput now, speed-up over real time, time left."""
    speed_up = progress.transfer_s / progress.transfer_wall_s if progress.transfer_wall_s > 0 else 0.0
    left = progress.transfer_wall_s * (1 - share) / share if share > 0 else None
    return (
        f"{progress.transfer_s:7.0f} s virtual  {progress.goodput_bps / 1e9:7.3f} Gbit/s  "
        f"{speed_up:5.1f} × real time  {'--:--' if left is None else f'{int(left) // 60}:{int(left) % 60:02d}'} left"
    )


class _Silent:
    def __call__(self, progress: Progress) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class _Shared:
    def __init__(self, total_s: float | None, total_bytes: int | None) -> None:
        self._total_s, self._total_bytes = total_s, total_bytes

    def share(self, progress: Progress) -> float:
        if self._total_bytes:
            return min(progress.bytes / self._total_bytes, 1.0)
        return min(progress.transfer_s / self._total_s, 1.0) if self._total_s else 0.0


class _Plain(_Shared):
    def __init__(self, total_s: float | None, total_bytes: int | None) -> None:
        super().__init__(total_s, total_bytes)
        self._phase, self._next = "", 0.0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.phase != self._phase:
            self._phase, self._next = progress.phase, now + PLAIN_EVERY_S
            print(f"landspeed: {PHASES.get(progress.phase, progress.phase)}", file=sys.stderr, flush=True)
        elif progress.phase in MOVING and now >= self._next:
            self._next = now + PLAIN_EVERY_S
            print(f"landspeed: {figures(progress, self.share(progress))}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Nothing is held."""


class _Bar(_Shared):
    def __init__(self, total_s: float | None, total_bytes: int | None) -> None:
        super().__init__(total_s, total_bytes)
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __call__(self, progress: Progress) -> None:
        if self._bar is None or self._task is None:
            self._start()
        assert self._bar is not None
        assert self._task is not None
        share = 1.0 if progress.phase == "end" else self.share(progress)
        text = figures(progress, share) if progress.phase in MOVING and progress.transfer_s else ""
        self._bar.update(
            self._task, completed=share, description=PHASES.get(progress.phase, progress.phase), figures=text
        )

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
