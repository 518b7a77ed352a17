"""The guest's file systems: the host's tree read-only, the run's folder writable, memory for the rest."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from . import namespaces

OUT = Path("/run/landspeed")  # the run's folder as the guest sees it
OUT_ON_HOST = "/proc/self/cwd"  # of the kernel's process on the host (machine.py)
HOST_NAME = "landspeed"
MEMORY_FOLDERS = ("/run", "/tmp", "/var/tmp", "/dev/shm")


def mount_all() -> None:
    """Mount what programs expect, and at `OUT` the only folder of the host that may be written."""
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
    namespaces.mount("none", str(OUT), "hostfs", 0, OUT_ON_HOST)


def mount_visible(folders: list[str]) -> None:
    """Keep folders of the host visible, read-only, although one of `MEMORY_FOLDERS` covers them (a clone in /tmp)."""
    for folder in folders:
        if any(Path(folder).is_relative_to(covered) for covered in MEMORY_FOLDERS):
            namespaces.mount("none", folder, "hostfs", namespaces.MS_RDONLY, folder)


def mount_hosts(names: list[tuple[str, str]]) -> None:
    """Host names for every program: the guest's own /etc/hosts.

    Args:
        names: (address, name) of the path's nodes.
    """
    hosts = Path("/run/hosts")
    own = [("127.0.0.1", "localhost"), ("::1", "localhost ip6-localhost"), ("127.0.1.1", HOST_NAME)]
    hosts.write_text("".join(f"{address}\t{name}\n" for address, name in [*own, *names]))
    namespaces.set_host_name(HOST_NAME)
    if Path("/etc/hosts").exists():  # there is nothing to mount it on otherwise: the root is read-only
        namespaces.mount(str(hosts), "/etc/hosts", "none", namespaces.MS_BIND)


def write_json(name: str, value: Any) -> None:
    """Write a file of the run's folder so that it is whole or absent."""
    path = OUT / name
    partial = path.with_suffix(".partial")
    with partial.open("w") as handle:
        json.dump(value, handle, indent=1)
        handle.flush()
        os.fsync(handle.fileno())  # a full disk of the host is told here, or never
    os.replace(partial, path)  # noqa: PTH105
