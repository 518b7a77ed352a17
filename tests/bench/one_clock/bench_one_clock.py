"""Several guests, one clock: what a second core can give, and what a prototype of two guests and a cut link gives.

`bench_one_clock.py bound [ROUNDS]`: two equal runs beside each other on two cores, against one alone.
`bench_one_clock.py kernel`: build the prototype's kernel (the present recipe and cut.patch) into build/one-clock.
`bench_one_clock.py cut [ROUNDS [WORD]]`: the same transfer (those with that word) in one guest, and in two.
`bench_one_clock.py model`: the most that 2, 4, 16, 64 cores can give, from the shares that `cut` measured.
Beside other work: `chrt -r 11 COMMAND`; the guests then have priority 10. docs/explanation/one-clock.md has the tables.
"""

import json
import os
import selectors
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from landspeed.worlds.emu import kernel_build
from landspeed.worlds.emu.hugepages import huge_pages_possible
from landspeed.worlds.emu.kernel_source import cache_root
from landspeed.worlds.emu.machine import CLOCK_START_NS, HUGE_MARGIN_BYTES, LAUNCH

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
KERNEL = ROOT / "build" / "one-clock"
MEMORY_BYTES = 1536 << 20
SIDE_BYTES, HEAD_BYTES, WAITS_AT = 256 + 4096 * 9664, 64, 208  # struct cut_side of cut.patch
RECORD = {"TOOL": "engine", "RATE": "6665mbit", "BURST": "200261"}
IPERF3 = {"TOOL": "iperf3", "RATE": "990mbit", "BURST": "9125", "DELAY": "25ms"}
CASES = {
    "2004 record, 60 s": RECORD | {"DELAY": "132ms", "TIME": "60"},
    "iperf3 over 50 ms, 10 s": IPERF3 | {"TIME": "10"},
    "iperf3 over 50 ms, 20 s": IPERF3 | {"TIME": "20"},
    "the record's transfer over 20 ms, 20 s": RECORD | {"DELAY": "10ms", "TIME": "20"},
    "over 2 ms, 20 s": RECORD | {"DELAY": "1ms", "TIME": "20"},
    "over 0.2 ms, 20 s": RECORD | {"DELAY": "0.1ms", "TIME": "20"},
}
ALONE = {
    "2004 record, 60 s": ("records/2004-06-25-geneva-pasadena.yaml", "--set", "transfer.duration=60 s"),
    "iperf3 over 50 ms, 10 s": ("examples/first.yaml", "--tool", "iperf3"),
}
# Measured by `cut`: shares of the work that the sending host, the link and the receiving host have; a wait for the
# other guest; and wall seconds of a virtual second in one guest (for the dumbbells of 1 Gbit/s: `bench.py`).
ENGINE, IPERF3_SHARES, WAIT_S = (0.70, 0.05, 0.25), (0.15, 0.00, 0.85), 33e-6
NETWORKS = {  # shares, pairs of hosts, delay of the cut links, wall seconds
    "2004 record": (ENGINE, 1, 0.132, 0.045),
    "iperf3 over 50 ms": (IPERF3_SHARES, 1, 0.025, 0.58),
    "dumbbell of 16 pairs, 44 ms": (ENGINE, 16, 0.011, 0.85),
    "dumbbell of 48 pairs, 44 ms": (ENGINE, 48, 0.011, 1.76),
    "48 programs, each 10 % of a core": ((0.99, 0.01, 0.0), 48, 0.011, 4.8),
}


@dataclass(frozen=True)
class Walls:
    """Wall seconds of a transfer; how long and how often each guest waited for the other; digest of the result."""

    wall_s: float
    waited_s: tuple[float, ...]
    waits: tuple[int, ...]
    digest: str


def boot(case: dict[str, str], side: str, core: int, ring: Path | None) -> subprocess.Popen[bytes]:
    """Start a guest on a core; with a ring it has the cut link."""
    place = cache_root() / "memory"
    huge_bytes = MEMORY_BYTES + HUGE_MARGIN_BYTES if huge_pages_possible(place) else 0
    real_time = ["chrt", "-r", "10"] if os.sched_getscheduler(0) == os.SCHED_RR else []
    delay_ns = round(float(case["DELAY"].removesuffix("ms")) * 1e6)
    words = [KERNEL / "linux", f"mem={MEMORY_BYTES >> 20}M", "root=/dev/root", "rootfstype=hostfs", "hostfs=/", "ro"]
    words += ["quiet", "norandmaps", "um_seed=1", "uml_dir=/proc/", "umid=guest", "con=null", "con0=null,fd:1"]
    words += ["loglevel=1", "seccomp=on", "time-travel=inf-cpu", f"time-travel-start={CLOCK_START_NS}", "nohz=off"]
    words += [f"um_cut={side},{delay_ns},{ring}"] if ring else []
    words += [f"init={HERE / 'guest.sh'}", f"SIDE={side}", *(f"{name}={value}" for name, value in case.items())]
    start = [*real_time, "taskset", "-c", str(core), LAUNCH, str(os.getpid()), place, str(huge_bytes), "--", *words]
    return subprocess.Popen(
        start,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={"PATH": os.environ["PATH"], "TMPDIR": "/dev/shm"},
    )


