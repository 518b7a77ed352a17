"""An idle User-Mode Linux sleeps through a key of its terminal: it is echoed when the next key or timer comes.

    python3 emu/kernel/reproduce/um-idle-misses-input.py path/to/linux [keys]

It runs any User-Mode Linux as an ordinary user, with `cat` in place of init, on a terminal of the host (pty). Each key
is sent some milliseconds after the one before was echoed, so that the guest has just become idle. The host's terminal
sends its signal before the event that it announces can be read; the idle guest asks between the two, finds nothing, and
sleeps (os_idle_sleep). Printed are the keys whose echo took longer than half a second: 0 without the fault.
"""

from __future__ import annotations

import os
import pty
import random
import select
import shutil
import subprocess
import sys
import tempfile
import time
import tty

LATE_S, GIVEN_UP_S = 0.5, 5.0
WORDS = ["mem=64M", "rootfstype=hostfs", "rootflags=/", "ro", "init=/bin/cat", "con=null", "con0=fd:0,fd:1", "quiet"]


def read_until_quiet(terminal: int, quiet_s: float) -> None:
    """Read what the guest prints until it prints nothing for so long."""
    while select.select([terminal], [], [], quiet_s)[0]:
        os.read(terminal, 65536)


def echo_s(terminal: int) -> float:
    """Seconds until a key comes back; infinite if it does not, and then another one is sent, which brings both."""
    sent = time.monotonic()
    os.write(terminal, b"x")
    if not select.select([terminal], [], [], GIVEN_UP_S)[0]:
        os.write(terminal, b"\n")
        read_until_quiet(terminal, 1)
        return float("inf")
    os.read(terminal, 65536)
    return time.monotonic() - sent


def main() -> None:
    """Start the guest, type, and tell."""
    linux, keys = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    terminal, end = pty.openpty()
    tty.setraw(end)
    scratch = tempfile.mkdtemp()
    guest = subprocess.Popen([linux, *WORDS, f"uml_dir={scratch}/"], stdin=end, stdout=end, stderr=subprocess.DEVNULL)
    try:
        read_until_quiet(terminal, 3)
        chance = random.Random(1)
        took = []
        for _ in range(keys):
            took.append(echo_s(terminal))
            time.sleep(chance.uniform(0, 0.003))
        in_time = [each for each in took if each <= LATE_S]
        print(f"{keys - len(in_time)} of {keys} keys late; the others took {1e3 * sum(in_time) / len(in_time):.2f} ms")
    finally:
        guest.kill()
        guest.wait()
        shutil.rmtree(scratch)


main()
