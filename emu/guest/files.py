"""The guest's file systems: the host's tree read-only, the run's folder writable, memory for the rest."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from . import namespaces

OUT = Path("/run/landspeed")  # the run's folder as the guest sees it
MEMORY_FOLDERS = ("/run", "/tmp", "/var/tmp", "/dev/shm")


def mount_all(out_on_host: str, visible: list[str]) -> None:
    """Mount what programs expect.

    Args:
        out_on_host: folder on the host that alone may be written, mounted at `OUT`.
        visible: host folders that must stay visible although they lie below one of `MEMORY_FOLDERS` (a clone in
            /tmp, say); read-only.
    """
    namespaces.mount("proc", "/proc", "proc")
    namespaces.mount("sysfs", "/sys", "sysfs")
    namespaces.mount("devtmpfs", "/dev", "devtmpfs")
    for name in ("pts", "shm"):
        Path("/dev", name).mkdir(exist_ok=True)
    namespaces.mount("devpts", "/dev/pts", "devpts")
    for name, target in (
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ):
        link = Path("/dev", name)
        if not link.is_symlink():
            link.symlink_to(target)
    for folder in MEMORY_FOLDERS:
        if Path(folder).is_dir() and not Path(folder).is_symlink():
            namespaces.mount("tmpfs", folder, "tmpfs")
    for folder in visible:
        if any(Path(folder).is_relative_to(covered) for covered in MEMORY_FOLDERS):
            namespaces.mount("none", folder, "hostfs", namespaces.MS_RDONLY, folder)
    namespaces.mount("none", str(OUT), "hostfs", 0, out_on_host)


def write_json(name: str, value: Any) -> None:
    """Write a file of the run's folder so that it is whole or absent."""
    path = OUT / name
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(value, indent=1))
    os.replace(partial, path)  # noqa: PTH105
