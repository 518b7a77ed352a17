"""The simulator as a process: started, followed by its progress lines, stopped so that it writes what it has."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from landspeed.base.log import Log
from landspeed.base.progress import Progress

LOG = Log(__name__)
PR_SET_PDEATHSIG = 1
STOP_S = 60.0  # time to write what was simulated so far
_libc = ctypes.CDLL(None, use_errno=True)


class Simulation:
    """One run of the simulator; it ends with this process, however that ends."""

    def __init__(self, words: list[str], log: Path) -> None:
        """Start it; standard error goes to the log."""
        with log.open("wb") as handle:
            self.process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=handle,
                start_new_session=True,  # Ctrl-C is for this process, which stops the simulator in its own way
                preexec_fn=functools.partial(_die_with, os.getpid()),  # noqa: PLW1509 (one thread here)
            )

    def follow(self, report: Callable[[Progress], None]) -> int:
        """Report until it ends.

        Returns:
            its exit status.

        Raises:
            KeyboardInterrupt: after the simulator has written what it had.
        """
        assert self.process.stdout is not None
        progress = Progress(phase="simulate")
        report(progress)
        try:
            for line in self.process.stdout:
                if _read(line, progress):
                    report(progress)
            status = self.process.wait()
        except BaseException:
            self.stop()
            raise
        finally:
            self.process.stdout.close()
        LOG.info("the simulator ended with status %d", status)
        progress.phase = "end"
        report(progress)
        return status

    def stop(self) -> None:
        """Ask it to end with what it has; kill it if it does not."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.communicate(timeout=STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _read(line: bytes, progress: Progress) -> bool:
    """Return whether the line was one of progress; then its figures are in `progress`."""
    try:
        figures = json.loads(line)
        progress.transfer_s = progress.virtual_s = float(figures["time_s"])
    except (ValueError, KeyError, TypeError):
        return False
    progress.transfer_wall_s = progress.wall_s = float(figures.get("wall_s") or 0.0)
    progress.goodput_bps = float(figures.get("goodput_bps") or 0.0)
    progress.bytes = int(figures.get("bytes") or 0)
    return True


def _die_with(parent: int) -> None:
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        os._exit(1)
