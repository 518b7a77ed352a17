"""The guest seen from the host: one User-Mode Linux process, its virtual clock read from outside, and its end.

Nothing of the guest outlives this process: the kernel is started with a parent-death signal, its own children carry one
too, its memory file is unlinked by itself, and the run's folder is the only place it can write. So nothing has to be
tidied up, and a `kill -9` of this process leaves as little as its orderly end.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import shutil
import signal
import stat
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from .hugepages import huge_pages_possible, mount_huge
from .kernel import Kernel, cache_root

PACKAGE = Path(__file__).resolve().parent
SHARED_MEMORY = Path("/dev/shm")
CLOCK_START_NS = 1_767_225_600 * 1_000_000_000  # the guest's calendar starts on 2026-01-01 UTC in every run
PR_SET_PDEATHSIG = 1
ADDR_NO_RANDOMIZE = 0x0040000
HUGE_MARGIN_BYTES = 16 << 20  # UML's memory file is a little larger than `mem=`
OUT_FD, ERR_FD = 210, 211  # the guest's second and third console in the kernel's process
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass
class Guest:
    """One started guest.

    Attributes:
        process: the kernel.
        folder: the run's folder, the guest's /run/landspeed.
        virtual: whether its clock is virtual.
        memory_bytes: its `mem=`.
        huge_pages: whether its memory is in huge pages, as far as the host has them free.
    """

    process: subprocess.Popen[bytes]
    kernel: Kernel
    folder: Path
    virtual: bool
    memory_bytes: int = 0
    huge_pages: bool = False
    _memory: IO[bytes] | None = None
    _memory_file: Path | None = None

    def virtual_time_s(self) -> float | None:
        """The guest's clock since its boot, read in the kernel's memory; None when it is gone or not readable."""
        word = self._read_word("time_travel_time")
        return None if word is None else word / 1e9

    def running_task(self) -> str | None:
        """Name of the task that the guest's one processor runs."""
        pointer = self._read_word("um_running_comm")
        raw = self._read(pointer, 16) if pointer else None
        return raw.split(b"\0")[0].decode(errors="replace") if raw else None

    def _read_word(self, symbol: str) -> int | None:
        raw = self._read(self.kernel.symbols[symbol], 8)
        return struct.unpack("<Q", raw)[0] if raw else None

    def _read(self, address: int, length: int) -> bytes | None:
        try:
            if self._memory is None:
                self._memory = Path(f"/proc/{self.process.pid}/mem").open("rb", buffering=0)  # noqa: SIM115
            self._memory.seek(address)
            raw = self._memory.read(length)
        except (OSError, ValueError):
            return None
        return raw if raw and len(raw) == length else None

    def touched_memory_bytes(self) -> int:
        """Memory of the host that the guest has touched: the blocks of its memory file, which has no name any more.

        (What the kernel's process maps of it is less: programs of the guest have it mapped in processes of their own.)
        """
        with contextlib.suppress(OSError):
            for entry in Path(f"/proc/{self.process.pid}/fd").iterdir() if self._memory_file is None else ():
                found = entry.stat()
                if stat.S_ISREG(found.st_mode) and found.st_nlink == 0 and found.st_size >= self.memory_bytes:
                    self._memory_file = entry
            if self._memory_file is not None:
                return self._memory_file.stat().st_blocks * 512
        return 0

    def memory_beside_bytes(self) -> int:
        """Memory of the host that is not the guest's `mem`: private pages of this process and of the guest's own."""
        total = 0
        for process in (os.getpid(), self.process.pid, *_descendants(self.process.pid)):
            with contextlib.suppress(OSError):  # it ended meanwhile
                for line in Path(f"/proc/{process}/status").read_text().splitlines():
                    if line.startswith("RssAnon:"):
                        total += int(line.split()[1]) * 1024
        return total

    def stop(self) -> None:
        """End the guest at once and wait until nothing of it is left."""
        if self.process.poll() is None:
            # Its children die with it, each by a parent-death signal; one that was just made may not have asked for it.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)  # where it leads no group: the next line
            self.process.kill()
        self.process.wait()
        self.close()

    def close(self) -> None:
        """Release what the host side holds."""
        if self._memory is not None:
            self._memory.close()
            self._memory = None


