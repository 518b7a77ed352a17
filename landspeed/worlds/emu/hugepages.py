"""Huge pages for the guest's memory: a tmpfs of its own, in a mount namespace that ends with it.

A long path holds tens of thousands of packets, each on another page, and finding a page of 4 KiB costs as much as
reading it. A tmpfs mounted with `huge=always` (tmpfs(5)) gives pages of 2 MiB whatever the host's setting for
/dev/shm is. An ordinary user may mount one in a user namespace of their own, where the host allows these. Speed only:
where it cannot be had, the guest runs on ordinary pages, with the same samples. emu/launch mounts it.
"""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

from landspeed.base.places import ROOT

LAUNCH = ROOT / "emu" / "launch" / "build" / "landspeed-launch"


@functools.cache
def huge_pages_possible(place: Path) -> bool:
    """Return whether a tmpfs of huge pages can be mounted on the folder: tried in a process that ends at once."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        return subprocess.run([LAUNCH, "--probe", place], check=False, capture_output=True).returncode == 0
    except OSError:
        return False
