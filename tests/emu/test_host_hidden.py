"""What a program in the guest can read of the real host: what is hidden, and what is not. The documents list both.

docs/explanation/emulated-world.md has the table; each of its rows is a test here.
"""

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
rdtsc, rdtscp = code("0f31 48c1e220 4809d0 c3"), code("0f01f9 48c1e220 4809d0 c3")
"""


def run(folder: Path, script: str, **options: Any) -> Output:
    folder.mkdir(exist_ok=True)
    return execute(plan_of(folder, PLAIN), folder, sys.executable, "-c", CODE + script, **options)


@pytest.mark.parametrize("tracing", ["seccomp", "ptrace"])
def test_the_time_stamp_counter_is_the_virtual_clock(tmp_path: Path, tracing: str) -> None:
    """By rdtsc and rdtscp: nanoseconds of CLOCK_MONOTONIC, 256 more with each reading, as by a system call."""
    script = """
for read in (rdtsc, rdtscp):
    before, now, after = time.monotonic_ns(), read(), time.monotonic_ns()
    print(before < now < after, after - before, read() - now > 0)
    began = read(); time.sleep(1); print(read() - began)
print(code("0f01f9 89c8 c3")(), code("0f01f9 0f31 48c1e220 4809d0 c3")() > 0)
steps = code("0f31 89c1 0f31 29c8 c3")
print(steps())
"""
    first, second = (run(tmp_path / name, script, tracing=tracing) for name in ("a", "b"))
    assert first.status == 0, first.err
    assert first.out == second.out
    lines = first.out.split("\n")
    assert lines[0].split()[0] == lines[2].split()[0] == "True"
    assert [int(lines[index]) for index in (1, 3)] == pytest.approx([1e9, 1e9], abs=5000)
    assert lines[4] == "0 True"  # the number of the processor
    assert lines[5] == "256"


def test_a_program_that_waits_by_the_counter_comes_to_its_end(tmp_path: Path) -> None:
    """A millisecond is 3906 readings, less what Python itself reads of the clock."""
    script = "began = rdtsc(); count = 0\nwhile rdtsc() < began + 10**6: count += 1\nprint(count)"
    assert int(run(tmp_path / "a", script).out) == pytest.approx(1e6 / 256, abs=4)


def test_what_faults_for_another_reason_still_does(tmp_path: Path) -> None:
    """`hlt` is privileged, and a jump to nowhere is no counter: the program gets SIGSEGV, and can handle it."""
    script = """
import faulthandler, signal
for text in ("f4 c3", "0f30 c3"):
    pid = os.fork()
    if not pid:
        code(text)()
    print(os.WTERMSIG(os.waitpid(pid, 0)[1]))
"""
    assert run(tmp_path / "a", script).out.split() == ["11", "11"]


def test_names_of_the_host_are_not_told(tmp_path: Path) -> None:
    """By uname, hostname, /proc/version, /proc/cpuinfo and the kernel's log."""
    shown = execute(
        plan_of(tmp_path, PLAIN), tmp_path, "sh", "-c", "uname -a; hostname; cat /proc/version /proc/cpuinfo; dmesg"
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
    """`cpuid` and `rdrand` are the processor's own; files and folders are the host's, also on the command line."""
    script = """
print(code("53 31c0 0fa2 89d8 5b c3", ctypes.c_uint32)().to_bytes(4, "little").decode())
print("rdrand" in open("/proc/cpuinfo").read().split())
draw = code("480fc7f0 c3")
print(draw() != draw())
print(open("/etc/os-release").readline().strip())
print(open("/proc/cmdline").read().strip())
"""
    if "rdrand" not in (host := Path("/proc/cpuinfo").read_text()).split():
        script = script.replace("draw() != draw()", "True")
    shown = run(tmp_path / "a", script)
    assert shown.status == 0, shown.err
    vendor, drawn, differs, release, command = shown.out.splitlines()
    assert f"vendor_id\t: {vendor}" in host
    assert (drawn == "True") == ("rdrand" in host.split())
    assert differs == "True"
    assert Path("/etc/os-release").read_text().startswith(f"{release}\n")
    assert str(ROOT) in command
