"""What one core for the guest saves: each run in turns with the guest on one core and on all, median wall seconds.

`bench_cores.py [ROUNDS] [NAME…]`. The two ways of a pair follow each other at once, so that what else the host does
meets both. Samples must be the same bytes; exit status 1 if they are not.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ROOT / ".venv" / "bin" / "landspeed"
FIRST = ROOT / "scenarios" / "examples" / "first.yaml"
PASADENA = ROOT / "scenarios" / "records" / "2004-06-25-geneva-pasadena.yaml"
SIMULATED = ("--world", "sim")
RUNS: dict[str, tuple[Path, tuple[str, ...]]] = {
    "first": (FIRST, ()),
    "record": (PASADENA, ("--set", "transfer.duration=60 s")),
    "iperf3": (FIRST, ("--tool", "iperf3")),
    "sim": (PASADENA, ("--set", "transfer.duration=10 s", *SIMULATED)),
}
FIGURES = ("whole command", "building", "transfer")


def measure(scenario: Path, options: tuple[str, ...], core: int | None, out: Path) -> tuple[list[float], str]:
    """Wall seconds of the whole command, of building and of the transfer; the SHA-256 of the samples.

    Args:
        scenario: what to run.
        options: of the command.
        core: None leaves the guest (or the simulator) to the host's scheduler.
        out: folder for the bundle.
    """
    words = [str(COMMAND), "run", str(scenario), *options, "--json", "--out", str(out)]
    if options[-2:] == SIMULATED:  # it is one process, without an option of its own
        words = words if core is None else ["taskset", "-c", str(core), *words]
    elif core is None:
        words += ["--core", "any"]
    print("+", " ".join(words), file=sys.stderr, flush=True)
    began = time.monotonic()
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    wall_s = time.monotonic() - began
    result = json.loads(done.stdout)
    if not result["complete"]:
        raise RuntimeError(result["error"])
    bundle = Path(result["bundle"])
    record = json.loads((bundle / "result.json").read_text())
    samples = hashlib.sha256((bundle / "samples.parquet").read_bytes()).hexdigest()
    return [wall_s, record.get("build_s") or 0.0, record["transfer_wall_s"]], samples


def main() -> int:
    """Measure what is asked for and print the table."""
    words = sys.argv[1:]
    rounds = int(words.pop(0)) if words and words[0].isdigit() else 3
    if unknown := sorted(set(words) - set(RUNS)):
        print(f"Error: no run {unknown}; there are {', '.join(RUNS)}, after a number of rounds", file=sys.stderr)
        return 2
    core = max(os.sched_getaffinity(0))
    same = True
    print(f"{rounds} rounds; load average at the start {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores")
    print(f"{'run':<8} {'wall s of':<14} {'all cores':>11} {'one core':>10} {'ratio':>6}  samples")
    for name in words or RUNS:
        seen: dict[bool, list[list[float]]] = {False: [], True: []}
        digests = set()
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(rounds):
                for one in (False, True):
                    walls, samples = measure(*RUNS[name], core if one else None, Path(folder))
                    seen[one].append(walls)
                    digests.add(samples)
        same = same and len(digests) == 1
        for number, figure in enumerate(FIGURES):
            everywhere, one_core = (statistics.median(walls[number] for walls in seen[one]) for one in (False, True))
            if everywhere:
                equal = "identical" if len(digests) == 1 else "DIFFERENT"
                ratio = everywhere / one_core
                print(
                    f"{name:<8} {figure:<14} {everywhere:>11.2f} {one_core:>10.2f} {ratio:>6.2f}  {equal}", flush=True
                )
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
