"""What telemetry costs: all of TCP_INFO of both ends every 10 ms against none, alternating, over loopback.

Prints the medians of two ratios with their 95 % confidence intervals (bootstrap, Efron 1979): goodput, and processor
time per byte, which a busy machine disturbs less. Exit status 1 unless both intervals end below what is promised.
`.venv/bin/python tests/bench_telemetry.py [PAIRS] [SECONDS] [STREAMS]`.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ENGINE = Path(__file__).resolve().parent.parent / "engine" / "build" / "landspeed-engine"
PORT = "5399"
PROMISED_PERCENT = 1.0


def transfer(folder: Path, seconds: str, streams: str, *, watched: bool) -> tuple[float, float]:
    """Goodput in bit/s and processor nanoseconds per byte of both ends, sampled every 10 ms or not at all."""

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
    words = [str(ENGINE), "send", "127.0.0.1", "--port", PORT, "--time", seconds, "--streams", streams, "--json", "-"]
    sent = subprocess.run([*words, *options("sender")], capture_output=True, text=True, check=True)
    receiver.communicate(timeout=60)
    result = json.loads(sent.stdout)
    cpu_s = sum(end[part] for end in result["cpu"].values() for part in ("user_s", "system_s"))
    return result["goodput_bps"], cpu_s * 1e9 / result["bytes"]


def interval(values: list[float], draws: int = 4000) -> tuple[float, float]:
    """Of the median, 95 %: medians of samples drawn with replacement."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(draws))
    return medians[round(0.025 * draws)], medians[round(0.975 * draws) - 1]


def main(pairs: int, seconds: str, streams: str) -> int:
    """Alternating pairs; the order within a pair changes too."""
    goodputs, costs = [], []
    with tempfile.TemporaryDirectory() as name:
        for number in range(pairs):
            order = (True, False) if number % 2 else (False, True)
            seen = {watched: transfer(Path(name), seconds, streams, watched=watched) for watched in order}
            goodputs.append((1 - seen[True][0] / seen[False][0]) * 100)
            costs.append((seen[True][1] / seen[False][1] - 1) * 100)
    print(f"all of TCP_INFO of both ends every 10 ms, {streams} streams, medians of {pairs} alternating pairs:")
    kept = True
    for what, values in (("goodput lost", goodputs), ("processor time per byte", costs)):
        low, high = interval(values)
        figures = f"{statistics.median(values):+.2f} % (95 %: {low:+.2f} to {high:+.2f})"
        print(f"{what}: {figures}; promised: ≤ {PROMISED_PERCENT} %")
        kept = kept and high <= PROMISED_PERCENT
    return 0 if kept else 1


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(int(given[0]) if given else 15, given[1] if given[1:] else "2", given[2] if given[2:] else "1"))
