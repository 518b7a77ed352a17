"""Every congestion control that both worlds have, after one loss, in both: do they agree?

    python -m tests.truth.controls [--seeds 20] [CONTROL…]

A stream over 100 Mbit/s and 60 ms, with a queue of one bandwidth-delay product, loses one packet at a time that the
seed chooses; goodput from there on, mean over the seeds, of one world beside the other's.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from emu_fixtures import landspeed, scenario, write_scenario
from landspeed.scenarios.capabilities import CONGESTION_CONTROLS
from pyarrow import parquet

from .emulated import a_folder

ALLOWED = 0.10
BEGINS_S, FOR_S = 3.0, 10.0


def goodput_bps(world: str, control: str, seed: int) -> float:
    """Of the receiver, from the loss on."""
    lost_s = BEGINS_S + 0.137 * seed
    links = [
        {"one_way_delay": "1 ms", "line_rate": "1 Gbit/s"},
        {"one_way_delay": "29 ms", "line_rate": "100 Mbit/s", "queue": "1 BDP"},
    ]
    asked = {"duration": f"{lost_s + FOR_S:.3f} s", "congestion_control": control, "window": "8 MB"}
    events = [{"at": f"{lost_s:.3f} s", "loss": "1 packet", "from": "r1", "to": "omega"}]
    with a_folder() as folder:
        file = write_scenario(folder, scenario(links, transfer=asked, events=events, seed=seed + 1))
        words = ("run", file, "--world", world, "--json", "--quiet", "--out", folder / "runs")
        bundle = Path(json.loads(landspeed(*words).stdout)["bundle"])
        columns = ["time_ns", "bytes"]
        rows = parquet.read_table(bundle / "samples.parquet", columns=columns, filters=[("end", "=", "receiver")])
        known = [row for row in rows.to_pylist() if row["time_ns"] >= lost_s * 1e9]
    return (known[-1]["bytes"] - known[0]["bytes"]) * 8e9 / (known[-1]["time_ns"] - known[0]["time_ns"])


def compare(controls: Sequence[str], seeds: int, jobs: int) -> bool:
    """Print a row for each control; whether all agree."""
    print("| control | emulated | simulated | apart |\n|---|---:|---:|---:|", flush=True)
    agree = True
    with ProcessPoolExecutor(jobs) as pool:
        for control in controls:
            means: list[float] = []
            for world in ("emu", "sim"):
                found = list(pool.map(goodput_bps, [world] * seeds, [control] * seeds, range(seeds)))
                means.append(sum(found) / len(found))
            apart = means[1] / means[0] - 1
            agree = agree and abs(apart) <= ALLOWED
            sign = "" if abs(apart) <= ALLOWED else "**"
            told = f"{sign}{apart:+.1%}{sign}"
            print(f"| {control} | {means[0] / 1e6:.2f} Mbit/s | {means[1] / 1e6:.2f} Mbit/s | {told} |", flush=True)
    return agree


def main() -> int:
    """Run it; exit status 1 where they do not agree within 10 %."""
    parser = argparse.ArgumentParser(prog="python -m tests.truth.controls", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("controls", nargs="*", metavar="CONTROL", help="only these (default: all)")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parsed = parser.parse_args()
    return 0 if compare(parsed.controls or CONGESTION_CONTROLS, parsed.seeds, parsed.jobs) else 1


if __name__ == "__main__":
    sys.exit(main())
