"""Small things about files that every room needs: replaced as a whole, read as JSON, the last line of a log."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

from landspeed.base.json_form import object_of


@contextlib.contextmanager
def replacing(target: Path) -> Generator[Path]:
    """A file beside the target to write into; it takes the target's place when the block ends without an error.

    A reader sees the old or the new file, never half of one; of two writers at once, the last one's.

    Raises:
        OSError: it cannot be written, flushed to the disk or renamed.
    """
    beside = target.with_name(f".{target.name}.{threading.get_native_id()}.new")
    try:
        yield beside
        with beside.open("rb") as handle:
            os.fsync(handle.fileno())
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def write_atomically(target: Path, content: bytes) -> None:
    """Replace a file as a whole.

    Raises:
        OSError: it cannot be written; the old file stays.
    """
    with replacing(target) as beside:
        beside.write_bytes(content)


def read_object(source: Path | bytes | None) -> dict[str, Any]:
    """A JSON object that a program left; empty when it is not there, was cut short or is something else."""
    try:
        found = json.loads((source.read_bytes() if isinstance(source, Path) else source) or b"{}")
    except (OSError, ValueError):
        return {}
    return object_of(found)


def last_line(source: Path | bytes | None, otherwise: str = "") -> str:
    """The last line of a log that is not blank; `otherwise` when there is none."""
    try:
        content = (source.read_bytes() if isinstance(source, Path) else source) or b""
    except OSError:
        content = b""
    lines = content.decode(errors="replace").splitlines()
    return next((line for line in reversed(lines) if line.strip()), otherwise)
