"""Programs of the guest run by seccomp and by ptrace: the same bytes, on an idle host and a busy one."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.emu_fixtures import ROOT, busy_host, execute, plan_of, scenario, transfer
from tests.support.emu_repeat import PROGRAM, asked, three_links
from tests.support.emu_seccomp import PLAIN, able
from tests.support.places import PROGRAMS

pytestmark = pytest.mark.guest

CORES = sorted(os.sched_getaffinity(0))
LOSSY = scenario(three_links(loss="0.02 %", queue="0.3 BDP"), transfer=asked(streams=2))
# Threads, signals to oneself, a floating-point sum over them, a child, a page that may not be touched.
SIGNALS = """
import ctypes, math, os, signal, threading, time
seen = []
signal.signal(signal.SIGUSR1, lambda *_: seen.append(math.sqrt(len(seen) + 2.0)))
total = 1.0
for number in range(50):
    os.kill(os.getpid(), signal.SIGUSR1)
    total = math.fma(total, 1.000001, 0.1) if hasattr(math, "fma") else total * 1.000001 + 0.1
signal.setitimer(signal.ITIMER_REAL, 0.01)
signal.signal(signal.SIGALRM, lambda *_: seen.append(time.monotonic_ns()))
time.sleep(0.02)
sums = []
def add(n): sums.append((n, sum(1 / (n + k) for k in range(1, 2000))))
threads = [threading.Thread(target=add, args=(n,)) for n in range(4)]
for each in threads: each.start()
for each in threads: each.join()
child = os.fork()
if child == 0:
    ctypes.string_at(0)
_, status = os.waitpid(child, 0)
print(repr(total), sum(seen), sorted(sums), os.WTERMSIG(status), time.monotonic_ns())
"""


def test_a_transfer_gives_the_same_bytes_by_seccomp_and_by_ptrace(tmp_path: Path) -> None:
    plan, kernel = plan_of(tmp_path, LOSSY, seed=5), able()

    def measured(folder: str, tracing: str, core: int) -> tuple[bytes, bytes]:
        options = {"core": core, "tracing": tracing, "kernel": str(kernel.executable)}
        record, bundle = transfer(plan, tmp_path / folder, **options)
        assert record.guest.tracing == tracing
        assert record.guest.kernel_key == kernel.key
        assert (bundle / "samples.parquet").stat().st_size > 10_000
        return (bundle / "samples.parquet").read_bytes(), (bundle / "links.parquet").read_bytes()

    idle = measured("a", "seccomp", CORES[0])
    with busy_host():
        assert measured("a-folder-with-a-longer-name", "seccomp", CORES[-1]) == idle
        assert measured("by-ptrace", "ptrace", CORES[0]) == idle


@pytest.mark.parametrize("words", [(str(PROGRAM),), ("-c", SIGNALS)], ids=["times and chance", "signals"])
def test_a_program_sees_the_same_by_seccomp_and_by_ptrace(tmp_path: Path, words: tuple[str, ...]) -> None:
    plan, kernel = plan_of(tmp_path, scenario(three_links(loss="0.5 %")), seed=5), able()

    def seen(folder: str, tracing: str) -> str:
        (tmp_path / folder).mkdir()
        options = {"tracing": tracing, "kernel": str(kernel.executable)}
        shown = execute(plan, tmp_path / folder, sys.executable, *words, **options)
        assert shown.status == 0, shown.err
        return shown.out

    idle = seen("a", "seccomp")
    assert idle
    with busy_host():
        assert seen("a-folder-with-a-longer-name", "seccomp") == idle
        assert seen("by-ptrace", "ptrace") == idle


def test_the_users_own_program_runs_by_what_was_asked(tmp_path: Path) -> None:
    """In real time too, where a timer's signal interrupts what computes."""
    plan, kernel = plan_of(tmp_path, PLAIN), able()
    script = "import time; end = time.monotonic() + 0.3\nwhile time.monotonic() < end: sum(range(1000))\nprint('done')"
    for tracing in ("seccomp", "ptrace"):
        folder = tmp_path / tracing
        folder.mkdir()
        options = {"tracing": tracing, "kernel": str(kernel.executable), "clock": "real"}
        assert execute(plan, folder, sys.executable, "-c", script, **options).out == "done\n"


@pytest.mark.parametrize("tracing", ["seccomp", "ptrace"])
def test_vector_registers_outlive_calls_and_turns_of_others(tmp_path: Path, tracing: str) -> None:
    """A processor with AMX has more of them than Linux 6.12's UML keeps (patch 0022)."""
    source = PROGRAMS / "vector_registers.c"
    options = {"tracing": tracing, "kernel": str(able().executable)}
    with tempfile.TemporaryDirectory(prefix="vector-", dir=ROOT / "build") as folder:  # the guest has a /tmp of its own
        program = Path(folder, "vector_registers")
        subprocess.run(["cc", "-std=c17", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, source], check=True)
        shown = execute(plan_of(tmp_path, PLAIN), tmp_path / "run", str(program), **options)
    assert (shown.status, shown.err) == (0, "")
    assert shown.out.endswith(" bytes kept\n")
