"""The guest seen from the host: one User-Mode Linux process, its virtual clock read from outside, and its end.

Nothing of the guest outlives this process: the kernel is started with a parent-death signal, its own children carry one
too, its memory file is unlinked by itself, and the run's folder is the only place it can write. So nothing has to be
tidied up, and a `kill -9` of this process leaves as little as its orderly end.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import site
import stat
import struct
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from landspeed.base.log import Log
from landspeed.base.places import PACKAGE, ROOT
from landspeed.worlds.emu.hugepages import LAUNCH, huge_pages_possible
from landspeed.worlds.emu.kernel_build import TRACING_SYMBOL, Kernel
from landspeed.worlds.emu.kernel_source import cache_root

LOG = Log(__name__)
SHARED_MEMORY = Path("/dev/shm")
FALLBACKS = (Path("/tmp"), Path("/var/tmp"))  # a container's /dev/shm is often small, and mounted noexec
CLOCK_START_NS = 1_767_225_600 * 1_000_000_000  # the guest's calendar starts on 2026-01-01 UTC in every run
HUGE_MARGIN_BYTES = 16 << 20  # UML's memory file is a little larger than `mem=`
WHOLE_PYTHON = "LANDSPEED_WHOLE_PYTHON"  # in the environment: no guest does without site-packages
OUT_FD, ERR_FD = 210, 211  # the guest's second and third console in the kernel's process


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
    _memory_file: int | None = None
    _ended: int | None = None

    def virtual_time_s(self) -> float | None:
        """The guest's clock since its boot, read in the kernel's memory; None when it is gone or not readable."""
        word = self._read_word("time_travel_time")
        return None if word is None else word / 1e9

    def tracing(self) -> str | None:
        """Read how its kernel runs programs: "ptrace" or "seccomp"; None if it is gone or not readable."""
        address = self.kernel.symbols.get(TRACING_SYMBOL)
        if address is None:
            return "ptrace"
        raw = self._read(address, 4)
        return None if raw is None else "seccomp" if any(raw) else "ptrace"

    def read_count(self, symbol: str) -> int:
        """Read four bytes of its kernel's memory; 0 if it has no such symbol, is gone or not readable."""
        address = self.kernel.symbols.get(symbol)
        raw = self._read(address, 4) if address else None
        return struct.unpack("<I", raw)[0] if raw else 0

    def write_word(self, symbol: str, value: int) -> bool:
        """Set four bytes of its kernel's memory; return whether that could be done."""
        if symbol not in self.kernel.symbols:
            return False
        try:
            with Path(f"/proc/{self.process.pid}/mem").open("r+b", buffering=0) as memory:
                memory.seek(self.kernel.symbols[symbol])
                return memory.write(struct.pack("<i", value)) == 4
        except OSError:  # it is gone
            return False

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
            raw = None
        if raw and len(raw) == length:
            return raw
        self._close_memory()  # it may be the memory of what becomes the kernel (emu/launch): look again next time
        return None

    def touched_memory_bytes(self) -> int:
        """Memory of the host that the guest has touched: the blocks of its memory file, which has no name any more.

        (What the kernel's process maps of it is less: programs of the guest have it mapped in processes of their own.)
        Once found it is held, so that what a guest took in its last moments is known after its end, too.
        """
        with contextlib.suppress(OSError):
            for entry in Path(f"/proc/{self.process.pid}/fd").iterdir() if self._memory_file is None else ():
                found = entry.stat()
                if stat.S_ISREG(found.st_mode) and found.st_nlink == 0 and found.st_size >= self.memory_bytes:
                    self._memory_file = os.open(entry, os.O_PATH | os.O_CLOEXEC)
                    break
            if self._memory_file is not None:
                return os.fstat(self._memory_file).st_blocks * 512
        return 0

    def processes(self) -> list[int]:
        """The kernel, then those it made, which hold the guest's programs."""
        return [self.process.pid, *_descendants(self.process.pid)]

    def memory_beside_bytes(self) -> int:
        """Memory of the host that is not the guest's `mem`: private pages of this process and of the guest's own."""
        total = 0
        for process in (os.getpid(), *self.processes()):
            with contextlib.suppress(OSError):  # it ended meanwhile
                for line in Path(f"/proc/{process}/status").read_text().splitlines():
                    if line.startswith("RssAnon:"):
                        total += int(line.split()[1]) * 1024
        return total

    def cpu_s(self) -> float:
        """Time that the host's processor has given to it so far; what ended children of it had is not in it."""
        ticks = sum(int(words[11]) + int(words[12]) for words in self._stats())  # utime and stime (proc_pid_stat(5))
        return ticks / os.sysconf("SC_CLK_TCK")

    def wants_processor(self) -> bool:
        """Return whether any of its processes runs or waits for the disk: one that is stopped, or hangs, does not."""
        return any(words[0] in "RD" for words in self._stats())

    def _stats(self) -> list[list[str]]:
        """State, parent, … of each of its processes."""
        found: list[list[str]] = []
        for process in self.processes():
            with contextlib.suppress(OSError):  # it ended meanwhile
                found.append(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split())
        return found

    def wait(self, seconds: float) -> None:
        """Wait until the guest has ended, at most so long."""
        if self._ended is None:
            self._ended = os.pidfd_open(self.process.pid)
        poll = select.poll()
        poll.register(self._ended, select.POLLIN)
        poll.poll(1000 * seconds)

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
        self._close_memory()
        if self._ended is not None:
            os.close(self._ended)
            self._ended = None
        if self._memory_file is not None:
            os.close(self._memory_file)
            self._memory_file = None

    def _close_memory(self) -> None:
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
    cpu_time: bool = False,
    shm: Path,
    terminal: bool = False,
    more_words: Sequence[str] = (),
) -> Guest:
    """Boot a guest whose job is in the folder (plan.json, job.json), on the cores that the calling thread may use.

    Args:
        kernel: the built kernel.
        folder: the run's folder; the only one the guest may write.
        memory_bytes: the guest's `mem=`; only what it touches costs memory of the host.
        seed: of everything random in the guest.
        virtual: virtual clock, or real time.
        cpu_time: let computing take virtual time, as long as it takes here; waiting takes none all the same.
        shm: folder for the guest's memory file, on a tmpfs that allows execution.
        terminal: connect the guest's console with this process's terminal.
        more_words: of the kernel's command line.
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
        *more_words,
        *(time_words(cpu_time=cpu_time) if virtual else []),
        f'init="{_python()}"',
        f'LANDSPEED_PACKAGES="{_packages()}"',
        *(f'{name}="{value}"' for name, value in _package_places().items()),
        "PYTHONDONTWRITEBYTECODE=1",
        "PYTHONHASHSEED=0",
        *_first_words(whole=terminal or WHOLE_PYTHON in os.environ),
    ]
    place = cache_root() / "memory"
    huge_bytes = memory_bytes + HUGE_MARGIN_BYTES if huge_pages_possible(place) else 0
    LOG.info("kernel: Linux %s (%s), %s", kernel.name, kernel.key, kernel.executable)
    LOG.info("memory: %.2f GiB in %s", memory_bytes / 2**30, f"huge pages of {place}" if huge_bytes else shm)
    moved = () if terminal else (f"{out.fileno()}:{OUT_FD}", f"{err.fileno()}:{ERR_FD}")
    process = subprocess.Popen(
        [LAUNCH, str(os.getpid()), place, str(huge_bytes), *moved, "--", *words],
        stdin=None if terminal else subprocess.DEVNULL,
        stdout=None if terminal else console,
        stderr=subprocess.STDOUT if not terminal else console,
        cwd=folder,  # the guest mounts this as its writable folder
        env={
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "TMPDIR": str(place if huge_bytes else shm),
            # Nobody needs restartable sequences there, and the host looks after them at each signal and switch.
            "GLIBC_TUNABLES": "glibc.pthread.rseq=0",
        },
        pass_fds=() if terminal else (out.fileno(), err.fileno()),
        # Ctrl-C is for this process, which ends the guest; on a terminal the guest must be in the foreground.
        start_new_session=not terminal,
    )
    for handle in (console, out, err):
        handle.close()
    return Guest(process, kernel, folder, virtual, memory_bytes, bool(huge_bytes))


def time_words(*, cpu_time: bool) -> list[str]:
    """Words of the kernel for a virtual clock.

    An idle guest skips to its next event. While computing takes no time, to stop the tick at every wake-up only costs;
    else each tick of an idle second is two timers of the host.
    """
    mode = ["time-travel"] if cpu_time else ["time-travel=inf-cpu", "nohz=off"]
    return [*mode, f"time-travel-start={CLOCK_START_NS}"]


def _first_words(*, whole: bool) -> list[str]:
    """Arguments that start the guest's Python (guest/start.py); `whole`: with all installed packages, for Mininet."""
    if not whole:
        return ["--", "-S", "-P", f'"{PACKAGE / "worlds" / "emu" / "guest" / "start.py"}"']
    # Mininet wants distutils: Python's own while there is one, since setuptools' takes longer to import.
    distutils = ["SETUPTOOLS_USE_DISTUTILS=stdlib"] if sys.version_info < (3, 12) else []
    return [*distutils, "--", "-P", "-m", f"{__package__}.guest.agent"]


