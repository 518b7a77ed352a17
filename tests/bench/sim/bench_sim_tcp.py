"""Figures of the mended TCP: cost with and without the mends on the same input, and the long runs against theory.

Run: python -m tests.bench.sim.bench_sim_tcp [PART…]; parts are `cost` and the names of the long runs below. Takes
minutes; each pair is measured one after the other.
"""

import json
import subprocess
import sys
from pathlib import Path

BUILD = Path(__file__).resolve().parents[3] / "sim" / "build"
PROGRAMS = BUILD / "mend" / "tests"
WANTED_RATIO = 50
WANTED_MEMORY_BYTES = 2 << 30
LONG_RUNS = ("reno-1-gigabit", "reno-10-gigabit", "cubic-1-gigabit", "cubic-10-gigabit")


def bench_path(kind: str, *words: str) -> dict[str, float]:
    """One run of bench_path: its JSON line."""
    program = str(PROGRAMS / f"bench_path_{kind}")
    return json.loads(subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout)


def bench_cost() -> bool:
    """A single stream at 9.9 Gbit/s with a full window of 41 000 segments, and the same across a loss."""
    mended = bench_path("mended", "41000", "0.264")
    unmended = bench_path("unmended", "41000", "0.02")
    lossy = bench_path("mended", "41000", "1", "100000")
    ratio = unmended["cpu_s_per_s"] / mended["cpu_s_per_s"]
    print(f"processor s per simulated s: {unmended['cpu_s_per_s']:.1f} unmended, {mended['cpu_s_per_s']:.2f} mended")
    print(f"ratio: {ratio:.0f} (promised: {WANTED_RATIO})")
    print(f"goodput: {mended['goodput_bps'] / 1e9:.3f} Gbit/s")
    print(f"memory across a loss: {lossy['max_rss_bytes'] / 1e6:.0f} MB (promised: {WANTED_MEMORY_BYTES / 1e6:.0f})")
    return ratio >= WANTED_RATIO and lossy["max_rss_bytes"] < WANTED_MEMORY_BYTES


def bench_law(law: str) -> bool:
    """One of the long runs: recovery and growth after one loss at 1 and 10 Gbit/s x 264 ms."""
    print(f"{law}:")
    sys.stdout.flush()
    return subprocess.run([str(PROGRAMS / "test_theory_mended"), law], check=False).returncode == 0


def main(parts: list[str]) -> int:
    """Measure; exit status 1 if something is not as promised."""
    known = ("cost", *LONG_RUNS)
    if unknown := [part for part in parts if part not in known]:
        print(f"bench_sim_tcp.py: no {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    subprocess.run(["ninja", "-C", str(BUILD)], check=True, stdout=subprocess.DEVNULL)
    held = [bench_cost() if part == "cost" else bench_law(part) for part in parts or known]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
