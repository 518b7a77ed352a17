"""A tree of files that may all be written: what a script writes lies over the host's tree, and is kept at the end.

The guest's root is the host's tree, read-only. Here overlayfs (a module of the kernel) puts a tree in the guest's
memory over it, and over each folder of the host that is visible below /tmp and its like, which are the guest's own.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import stat

from landspeed.worlds.emu.guest.files import HOST_TREE, MEMORY_FOLDERS, OUT, is_covered
from landspeed.worlds.emu.guest.network import namespaces

ROOT, LAYERS, OLD = "/run/root", "/run/layers", "/run/old"
PIVOT_ROOT = 155  # of syscalls(2) on x86-64; the C library has no function of it
KEPT_FOLDERS = ("/tmp", "/var/tmp")
MOVED = ("/proc", "/sys", "/dev", *KEPT_FOLDERS, "/run")


class WrittenFiles:
    """The writable tree, which is the root from now on."""

    def __init__(self, visible: list[str]) -> None:
        """Lay it over the host's.

        Args:
            visible: folders of the host that stay visible where the guest has folders of its own.

        Raises:
            OSError: the kernel has no overlayfs, or refused.
        """
        os.makedirs(LAYERS)  # noqa: PTH103
        namespaces.mount("landspeed", LAYERS, "tmpfs")
        namespaces.mount("/", HOST_TREE, "none", namespaces.MS_BIND)  # the host's tree alone, with its /tmp
        self._layers: list[tuple[str, str]] = []
        below = sorted({path for path in visible if is_covered(path) and path not in MEMORY_FOLDERS})
        for path in below:
            inside = any(path.startswith(f"{laid}/") for laid, _ in self._layers)  # which shows it, too
            if os.path.isdir(HOST_TREE + path) and not inside:  # noqa: PTH112
                self._lay(path, path)
        self._lay("/", ROOT)
        for folder in MOVED:
            if os.path.isdir(folder) and not os.path.islink(folder):  # noqa: PTH112, PTH114
                namespaces.mount(folder, ROOT + folder, "none", namespaces.MS_BIND | namespaces.MS_REC)
        os.makedirs(ROOT + OLD, exist_ok=True)  # noqa: PTH103
        if ctypes.CDLL(None, use_errno=True).syscall(PIVOT_ROOT, ROOT.encode(), (ROOT + OLD).encode()) != 0:
            raise OSError(ctypes.get_errno(), "pivot_root")
        os.chdir("/")
        namespaces.unmount(OLD)

    def _lay(self, path: str, place: str) -> None:
        """Lay a writable folder over one of the host's, at a place."""
        layer = f"{LAYERS}/{len(self._layers)}"
        upper, work = f"{layer}/upper", f"{layer}/work"
        os.makedirs(upper)  # noqa: PTH103
        os.makedirs(work)  # noqa: PTH103
        lower = f"{HOST_TREE}{path}".rstrip("/")
        namespaces.mount("landspeed", place, "overlay", 0, f"lowerdir={lower},upperdir={upper},workdir={work}")
        self._layers.append((path, upper))

    def keep(self) -> int:
        """Copy what was written to the folder `files` of the run's; how many files that are."""
        kept = sum(_copy(upper, f"{OUT}/files{path}") for path, upper in self._layers)
        covered = {path for path, _ in self._layers}
        return kept + sum(_copy(folder, f"{OUT}/files{folder}", covered) for folder in KEPT_FOLDERS)


def _copy(source: str, target: str, without: set[str] = frozenset()) -> int:  # pyright: ignore[reportArgumentType]
    """Copy regular files and symbolic links; a folder is made when there is one in it. Return how many."""
    copied = 0
    for entry in sorted(os.scandir(source), key=lambda each: each.name):
        kind = entry.stat(follow_symlinks=False).st_mode
        to = f"{target}/{entry.name}"
        if stat.S_ISDIR(kind):
            copied += 0 if entry.path in without else _copy(entry.path, to, without)
        elif stat.S_ISREG(kind) or stat.S_ISLNK(kind):
            os.makedirs(target, exist_ok=True)  # noqa: PTH103
            shutil.copyfile(entry.path, to, follow_symlinks=False)
            copied += 1
    return copied
