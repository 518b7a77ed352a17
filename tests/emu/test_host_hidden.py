"""What a program in the guest can read of the real host: what is hidden, and what is not. The documents list both.

docs/explanation/emulated-world.md has the table; each of its rows is a test here.
"""

from __future__ import annotations

import platform
import re
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.emu_fixtures import ROOT, Output, execute, plan_of, scenario

pytestmark = pytest.mark.guest

PLAIN = scenario([{"one_way_delay": "1 ms"}] * 2)
# Machine code in memory that may be executed; each returns what is in rax.
CODE = """
import ctypes, mmap, os, time
def code(text, result=ctypes.c_uint64):
    memory = mmap.mmap(-1, 4096, prot=7)
    memory.write(bytes.fromhex(text))
    call = ctypes.CFUNCTYPE(result)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    call.memory = memory
    return call
"""


def run(folder: Path, script: str, **options: Any) -> Output:
    folder.mkdir(exist_ok=True)
    return execute(plan_of(folder, PLAIN), folder, sys.executable, "-c", CODE + script, **options)


def test_names_of_the_host_are_not_told(tmp_path: Path) -> None:
    """By uname, hostname, /proc/version, the kernel's log and /proc/cpuinfo, but for its line `host`."""
    shown = execute(
        plan_of(tmp_path, PLAIN),
        tmp_path,
        "sh",
        "-c",
        "uname -a; hostname; cat /proc/version; grep -v ^host /proc/cpuinfo; dmesg",
    )
    assert shown.out.startswith("Linux landspeed 6.") and "\nlandspeed\n" in shown.out
    assert platform.release() not in shown.out
    assert not re.search(rf"\b{re.escape(socket.gethostname())}\b", shown.out.replace(str(ROOT), ""))
    assert "bogomips\t: 0.00" in shown.out


def test_processors_memory_load_and_processes_are_the_guest_s(tmp_path: Path) -> None:
    """One processor, the guest's memory, no load, its own process numbers, and calendar; the same in each run."""
    script = """
print(os.cpu_count(), os.getpid(), os.getppid(), os.getloadavg(), time.time_ns(), sorted(os.listdir("/proc"))[:20])
print(open("/proc/uptime").read(), open("/proc/stat").read(), os.sysconf("SC_PHYS_PAGES") * 4096 < 2 << 30)
print(open("/proc/sys/kernel/random/boot_id").read(), os.getrandom(8), os.urandom(8), os.times())
"""
    first, second = (run(tmp_path / name, script) for name in ("a", "b"))
    assert first.status == 0, first.err
    assert first.out == second.out
    assert first.out.startswith("1 ") and "(0.0, 0.0, 0.0)" in first.out


def test_no_program_finds_the_host_s_vdso(tmp_path: Path) -> None:
    """The only vDSO is the guest's, in the last page; the auxiliary vector names it and no feature of the host's."""
    script = """
print([line.split()[0] for line in open("/proc/self/maps") if "[v" in line])
words = open("/proc/self/auxv", "rb").read()
aux = dict(zip(*[iter(memoryview(words).cast("Q"))] * 2))
print(hex(aux[33]), aux[16])
"""
    assert run(tmp_path / "a", script).out.split() == ["['7f7ffff000-7f80000000']", "0x7f7ffff000", "0"]


def test_what_is_not_hidden(tmp_path: Path) -> None:
    """`rdtsc`, `cpuid` and `rdrand` are the processor's own; files are the host's, and so is a name in cpuinfo."""
    script = """
print(code("53 31c0 0fa2 89d8 5b c3", ctypes.c_uint32)().to_bytes(4, "little").decode())
print("rdrand" in open("/proc/cpuinfo").read().split())
draw = code("480fc7f0 c3")
print(draw() != draw())
rdtsc = code("0f31 48c1e220 4809d0 c3")
print(rdtsc() < rdtsc())
print([line for line in open("/proc/cpuinfo") if line.startswith("host")][0].strip())
print(open("/etc/os-release").readline().strip())
print(open("/proc/cmdline").read().strip())
"""
    if "rdrand" not in (host := Path("/proc/cpuinfo").read_text()).split():
        script = script.replace("draw() != draw()", "True")
    shown = run(tmp_path / "a", script)
    assert shown.status == 0, shown.err
    vendor, drawn, differs, counts, named, release, command = shown.out.splitlines()
    assert f"vendor_id\t: {vendor}" in host
    assert (drawn == "True") == ("rdrand" in host.split())
    assert differs == counts == "True"
    assert platform.release() in named
    assert Path("/etc/os-release").read_text().startswith(f"{release}\n")
    assert str(ROOT) in command
