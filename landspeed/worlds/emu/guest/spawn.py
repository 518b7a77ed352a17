"""Programs of a transfer, by posix_spawn(3): importing subprocess takes longer than starting them."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from landspeed.worlds.emu.guest.network.nodes import GuestNode


class SpawnedProgram:
    """A program that runs, with those members of `subprocess.Popen` that are needed."""

    def __init__(
        self,
        words: list[str],
        output: int,
        node: GuestNode | None = None,
        environment: Mapping[str, str] | None = None,
        *,
        given: int | None = None,
    ) -> None:
        """Start it in a node; both its outputs go to a descriptor, nothing comes in, and it keeps the `given` one.

        Raises:
            OSError: it cannot be started; the error names it.
        """
        files = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, output, 1),
            (os.POSIX_SPAWN_DUP2, output, 2),
            *([] if given is None else [(os.POSIX_SPAWN_DUP2, given, given)]),  # no longer closed at exec
        ]
        told = os.environ if environment is None else environment
        defaults = [signal.SIGPIPE, signal.SIGXFSZ]  # Python ignores them itself
        if node is None:
            self.pid = os.posix_spawnp(words[0], words, told, file_actions=files, setsigdef=defaults)
        else:
            with node.inside():
                self.pid = os.posix_spawnp(words[0], words, told, file_actions=files, setsigdef=defaults)
        self._status: int | None = None

    def poll(self) -> int | None:
        """Exit status, or minus the signal that ended it; None while it runs."""
        return self._wait(os.WNOHANG)

    def wait(self) -> int:
        """Wait until it has ended, and return its exit status."""
        status = self._wait(0)
        assert status is not None
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal to the program, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def _wait(self, options: int) -> int | None:
        if self._status is None:
            pid, status = os.waitpid(self.pid, options)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
        return self._status


class Programs:
    """Several programs as one: it has ended when each has.

    Attributes:
        each: the programs.
    """

    def __init__(self, each: list[SpawnedProgram]) -> None:
        self.each = each

    def poll(self) -> int | None:
        """The first exit status that is not 0, else 0; None while one still runs."""
        statuses = [program.poll() for program in self.each]
        return None if None in statuses else next((status for status in statuses if status), 0)

    def wait(self) -> int:
        """Wait for the end of all, and return the first exit status that is not 0, else 0."""
        return next((status for status in [program.wait() for program in self.each] if status), 0)


def output_of(words: list[str], node: GuestNode) -> str:
    """Run a program to its end and return its output on both descriptors."""
    reading, writing = os.pipe()
    try:
        program = SpawnedProgram(words, writing, node)
    finally:
        os.close(writing)
    with open(reading, "rb") as handle:  # noqa: PTH123 (a descriptor)
        written = handle.read()
    program.wait()
    return written.decode(errors="replace")