def transfer(case: dict[str, str], guests: int) -> Walls:
    """Make the transfer of a case in one guest or two."""
    with tempfile.NamedTemporaryFile(dir="/dev/shm", prefix="landspeed-cut-") as ring:
        ring.truncate(guests * SIDE_BYTES)
        sides = ["both"] if guests == 1 else ["0", "1"]
        processes = [boot(case, side, core, Path(ring.name) if guests > 1 else None) for core, side in enumerate(sides)]
        try:
            began = ended = 0.0
            heard, waits = "", []
            with selectors.DefaultSelector() as selector:
                for process in processes:
                    selector.register(process.stdout or 0, selectors.EVENT_READ)
                while "DONE" not in heard:
                    for key, _ in selector.select(60) or [(None, 0)]:
                        data = os.read(key.fd, 65536) if key else b""
                        if not data:
                            raise RuntimeError(f"{case}: no end; heard so far:\n{heard}")
                        heard += data.decode(errors="replace")
                    if not began and "BEGIN" in heard:
                        began = time.monotonic()
                    if not ended and "END 0" in heard:
                        ended = time.monotonic()
                        shared = Path(ring.name).read_bytes()
                        places = [side * SIDE_BYTES + WAITS_AT for side in range(guests)] if guests > 1 else []
                        waits = [struct.unpack_from("<QQ", shared, at) for at in places]
        finally:
            for process in processes:
                process.kill()
                process.wait()
    digest = heard.partition("END 0")[2].split()[0][:8]
    return Walls(ended - began, tuple(ns / 1e9 for _, ns in waits), tuple(count for count, _ in waits), digest)


def cut(rounds: int, word: str) -> None:
    """Print medians of each case with that word: in one guest, in two, how long each of the two was busy."""
    print("| transfer | one guest | two guests | ratio | sender busy | receiver busy | waits | results |")
    print("|---|---|---|---|---|---|---|---|")
    for name, case in ((name, case) for name, case in CASES.items() if word in name):
        pairs = [(transfer(case, 1), transfer(case, 2)) for _ in range(rounds)]
        one_s, two_s = (statistics.median(pair[way].wall_s for pair in pairs) for way in (0, 1))
        busy = [statistics.median(two.wall_s - two.waited_s[side] for _, two in pairs) for side in (0, 1)]
        equal = all(len({pair[way].digest for pair in pairs}) == 1 for way in (0, 1))
        waits = round(statistics.median(max(two.waits) for _, two in pairs))
        row = f"| {name} | {one_s:.2f} s | {two_s:.2f} s | {one_s / two_s:.2f} | {busy[0]:.2f} s | {busy[1]:.2f} s"
        print(f"{row} | {waits} | {'identical' if equal else 'DIFFERENT'} |", flush=True)


def bound(rounds: int) -> None:
    """Print a row for each run: alone, and two of it beside each other."""
    print("| run | alone | two beside each other | twice alone, divided by the slower |\n|---|---|---|---|")
    for name, (scenario, *options) in ALONE.items():
        alone, beside, ratios = [], [], []
        for turn in range(rounds):
            walls: list[float] = []
            with tempfile.TemporaryDirectory() as folder:
                for cores in ((turn % 2,), (0, 1)):
                    words = [sys.executable, "-m", "landspeed", "run", str(ROOT / "scenarios" / scenario), *options]
                    words += ["--set", "expect=null", "--json", "--out", folder, "--core"]
                    runs = [
                        subprocess.Popen([*words, str(core)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                        for core in cores
                    ]
                    walls.append(max(json.loads(run.communicate()[0])["transfer_wall_s"] for run in runs))
            alone.append(walls[0])
            beside.append(walls[1])
            ratios.append(2 * walls[0] / walls[1])
        middle = [statistics.median(each) for each in (alone, beside, ratios)]
        print(f"| {name} | {middle[0]:.2f} s | {middle[1]:.2f} s | {middle[2]:.2f} |", flush=True)


def kernel() -> None:
    """Build the present recipe with cut.patch on top."""
    archive = kernel_build.find_source()
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as scratch, Path(scratch, "log").open("w") as log:
        recipe = Path(shutil.copytree(kernel_build.RECIPE, Path(scratch, "recipe")))
        shutil.copy(HERE / "cut.patch", recipe / "patches" / "9999-cut.patch")
        kernel_build.RECIPE = recipe
        work = Path(scratch, "work")
        work.mkdir()
        kernel_build._build(archive, work, "one-clock", log, ("linux",), own=())
        shutil.rmtree(KERNEL, ignore_errors=True)
        shutil.move(work / "result", KERNEL)


def model() -> None:
    """Print the greatest speed-up: no core has less to do than its share, nor than the largest host or link."""
    print("| network | 2 cores | 4 | 16 | 64 |\n|---|---|---|---|---|")
    for name, ((sender, link, receiver), pairs, delay_s, wall_s) in NETWORKS.items():
        largest = max(sender / pairs, receiver / pairs, link)
        waiting = WAIT_S / delay_s / wall_s
        best = (1 / (max(1 / cores, largest) + waiting) for cores in (2, 4, 16, 64))
        print(f"| {name} | {' | '.join(f'{each:.2f}' for each in best)} |")


def main(words: list[str]) -> None:
    """Do what the words ask for."""
    match words:
        case ["kernel"]:
            kernel()
        case ["model"]:
            model()
        case ["bound", *more]:
            bound(int(more[0]) if more else 3)
        case ["cut", *more]:
            cut(int(more[0]) if more else 3, more[1] if more[1:] else "")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
