"""Door of the guest, where it stands still until the host asks: its clock does not move meanwhile.

A program that sleeps lets virtual time jump on, and one that looks again and again moves it a little each time. So
PID 1 waits inside a system call of the host, which the guest's kernel makes for it: hostfs opens the host's file when a
program opens a file here, and to open a FIFO for reading waits for somebody who opens it for writing. While the
kernel's process waits there, nothing of the guest runs, and the host's processor has nothing to do.

A FIFO that hostfs finds is a FIFO of the guest, though, and never opened on the host. So the guest looks at the door
while it is an ordinary file, and puts the FIFO in its place through a second mount, of which the first one does not
hear. The host opens the FIFO when it has written down what it wants (worlds/emu/session.py).
"""

from __future__ import annotations

import json
import os
import stat
from typing import Any

from landspeed.worlds.emu.guest.files import OUT, OUT_ON_HOST
from landspeed.worlds.emu.guest.network import namespaces

DOOR, ASK, ANSWER = "door", "ask.json", "answer.json"
BESIDE = "/run/landspeed-door"  # the run's folder once more


class RequestFifo:
    """Requests of the host, one after the other."""

    def __init__(self) -> None:
        """Mount the run's folder a second time."""
        namespaces.mount("none", BESIDE, "hostfs", 0, OUT_ON_HOST)

    def wait(self) -> dict[str, Any]:
        """Wait for the host's next request. Virtual time stands still until it comes."""
        os.mknod(f"{OUT}/{DOOR}", stat.S_IFREG | 0o600)
        held = os.open(f"{OUT}/{DOOR}", os.O_PATH)  # keeps what this mount knows of the name
        os.unlink(f"{BESIDE}/{DOOR}")  # noqa: PTH108
        os.mkfifo(f"{BESIDE}/{DOOR}", 0o600)
        try:
            os.close(os.open(f"{OUT}/{DOOR}", os.O_RDONLY))
        finally:
            os.close(held)
            os.unlink(f"{BESIDE}/{DOOR}")  # noqa: PTH108
        with open(f"{OUT}/{ASK}", "rb") as handle:  # noqa: PTH123
            return json.load(handle)

    def answer(self, words: dict[str, Any]) -> None:
        """Tell the host what became of it; the file is whole or absent."""
        partial = f"{OUT}/answer.partial"
        with open(partial, "w") as handle:  # noqa: PTH123
            json.dump(words, handle)
        os.replace(partial, f"{OUT}/{ANSWER}")  # noqa: PTH105
