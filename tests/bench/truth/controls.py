"""Every congestion control that both worlds have, after one loss, in both: do they agree?

    python -m tests.bench.truth.controls [--seeds 20] [--seconds 500] [CONTROL…]
    python -m tests.bench.truth.controls --markdown   # what is known, and run nothing

A stream over 100 Mbit/s and 60 ms, with a queue of one bandwidth-delay product, loses one packet at a time that the
seed chooses; goodput from there on, mean over the seeds, of one world beside the other's. All of it takes most of an
hour: what was measured is kept in build/controls.json, and the next call goes on.
"""

import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pyarrow import parquet

from landspeed.scenario.file.capabilities import CONGESTION_CONTROLS
from tests.bench.both_worlds import WORLDS, Asked, run
from tests.support.command import landspeed
from tests.support.emu_fixtures import scenario, write_scenario

from .emulated import a_folder

ALLOWED = 0.10
BEGINS_S, FOR_S = 3.0, 10.0


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


if __name__ == "__main__":
    HEAD = "| control | seeds | emulated | simulated | apart |\n|---|---:|---:|---:|---:|"
    sys.exit(
        run("tests.bench.truth.controls", __doc__ or "", CONGESTION_CONTROLS, value=goodput_bps, table=table, head=HEAD)
    )