def _descendants(process: int) -> list[int]:
    """The processes that hold the guest's programs; gone ones are left out."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
            found += [int(child), *_descendants(int(child))]
    return found


def start(
    kernel: Kernel,
    folder: Path,
    *,
    memory_bytes: int,
    seed: int,
    virtual: bool,
    shm: Path,
    terminal: bool = False,
) -> Guest:
    """Boot a guest whose job is in the folder (plan.json, job.json).

    Args:
        kernel: the built kernel.
        folder: the run's folder; the only one the guest may write.
        memory_bytes: the guest's `mem=`; only what it touches costs memory of the host.
        seed: of everything random in the guest.
        virtual: virtual clock, or real time.
        shm: folder for the guest's memory file, on a tmpfs that allows execution.
        terminal: connect the guest's console with this process's terminal.
    """
    # The kernel mixes its command line into its random numbers: nothing in it may differ between two equal runs, so
    # neither the run's folder nor a number of a descriptor is there.
    log = folder / "log"
    log.mkdir(exist_ok=True)
    console = (log / "console.log").open("wb")
    out, err = (log / "stdout").open("wb"), (log / "stderr").open("wb")
    words = [
        str(kernel.executable),
        f"mem={memory_bytes // (1 << 20)}M",
        "root=/dev/root",
        "rootfstype=hostfs",
        "hostfs=/",
        "ro",
        "quiet",
        "norandmaps",
        "printk.devkmsg=off",
        f"um_seed={seed % (1 << 64)}",
        "uml_dir=/proc/",  # UML finds that it cannot make its folder of pid files there, and does without
        "umid=guest",
        "con=null",
        *(
            ["loglevel=1", "con0=fd:0,fd:1"]
            if terminal
            else ["con0=null,fd:1", f"con1=null,fd:{OUT_FD}", f"con2=null,fd:{ERR_FD}"]
        ),
        # An idle guest in virtual time skips to its next event anyway; stopping the tick at every wake-up only costs.
        *(["time-travel=inf-cpu", f"time-travel-start={CLOCK_START_NS}", "nohz=off"] if virtual else []),
        f'init="{PACKAGE / "guest" / "init"}"',
        f'LANDSPEED_PYTHON="{_python()}"',
        # Mininet wants distutils: Python's own while there is one, since setuptools' takes longer to import.
        *(["SETUPTOOLS_USE_DISTUTILS=stdlib"] if sys.version_info < (3, 12) else []),
        "PYTHONDONTWRITEBYTECODE=1",
        "PYTHONHASHSEED=0",
    ]
    place = cache_root() / "memory"
    huge_bytes = memory_bytes + HUGE_MARGIN_BYTES if huge_pages_possible(place) else 0
    process = subprocess.Popen(
        words,
        stdin=None if terminal else subprocess.DEVNULL,
        stdout=None if terminal else console,
        stderr=subprocess.STDOUT if not terminal else console,
        cwd=folder,  # the guest mounts this as its writable folder
        env={"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "TMPDIR": str(place if huge_bytes else shm)},
        close_fds=False,  # ours close by themselves on exec; the two made below must not
        # Ctrl-C is for this process, which ends the guest; on a terminal the guest must be in the foreground.
        start_new_session=not terminal,
        preexec_fn=functools.partial(  # noqa: PLW1509 (one thread here)
            _prepare_child,
            os.getpid(),
            () if terminal else (out.fileno(), err.fileno()),
            place,
            huge_bytes,
        ),
    )
    for handle in (console, out, err):
        handle.close()
    return Guest(process, kernel, folder, virtual, memory_bytes, bool(huge_bytes))


def _prepare_child(parent: int, consoles: tuple[int, ...], place: Path, huge_bytes: int) -> None:
    """Die with the parent; the same addresses and descriptors in every run; memory of huge pages."""
    for source, target in zip(consoles, (OUT_FD, ERR_FD), strict=False):
        os.dup2(source, target)
    if huge_bytes:
        mount_huge(place, huge_bytes)  # before the next line: new credentials forget a parent-death signal
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        os._exit(1)
    _libc.personality(ADDR_NO_RANDOMIZE)


def _python() -> Path:
    """This Python by one name, however it was started."""
    python = Path(sys.prefix, "bin", "python3")
    return python if python.exists() else Path(sys.executable)


def visible_folders() -> list[str]:
    """Host folders that the guest needs even below /tmp or /run: this package, its Python, the working folder."""
    root = PACKAGE.parent
    folders = {str(root), sys.prefix, sys.base_prefix, str(Path.cwd())}
    return sorted(folders)


def shared_memory_folder(need_bytes: int) -> Path:
    """A folder for the guest's memory: /dev/shm, or the fallback that TMPDIR names.

    Raises:
        MemoryError: none is large enough and executable; the message has the numbers and the remedy.
    """
    findings: list[str] = []
    for candidate in [SHARED_MEMORY, *([Path(os.environ["TMPDIR"])] if "TMPDIR" in os.environ else [])]:
        if not candidate.is_dir() or not os.access(candidate, os.W_OK):
            findings.append(f"{candidate} is not writable")
            continue
        if os.statvfs(candidate).f_flag & os.ST_NOEXEC:
            findings.append(f"{candidate} is mounted noexec (remedy: mount -o remount,exec {candidate})")
            continue
        free = shutil.disk_usage(candidate).free
        if free >= need_bytes:
            return candidate
        findings.append(f"{candidate} has {free / 2**30:.2f} GiB free, the run needs {need_bytes / 2**30:.2f} GiB")
    raise MemoryError(
        "no place for the guest's memory: "
        + "; ".join(findings)
        + "; enlarge it (mount -o remount,size=… /dev/shm) or set TMPDIR to a larger folder that allows execution"
    )


class OutputCopier:
    """Passes what the user's program wrote in the guest on to this process's standard output and error."""

    def __init__(self, folder: Path) -> None:
        """The folder is the run's."""
        self._files = [(folder / "log" / "stdout", sys.stdout), (folder / "log" / "stderr", sys.stderr)]
        self._positions = [0, 0]

    def copy(self) -> None:
        """Pass on what is new."""
        for number, (path, target) in enumerate(self._files):
            if not path.exists():
                continue
            with path.open("rb") as handle:
                handle.seek(self._positions[number])
                data = handle.read()
            self._positions[number] += len(data)
            if data:
                target.buffer.write(data)
                target.buffer.flush()
