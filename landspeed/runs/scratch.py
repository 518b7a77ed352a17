"""A folder for a run that leaves no bundle."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch_folder(given: str | Path | None = None) -> Generator[Path]:
    """A folder for a run, gone afterwards; a given one stays.

    A shell removes it when its standard input ends, which it does however this process ends, `kill -9` included.
    """
    if given is not None:
        Path(given).mkdir(parents=True, exist_ok=True)
        yield Path(given)
        return
    folder = tempfile.mkdtemp(prefix="landspeed-")
    script = 'read -r _; rm -rf -- "$0" 2>/dev/null || { sleep 1; rm -rf -- "$0"; }'  # the guest may be dying meanwhile
    guard = subprocess.Popen(["sh", "-c", script, folder], stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield Path(folder)
    finally:
        guard.communicate()
