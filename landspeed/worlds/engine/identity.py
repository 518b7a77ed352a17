"""Identity of the engine's build."""

from __future__ import annotations

import re
import subprocess
from functools import lru_cache
from pathlib import Path


def engine_build(binary: Path) -> str | None:
    """The hash of the sources that the engine was built from, as it tells itself; None when it is not built."""
    try:
        return _told(binary, binary.stat().st_mtime_ns)
    except (OSError, subprocess.CalledProcessError):
        return None


@lru_cache
def _told(binary: Path, _written_ns: int) -> str | None:
    """Ask the engine, once for each build: a sweep wants to know it for each of its cells."""
    said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout
    match = re.search(r"\(build ([0-9a-f]+)\)", said)
    return match[1] if match else None
