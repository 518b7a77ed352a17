"""`bench_engine.py window`: does a time limit count what was read within it, and no more, under a large window?

The kernel is asked beside the engine (counted_reads.c, in the receiver by LD_PRELOAD): how much of the socket had been
read at the instant at which the limit ended.
"""

import json
import os
import statistics
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.bench.bench import Row
from tests.bench.engine.bench_engine_path import ENGINE, HOST, TURNS, measure, veth_pair

SOURCE = Path(__file__).with_name("counted_reads.c")
WINDOW = "256M"
LIMIT_S = 0.5  # short: what is wrongly counted weighs the more
PROMISED = 0.001
HELLO_BYTES = 48


@dataclass
class Turn:
    """One transfer, by two counts."""

    difference: float  # of the engine's count from the kernel's
    doubt: float  # how much of it was read between the looks before and after the end
    goodput_bps: float


def compare(folder: Path, library: Path) -> Turn:
    """One transfer with a limit, which somebody else looks at."""
    file = folder / "looks"
    limit_ns = int(LIMIT_S * 1e9)
    preload = {"LD_PRELOAD": str(library), "COUNTED_NS": str(limit_ns), "COUNTED_FILE": str(file)}
    receiver = ["env", *(f"{name}={value}" for name, value in preload.items()), str(ENGINE), "receive", "--one-off"]
    words = ["--receive", "memory", "--window", WINDOW, "--time", str(LIMIT_S), "--quiet", "--json", "-"]
    run = measure(
        receiver,
        [str(ENGINE), "send", HOST, *words],
        5201,
        lambda text: ((result := json.loads(text))["bytes"], result["duration_s"], result),
        apart=False,
    )
    if not run.result["complete"] or run.result["duration_s"] != LIMIT_S:
        raise RuntimeError(run.result["error"] or "the time limit did not end it")
    rows = [line.split() for line in file.read_text().splitlines()]
    looks = [(int(at), int(took), int(read)) for at, took, read in rows]
    before = max((look for look in looks if look[0] <= limit_ns), default=None)
    after = min((look for look in looks if look[0] > limit_ns), default=None)
    if before is None or after is None:
        return Turn(0, 1, run.goodput_bps)
    share = (limit_ns - before[0]) / (after[0] - before[0])
    kernels = before[2] + share * (after[2] - before[2]) - HELLO_BYTES
    return Turn(run.result["bytes"] / kernels - 1, (after[2] - before[2]) / kernels, run.goodput_bps)


def window() -> list[Row]:
    """Of the turns in which the kernel was asked in time, all count."""
    with tempfile.TemporaryDirectory(prefix="landspeed-bench-") as name, veth_pair(9000):
        library = Path(name) / "counted_reads.so"
        words = ["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl", "-pthread"]
        subprocess.run(words, check=True, env=os.environ | {"LC_ALL": "C"})
        turns = [compare(Path(name), library) for _ in range(TURNS)]
    told = [turn for turn in turns if turn.doubt <= PROMISED]
    if not told:
        return [Row(f"memory, window {WINDOW}, {LIMIT_S} s", "no look was near enough to the end", "one was", False)]
    worst = max((turn.difference for turn in told), key=abs)
    median = statistics.median(turn.difference for turn in told)
    goodput = statistics.median(turn.goodput_bps for turn in told) / 1e9
    return [
        Row(
            f"memory, window {WINDOW}, {LIMIT_S} s, {len(told)} turns of {TURNS} that tell: "
            "bytes against the kernel's count; worst turn",
            f"{median:+.4%}; {worst:+.4%} ({goodput:.1f} Gbit/s)",
            f"within {PROMISED:.1%}",
            abs(worst) <= PROMISED,
        )
    ]
