"""Memory: what the host can give, told before anything starts."""

from __future__ import annotations

from pathlib import Path

SMALLEST_GUEST_BYTES = 128 << 20  # below this its programs do not even start
KEEP_FREE_BYTES = 512 << 20  # for this program and the host


def available_bytes() -> int:
    """Memory the host can give without swapping (MemAvailable of proc(5))."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def check_memory(need_bytes: int) -> None:
    """Refuse a run that the host cannot hold.

    Raises:
        MemoryError: with both numbers and what would help.
    """
    available = available_bytes()
    if available < need_bytes + KEEP_FREE_BYTES:
        raise MemoryError(
            f"the run needs up to {need_bytes / 2**30:.2f} GiB and {KEEP_FREE_BYTES / 2**30:.2f} GiB for the host; "
            f"{available / 2**30:.2f} GiB are available. Smaller windows or fewer streams need less; --memory SIZE "
            "overrides the figure"
        )
