"""Network namespaces by system call: no program is started, since starting one costs tens of milliseconds here."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Generator

CLONE_NEWNET = 0x40000000
MS_RDONLY = 1
MS_BIND = 0x1000
MS_REC = 0x4000
FINIT_MODULE = 313  # of syscalls(2) on x86-64; the C library has no function of it
_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str, flags: int = 0, options: str = "") -> None:
    """mount(2).

    Raises:
        OSError: the kernel refused; the message names the target.
    """
    if not os.path.exists(target):  # noqa: PTH110
        os.makedirs(target)  # noqa: PTH103 (Path is not imported for the sake of one call in the guest)
    result = _libc.mount(source.encode(), target.encode(), kind.encode(), flags, options.encode() or None)
    _check(result, f"mount {kind} on {target}")


def unmount(target: str) -> None:
    """Take a mount away; what was bound from it stays (umount2(2), MNT_DETACH)."""
    _check(_libc.umount2(target.encode(), 2), f"unmount {target}")


def enter(descriptor: int) -> None:
    """Move this thread into the network namespace of a descriptor (setns(2))."""
    _check(_libc.setns(descriptor, CLONE_NEWNET), "setns")


def open_current() -> int:
    """Descriptor of this thread's network namespace."""
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def create() -> int:
    """A new network namespace, as a descriptor; this thread stays where it was."""
    here = open_current()
    try:
        _check(_libc.unshare(CLONE_NEWNET), "unshare")
        return open_current()
    finally:
        enter(here)
        os.close(here)


def publish(descriptor: int, name: str) -> None:
    """Name a namespace as `ip netns` does: a bind mount in /run/netns."""
    path = f"/run/netns/{name}"
    os.makedirs("/run/netns", exist_ok=True)  # noqa: PTH103
    os.close(os.open(path, os.O_CREAT | os.O_RDONLY, 0o444))
    result = _libc.mount(f"/proc/self/fd/{descriptor}".encode(), path.encode(), None, MS_BIND, None)
    _check(result, f"bind {path}")


@contextlib.contextmanager
def inside(descriptor: int) -> Generator[None]:
    """Run a block in a namespace: sockets made and programs started there belong to it for good."""
    here = open_current()
    enter(descriptor)
    try:
        yield
    finally:
        enter(here)
        os.close(here)


def set_timer_slack(nanoseconds: int) -> None:
    """Sleeps of this process and of all it starts end on time, not up to 50 µs later (prctl(2), PR_SET_TIMERSLACK)."""
    _check(_libc.prctl(29, nanoseconds), "prctl")


def set_host_name(name: str) -> None:
    """sethostname(2)."""
    _check(_libc.sethostname(name.encode(), len(name)), "sethostname")


def load_module(path: str) -> None:
    """Load a module of the kernel (finit_module(2))."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    _check(_libc.syscall(FINIT_MODULE, descriptor, b"", 0), f"load {path}")
    os.close(descriptor)


def power_off() -> None:
    """Write back what is dirty and end the guest (reboot(2), RB_POWER_OFF)."""
    os.sync()
    _libc.reboot(0x4321FEDC)
