"""The guest's second and third console, which the host reads as the output of the user's program."""

from __future__ import annotations

import contextlib
import termios
from collections.abc import Generator
from typing import IO


@contextlib.contextmanager
def consoles() -> Generator[tuple[IO[bytes], IO[bytes]]]:
    """Open both: bytes arrive as they were written, without line editing and newline translation."""
    with open("/dev/tty1", "wb", buffering=0) as out, open("/dev/tty2", "wb", buffering=0) as err:  # noqa: PTH123
        for terminal in (out, err):
            attributes = termios.tcgetattr(terminal.fileno())
            attributes[1] &= ~termios.OPOST
            attributes[3] &= ~(termios.ECHO | termios.ICANON | termios.ISIG)
            termios.tcsetattr(terminal.fileno(), termios.TCSANOW, attributes)
        yield out, err
