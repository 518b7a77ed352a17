"""A person at a terminal: a command on a pseudo-terminal, what is typed and what is shown."""

import fcntl
import os
import pty
import select
import subprocess
import termios
import time
from pathlib import Path

from tests.support.command import COMMAND


class Terminal:
    """A person at a terminal: types, and waits for what is shown."""

    def __init__(self, *words: object, program: str | Path = COMMAND, **environment: str) -> None:
        """Start the command on a pseudo-terminal of its own."""
        self.master, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.seen = ""
        self.process = subprocess.Popen(
            [str(program), *map(str, words)],
            env={**os.environ, **environment},
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        )

    def wait_for(self, text: str, deadline_s: float = 60.0) -> str:
        """What came until the text did; the rest is kept."""
        end = time.monotonic() + deadline_s
        while text not in self.seen:
            ready, _, _ = select.select([self.master], [], [], max(end - time.monotonic(), 0))
            assert ready, f"waited in vain for {text!r}; seen: {self.seen!r}"
            self.seen += os.read(self.master, 65536).decode(errors="replace")
        found, _, self.seen = self.seen.partition(text)
        return found

    def type(self, text: str) -> None:
        """As from a keyboard."""
        os.write(self.master, text.encode())

    def ask(self, line: str) -> str:
        """A line at the prompt, and its answer."""
        self.type(line + "\r")
        return self.wait_for("landspeed> ")

    def close(self) -> None:
        """End what still runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)
