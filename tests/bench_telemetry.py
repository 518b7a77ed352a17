"""What telemetry costs: all of TCP_INFO of both ends every 10 ms against none, alternating, over loopback.

Prints the median of the ratios of goodput; `.venv/bin/python tests/bench_telemetry.py [PAIRS] [SECONDS] [STREAMS]`.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ENGINE = Path(__file__).resolve().parent.parent / "engine" / "build" / "landspeed-engine"
PORT = "5399"
PROMISED_PERCENT = 1.0


def goodput_bps(folder: Path, seconds: str, streams: str, *, watched: bool) -> float:
    """One transfer, sampled every 10 ms at both ends or not at all."""

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
    return json.loads(sent.stdout)["goodput_bps"]


def main(pairs: int, seconds: str, streams: str) -> int:
    """Alternating pairs; the order within a pair changes too."""
    ratios = []
    with tempfile.TemporaryDirectory() as name:
        for number in range(pairs):
            order = (True, False) if number % 2 else (False, True)
            rates = {watched: goodput_bps(Path(name), seconds, streams, watched=watched) for watched in order}
            ratios.append(rates[True] / rates[False])
            print(f"{rates[True] / 1e9:.2f} Gbit/s watched, {rates[False] / 1e9:.2f} not: {ratios[-1]:.4f}", flush=True)
    cost = (1 - statistics.median(ratios)) * 100
    print(
        f"telemetry every 10 ms costs {cost:.2f} % of the goodput (median of {pairs}); promised ≤ {PROMISED_PERCENT} %"
    )
    return 0 if cost <= PROMISED_PERCENT else 1


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(int(given[0]) if given else 15, given[1] if given[1:] else "2", given[2] if given[2:] else "1"))
