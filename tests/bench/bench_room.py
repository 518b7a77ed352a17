"""The course for a room: forty browsers at once, each reading pages and asking for a run.

`bench_room.py SITE [--browsers N] [--jobs N] [--runs N]` serves a made course, lets browsers in, and prints the
slowest answer, the runs, and whether each browser had its first run before any had its second. Promised: no answer
slower than 2 s but for runs.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

from tests.support.command import COMMAND
from tests.support.room_client import RoomClient

SLOWEST_S = 2.0


def visit(client: RoomClient, name: str, runs: int) -> list[float]:
    """Enter, read, ask for so many runs; the times at which they were done."""
    assert client.enter(name) == 303
    for path in ("/", "/delay.html", "/exercise/delay", "/exercise/window"):
        assert client.ask("GET", path)[0] == 200, path
    jobs = [client.job("/exercise/window/try", set=f"transfer.duration={n + 1} s") for n in range(runs)]
    done: list[float] = []
    for job in jobs:
        assert client.told(job, deadline_s=1800, every_s=1.0).startswith("goodput ")
        done.append(time.monotonic())
    return done


def main() -> int:
    """Serve, visit, tell."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("site", type=Path)
    asked.add_argument("--browsers", type=int, default=40)
    asked.add_argument("--jobs", type=int, default=2)
    asked.add_argument("--runs", type=int, default=2, help="of each browser; 0: pages alone")
    parsed = asked.parse_args()
    with tempfile.TemporaryDirectory(prefix="landspeed-room-") as place:
        words = [COMMAND, "lesson", "serve", place, "--out", parsed.site, "--port", "0", "--jobs", str(parsed.jobs)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            port = int(server.stdout.readline().partition("127.0.0.1:")[2].partition("/")[0])
            clients, began = [RoomClient(port) for _ in range(parsed.browsers)], time.monotonic()
            with ThreadPoolExecutor(parsed.browsers) as pool:
                names = [f"student {n}" for n in range(parsed.browsers)]
                done = list(pool.map(visit, clients, names, [parsed.runs] * parsed.browsers))
            took_s = time.monotonic() - began
            used = psutil.Process(server.pid).cpu_times()
            server.terminate()
    slowest_s, answers = max(client.slowest_s for client in clients), sum(client.answers for client in clients)
    print(f"{parsed.browsers} browsers, {parsed.runs * parsed.browsers} runs, {parsed.jobs} at once: {took_s:.0f} s")
    print(f"slowest answer {slowest_s:.2f} s (promised {SLOWEST_S:g} s)")
    print(f"the server itself used {used.user + used.system:.1f} s of a processor for {answers} answers")
    if parsed.runs > 1:
        fair = max(each[0] for each in done) - min(each[1] for each in done)
        print(f"the last first run ended {fair:+.1f} s after the first second one")
    return 0 if slowest_s <= SLOWEST_S else 1


if __name__ == "__main__":
    sys.exit(main())
