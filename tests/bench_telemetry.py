"""What telemetry costs: all of TCP_INFO of both ends every 10 ms against none, alternating, over loopback.

Prints the samplers' own part of both ends' processor time, which the kernel counts for each thread: it holds their
system calls, the rows they write, and the packets that they work off when they let go of a socket's lock; that figure
is judged. Beside it goodput and processor time per byte of runs with and without: what runs differ by is larger there.
All are medians with 95 % confidence intervals (bootstrap, Efron 1979). Exit status 1 unless the interval of the
samplers' part ends below what is promised.
`.venv/bin/python tests/bench_telemetry.py [PAIRS] [SECONDS] [STREAMS]`.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ENGINE = Path(__file__).resolve().parent.parent / "engine" / "build" / "landspeed-engine"
PORT = "5399"
PROMISED_PERCENT = 1.0


@dataclass
class Figures:
    """Of one transfer, both ends together."""

    goodput_bps: float
    cpu_ns_per_byte: float
    samplers_share: float  # of all processor time


def threads(process: int) -> Iterator[int]:
    """Of the process and of the sessions below it."""
    try:
        for task in Path(f"/proc/{process}/task").iterdir():
            yield int(task.name)
            for child in (task / "children").read_text().split():
                yield from threads(int(child))
    except (FileNotFoundError, ProcessLookupError):  # gone meanwhile
        return


def account(seen: dict[int, tuple[int, bool]], processes: list[int]) -> None:
    """Note each thread's processor nanoseconds, and whether it is a sampler: only those are SCHED_RR."""
    for thread in (thread for process in processes for thread in threads(process)):
        try:
            cpu_ns = int(Path(f"/proc/{thread}/schedstat").read_text().split()[0])
            seen[thread] = cpu_ns, os.sched_getscheduler(thread) == os.SCHED_RR
        except (FileNotFoundError, ProcessLookupError):
            continue


def transfer(folder: Path, seconds: str, streams: str, *, watched: bool) -> Figures:
    """One transfer, sampled every 10 ms or not at all."""

    def options(end: str) -> list[str]:
        files = ["--samples", str(folder / f"{end}.csv"), "--tcp-info", str(folder / f"{end}.tcp.csv")]
        return ["--interval", "10ms", *files] if watched else ["--interval", "3600"]

    receiver = subprocess.Popen(
        [str(ENGINE), "receive", "--one-off", "--quiet", "--port", PORT, *options("receiver")],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert receiver.stderr is not None
    assert "listening" in receiver.stderr.readline()
    words = [str(ENGINE), "send", "127.0.0.1", "--port", PORT, "--time", seconds, "--streams", streams]
    seen: dict[int, tuple[int, bool]] = {}
    told = folder / "result.json"
    quiet = subprocess.DEVNULL
    sender = subprocess.Popen([*words, "--json", str(told), *options("sender")], stdout=quiet, stderr=quiet)
    while sender.poll() is None:
        account(seen, [sender.pid, receiver.pid])
        time.sleep(0.1)  # a poll costs 1 ms
    receiver.communicate(timeout=60)
    assert sender.returncode == 0
    result = json.loads(told.read_text())
    cpu_s = sum(end[part] for end in result["cpu"].values() for part in ("user_s", "system_s"))
    samplers_ns = sum(cpu_ns for cpu_ns, sampler in seen.values() if sampler)
    if not samplers_ns:
        raise RuntimeError("no sampler is SCHED_RR: run this as root")
    share = samplers_ns / sum(cpu_ns for cpu_ns, _ in seen.values())
    return Figures(result["goodput_bps"], cpu_s * 1e9 / result["bytes"], share)


def interval(values: list[float], draws: int = 4000) -> tuple[float, float]:
    """Of the median, 95 %: medians of samples drawn with replacement."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(draws))
    return medians[round(0.025 * draws)], medians[round(0.975 * draws) - 1]


def main(pairs: int, seconds: str, streams: str) -> int:
    """Alternating pairs; the order within a pair changes too."""
    shares, goodputs, costs = [], [], []
    with tempfile.TemporaryDirectory() as name:
        for number in range(pairs):
            order = (True, False) if number % 2 else (False, True)
            seen = {watched: transfer(Path(name), seconds, streams, watched=watched) for watched in order}
            shares.append(seen[True].samplers_share * 100)
            goodputs.append((1 - seen[True].goodput_bps / seen[False].goodput_bps) * 100)
            costs.append((seen[True].cpu_ns_per_byte / seen[False].cpu_ns_per_byte - 1) * 100)
    print(f"all of TCP_INFO of both ends every 10 ms, {streams} streams, medians of {pairs} alternating pairs:")

    def told(what: str, values: list[float], sign: str) -> float:
        low, high = interval(values)
        print(f"{what}: {statistics.median(values):{sign}.2f} % (95 %: {low:{sign}.2f} to {high:{sign}.2f})")
        return high

    share = told("samplers' part of the processor time", shares, "")
    told("goodput lost", goodputs, "+")
    told("processor time per byte", costs, "+")
    print(f"promised: ≤ {PROMISED_PERCENT} %; judged by the first: {'yes' if share <= PROMISED_PERCENT else 'NO'}")
    return 0 if share <= PROMISED_PERCENT else 1


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(int(given[0]) if given else 15, given[1] if given[1:] else "2", given[2] if given[2:] else "1"))
