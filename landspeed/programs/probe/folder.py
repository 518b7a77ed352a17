"""Folder of a probe: its samples, its output and its page."""

from __future__ import annotations

import re
import secrets
import time
from pathlib import Path

from landspeed.base.places import probes_dir
from landspeed.results.bundle import OutputError


def new_folder(given: Path | None, program: str) -> Path:
    """The folder of a probe: as it was given, and then it must be empty; else a new one in the usual place.

    Raises:
        OutputError: it is not empty, or cannot be made.
    """
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(program).name).strip("-.") or "probe"
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    folder = given if given is not None else probes_dir() / f"{stem}-{stamp}-{secrets.token_hex(3)}"
    try:
        folder.mkdir(parents=True, exist_ok=given is not None)
        if any(folder.iterdir()):
            raise OutputError(f"{folder} is not empty; name a folder that is, or one that is not there yet")
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror}; name another folder") from error
    return folder.resolve()
