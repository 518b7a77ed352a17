"""A Mininet script in the guest: as root, in a tree of files that it may write, with programs it expects."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
import time
from pathlib import Path
from typing import IO, Any

from landspeed.worlds.emu.guest import clock
from landspeed.worlds.emu.guest.consoles import consoles
from landspeed.worlds.emu.guest.files import OUT, mount_hosts
from landspeed.worlds.emu.guest.job import Job
from landspeed.worlds.emu.guest.network import namespaces
from landspeed.worlds.emu.guest.script import beside
from landspeed.worlds.emu.guest.script.typed_input import wait_and_interrupt
from landspeed.worlds.emu.guest.script.written_files import WrittenFiles
from landspeed.worlds.emu.guest.spin_cost import let_time_pass

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"  # that stand before the distribution's, where it has them
REFUSED = ("xterm", "gnome-terminal", "xhost", "wireshark", "firefox", "chromium")
FOUND = "/run/programs"  # first in the search path
OWN = {  # a name in it → one of PROGRAMS, if the distribution has that name
    **{name: name for name in ("tc", "ovs-ofctl", "ovs-vsctl", "ovs-testcontroller")},
    **dict.fromkeys(("cgcreate", "cgdelete"), "without-cpuset"),
}
CPUINFO = "/run/cpuinfo"
CGROUPS = "/sys/fs/cgroup"
ROOT_HAS = {"SHELL": "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh", "USER": "root", "LOGNAME": "root"}  # noqa: PTH110
# The modules of tunnels would give each node five interfaces, such as gre0, which no machine has before it asks.
NO_TUNNELS = "/proc/sys/net/core/fb_tunnels_only_for_init_net"
# Pages for all TCP together: three quarters of the memory, not the usual eleventh. At that limit select(2) says one
# can write to a socket, and write(2) one cannot: a program that asks again does so for ever, since no time passes.
TCP_PAGES = "/proc/sys/net/ipv4/tcp_mem"
STDIN = f"{OUT}/stdin"  # of the script, if the host has one for it
# Programs take a clock near 0 for one that they have not read yet. Open vSwitch counts the processor's cores only every
# 10 s, from 0 on, and until then has none to handle what its datapath asks: all first packets are lost.
UP_S = 10.0
TYPED = "LANDSPEED_TYPED"  # in the environment of a script: a person at a terminal may type what it reads
TIMED_OUT = 124  # exit status, as of timeout(1)
# As of a session that systemd begins.
OPEN_FILES = (1024, 524_288)


def run_script(job: Job) -> dict[str, Any]:
    """Run the job's command; its exit status, the virtual time it took, and how many files it wrote."""
    pages = os.sysconf("SC_PHYS_PAGES") * 3 // 4
    for place, value in ((NO_TUNNELS, "2"), (TCP_PAGES, f"{pages} {pages} {pages}")):
        with open(place, "w") as setting:  # noqa: PTH123
            setting.write(value)
    for module in job.modules:
        namespaces.load_module(module)
    files = WrittenFiles([*job.visible, job.cwd])
    mount_hosts([])  # over that of the new tree
    _find_programs()
    _mount_cgroups()
    _complete_system()
    if job.modules:
        _show_config(Path(job.modules[0]).parents[1] / "config")
    resource.setrlimit(resource.RLIMIT_NOFILE, OPEN_FILES)
    python = os.path.dirname(job.command[0])  # noqa: PTH120 (whose folder has `mn`, too)
    environment = {**os.environ, **ROOT_HAS, **job.environment, "PATH": f"{FOUND}:{python}:{os.environ['PATH']}"}
    with consoles() as (out, err):
        time.sleep(max(0.0, UP_S - time.monotonic()))
        if job.clock == "virtual":
            clock.start_afresh()
        let_time_pass(job.spin_cost_ns)
        began_ns = time.monotonic_ns()
        status = _run(job, environment, out, err)
        took_ns = time.monotonic_ns() - began_ns
        beside.end_all()
    return {"status": status, "script": {"virtual_s": took_ns / 1e9, "files": files.keep()}}


def _find_programs() -> None:
    """Put programs of `PROGRAMS` before those of the distribution that they start."""
    os.mkdir(FOUND)  # noqa: PTH102
    links = dict.fromkeys(REFUSED, PROGRAMS / "refused")
    links |= {name: PROGRAMS / name for name in ("modprobe", "sudo")}  # which a system may be without
    links |= {name: PROGRAMS / program for name, program in OWN.items() if shutil.which(name)}
    if "ovs-testcontroller" in links and not shutil.which("controller"):
        links["controller"] = links["ovs-testcontroller"]  # what Mininet's class Controller starts
    links |= {name: PROGRAMS / name for name in ("mnexec", "vconfig") if not shutil.which(name)}
    for name, program in links.items():
        os.symlink(program, f"{FOUND}/{name}")  # noqa: PTH211


def _mount_cgroups() -> None:
    """Mount the groups of CPULimitedHost as systemd did before there was a second version of them."""
    both = f"{CGROUPS}/cpu,cpuacct"
    namespaces.mount("cgroup", CGROUPS, "tmpfs")
    os.mkdir(both)  # noqa: PTH102
    namespaces.mount("cgroup", both, "cgroup", 0, "cpu,cpuacct")
    for name in ("cpu", "cpuacct"):
        os.symlink("cpu,cpuacct", f"{CGROUPS}/{name}")  # noqa: PTH211


def _complete_system() -> None:
    """Add what a machine that has booted has: a loopback that is up, a folder for sshd, a core's number for ps and top.

    (procps 4.0.2 finds neither the time of the boot nor shares of the processor without that number.)
    """
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    os.makedirs("/run/sshd", exist_ok=True)  # noqa: PTH103
    with open("/proc/cpuinfo") as told, open(CPUINFO, "w") as completed:  # noqa: PTH123
        completed.write(told.read().rstrip("\n") + "\ncore id\t\t: 0\n\n")
    namespaces.mount(CPUINFO, "/proc/cpuinfo", "none", namespaces.MS_BIND)


def _show_config(config: Path) -> None:
    """Show the kernel's configuration where distributions have it, and scripts look for it."""
    if config.exists() and os.path.isdir("/boot"):  # noqa: PTH112
        namespaces.mount("landspeed", "/boot", "tmpfs")
        os.symlink(config, f"/boot/config-{os.uname().release}")  # noqa: PTH211


def _run(job: Job, environment: dict[str, str], out: IO[bytes], err: IO[bytes]) -> int:
    """Run it and return its exit status, as a shell has it."""
    try:
        with open(STDIN if os.path.exists(STDIN) else os.devnull, "rb") as given:  # noqa: PTH110, PTH123
            program = subprocess.Popen(job.command, stdin=given, stdout=out, stderr=err, cwd=job.cwd, env=environment)
    except OSError as error:
        err.write(f"{error.filename or job.command[0]}: {error.strerror}\n".encode())
        return 127 if error.errno == errno.ENOENT else 126
    try:
        limit_s = job.time_limit_ns / 1e9 if job.time_limit_ns else None
        status = wait_and_interrupt(program, limit_s) if job.environment.get(TYPED) else program.wait(limit_s)
    except subprocess.TimeoutExpired:
        program.kill()
        return TIMED_OUT
    return status if status >= 0 else 128 - status
