"""Huge pages for the guest's memory: a tmpfs of its own, in a mount namespace that ends with it.

A long path holds tens of thousands of packets, each on another page, and finding a page of 4 KiB costs as much as
reading it. A tmpfs mounted with `huge=always` (tmpfs(5)) gives pages of 2 MiB whatever the host's setting for
/dev/shm is. An ordinary user may mount one in a user namespace of their own, where the host allows these. Speed only:
where it cannot be had, the guest runs on ordinary pages, with the same samples.
"""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
_libc = ctypes.CDLL(None, use_errno=True)


def mount_huge(place: Path, size_bytes: int) -> None:
    """Leave the host's mounts and put a tmpfs of huge pages on `place`, for this process and its children only.

    To be called in a child before it executes a program.

    Raises:
        OSError: the host does not allow it; the process must then not go on.
    """
    user, group = os.getuid(), os.getgid()
    if os.geteuid() == 0:
        _call(_libc.unshare, CLONE_NEWNS)
    else:
        _call(_libc.unshare, CLONE_NEWNS | CLONE_NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _call(_libc.mount, b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    options = f"huge=always,mode=0700,size={size_bytes}".encode()
    _call(_libc.mount, b"landspeed", os.fsencode(place), b"tmpfs", 0, options)


@functools.cache
def huge_pages_possible(place: Path) -> bool:
    """Whether `mount_huge` works here: tried in a child that ends at once."""
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    child = os.fork()
    if child == 0:
        try:
            mount_huge(place, 1 << 21)
        except OSError:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return status == 0


def _call(function: ctypes._NamedFuncPointer, *arguments: object) -> None:
    if function(*arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
