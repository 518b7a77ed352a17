"""What the options for Mininet scripts cost other runs: `python -m tests.bench.bench_kernel_options [--times N]`.

It builds a kernel without `emu/kernel/config-mininet` in a cache of its own (minutes), and runs the first example, a
second of the record of 2004 and iperf3 by turns with both. CPU seconds (user and system) of the whole command are
compared, pair by pair: beside others on the machine they say more than wall time, and under `chrt -r 10` most. Exit
status 1 above 1 %, or if samples differ.
"""

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from landspeed.worlds.emu import kernel_build
from tests.bench.bench import COMMAND, FIRST, PASADENA, Row, told

FRAGMENT = "config-mininet"
MOST = 0.01
CASES: dict[str, list[str]] = {
    "the first example": [str(FIRST)],
    "the record of 2004, 1 s": [str(PASADENA), "--set", "transfer.duration=1 s"],
    "the first example by iperf3": [str(FIRST), "--tool", "iperf3"],
}


def kernel_without(cache: Path) -> Path:
    """Folder of a kernel that the recipe makes without the fragment."""
    recipe = shutil.copytree(kernel_build.RECIPE, cache / "recipe")
    (recipe / FRAGMENT).write_text("")
    kernel_build.RECIPE = recipe
    os.environ["XDG_CACHE_HOME"] = str(cache)
    return kernel_build.build_kernel().executable


def run(words: Sequence[str], kernel: Path, out: Path) -> tuple[float, bytes]:
    """CPU seconds of a run, and its samples."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    folder = out / f"{len(list(out.iterdir()))}"
    command = [str(COMMAND), "run", *words, "--kernel", str(kernel), "--quiet", "--out", str(folder)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    (samples,) = folder.glob("*/samples.parquet")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, samples.read_bytes()


def compare(name: str, kernels: tuple[Path, Path], times: int, out: Path) -> Row:
    """One case by turns with both kernels."""
    shares: list[float] = []
    same = True
    for number in range(times + 1):
        first, second = kernels if number % 2 else kernels[::-1]
        one, other = run(CASES[name], first, out), run(CASES[name], second, out)
        same &= one[1] == other[1]
        with_s, without_s = (one[0], other[0]) if number % 2 else (other[0], one[0])
        if number:  # what the first pair reads is in the page cache afterwards
            shares.append(with_s / without_s - 1)
    median, spread = statistics.median(shares), statistics.stdev(shares) / len(shares) ** 0.5
    measured = f"{median * 100:+.2f} % ± {spread * 100:.2f} %, samples {'the same' if same else 'differ'}"
    return Row(f"{name}: CPU time", measured, "≤ 1 %", same and median <= MOST)


def main() -> int:
    """Build, measure and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=15, help="pairs of each case (default: 15)")
    parser.add_argument("--without", type=Path, metavar="KERNEL", help="a kernel without the options, built before")
    parsed = parser.parse_args()
    mine = kernel_build.find_kernel().executable
    with tempfile.TemporaryDirectory(prefix="bench-kernel-") as scratch:
        out = Path(scratch, "out")
        out.mkdir()
        other = parsed.without or kernel_without(Path(scratch))
        return told([compare(name, (mine, other), parsed.times, out) for name in CASES])


if __name__ == "__main__":
    sys.exit(main())
