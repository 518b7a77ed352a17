"""`landspeed doctor`: can this host run the emulated world? Each finding with its remedy; nothing is changed."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
from collections.abc import Callable
from pathlib import Path

from landspeed.base.finding import Finding
from landspeed.base.places import is_clone, runs_dir
from landspeed.worlds.built_programs import REINSTALL, program_trouble
from landspeed.worlds.distribution import how_to_install
from landspeed.worlds.emu.hugepages import huge_pages_possible
from landspeed.worlds.emu.kernel_build import find_kernel
from landspeed.worlds.emu.kernel_choice import available, in_words
from landspeed.worlds.emu.kernel_source import KernelError, cache_root
from landspeed.worlds.emu.machine import memory_folders
from landspeed.worlds.emu.memory import available_bytes
from landspeed.worlds.emu.sampling import LINKWATCH, SOCKWATCH
from landspeed.worlds.engine.command import ENGINE_BINARY

SMALLEST_RUN_BYTES = 1 << 30
TOOLS = {  # program → what does without it
    "tc": "each queue's settings and counters in tc's own words (else in netlink's)",
    "ip": "`--evidence`",
    "mnexec": "`landspeed shell`",
    "ping": "ping in `landspeed shell`, and `--evidence`",
    "traceroute": "traceroute in `landspeed shell`, and `--evidence`",
    "iperf3": "`--tool iperf3`",
}
BUILD_TOOLS = {  # of a clone alone
    "gcc": "building the engine and the kernel",
    "meson": "building the engine",
    "flex": "building the kernel",
    "bison": "building the kernel",
    "bc": "building the kernel",
    "patch": "building the kernel",
}
PTRACE_TRACEME = 0
ADDR_NO_RANDOMIZE = 0x0040000  # personality(2)
RANDOMIZE = Path("/proc/sys/kernel/randomize_va_space")
PTRACE_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")
BUNDLES = runs_dir()
SMALLEST_DISK_BYTES = 1 << 30  # a long run of many streams writes some hundred megabytes of samples


def examine(shm: Path = Path("/dev/shm")) -> list[Finding]:
    """Look at everything."""
    checks: list[Callable[[], Finding]] = [
        _machine,
        lambda: _shared_memory(shm),
        _huge_pages,
        _ptrace,
        _addresses,
        _free_memory,
        _cores,
        _disk,
        _kernel,
        lambda: _program("transfer engine", ENGINE_BINARY),
        lambda: _program("link watch", LINKWATCH),
        lambda: _program("socket watch", SOCKWATCH),
    ]
    tools = TOOLS | (BUILD_TOOLS if is_clone() else {})
    return [check() for check in checks] + [_tool(name, purpose) for name, purpose in tools.items()]


def _machine() -> Finding:
    text = f"{platform.system()} on {platform.machine()}"
    if platform.system() == "Linux" and platform.machine() == "x86_64":
        return Finding("machine", "ok", text)
    return Finding(
        "machine", "fail", text, "User-Mode Linux runs on x86-64 Linux only: use such a machine (a virtual one will do)"
    )


def _shared_memory(shm: Path) -> Finding:
    """Check shared memory as a run looks for it: /dev/shm, then the folder that TMPDIR names, then the usual ones."""
    first = _memory_folder(shm)
    if first.state == "ok":
        return first
    others = [_memory_folder(folder) for folder in memory_folders(shm)[1:]]
    good = next((other for other in others if other.state == "ok"), None)
    return Finding("shared memory", "ok", f"{good.text} ({first.text})") if good else first


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


def _addresses() -> Finding:
    """Tried by the program that starts the guest; a container's profile may refuse it."""
    name = "addresses"
    if RANDOMIZE.exists() and RANDOMIZE.read_text().strip() == "0":
        return Finding(name, "ok", "this host randomizes none")
    child = os.fork()
    if child == 0:
        os._exit(0 if ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE) >= 0 else 1)
    _, status = os.waitpid(child, 0)
    if status == 0:
        return Finding(name, "ok", "the guest's kernel has the same in every run")
    return Finding(
        name,
        "warn",
        "personality(2) is refused: the guest's kernel has other addresses in every run",
        "in a container allow it in the seccomp profile (docker run --security-opt seccomp=unconfined)",
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
    shared = (
        ": runs beside each other share it" if cores == 1 else ""
    )  # one run needs no second one: worlds/emu/cores.py
    return Finding("cores", "ok", f"{cores} available{shared}")


def _disk() -> Finding:
    place = next(folder for folder in (BUNDLES, *BUNDLES.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    if not os.access(place, os.W_OK):
        return Finding("disk", "warn", f"no permission to write to {place}", "put bundles elsewhere with --out DIR")
    text = f"{free / 2**30:.1f} GiB free for bundles in {BUNDLES}"
    if free < SMALLEST_DISK_BYTES:
        return Finding("disk", "warn", text, "free some space, or put bundles elsewhere with --out DIR")
    return Finding("disk", "ok", text)


def _kernel() -> Finding:
    try:
        kernel = find_kernel()
    except KernelError as error:
        return Finding("virtual-time kernel", "fail", str(error), "make setup" if is_clone() else REINSTALL)
    others = in_words([each for each in available() if each.key != kernel.key])
    also = "" if others == "none" else f"; also here: {others}"
    by = "seccomp, else ptrace" if kernel.can_seccomp else "ptrace"
    text = f"Linux {kernel.version} ({kernel.key}), which runs programs by {by}{also}"
    return Finding("virtual-time kernel", "ok", text)


def _program(name: str, path: Path) -> Finding:
    if trouble := program_trouble(path):
        text, _, remedy = trouble.partition("; ")
        return Finding(name, "fail", text, remedy)
    return Finding(name, "ok", str(path))


def _tool(name: str, purpose: str) -> Finding:
    where = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if where:
        return Finding(name, "ok", where)
    return Finding(name, "warn", f"missing: needed for {purpose}", how_to_install(name))
