"""Programs of a transfer, by posix_spawn(3): importing subprocess takes longer than starting them."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from landspeed.worlds.emu.guest.network.nodes import GuestNode


class StartedProgram:
    """A child of this process that runs, with those members of `subprocess.Popen` that are needed."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
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


class SpawnedProgram(StartedProgram):
    """A program that this process started by itself."""

    def __init__(
        self,
        words: list[str],
        output: int,
        node: GuestNode | None = None,
        environment: Mapping[str, str] | None = None,
        *,
        reads: int | None = None,
        given: Sequence[int] = (),
    ) -> None:
        """Start it in a node; both its outputs go to a descriptor, and it keeps the `given` ones.

        `reads`: the descriptor that is its standard input; None: nothing comes in.

        Raises:
            OSError: it cannot be started; the error names it.
        """
        nothing = (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)
        files = [
            nothing if reads is None else (os.POSIX_SPAWN_DUP2, reads, 0),
            (os.POSIX_SPAWN_DUP2, output, 1),
            (os.POSIX_SPAWN_DUP2, output, 2),
            *((os.POSIX_SPAWN_DUP2, each, each) for each in given),  # no longer closed at exec
        ]
        told = os.environ if environment is None else environment
        defaults = [signal.SIGPIPE, signal.SIGXFSZ]  # Python ignores them itself
        with contextlib.nullcontext() if node is None else node.inside():
            super().__init__(os.posix_spawnp(words[0], words, told, file_actions=files, setsigdef=defaults))


class Starter:
    """A process that starts programs of one image, which it has loaded already (engine/src/command/hosts.h).

    An exec of the engine takes 12 ms in a guest, nearly all of it page faults of its libraries; a fork takes 1 ms.
    """

    def __init__(self, words: list[str], output: int, *, given: Sequence[int] = ()) -> None:
        """Start it; what it starts has the `given` descriptors."""
        self._asking, asked = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with asked:
            self._program = SpawnedProgram(words, output, reads=asked.fileno(), given=given)

    def start(self, words: list[str], output: int, node: GuestNode, more: Mapping[str, str]) -> StartedProgram:
        """Start a command line in a node, with more variables; both its outputs go to a descriptor.

        Raises:
            OSError: it cannot be started.
        """
        texts = [*(f"{name}={value}" for name, value in more.items()), "", *words, ""]
        rights = struct.pack("=ii", node.namespace, output)
        self._asking.sendmsg(["\0".join(texts).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        answer = self._asking.recv(4)
        (pid,) = struct.unpack("=i", answer) if answer else (-errno.EPIPE,)
        if pid < 0:
            raise OSError(-pid, os.strerror(-pid), words[0])
        return StartedProgram(pid)

    def close(self) -> None:
        """End it; what it started runs on."""
        self._asking.shutdown(socket.SHUT_WR)  # others may hold it, too: pingers are forks of this process
        self._program.wait()
        self._asking.close()


class Programs:
    """Several programs as one: it has ended when each has.

    Attributes:
        each: the programs.
    """

    def __init__(self, each: Sequence[StartedProgram]) -> None:
        self.each = each

    def poll(self) -> int | None:
        """The first exit status that is not 0, else 0; None while one still runs."""
        statuses = [program.poll() for program in self.each]
        return None if None in statuses else next((status for status in statuses if status), 0)

    def wait(self) -> int:
        """Wait for the end of all, and return the first exit status that is not 0, else 0."""
        return next((status for status in [program.wait() for program in self.each] if status), 0)


def output_of(words: list[str], node: GuestNode | None = None, *, given: Sequence[int] = ()) -> str:
    """Run a program, which keeps the `given` descriptors, to its end; return its output on both descriptors."""
    reading, writing = os.pipe()
    try:
        program = SpawnedProgram(words, writing, node, given=given)
    finally:
        os.close(writing)
    with open(reading, "rb") as handle:  # noqa: PTH123 (a descriptor)
        written = handle.read()
    program.wait()
    return written.decode(errors="replace")
