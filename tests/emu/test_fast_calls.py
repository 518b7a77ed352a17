"""System calls without a signal (patch 0031): a program sees nothing of it but the jumps in its own code."""

import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.support.emu_fixtures import ROOT, execute, plan_of
from tests.support.emu_seccomp import PLAIN, able
from tests.support.places import PROGRAMS

pytestmark = pytest.mark.guest

SOURCE = PROGRAMS / "fast_calls.c"


@pytest.mark.parametrize(("tracing", "clock", "code"), [
    ("seccomp", "virtual", "jumps"),
    ("ptrace", "virtual", "calls"),
    ("seccomp", "real", "calls"),
])  # fmt: skip
def test_calls_do_what_they_did(tmp_path: Path, tracing: str, clock: str, code: str) -> None:
    """Results, flags, stack, vector registers, signals, restarts, threads and forks; in real time signals may come."""
    kernel = able()
    if kernel.series != "6.12":
        pytest.skip(f"patch 0031 is for Linux 6.12, and only {kernel.name} is here")
    with tempfile.TemporaryDirectory(prefix="fast-calls-", dir=ROOT / "build") as folder:  # not the guest's own /tmp
        program = Path(folder, "fast_calls")
        words = ("-std=gnu17", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread")
        subprocess.run(["cc", *words, "-o", program, SOURCE], check=True)
        options = {"tracing": tracing, "clock": clock, "kernel": str(kernel.executable)}
        shown = execute(plan_of(tmp_path, PLAIN), tmp_path / "run", str(program), code, **options)
    assert (shown.status, shown.out, shown.err) == (0, "as ever\n", "")
