"""A program at a node of a path, as the test holds it."""

from __future__ import annotations

import shlex
import signal
from pathlib import Path as File

from landspeed.programs.conditions import Condition, ListeningCondition, SuccessCondition
from landspeed.programs.errors import PathError, ProgramEnded, ProgramTimeout
from landspeed.programs.live_path import LivePath
from landspeed.programs.story import time_text

TAIL_LINES = 20
GRACE = "5 s"


class Program:
    """A program that was started.

    Attributes:
        number: its number among the programs of the path, from 1.
        node: name of the node.
        words: program and arguments.
        started_s: virtual time since the test's start.
    """

    def __init__(self, path: LivePath, number: int, node: str, words: list[str]) -> None:
        """Made by `Node.popen`."""
        self._path, self.number, self.node, self.words = path, number, node, words
        self.started_s = path.elapsed_s

    @property
    def returncode(self) -> int | None:
        """Exit status, or minus the signal that ended it; None while it runs."""
        return self._path.session.programs[self.number].status

    @property
    def elapsed_s(self) -> float:
        """Virtual time that it has taken, so far or in total."""
        ended_ns = self._path.session.programs[self.number].ended_ns
        return (self._path.elapsed_s if ended_ns is None else ended_ns / 1e9) - self.started_s

    @property
    def stdout(self) -> str:
        """Standard output so far: the first 64 MiB, and the last part of the rest."""
        return self._output("out").decode(errors="replace")

    @property
    def stderr(self) -> str:
        """Standard error so far: the first 64 MiB, and the last part of the rest."""
        return self._output("err").decode(errors="replace")

    @property
    def stdout_bytes(self) -> bytes:
        """Standard output so far, as bytes."""
        return self._output("out")

    @property
    def written_bytes(self) -> tuple[int, int]:
        """Bytes written to each of both outputs, including those that are not kept."""
        return self._path.session.programs[self.number].bytes

    def wait(self, timeout: str = "10 min") -> Program:
        """Let virtual time pass until it has ended.

        Raises:
            ProgramTimeout: it still runs after this time of the path's clock. This does not end it.
        """
        __tracebackhide__ = True  # for pytest: what went wrong is in the message
        if not self._path.ask("wait", number=self.number, limit_ns=self._path.duration(timeout))["met"]:
            raise ProgramTimeout(f"{self} still runs after {timeout} {self._where()}{self._said()}")
        return self

    def wait_for(self, condition: Condition, timeout: str = "30 s") -> Program:
        """Let virtual time pass until a condition is met.

        Raises:
            ProgramEnded: the program ended first.
            ProgramTimeout: not within this time of the path's clock; the message says what was seen instead.
            PathError: the command of `succeeds` cannot be started.
        """
        __tracebackhide__ = True  # for pytest: what went wrong is in the message
        do, words = condition.question()
        answer = self._path.ask(do, number=self.number, limit_ns=self._path.duration(timeout), **words)
        if "refused" in answer:
            raise PathError(f"{answer['what']}: {answer['why']}; it was to be tried until {condition}")
        if answer["met"]:
            self._path.note(f"{self.node}: {condition}")
            return self
        if self.returncode is not None:
            ended = f"exit status {self.returncode}" if self.returncode >= 0 else f"signal {-self.returncode}"
            raise ProgramEnded(f"{self} ended ({ended}) before {condition} {self._where()}{self._said()}")
        instead = ""
        if isinstance(condition, ListeningCondition):
            there = ", ".join(f"{protocol} port {port}" for protocol, port in answer["listening"])
            instead = f"; at {self.node} {'somebody listens on ' + there if there else 'nobody listens at all'}"
        elif isinstance(condition, SuccessCondition):
            instead = f"; its last exit status was {answer['last']}"
        raise ProgramTimeout(f"{self}: not within {timeout} that {condition}{instead} {self._where()}{self._said()}")

    def send_signal(self, number: int) -> None:
        """Send a signal to it and to its children. No virtual time passes; call `wait` to see the effect."""
        self._path.ask("signal", number=self.number, signal=int(number))
        self._path.note(f"{self.node}: signal {signal.Signals(number).name} to program {self.number}")

    def stop(self) -> Program:
        """End it: SIGTERM, and SIGKILL if it still runs 5 s later."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.returncode is None:
                self.send_signal(number)
                self._path.ask("wait", number=self.number, limit_ns=self._path.duration(GRACE))
        return self

    @property
    def command(self) -> str:
        """Command of the program in one line, as one would type it."""
        return shlex.join(self.words).replace("\n", "\\n")

    def __str__(self) -> str:
        return f"program {self.number} at {self.node} (`{self.command}`)"

    def __repr__(self) -> str:
        state = "running" if self.returncode is None else f"returncode {self.returncode}"
        return f"<{self}, {state}>"

    def output_file(self, name: str) -> File:
        """The file with its output `out` or `err`."""
        return self._path.folder / "programs" / f"{self.number}.{name}"

    def _output(self, name: str) -> bytes:
        file = self.output_file(name)
        return file.read_bytes() if file.exists() else b""

    def _where(self) -> str:
        return f"(the path's clock is at {time_text(self._path.elapsed_s * 1e9)})"

    def _said(self) -> str:
        """The end of its output, for a message."""
        lines = (self.stdout + self.stderr).splitlines()[-TAIL_LINES:]
        return "; its last words:\n  " + "\n  ".join(lines) if lines else "; it wrote nothing"
