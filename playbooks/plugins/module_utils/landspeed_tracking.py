"""Clock of a host: what keeps it, and how far off that says it may be."""

from __future__ import annotations

import ctypes
import re
import struct

from .landspeed_host import Unavailable, run

TIMEX = struct.Struct("@I4xqqqqi")  # modes, offset, freq, maxerror, esterror, status (adjtimex(2))
TIMEX_BYTES = 208
STA_UNSYNC = 0x40


def tracking() -> tuple[str, float] | None:
    """Name of what keeps the clock, and how many seconds it may be off; None: nothing keeps it."""
    for look in (_chrony, _ptp, _kernel):
        try:
            if found := look():
                return found
        except (Unavailable, OSError, ValueError, IndexError):
            continue
    return None


def _chrony() -> tuple[str, float] | None:
    """Account of chronyc(1): the error is at most that of the clock, the dispersion and half of the delay."""
    fields = run("chronyc", "-c", "-n", "tracking").strip().split(",")
    system, delay, dispersion = (abs(float(fields[at])) for at in (4, 10, 11))
    return ("chrony", system + dispersion + delay / 2) if fields[13] == "Normal" else None


def _ptp() -> tuple[str, float] | None:
    """Account of ptp4l by pmc(8); it does not tell the kernel, as the others do."""
    told = run("pmc", "-u", "-b", "0", "GET TIME_STATUS_NP")
    offset = re.search(r"master_offset\s+(-?\d+)", told)
    return ("PTP", abs(int(offset[1])) / 1e9) if offset and re.search(r"gmPresent\s+true", told) else None


def _kernel() -> tuple[str, float] | None:
    """Account that the kernel has of whoever keeps the clock: ntpd, systemd-timesyncd and others."""
    content = ctypes.create_string_buffer(TIMEX_BYTES)
    if ctypes.CDLL(None, use_errno=True).adjtimex(content) < 0:
        return None
    _, _, _, most_us, _, status = TIMEX.unpack_from(content.raw)
    return None if status & STA_UNSYNC else ("NTP", most_us / 1e6)
