"""`bench_engine.py before`: this engine beside an earlier one, both at once on one path.

ENGINE_BENCH_BEFORE is the earlier one's program; ENGINE_BENCH_ONLY, a regular expression, leaves out other rows. In
each turn both run at the same time, and both senders have one processor, both receivers another: so whatever else the
machine and its host do slows both alike. One after the other, the ratios of two turns differed too much to tell 2 %.
What is judged is the processor time of both ends per byte (of `rr`: per round trip), which bounds goodput where a
processor is busy: the median of the turns' ratios, with the interval that holds the true median in 95 of 100 cases (by
ranks: no distribution is assumed). A row that this does not decide goes on, up to LOOKS times as many turns; each look
has its part of the 5 of 100. Beside it stands the same of goodput, which of two that share a processor is their share.
"""

import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.bench.bench import Row
from tests.bench.engine.bench_engine_files import STREAMS, fill, memory_disk
from tests.bench.engine.bench_engine_path import ENGINE, HOST, SECONDS, TURNS, Run, engine, measure, veth_pair

BEFORE = os.environ.get("ENGINE_BENCH_BEFORE", "")
ONLY = os.environ.get("ENGINE_BENCH_ONLY", "")
MOST = 1.02
LOOKS = 4
FILE_BYTES = 2_000_000_000
SMALL_FILES, SMALL_BYTES = 5000, 64_000

Case = Callable[[Path, int], Run]  # by that program, at that port


def certain(ratios: list[float]) -> tuple[float, float, float]:
    """The median, and its interval by ranks (David, Nagaraja, Order Statistics, 7.1)."""
    count, ordered = len(ratios), sorted(ratios)
    rank = 0
    while sum(math.comb(count, each) for each in range(rank + 1)) / 2**count <= 0.025 / LOOKS:
        rank += 1
    rank = max(rank, 1)
    return statistics.median(ordered), ordered[rank - 1], ordered[count - rank]


def memory_case(mode: str, *options: str, receiver: tuple[str, ...] = ()) -> Case:
    """A transfer of memory."""
    return lambda program, port: engine(mode, *options, receiver=receiver, apart=True, program=program, port=port)


def round_trips(program: Path, port: int) -> Run:
    """One request at a time: by the second, and processor time of a thousand million."""

    def read(text: str) -> tuple[float, float, dict]:
        result = json.loads(text)
        return result["round_trips"], result["duration_s"], result

    asking = [str(program), "rr", HOST, "--port", str(port), "--time", SECONDS, "--json", "-"]
    answering = [str(program), "receive", "--one-off", "--may-send", "--port", str(port)]
    return measure(answering, asking, port, read, apart=True)


@contextmanager
def file_cases(folder: Path, key: str) -> Iterator[dict[str, Case]]:
    """On tmpfs; every block is summed and verified."""
    with memory_disk(folder / "disk") as disk, memory_disk(folder / "target") as target:
        large = fill(disk / "large", 1, FILE_BYTES)
        small = fill(disk / "small", SMALL_FILES, SMALL_BYTES)
        for number in range(2):  # so that the first ones do not wait for memory
            fill(target / f"before-{number}", 1, FILE_BYTES)
        for number in range(2):
            shutil.rmtree(target / f"before-{number}")

        def case(source: Path, *trust: str) -> Case:
            def transfer(program: Path, port: int) -> Run:
                place = target / str(port)
                place.mkdir()
                try:
                    files = ("--streams", STREAMS, *trust, "--files", str(source))
                    accept = ("--directory", str(place), *(trust or ("--anonymous",)))
                    return engine(None, *files, limit=(), receiver=accept, apart=True, program=program, port=port)
                finally:
                    shutil.rmtree(place)

            return transfer

        yield {
            "file of 2 GB, in clear": case(large),
            "file of 2 GB, encrypted": case(large, "--key", key),
            f"{SMALL_FILES} files of 64 kB, in clear": case(small),
            f"{SMALL_FILES} files of 64 kB, encrypted": case(small, "--key", key),
        }


def at_once(path: str, cases: dict[str, Case]) -> list[Row]:
    """Each case by both programs together, as often as there are turns; the one or the other begins by turns."""
    rows, programs = list[Row](), ((ENGINE, 5201), (Path(BEFORE), 5202))
    for name, case in ((f"{path}: {name}", case) for name, case in cases.items()):
        if not re.search(ONLY, name):
            continue
        pairs = list[tuple[Run, Run]]()
        cost, low, high = 1.0, 0.0, math.inf
        while low <= MOST < high and len(pairs) < LOOKS * TURNS:
            for turn in range(TURNS):
                order = programs[:: -1 if turn % 2 else 1]
                with ThreadPoolExecutor(2) as pool:
                    runs = {port: pool.submit(case, program, port) for program, port in order}
                pairs.append((runs[5201].result(), runs[5202].result()))
            cost, low, high = certain([now.cpu_s_per_gb / then.cpu_s_per_gb for now, then in pairs])
        speed, least, most = certain([now.goodput_bps / then.goodput_bps for now, then in pairs])
        figures = f"{cost:.3f} × ({low:.3f} to {high:.3f}); {speed:.3f} × ({least:.3f} to {most:.3f})"
        what = f"{name}, {len(pairs)} turns: processor time; goodput"
        rows.append(Row(what, figures, f"≤ {MOST} × for certain; shown", high <= MOST))
        print(f"{what}: {figures}", file=sys.stderr, flush=True)
    return rows


def before() -> list[Row]:
    """Processor time per byte and goodput, now against then: all ways of memory, round trips, files."""
    if not BEFORE:
        return [Row("against an earlier engine", "ENGINE_BENCH_BEFORE names none", "shown", True)]
    rows = list[Row]()
    with tempfile.TemporaryDirectory(prefix="landspeed-bench-") as name:
        key = str(Path(name) / "key")
        subprocess.run([str(ENGINE), "key", key], check=True)
        plain = {mode: memory_case(mode) for mode in ("discard", "memory", "verify")}
        more = {f"{mode}, 8 streams": memory_case(mode, "--streams", "8") for mode in plain}
        sealed = {
            f"verify --protect {way}": memory_case("verify", "--key", key, "--protect", way, receiver=("--key", key))
            for way in ("mac", "aead")
        }
        lent = {
            f"discard --send {way}": memory_case("discard", "--send", way)
            for way in ("write", "sendfile", "zerocopy", "io_uring")
        }
        for mtu, congestion, cases in (
            (9000, None, plain),
            (1500, None, plain),
            (1500, "cubic", plain),
            (9000, "cubic", plain | more | sealed | lent | {"rr": round_trips}),
        ):
            with veth_pair(mtu, congestion):
                rows += at_once(f"MTU {mtu}, {congestion or 'bbr'}", cases)
        with veth_pair(9000, "cubic"), file_cases(Path(name), key) as cases:
            rows += at_once("tmpfs, MTU 9000, cubic", cases)
    return rows
