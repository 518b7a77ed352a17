"""Clock of the plan's events: since when they count, and the wait until each is due (link_events.py)."""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from landspeed.worlds.emu.guest import clock
from landspeed.worlds.emu.guest.files import OUT
from landspeed.worlds.emu.guest.link_events import LinkEvents
from landspeed.worlds.emu.guest.network.network import Network

if TYPE_CHECKING:
    from landspeed.worlds.emu.guest.spawn import Programs

LIVE = "live.jsonl"
IN_MODIFY = 2
WAKE_BEFORE_NS = 1_000_000
_libc = ctypes.CDLL(None, use_errno=True)


class EventClock:
    """Follows the transfer's time, and lets each event and step of a trace happen when it is due."""

    def __init__(self, network: Network, folders: Sequence[str] = ("",)) -> None:
        """Prepare what can be prepared, and a watch over the engines' progress.

        Args:
            network: the network.
            folders: of the flows, relative to the run's.
        """
        self._live = ["/".join(filter(None, (OUT, folder, LIVE))) for folder in folders]
        self._notify = _libc.inotify_init1(os.O_CLOEXEC)
        added = [
            _libc.inotify_add_watch(self._notify, live.rpartition("/")[0].encode(), IN_MODIFY) for live in self._live
        ]
        if self._notify < 0 or min(added) < 0:
            raise OSError(ctypes.get_errno(), "inotify")
        self._link_events = LinkEvents(network)

    @property
    def records(self) -> list[dict[str, Any]]:
        """Records of the events so far."""
        return self._link_events.records

    def follow(self, sending: Programs, start_ns: int | None = None) -> int:
        """Wait for the senders' end; meanwhile let happen what is due.

        Args:
            sending: the senders.
            start_ns: when the transfer starts, by the monotonic clock; None: the senders say so.

        Returns:
            their exit status.
        """
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        try:
            if start_ns is not None:
                self._link_events.start_ns = start_ns
            if start_ns is not None or self._wait_start(sending):
                while (due_ns := self._link_events.due_ns) is not None and self._sleep(sending, due_ns):
                    self._link_events.happen()
            status = sending.wait()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            os.close(self._notify)
            self._link_events.end()
        return status

    def _wait_start(self, sending: Programs) -> bool:
        """Wait until an engine says when the transfer started, the first of them; false if all ended before."""
        ready = select.poll()
        ready.register(self._notify, select.POLLIN)
        while (start_ns := _first_start(self._live)) is None:
            if sending.poll() is not None:
                return False
            if ready.poll(100):
                os.read(self._notify, 65536)
        self._link_events.start_ns = start_ns
        return True

    def _sleep(self, sending: Programs, time_ns: int) -> bool:
        """Wait for a time; false if the sender ended before."""
        while sending.poll() is None:
            left_ns = time_ns - clock.now_ns()
            if left_ns <= WAKE_BEFORE_NS:
                clock.sleep_until(time_ns)
                return True
            signal.sigtimedwait({signal.SIGCHLD}, (left_ns - WAKE_BEFORE_NS) / 1e9)
        return False


def _first_start(files: list[str]) -> int | None:
    """The earliest that any of the engines has named."""
    return min((start_ns for file in files if (start_ns := _start_of_transfer(file)) is not None), default=None)


def _start_of_transfer(live: str) -> int | None:
    """The time of the monotonic clock that the first line of the engine's progress names; None before it is there."""
    try:
        with open(live) as handle:  # noqa: PTH123
            line = handle.readline()
    except FileNotFoundError:
        return None
    return int(json.loads(line)["start_monotonic_ns"]) if line.endswith("\n") else None