def _packages() -> Path:
    """The folder in which this process found the package: all that the guest imports, but for Python's own."""
    package = sys.modules[__name__.partition(".")[0]]
    return Path(package.__path__[0]).absolute().parent


def _python() -> Path:
    """Path of this Python, the same however it was started."""
    python = Path(sys.prefix, "bin", "python3")
    return python if python.exists() else Path(sys.executable)


def python_path() -> list[str]:
    """Folders of PYTHONPATH."""
    return [str(Path(each).absolute()) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]


def _package_places() -> dict[str, str]:
    """Variables with which the guest's Python finds this package where neither it nor its environment has it."""
    if given := python_path():
        return {"PYTHONPATH": os.pathsep.join(given)}
    if site.ENABLE_USER_SITE and PACKAGE.is_relative_to(site.getusersitepackages()):
        return {"PYTHONUSERBASE": site.getuserbase()}  # `pip install --user`: the guest's user has another home
    return {}


def visible_folders() -> list[str]:
    """Host folders that the guest needs even below /tmp or /run: this package, its Python, the working folder."""
    more = [folder for value in _package_places().values() for folder in value.split(os.pathsep)]
    folders = {str(ROOT), str(_packages()), sys.prefix, sys.base_prefix, str(Path.cwd()), *more}
    return sorted(folders | {str(Path(each).resolve()) for each in folders})


def memory_folders(first: Path) -> list[Path]:
    """Folders that may hold the guest's memory, in the order of preference."""
    named = [Path(os.environ["TMPDIR"])] if "TMPDIR" in os.environ else []
    return list(dict.fromkeys([first, *named, *FALLBACKS]))


def shared_memory_folder(need_bytes: int) -> Path:
    """A folder for the guest's memory: /dev/shm, or the fallback that TMPDIR names, or one of the usual ones.

    Raises:
        MemoryError: none is large enough and executable; the message has the numbers and the remedy.
    """
    findings: list[str] = []
    for candidate in memory_folders(SHARED_MEMORY):
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
