"""Standard input of a script at a terminal: each line comes from the person there, through the guest's door.

Meanwhile nothing of the guest runs and its clock stands still, so a net does not age while its user thinks.
"""

from __future__ import annotations

import io
import os
import select
import signal
import subprocess
import time

from landspeed.worlds.emu.guest.files import OUT
from landspeed.worlds.emu.guest.session.request_fifo import RequestFifo

INTERRUPT = f"{OUT}/interrupt"  # a file of the host's: Ctrl-C was typed while the script ran
THINKS_S = 0.1  # nobody types faster: what runs in the background has begun when the next line comes
LOOK_MS = 1000  # how often it is looked for


class TypedInput(io.TextIOBase):
    """Lines that the person types, one after the other."""

    def __init__(self) -> None:
        """Ask for nothing yet."""
        self._door: RequestFifo | None = None

    def fileno(self) -> int:
        """Return that of the process's standard input, which is at its end."""
        return 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readline(self, _size: int | None = -1, /) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Ask for the next line; empty at the end of the input (Ctrl-D). A size is of no effect.

        Raises:
            KeyboardInterrupt: the person typed Ctrl-C instead.
        """
        self._door = self._door or RequestFifo()
        time.sleep(THINKS_S)
        self._door.answer({"do": "line"})
        said = self._door.wait()
        if said["interrupt"]:
            raise KeyboardInterrupt
        return said["line"]

    def read(self, size: int | None = -1, /) -> str:
        """Read all lines to the end; a line where a size is given."""
        return self.readline() if size and size > 0 else "".join(iter(self.readline, ""))


def wait_and_interrupt(program: subprocess.Popen[bytes], limit_s: float | None) -> int:
    """Wait for the end of a script, and pass Ctrl-C on to it.

    Raises:
        subprocess.TimeoutExpired: it takes longer than the limit.
    """
    ends = time.monotonic() + limit_s if limit_s else None
    poll = select.poll()
    poll.register(os.pidfd_open(program.pid), select.POLLIN)
    while not poll.poll(LOOK_MS):
        if os.path.exists(INTERRUPT):  # noqa: PTH110
            os.unlink(INTERRUPT)  # noqa: PTH108
            program.send_signal(signal.SIGINT)
        if ends is not None and time.monotonic() >= ends:
            raise subprocess.TimeoutExpired(program.args, limit_s or 0)
    return program.wait()
