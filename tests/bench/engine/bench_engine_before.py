"""`bench_engine.py before`: this engine against an earlier one, in turns on one path.

ENGINE_BENCH_BEFORE is the earlier one's program. Each turn runs both, the one or the other first by turns. What is
judged is the best turn of each: what else the machine does can only make one slower. Beside it stands the median of the
turns' ratios, with the interval that holds the true median in 95 of 100 cases (by ranks: no distribution is assumed).
"""

from __future__ import annotations

import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.bench import Row
from tests.bench.engine.bench_engine_files import by_engine, fill, memory_disk
from tests.bench.engine.bench_engine_path import ENGINE, SECONDS, TURNS, Run, engine, measure, veth_pair
from tests.bench.engine.bench_engine_path import HOST as FAR_HOST

BEFORE = os.environ.get("ENGINE_BENCH_BEFORE", "")
LEAST = 0.98
FILE_BYTES = 1_000_000_000
SMALL_FILES, SMALL_BYTES = 5000, 64_000

Case = Callable[[Path], Run]


def certain(ratios: list[float]) -> tuple[float, float, float]:
    """The median, and its interval by ranks (David, Nagaraja, Order Statistics, 7.1)."""
    count, ordered = len(ratios), sorted(ratios)
    rank = 0
    while sum(math.comb(count, each) for each in range(rank + 1)) / 2**count <= 0.025:
        rank += 1
    rank = max(rank, 1)
    return statistics.median(ordered), ordered[rank - 1], ordered[count - rank]


def round_trips(program: Path) -> Run:
    """One request at a time: by the second, and processor time of a thousand."""

    def read(text: str) -> tuple[float, float, dict]:
        result = json.loads(text)
        return result["round_trips"], result["duration_s"], result

    asking = [str(program), "rr", FAR_HOST, "--time", SECONDS, "--json", "-"]
    return measure([str(program), "receive", "--one-off", "--may-send"], asking, 5201, read, apart=True)


def memory_cases(key: str) -> dict[str, Case]:
    """On a path of veth."""

    def case(mode: str, *options: str, receiver: tuple[str, ...] = ()) -> Case:
        return lambda program: engine(mode, *options, receiver=receiver, apart=True, program=program)

    cases = {mode: case(mode) for mode in ("discard", "memory", "verify")}
    cases["memory, 8 streams"] = case("memory", "--streams", "8")
    cases |= {
        f"verify --protect {way}": case("verify", "--key", key, "--protect", way, receiver=("--key", key))
        for way in ("mac", "aead")
    }
    return cases | {"rr": round_trips}


@contextmanager
def file_cases(folder: Path, key: str) -> Iterator[dict[str, Case]]:
    """On tmpfs over loopback: no processor time is told, as the server is not waited for."""
    with memory_disk(folder / "disk") as disk, memory_disk(folder / "target") as target:
        large = fill(disk / "large", 1, FILE_BYTES)
        small = fill(disk / "small", SMALL_FILES, SMALL_BYTES)
        shutil.rmtree(fill(target / "before", 1, FILE_BYTES))  # so that the first one does not wait for memory

        def case(source: Path, moved: int, *trust: str) -> Case:
            return lambda program: Run(moved * 8 / by_engine(source, target, *trust, program=program), 0, {})

        yield {
            "file of 1 GB, in clear": case(large, FILE_BYTES),
            "file of 1 GB, encrypted": case(large, FILE_BYTES, "--key", key),
            f"{SMALL_FILES} files of 64 kB, in clear": case(small, SMALL_FILES * SMALL_BYTES),
        }


def in_turns(path: str, cases: dict[str, Case]) -> list[Row]:
    """Each case by both programs, as often as there are turns."""
    rows = []
    for name, case in cases.items():
        pairs = list[tuple[Run, Run]]()
        for turn in range(TURNS):
            runs = {program: case(program) for program in (ENGINE, Path(BEFORE))[:: 1 if turn % 2 else -1]}
            pairs.append((runs[ENGINE], runs[Path(BEFORE)]))
        best = max(now.goodput_bps for now, _ in pairs) / max(then.goodput_bps for _, then in pairs)
        median, low, high = certain([now.goodput_bps / then.goodput_bps for now, then in pairs])
        figures = f"{best:.3f} × (turns: {median:.3f}, {low:.3f} to {high:.3f})"
        if pairs[0][0].cpu_s_per_gb:
            cost = min(now.cpu_s_per_gb for now, _ in pairs) / min(then.cpu_s_per_gb for _, then in pairs)
            median, low, high = certain([now.cpu_s_per_gb / then.cpu_s_per_gb for now, then in pairs])
            figures += f"; {cost:.3f} × (turns: {median:.3f}, {low:.3f} to {high:.3f})"
        rows.append(Row(f"{path}: {name}, {TURNS} turns", figures, f"≥ {LEAST} ×", best >= LEAST))
        print(f"{rows[-1].what}: {figures}", file=sys.stderr, flush=True)
    return rows


def before() -> list[Row]:
    """Speed, then processor time per byte (of `rr`: per round trip), now against then."""
    if not BEFORE:
        return [Row("against an earlier engine", "ENGINE_BENCH_BEFORE names none", "shown", True)]
    rows = list[Row]()
    with tempfile.TemporaryDirectory(prefix="landspeed-bench-") as name:
        key = str(Path(name) / "key")
        subprocess.run([str(ENGINE), "key", key], check=True)
        for mtu, congestion in ((9000, None), (1500, "cubic")):
            with veth_pair(mtu, congestion):
                rows += in_turns(f"MTU {mtu}, {congestion or 'bbr'}", memory_cases(key))
        with file_cases(Path(name), key) as cases:
            rows += in_turns("tmpfs", cases)
    return rows
