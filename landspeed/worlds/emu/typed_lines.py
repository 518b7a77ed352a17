"""A person at a terminal types what a script reads, host side (the other side: guest/script/typed_input.py).

While the guest waits for a line it stands still. Ctrl-C at the prompt, and while the script runs, goes to the script;
what the guest has not taken when it is typed once more ends the run.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Generator
from importlib import import_module
from pathlib import Path

from landspeed.worlds.emu.session import ANSWER, ask, knock

INTERRUPT = "interrupt"  # guest/script/typed_input.py
KNOCK_EVERY_S, GONE_S = 0.002, 5.0


class TypedLines:
    """The lines of one run."""

    def __init__(self, folder: Path, show: Callable[[], str]) -> None:
        """Wait for nothing yet.

        Args:
            folder: of the run.
            show: prints what the script has printed so far, but for the line that it has begun last, and returns this.
        """
        self._folder, self._show, self._reading = folder, show, False

    def look(self) -> bool:
        """Read a line and hand it over, if the script waits for one; whether it did."""
        answer = self._folder / ANSWER
        if not answer.exists():
            return False
        answer.unlink()
        prompt = self._show()
        try:
            self._reading = True
            self._raise_if_interrupted()
            said = {"line": self._line(prompt), "interrupt": False}
        except KeyboardInterrupt:
            said = {"line": "", "interrupt": True}
        finally:
            self._reading = False
        ask(self._folder, said)
        ends = time.monotonic() + GONE_S
        while not knock(self._folder) and time.monotonic() < ends:  # a guest that is over opens no door
            time.sleep(KNOCK_EVERY_S)
        return True

    def _raise_if_interrupted(self) -> None:
        """Give Ctrl-C to the prompt, as a machine does, where what it was meant for is over."""
        file = self._folder / INTERRUPT
        if file.exists():
            file.unlink()
            raise KeyboardInterrupt

    def _line(self, prompt: str) -> str:
        """A line with its end, edited by readline(3) where it is there; empty: Ctrl-D."""
        with contextlib.suppress(ImportError):
            import_module("readline")  # for input(); most runs do without
        try:
            return input(prompt) + "\n"
        except EOFError:
            return ""

    @contextlib.contextmanager
    def interrupts(self) -> Generator[None]:
        """Take Ctrl-C meanwhile."""
        former = signal.signal(signal.SIGINT, self._interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, former)

    def _interrupt(self, *_: object) -> None:
        file = self._folder / INTERRUPT
        if self._reading or file.exists():
            raise KeyboardInterrupt
        file.touch()
