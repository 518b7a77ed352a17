"""Every congestion control that both worlds have, after one loss, in both: do they agree?

    python -m tests.bench.truth.controls [--seeds 20] [--seconds 500] [CONTROL…]
    python -m tests.bench.truth.controls --markdown   # what is known, and run nothing

A stream over 100 Mbit/s and 60 ms, with a queue of one bandwidth-delay product, loses one packet at a time that the
seed chooses; goodput from there on, mean over the seeds, of one world beside the other's. All of it takes most of an
hour: what was measured is kept in a file, and the next call goes on.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TypeAlias

from pyarrow import parquet

from landspeed.scenario.file.capabilities import CONGESTION_CONTROLS
from tests.support.command import landspeed
from tests.support.emu_fixtures import ROOT, scenario, write_scenario

from .emulated import a_folder

ALLOWED = 0.10
BEGINS_S, FOR_S = 3.0, 10.0
WORLDS = ("emu", "sim")
KEPT = ROOT / "build" / "controls.json"

Asked: TypeAlias = tuple[str, str, int]
"""A control, a world, a seed."""


def goodput_bps(asked: Asked) -> float:
    """Of the receiver, from the loss on."""
    control, world, seed = asked
    lost_s = BEGINS_S + 0.137 * seed
    links = [
        {"one_way_delay": "1 ms", "line_rate": "1 Gbit/s"},
        {"one_way_delay": "29 ms", "line_rate": "100 Mbit/s", "queue": "1 BDP"},
    ]
    transfer = {"duration": f"{lost_s + FOR_S:.3f} s", "congestion_control": control, "window": "8 MB"}
    events = [{"at": f"{lost_s:.3f} s", "loss": "1 packet", "from": "r1", "to": "omega"}]
    with a_folder() as folder:
        file = write_scenario(folder, scenario(links, transfer=transfer, events=events, seed=seed + 1))
        words = ("run", file, "--world", world, "--json", "--quiet", "--out", folder / "runs")
        bundle = Path(json.loads(landspeed(*words).stdout)["bundle"])
        columns = ["time_ns", "bytes"]
        rows = parquet.read_table(bundle / "samples.parquet", columns=columns, filters=[("end", "=", "receiver")])
        known = [row for row in rows.to_pylist() if row["time_ns"] >= lost_s * 1e9]
    return (known[-1]["bytes"] - known[0]["bytes"]) * 8e9 / (known[-1]["time_ns"] - known[0]["time_ns"])


def measure(asked: Sequence[Asked], known: dict[Asked, float], kept: Path, jobs: int, seconds: float) -> None:
    """Measure what is not known; none begins after `seconds`. What is found is kept at once."""
    began, missing = time.monotonic(), [each for each in asked if each not in known]
    with ProcessPoolExecutor(jobs) as pool:
        for place in range(0, len(missing), jobs):
            if time.monotonic() - began > seconds:
                return
            some = missing[place : place + jobs]
            known.update(zip(some, pool.map(goodput_bps, some), strict=True))
            kept.parent.mkdir(exist_ok=True)
            kept.write_text(json.dumps([[*each, bps] for each, bps in known.items()]))


def table(controls: Sequence[str], seeds: int, known: dict[Asked, float]) -> Iterator[tuple[str, bool]]:
    """A row for each control of which something is known in both worlds, and whether they agree."""
    for control in controls:
        pairs = [
            tuple(known[control, world, seed] for world in WORLDS)
            for seed in range(seeds)
            if all((control, world, seed) in known for world in WORLDS)
        ]
        if not pairs:
            continue
        emulated, simulated = (statistics.fmean(each) for each in zip(*pairs, strict=True))
        apart = simulated / emulated - 1
        sign = "" if abs(apart) <= ALLOWED else "**"
        told = f"{emulated / 1e6:.2f} Mbit/s | {simulated / 1e6:.2f} Mbit/s | {sign}{apart:+.1%}{sign}"
        yield f"| {control} | {len(pairs)} | {told} |", abs(apart) <= ALLOWED


def main() -> int:
    """Run it; exit status 1 where they do not agree within 10 %."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.truth.controls", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("controls", nargs="*", metavar="CONTROL", help="only these (default: all)")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no run after so long")
    parser.add_argument("--kept", type=Path, default=KEPT, help="what is known; remove it to measure again")
    parser.add_argument("--markdown", action="store_true", help="run nothing")
    parsed = parser.parse_args()
    controls = parsed.controls or CONGESTION_CONTROLS
    read = json.loads(parsed.kept.read_text()) if parsed.kept.exists() else []
    known: dict[Asked, float] = {(control, world, seed): bps for control, world, seed, bps in read}
    if not parsed.markdown:
        # Seed by seed, so that what is known of one control is known of all.
        asked = [(control, world, seed) for seed in range(parsed.seeds) for control in controls for world in WORLDS]
        measure(asked, known, parsed.kept, parsed.jobs, parsed.seconds)
    print("| control | seeds | emulated | simulated | apart |\n|---|---:|---:|---:|---:|")
    rows = list(table(controls, parsed.seeds, known))
    print("\n".join(row for row, _ in rows))
    return 0 if all(agree for _, agree in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
