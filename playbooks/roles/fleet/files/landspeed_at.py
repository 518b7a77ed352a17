"""Begin a program at a time: landspeed_at.py UNIX_SECONDS FILE PROGRAM [WORD…]

It is started before, as the unit that the program will be, and becomes it at that time by this host's clock. FILE gets
when that was. What comes too late does not begin: others would have begun without it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

AWAKE_S = 0.002  # before the time it does not sleep any more: a sleeper is woken late


def main() -> None:
    """Wait, note the time, and become the program."""
    planned, file, program = float(sys.argv[1]), sys.argv[2], sys.argv[3:]
    late_s = time.time() - planned
    if late_s > 0:
        sys.exit(f"the start, {planned:.3f}, was {late_s:.3f} s ago. Remedy: a longer --lead, or a later --at")
    with Path(file).open("w", encoding="ascii") as told:
        while (left_s := planned - time.time()) > AWAKE_S:
            time.sleep(left_s - AWAKE_S)
        while (now := time.time()) < planned:
            pass
        json.dump({"planned_unix_s": planned, "began_unix_s": now}, told)
    os.execv(program[0], program)


if __name__ == "__main__":
    main()
