"""A Mininet script in the guest: as root, in a tree of files that it may write, with programs it expects."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import IO, Any

from landspeed.worlds.emu.guest import clock
from landspeed.worlds.emu.guest.consoles import consoles
from landspeed.worlds.emu.guest.files import mount_hosts
from landspeed.worlds.emu.guest.job import Job
from landspeed.worlds.emu.guest.script.written_files import WrittenFiles
from landspeed.worlds.emu.guest.spin_cost import let_time_pass

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"  # that stand before the distribution's, where it has them
REFUSED = ("xterm", "gnome-terminal", "xhost", "wireshark", "firefox", "chromium")
FOUND = "/run/programs"  # first in the search path
# Programs take a clock near 0 for one that they have not read yet. Open vSwitch counts the processor's cores only every
# 10 s, from 0 on, and until then has none to handle what its datapath asks: all first packets are lost.
UP_S = 10.0
TIMED_OUT = 124  # exit status, as of timeout(1)


def run_script(job: Job) -> dict[str, Any]:
    """Run the job's command; its exit status, the virtual time it took, and how many files it wrote."""
    mount_hosts([])
    files = WrittenFiles([*job.visible, job.cwd])
    _find_programs()
    environment = {**os.environ, **job.environment, "PATH": f"{FOUND}:{os.environ['PATH']}"}
    with consoles() as (out, err):
        time.sleep(max(0.0, UP_S - time.monotonic()))
        if job.clock == "virtual":
            clock.start_afresh()
        let_time_pass(job.spin_cost_ns)
        began_ns = time.monotonic_ns()
        status = _run(job, environment, out, err)
        took_ns = time.monotonic_ns() - began_ns
    return {"status": status, "script": {"virtual_s": took_ns / 1e9, "files": files.keep()}}


def _find_programs() -> None:
    """Put programs of `PROGRAMS` before those of the distribution that they start."""
    os.mkdir(FOUND)  # noqa: PTH102
    links = dict.fromkeys(REFUSED, PROGRAMS / "refused")
    links |= {name: PROGRAMS / name for name in ("tc", "ovs-vsctl", "ovs-testcontroller") if shutil.which(name)}
    if "ovs-testcontroller" in links and not shutil.which("controller"):
        links["controller"] = links["ovs-testcontroller"]  # what Mininet's class Controller starts
    for name, program in links.items():
        os.symlink(program, f"{FOUND}/{name}")  # noqa: PTH211


def _run(job: Job, environment: dict[str, str], out: IO[bytes], err: IO[bytes]) -> int:
    """Run it and return its exit status, as a shell has it."""
    try:
        program = subprocess.Popen(
            job.command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=job.cwd, env=environment
        )
    except OSError as error:
        err.write(f"{error.filename or job.command[0]}: {error.strerror}\n".encode())
        return 127 if error.errno == errno.ENOENT else 126
    try:
        status = program.wait(job.time_limit_ns / 1e9 if job.time_limit_ns else None)
    except subprocess.TimeoutExpired:
        program.kill()
        return TIMED_OUT
    return status if status >= 0 else 128 - status
