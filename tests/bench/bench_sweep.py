"""`.venv/bin/python tests/bench/bench_sweep.py [cores|plan|certainty]…`: what sweeps promise. Exit status 1: not kept.

cores: 48 cells on two cores beside one after the other, and what a cell costs beside its run. plan: 10 000 cells
planned, and a finished sweep resumed. certainty: whether the true mean lies inside the intervals of `--until`.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyarrow import parquet

from tests.bench.bench import ROOT, Row
from tests.bench.intervals import inside
from tests.support.command import COMMAND
from tests.support.toy_world import environment, make_site

FIRST = ROOT / "scenarios" / "examples" / "first.yaml"
SEEDS, TRIALS, SHARE = 400, 100, 0.02
PLAN = """
import resource, sys, time
from pathlib import Path
from landspeed.runs.sweeps.grid import plan_grid
from landspeed.worlds.make_world import make_world
began = time.monotonic()
cells = plan_grid(Path(sys.argv[1]), (), make_world("toy")).cells()
print(len(cells), time.monotonic() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def sweep(file: Path, out: Path, *words: str, **options: Any) -> dict[str, Any]:
    """A sweep by the command; its JSON, and the wall time of the whole command in `command_s`."""
    began = time.monotonic()
    line = [COMMAND, "sweep", str(file), "--out", str(out), "--json", "--quiet", *words]
    done = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True, **options)
    return {**json.loads(done.stdout), "command_s": time.monotonic() - began}


def write(folder: Path, vary: str, more: str = "") -> Path:
    """A file that varies something of first.yaml: 1 Gbit/s × 50 ms, ten seconds."""
    file = folder / "grid.yaml"
    file.write_text(f"extends: {FIRST}\nname: grid\nexpect: null\n{more}vary: {vary}\n")
    return file


def cores(folder: Path) -> list[Row]:
    """48 cells: on two cores, and one after the other."""
    file = write(folder, "{queue: [0.1 BDP, 0.2 BDP, 0.5 BDP, 1 BDP], transfer.streams: [1, 2, 4], seeds: 4}")
    one = sweep(file, folder / "one", "--jobs", "1", "--no-bundles")
    two = sweep(file, folder / "two", "--jobs", "2", "--no-bundles")
    ratio = two["command_s"] / one["command_s"]
    cells = [json.loads(each.read_text()) for each in (folder / "one" / "cells").glob("*.json")]
    assert one["cells"] == two["cells"] == len(cells) == 48
    beside = (one["command_s"] - sum(each["wall_s"] for each in cells)) / len(cells)
    same = (folder / "one" / "table.parquet").read_bytes() == (folder / "two" / "table.parquet").read_bytes()
    shown = f"{two['command_s']:.1f} s of {one['command_s']:.1f} s: {ratio:.2f}"
    return [
        Row("48 cells on two cores, of one after the other", shown, "≤ 0.55", ratio <= 0.55),
        Row("a cell beside its run", f"{beside:.2f} s", "≤ 0.3 s", beside <= 0.3),
        Row("both tables", "the same bytes" if same else "differ", "the same bytes", same),
    ]


def plan(folder: Path) -> list[Row]:
    """10 000 cells, in a world that computes."""
    env = environment(make_site(folder))
    file = write(folder, "{transfer.streams: {from: 1, to: 100, by: 1}, seeds: 100}")
    words = [sys.executable, "-c", PLAN, str(file)]
    said = subprocess.run(words, capture_output=True, text=True, check=True, env=env).stdout.split()
    count, took_s, memory = int(said[0]), float(said[1]), float(said[2])
    out = folder / "many"
    small = write(folder, "{transfer.streams: {from: 1, to: 10, by: 1}, seeds: 10}")
    sweep(small, out, "--world", "toy", "--no-bundles", env=env)
    again = sweep(small, out, "--world", "toy", "--no-bundles", "--resume", env=env)
    return [
        Row(f"{count} cells planned", f"{took_s:.1f} s", "≤ 10 s", took_s <= 10),
        Row("… memory", f"{memory / 1e9:.2f} GB", "≤ 1 GB", memory <= 1e9),
        Row("a finished sweep of 100 cells resumed", f"{again['command_s']:.1f} s", "≤ 5 s", again["command_s"] <= 5),
    ]


def certainty(folder: Path) -> list[Row]:
    """Reno over a lossy path, simulated: 400 seeds are the truth, and trials draw from them until it is certain."""
    more = "transfer: {duration: 20 s, congestion_control: reno}\nline_rate: 100 Mbit/s\npath: " + json.dumps(
        [
            {"from": "amsterdam", "to": "milan", "one_way_delay": "5 ms", "line_rate": "1 Gbit/s"},
            {"from": "milan", "to": "athens", "one_way_delay": "5 ms", "loss": "0.05 %"},
        ]
    )
    file = write(folder, json.dumps({"seeds": SEEDS}), more + "\n")
    sweep(file, folder / "lossy", "--world", "sim", "--no-bundles")
    rows = parquet.read_table(folder / "lossy" / "table.parquet").to_pylist()
    values = [float(row["goodput_bps"]) for row in rows]
    hits, draws = inside(values, SHARE, TRIALS)
    shown = f"{hits} of {TRIALS} trials, {draws:.0f} seeds each"
    return [Row('--until "ci95=2 %": true mean inside', shown, "≥ 90", hits >= 90 and len(values) == SEEDS)]


PARTS: dict[str, Callable[[Path], list[Row]]] = {"cores": cores, "plan": plan, "certainty": certainty}


def main(asked: list[str]) -> int:
    """Measure and print."""
    rows: list[Row] = []
    for name in asked or PARTS:
        with tempfile.TemporaryDirectory(prefix="landspeed-bench-") as folder:
            rows += PARTS[name](Path(folder))
    print("| what | measured | promised | kept |\n|---|---|---|---|")
    for row in rows:
        print(f"| {row.what} | {row.measured} | {row.promised} | {'yes' if row.kept else 'NO'} |")
    return 0 if all(row.kept for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
