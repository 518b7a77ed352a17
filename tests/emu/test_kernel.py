"""The virtual-time kernel as it runs: its options, its random numbers, its clock."""

import gzip
import re
import sys
from pathlib import Path

import pytest

from landspeed.worlds.emu import kernel_build as kernel
from tests.support.emu_fixtures import execute, plan_of, scenario

pytestmark = pytest.mark.guest

PLAIN = scenario([{"one_way_delay": "1 ms"}] * 2)
# What a reading of the clock costs in ns, and how far CLOCK_REALTIME is ahead: by libc, which asks the vDSO, and by a
# system call. Then how many readings there are until a timer of 1 ms goes off, which the vDSO must leave to the kernel.
READINGS = """
import ctypes, signal, time
libc, at = ctypes.CDLL(None), (ctypes.c_long * 2)()
def by(call, *first):
    def read(clock):
        assert call(*first, clock, at) == 0
        return at[0] * 10**9 + at[1]
    return read
for read in (by(libc.clock_gettime), by(libc.syscall, 228)):
    seen = [read(1) for _ in range(200)]
    print(*{after - before for before, after in zip(seen, seen[1:])}, read(0) - read(1))
gone, count = [], 0
signal.signal(signal.SIGALRM, lambda *_: gone.append(1))
began = time.monotonic_ns()
signal.setitimer(signal.ITIMER_REAL, 0.001)
while not gone:
    ended = time.monotonic_ns()
    count += 1
print((ended - began) // 1000, count)
"""


def test_every_option_asked_for_is_in_the_running_kernel(tmp_path: Path) -> None:
    """Read in the guest, from the kernel itself; what is a module of it is not loaded."""
    read = "cat /proc/config.gz >/run/landspeed/config.gz; cat /proc/modules"
    shown = execute(plan_of(tmp_path, PLAIN), tmp_path, "sh", "-c", read)
    assert (shown.status, shown.out) == (0, ""), shown.err
    running = gzip.decompress((tmp_path / "config.gz").read_bytes()).decode()
    asked = "".join((kernel.RECIPE / name).read_text() for name in ("config", "config-mininet"))
    wanted = re.findall(r"^(?:CONFIG_\w+=.*|# CONFIG_\w+ is not set)$", asked, re.MULTILINE)
    assert len(wanted) > 150
    missing = [line for line in wanted if line.startswith("CONFIG_") and f"{line}\n" not in running]
    off = {line.split()[1] for line in wanted if line.startswith("#")} - {"CONFIG_DEBUG_KERNEL"}  # EXPERT selects it
    on = [name for name in off if f"\n{name}=" in running]
    assert missing == []
    assert on == []
    assert "CONFIG_HZ=1000\n" in running


def test_the_clock_ticks_a_thousand_times_a_second(tmp_path: Path) -> None:
    """In virtual time, as the kernel itself counts them; those that an idle guest slept through count, too."""
    count = "sed -n 's/^jiffies: //p' /proc/timer_list | head -n 1"
    shown = execute(plan_of(tmp_path, PLAIN), tmp_path, "sh", "-c", f"{count}; sleep 10; {count}")
    before, after = map(int, shown.out.split())
    assert after - before == pytest.approx(10_000, abs=2)


def test_every_congestion_control_of_the_scenarios_is_there(tmp_path: Path) -> None:
    from landspeed.scenario.file.capabilities import CONGESTION_CONTROLS

    shown = execute(plan_of(tmp_path, PLAIN), tmp_path, "cat", "/proc/sys/net/ipv4/tcp_available_congestion_control")
    assert set(shown.out.split()) >= set(CONGESTION_CONTROLS)


def test_random_numbers_follow_the_seed_alone(tmp_path: Path) -> None:
    """The same bytes from two boots with one seed, whatever the pool got meanwhile; others with another seed.

    The two boots are from folders with names of different length, and each tells the pool something else, as another
    build of the kernel does by its date and by the addresses of its code.
    """
    script = (
        "import fcntl, os, sys, time, uuid; pool = os.open('/dev/urandom', os.O_RDWR);"
        "os.write(pool, sys.argv[1].encode()); fcntl.ioctl(pool, 0x5207);"
        "print(os.urandom(16).hex(), uuid.uuid4(), hash(b'x'), time.time_ns())"
    )
    shown = []
    for name, seed in (("a", 5), ("a-much-longer-name", 5), ("b", 6), ("c", 2**53 - 1)):
        folder = tmp_path / name
        folder.mkdir()
        program = (sys.executable, "-c", script, f"pool{len(shown)}")
        shown.append(execute(plan_of(folder, PLAIN, seed=seed), folder, *program).out)
    assert shown[0] == shown[1]
    assert len({line.split()[0] for line in shown}) == 3
    assert len({line.split()[1] for line in shown}) == 3


def test_a_second_of_sleep_is_a_second_of_virtual_time(tmp_path: Path) -> None:
    """An hour passes at once, and exactly."""
    script = "import time; a = time.monotonic_ns(); time.sleep(3600); print(time.monotonic_ns() - a)"
    shown = execute(plan_of(tmp_path, PLAIN), tmp_path, sys.executable, "-c", script)
    assert int(shown.out) == pytest.approx(3600 * 10**9, abs=20_000)


@pytest.mark.exact
def test_a_reading_of_the_clock_costs_256_ns_by_whatever_way(tmp_path: Path) -> None:
    """By the vDSO as by a system call; and a timer goes off in a loop that does nothing but read the clock."""
    shown = execute(plan_of(tmp_path, PLAIN), tmp_path, sys.executable, "-c", READINGS)
    assert shown.status == 0, shown.err
    vdso, system_call, timer = shown.out.splitlines()
    assert vdso == system_call
    assert vdso.split()[0] == "256"
    took_us, readings = map(int, timer.split())
    assert took_us == pytest.approx(1000, abs=1)
    assert readings == pytest.approx(1e6 / 256, abs=4)
