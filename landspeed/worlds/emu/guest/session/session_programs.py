"""The programs of a session: started at a node, their output kept as it comes, their end noted with its time."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from landspeed.worlds.emu.guest import clock
from landspeed.worlds.emu.guest.files import OUT

if TYPE_CHECKING:
    from landspeed.worlds.emu.guest.network.nodes import GuestNode
    from landspeed.worlds.emu.guest.session.loop import Loop

KEPT_BYTES = 64 << 20  # of each output; of what comes after it, the last
TAIL_BYTES = 64 << 10
PIPE_BYTES = 1 << 20
F_SETPIPE_SZ = 1031
HEARD = ("out", "err")


class Output:
    """One of a program's outputs: a pipe, read whenever something is in it, and a file in the run's folder."""

    def __init__(self, path: str, loop: Loop) -> None:
        """Make the pipe. `path` is relative to the run's folder."""
        self._loop = loop
        self._reading, self.writing = os.pipe2(os.O_CLOEXEC)
        fcntl.fcntl(self._reading, F_SETPIPE_SZ, PIPE_BYTES)
        os.set_blocking(self._reading, False)
        self._file = os.open(f"{OUT}/{path}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self._open = True
        self.bytes = 0
        self.tail = b""  # the last bytes, for who waits for a line
        loop.watch(self._reading, self.read)

    def read(self) -> None:
        """Keep what has come; close when nobody writes any more."""
        while self._open:
            try:
                data = os.read(self._reading, PIPE_BYTES)
            except BlockingIOError:
                return
            if not data:
                self._close()
                return
            if room := max(KEPT_BYTES - self.bytes, 0):
                os.write(self._file, data[:room])
            self.bytes += len(data)
            self.tail = (self.tail + data)[-TAIL_BYTES:]

    def finish(self) -> None:
        """Stop reading; if more came than is kept, a line before its last part says so."""
        self.read()
        if self._open:
            self._close()

    def _close(self) -> None:
        self._open = False
        self._loop.forget(self._reading)
        os.close(self._reading)
        if (lost := self.bytes - KEPT_BYTES - len(self.tail)) > 0:
            os.write(self._file, f"\n[landspeed left out {lost} bytes here]\n".encode())
        if self.bytes > KEPT_BYTES:
            os.write(self._file, self.tail[-(self.bytes - KEPT_BYTES) :])
        os.close(self._file)


class SessionProgram:
    """A program that was started at a node.

    Attributes:
        number: of the session's programs.
        status: exit status, or minus the signal that ended it; None while it runs.
        ended_ns: the monotonic clock when it ended.
    """

    def __init__(
        self,
        number: int,
        words: list[str],
        node: GuestNode,
        environment: Mapping[str, str],
        loop: Loop,
        *,
        stdin: str = os.devnull,
    ) -> None:
        """Start it, in the folder of this process and in a process group of its own.

        Args:
            number: its outputs are programs/NUMBER.out and .err in the run's folder.
            words: program and arguments.
            node: where.
            environment: the whole of it.
            loop: what keeps its output.
            stdin: file that it reads.

        Raises:
            OSError: it cannot be started.
        """
        self.number, self._loop = number, loop
        self.status: int | None = None
        self.ended_ns: int | None = None
        self.outputs = [Output(f"programs/{number}.{name}", loop) for name in HEARD]
        files: list[Any] = [(os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0)]
        files += [(os.POSIX_SPAWN_DUP2, each.writing, place) for place, each in enumerate(self.outputs, 1)]
        try:
            with node.inside():
                self.pid = os.posix_spawnp(
                    words[0],
                    words,
                    environment,
                    file_actions=files,
                    setsid=True,
                    setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],  # Python ignores them itself
                )
        finally:
            for each in self.outputs:
                os.close(each.writing)
        self._ends = os.pidfd_open(self.pid)
        loop.watch(self._ends, self._ended)

    def _ended(self) -> None:
        _, status = os.waitpid(self.pid, 0)
        self.status, self.ended_ns = os.waitstatus_to_exitcode(status), clock.now_ns()
        for each in self.outputs:  # what it left behind; children of it may still write
            each.read()
        self._loop.forget(self._ends)
        os.close(self._ends)

    def send_signal(self, number: int) -> None:
        """Send a signal to it and to all of its process group, unless it has ended and left none."""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            return

    def finish(self) -> None:
        """Keep no more of its output."""
        for each in self.outputs:
            each.finish()

    def state(self) -> dict[str, Any]:
        """Report the state to the host."""
        return {
            "status": self.status,
            "ended_ns": self.ended_ns,
            "bytes": [each.bytes for each in self.outputs],
        }
