"""A session with a guest, host side: ask it one thing after the other; between two of them its clock stands still.

The other side is guest/session/session.py, and the way in which a question reaches it guest/session/request_fifo.py. A
question and its answer are files of the run's folder. Whoever asks waits for the answer; several threads ask one after
the other.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landspeed.base.json_form import from_plain, to_plain
from landspeed.base.progress import Progress
from landspeed.results.record import EventResult
from landspeed.worlds.emu.sampling import check_sampler, sampler_job
from landspeed.worlds.emu.watchdog import GuestError, LineFollower, StallWatch, last_words
from landspeed.worlds.program_world import ProgramSession, ProgramState, SocketSampling

if TYPE_CHECKING:
    from landspeed.worlds.emu.machine import Guest

DOOR, ASK, ANSWER = "door", "ask.json", "answer.json"  # guest/session/request_fifo.py
SHORTEST_LOOK_S, LONGEST_LOOK_S = 0.001, 0.02


def ask(folder: Path, words: dict[str, Any]) -> None:
    """Write down what the guest is to do when its door is opened; the file is whole or absent."""
    partial = folder / "ask.partial"
    partial.write_text(json.dumps(words))
    partial.replace(folder / ASK)


def knock(folder: Path) -> bool:
    """Open the door of a guest with this folder, if it waits behind it."""
    try:
        door = os.open(folder / DOOR, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ENOENT):  # it is on its way
            return False
        raise
    try:
        return stat.S_ISFIFO(os.fstat(door).st_mode)
    finally:
        os.close(door)


class GuestSession(ProgramSession):
    """A guest that waits to be asked."""

    def __init__(self, guest: Guest, *, stall_wall_s: float, each_look: Callable[[], None] = lambda: None) -> None:
        """Wait until the guest is ready.

        Raises:
            GuestError: it ended or stood still before.
        """
        self._guest, self._each_look = guest, each_look
        self._stall_wall_s = stall_wall_s
        self._console = LineFollower(guest.folder / "log" / "console.log")
        self._messages: list[str] = []
        self._progress = Progress()
        self._lock = threading.Lock()
        self.broken = False
        self.now_ns = 0
        self.programs: dict[int, ProgramState] = {}
        self.events: list[EventResult] = []
        ready = self._answer()
        self.addresses: dict[str, str] = ready["addresses"]
        self.start_unix_ns: int = ready["start_unix_ns"]

    def ask(self, do: str, **words: Any) -> dict[str, Any]:
        """Call a function of the guest (a `do_…` of guest/session/session.py) and wait for its answer.

        Raises:
            GuestError: it broke, or stands still.
        """
        with self._lock:
            if self.broken:
                raise GuestError(f"the guest is gone, and cannot {do}")
            ask(self._guest.folder, {"do": do, "words": words})
            self._until(lambda: knock(self._guest.folder))
            said = self._answer()
        self.broken = do == "end"  # the guest is over
        if "broken" in said:
            raise GuestError(f"the guest could not {do}: {said['broken']} (see log/console.log)")
        return said

    def sampler(self, sampling: SocketSampling) -> dict[str, Any]:
        """Convert the sampling to the guest's form."""
        return to_plain(sampler_job(sampling))

    def check_sampled(self, folder: Path, answer: dict[str, Any]) -> None:
        """Check the sampler's exit status."""
        check_sampler(folder, answer.get("sampler"))

    def _answer(self) -> dict[str, Any]:
        file = self._guest.folder / ANSWER
        self._until(file.exists)
        said = json.loads(file.read_bytes())
        file.unlink()
        self._read_console()
        self.now_ns = said["now_ns"]
        self.programs = {int(number): from_plain(state, ProgramState) for number, state in said["programs"].items()}
        self.events = [EventResult.model_validate(each) for each in said["events"]]
        return said

    def _until(self, met: Callable[[], bool]) -> None:
        """Look until a condition is met, while the guest lives and its clock moves."""
        watch = StallWatch(self._guest, self._stall_wall_s)
        wait_s = SHORTEST_LOOK_S
        try:
            while not met():
                if self._guest.process.poll() is not None:
                    if met():  # its last answer came meanwhile
                        return
                    self._tell_end()
                watch.look(self._progress)
                self._each_look()
                self._guest.wait(wait_s)
                wait_s = min(1.2 * wait_s, LONGEST_LOOK_S)
        except GuestError:
            self.broken = True
            self._guest.stop()
            raise

    def _tell_end(self) -> None:
        self._read_console()
        last_words(self._guest, self._messages, self._progress)
        raise GuestError("the guest has ended")

    def _read_console(self) -> None:
        for line in self._console.read():
            if line.startswith("@landspeed "):
                self._progress.phase = json.loads(line.removeprefix("@landspeed "))["phase"]
            else:
                self._messages.append(line)
