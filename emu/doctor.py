"""`landspeed doctor`: can this host run the emulated world? Each finding with its remedy; nothing is changed."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
from collections.abc import Callable
from pathlib import Path

from ..engine.command import ENGINE_BINARY
from ..results.finding import Finding
from .hugepages import huge_pages_possible
from .kernel import KernelError, cache_root, find_kernel
from .memory import available_bytes
from .world import LINKWATCH

SMALLEST_RUN_BYTES = 1 << 30
TOOLS = {  # program → Debian package, and what stops working without it
    "ip": ("iproute2", "fail", "reading the path's settings back"),
    "tc": ("iproute2", "fail", "reading the path's settings back"),
    "gcc": ("gcc", "warn", "building the engine and the kernel"),
    "meson": ("meson", "warn", "building the engine"),
    "flex": ("flex", "warn", "building the kernel"),
    "bison": ("bison", "warn", "building the kernel"),
    "bc": ("bc", "warn", "building the kernel"),
    "patch": ("patch", "warn", "building the kernel"),
    "mnexec": ("mininet", "warn", "`landspeed shell`"),
    "ping": ("iputils-ping", "warn", "ping in `landspeed shell`"),
    "traceroute": ("traceroute", "warn", "traceroute in `landspeed shell`"),
    "iperf3": ("iperf3", "warn", "`--tool iperf3`"),
}
PTRACE_TRACEME = 0
PTRACE_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")
BUNDLES = Path(__file__).resolve().parent.parent / "results" / "runs"
SMALLEST_DISK_BYTES = 1 << 30  # a long run of many streams writes some hundred megabytes of samples


def examine(shm: Path = Path("/dev/shm")) -> list[Finding]:
    """Look at everything."""
    checks: list[Callable[[], Finding]] = [
        _machine,
        lambda: _shared_memory(shm),
        _huge_pages,
        _ptrace,
        _free_memory,
        _cores,
        _disk,
        _kernel,
        lambda: _program("transfer engine", ENGINE_BINARY),
        lambda: _program("link watch", LINKWATCH),
    ]
    return [check() for check in checks] + [_tool(name) for name in TOOLS]


def _machine() -> Finding:
    text = f"{platform.system()} on {platform.machine()}"
    if platform.system() == "Linux" and platform.machine() == "x86_64":
        return Finding("machine", "ok", text)
    return Finding(
        "machine", "fail", text, "User-Mode Linux runs on x86-64 Linux only: use such a machine (a virtual one will do)"
    )


def _shared_memory(shm: Path) -> Finding:
    """As a run looks for it: /dev/shm, then the folder that TMPDIR names."""
    first = _memory_folder(shm)
    if first.state == "fail" and "TMPDIR" in os.environ:
        other = _memory_folder(Path(os.environ["TMPDIR"]))
        if other.state == "ok":
            return Finding("shared memory", "ok", f"{other.text} (TMPDIR; {first.text})")
    return first


def _memory_folder(shm: Path) -> Finding:
    name = "shared memory"
    if not shm.is_dir() or not os.access(shm, os.W_OK):
        remedy = "mount a tmpfs there, or set TMPDIR to a tmpfs folder"
        return Finding(name, "fail", f"{shm} is not there or not writable", remedy)
    if os.statvfs(shm).f_flag & os.ST_NOEXEC:
        remedy = f"mount -o remount,exec {shm}, or set TMPDIR to a folder that allows execution"
        return Finding(name, "fail", f"{shm} is mounted noexec", remedy)
    free = shutil.disk_usage(shm).free
    if free < SMALLEST_RUN_BYTES:
        text = f"{shm} has {free / 2**30:.2f} GiB free, the smallest run needs {SMALLEST_RUN_BYTES / 2**30:.0f} GiB"
        return Finding(name, "fail", text, f"mount -o remount,size=8G {shm}, or set TMPDIR to a larger folder")
    return Finding(name, "ok", f"{shm}: {free / 2**30:.1f} GiB free, execution allowed")


def _huge_pages() -> Finding:
    if huge_pages_possible(cache_root() / "memory"):
        return Finding("huge pages", "ok", "the guest's memory can be in pages of 2 MiB")
    return Finding(
        "huge pages",
        "warn",
        "no tmpfs of the guest's own can be mounted: long paths cost more wall time",
        "allow user namespaces (sysctl kernel.unprivileged_userns_clone=1; "
        "Ubuntu: kernel.apparmor_restrict_unprivileged_userns=0), or run as root",
    )


def _ptrace() -> Finding:
    """Try it: a child that asks to be traced."""
    child = os.fork()
    if child == 0:
        os._exit(0 if ctypes.CDLL(None).ptrace(PTRACE_TRACEME, 0, None, None) == 0 else 1)
    _, status = os.waitpid(child, 0)
    allowed = (os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0) or os.WIFSIGNALED(status)
    scope = PTRACE_SCOPE.read_text().strip() if PTRACE_SCOPE.exists() else "absent"
    if allowed and scope != "3":
        return Finding("ptrace", "ok", f"allowed (yama scope {scope})")
    return Finding(
        "ptrace",
        "fail",
        f"refused (yama scope {scope})",
        "sysctl kernel.yama.ptrace_scope=1; in a container allow SYS_PTRACE in its seccomp profile",
    )


def _free_memory() -> Finding:
    available = available_bytes()
    text = f"{available / 2**30:.1f} GiB available"
    if available < SMALLEST_RUN_BYTES:
        return Finding(
            "memory",
            "fail",
            text,
            "close programs or use a larger machine; `landspeed show FILE` tells what a run needs",
        )
    return Finding("memory", "ok", text)


def _cores() -> Finding:
    cores = len(os.sched_getaffinity(0))
    if cores < 2:  # the guest is one process, and each program in it another
        return Finding("cores", "warn", f"{cores} available", "give it two: with one a run takes nearly twice as long")
    return Finding("cores", "ok", f"{cores} available")


def _disk() -> Finding:
    place = next(folder for folder in (BUNDLES, *BUNDLES.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    text = f"{free / 2**30:.1f} GiB free for bundles in {BUNDLES}"
    if free < SMALLEST_DISK_BYTES:
        return Finding("disk", "warn", text, "free some space, or put bundles elsewhere with --out DIR")
    return Finding("disk", "ok", text)


def _kernel() -> Finding:
    try:
        kernel = find_kernel()
    except KernelError as error:
        return Finding("virtual-time kernel", "fail", str(error), "make setup")
    return Finding("virtual-time kernel", "ok", f"Linux {kernel.version} ({kernel.key})")


def _program(name: str, path: Path) -> Finding:
    if os.access(path, os.X_OK):
        return Finding(name, "ok", str(path))
    return Finding(name, "fail", f"{path} is not built", "make setup")


def _tool(name: str) -> Finding:
    package, state, purpose = TOOLS[name]
    where = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if where:
        return Finding(name, "ok", where)
    return Finding(
        name, "fail" if state == "fail" else "warn", f"missing: needed for {purpose}", f"apt-get install {package}"
    )
