"""The guest's file systems: the host's tree read-only, the run's folder writable, memory for the rest."""

from __future__ import annotations

import json
import os
from typing import Any

from landspeed.worlds.emu.guest.network import namespaces

OUT = "/run/landspeed"  # the run's folder as the guest sees it
OUT_ON_HOST = "/proc/self/cwd"  # of the kernel's process on the host (machine.py)
HOST_NAME = "landspeed"
MEMORY_FOLDERS = ("/run", "/tmp", "/var/tmp", "/dev/shm")


def mount_all() -> None:
    """Mount what programs expect, and at `OUT` the only folder of the host that may be written."""
    namespaces.mount("proc", "/proc", "proc")
    namespaces.mount("sysfs", "/sys", "sysfs")
    namespaces.mount("devtmpfs", "/dev", "devtmpfs")
    for name in ("pts", "shm"):
        os.makedirs(f"/dev/{name}", exist_ok=True)  # noqa: PTH103 (pathlib takes its time to import)
    namespaces.mount("devpts", "/dev/pts", "devpts")
    for name, target in (
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ):
        if not os.path.islink(f"/dev/{name}"):  # noqa: PTH114
            os.symlink(target, f"/dev/{name}")  # noqa: PTH211
    for folder in MEMORY_FOLDERS:
        if os.path.isdir(folder) and not os.path.islink(folder):  # noqa: PTH112, PTH114
            namespaces.mount("tmpfs", folder, "tmpfs")
    namespaces.mount("none", OUT, "hostfs", 0, OUT_ON_HOST)


def mount_visible(folders: list[str]) -> None:
    """Keep folders of the host visible, read-only, although one of `MEMORY_FOLDERS` covers them (a clone in /tmp)."""
    for folder in folders:
        if any(f"{folder}/".startswith(f"{covered}/") for covered in MEMORY_FOLDERS):
            namespaces.mount("none", folder, "hostfs", namespaces.MS_RDONLY, folder)


def mount_hosts(names: list[tuple[str, str]]) -> None:
    """Host names for every program: the guest's own /etc/hosts.

    Args:
        names: (address, name) of the path's nodes.
    """
    hosts = "/run/hosts"
    own = [("127.0.0.1", "localhost"), ("::1", "localhost ip6-localhost"), ("127.0.1.1", HOST_NAME)]
    with open(hosts, "w") as handle:  # noqa: PTH123
        handle.write("".join(f"{address}\t{name}\n" for address, name in [*own, *names]))
    namespaces.set_host_name(HOST_NAME)
    if os.path.exists("/etc/hosts"):  # noqa: PTH110  # there is nothing to mount it on otherwise: the root is read-only
        namespaces.mount(hosts, "/etc/hosts", "none", namespaces.MS_BIND)


def make_key() -> str:
    """The file of the pre-shared key that both ends of a protected transfer have: in the guest's memory, and new."""
    path = "/run/key"
    if not os.path.exists(path):  # noqa: PTH110
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle:  # noqa: PTH123
            handle.write(os.urandom(32).hex() + "\n")
    return path


def write_json(name: str, value: Any) -> None:
    """Write a file of the run's folder so that it is whole or absent."""
    path = f"{OUT}/{name}"
    partial = path.rpartition(".")[0] + ".partial"
    with open(partial, "w") as handle:  # noqa: PTH123
        json.dump(value, handle, indent=1)
        handle.flush()
        os.fsync(handle.fileno())  # a full disk of the host is told here, or never
    os.replace(partial, path)  # noqa: PTH105
