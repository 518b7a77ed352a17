"""Which lines of the package the tests run: `make coverage`. Words are passed on to pytest.

Counted are the tests' own processes, the commands that they start, and the agents of their guests. What Ansible carries
to the lab's servers is counted only where tests import it. In a guest counting takes some microseconds of its time: the
few tests that would see them (marker `exact`) are left out, unless the words have a `-m` of their own.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "build" / "coverage"
IN_GUESTS = Path(sysconfig.get_path("purelib")) / "landspeed-guest-coverage.pth"
# A guest's first process is its agent, and has this variable (landspeed/worlds/emu/machine.py).
HOOK = (
    "import os; 'LANDSPEED_PACKAGES' in os.environ and os.getpid() == 1 and exec(compile(open({0!r}).read(), {0!r}, "
    "'exec'), {{'__file__': {0!r}, '__name__': 'guest_coverage'}})\n"
)


def coverage(*words: str) -> int:
    """Run coverage.py; returns its exit status."""
    return subprocess.run([sys.executable, "-m", "coverage", *words], cwd=ROOT, check=False).returncode


def main(words: list[str]) -> int:
    """Run the tests, put together what was counted, and say which lines are missing.

    Returns:
        exit status: not 0 when a test failed, or when less than `fail_under` of pyproject.toml was run.
    """
    shutil.rmtree(DATA, ignore_errors=True)
    DATA.mkdir(parents=True)
    IN_GUESTS.write_text(HOOK.format(str(ROOT / "tests" / "bench" / "guest_coverage.py")))
    try:
        status = coverage("run", "-m", "pytest", "-m", "not exact", *words)
    finally:
        IN_GUESTS.unlink()
    guests = len(list(DATA.glob("data.guest.*")))
    with (DATA / "combine.log").open("w") as log:  # a program that a test kills leaves half a file: that is passed over
        combined = [sys.executable, "-m", "coverage", "combine", "-q"]
        subprocess.run(combined, cwd=ROOT, check=False, stdout=log, stderr=log)
    coverage("html", "-q", "--fail-under=0", "-d", str(DATA / "html"))
    print(f"Guests counted: {guests}. Line by line: {(DATA / 'html' / 'index.html').relative_to(ROOT)}", flush=True)
    enough = coverage("report", "--sort=-miss")
    return status or enough


if __name__ == "__main__":
    os.chdir(ROOT)
    os.environ["LANDSPEED_WHOLE_PYTHON"] = "1"  # the hook is in site-packages
    sys.exit(main(sys.argv[1:]))
