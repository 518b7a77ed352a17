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
HOST_TREE = "/run/host"  # while `mount_visible` works


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


def mount_visible(paths: list[str]) -> None:
    """Keep folders and files of the host visible, read-only, although one of `MEMORY_FOLDERS` covers them.

    Of a file its folder, unless that is such a folder itself, or there already. What is there already stays.
    """
    covered = [path for path in paths if path not in MEMORY_FOLDERS and is_covered(path)]
    if not covered:
        return
    namespaces.mount("/", HOST_TREE, "none", namespaces.MS_BIND)  # without what is mounted on it: the host's /tmp
    try:
        for path in sorted({_shown_with(path) for path in covered}):  # a folder before what is in it
            if os.path.exists(HOST_TREE + path) and not os.path.lexists(path):  # noqa: PTH110
                _make_place(path)
                namespaces.mount(HOST_TREE + path, path, "none", namespaces.MS_BIND)
    finally:
        namespaces.unmount(HOST_TREE)


def _shown_with(path: str) -> str:
    """Return the folder of a file of the host, if that can be shown; else the path itself."""
    folder = os.path.dirname(path)  # noqa: PTH120
    whole = os.path.isdir(HOST_TREE + path) or folder in MEMORY_FOLDERS or os.path.exists(folder)  # noqa: PTH110, PTH112
    return path if whole else folder


def is_covered(path: str) -> bool:
    """Return whether the guest has a folder of its own there."""
    return any(f"{path}/".startswith(f"{folder}/") for folder in MEMORY_FOLDERS)


def _make_place(path: str) -> None:
    """Make what a file of the host, or a folder, is mounted on."""
    if os.path.isdir(HOST_TREE + path):  # noqa: PTH112
        os.makedirs(path)  # noqa: PTH103
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
    os.close(os.open(path, os.O_CREAT | os.O_RDONLY | os.O_CLOEXEC, 0o444))


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
        handle.write(json.dumps(value))  # in C, which json.dump() and indents are not
        handle.flush()
        os.fsync(handle.fileno())  # a full disk of the host is told here, or never
    os.replace(partial, path)  # noqa: PTH105
