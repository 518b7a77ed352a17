"""`make bench-sim`: what simulating costs and whether it is right, measured.

`bench_sim.py NAME…` measures only those of record_2004, geneva_chicago, schedulers, cost. `cost` also writes
docs/sim-cost.md and docs/sim-cost.svg. Exit status 1 if a promise is not kept.

Costs are processor seconds per simulated second, as the difference of two runs of different length: a start-up, and
what else the machine does meanwhile, are not in it.
"""

from __future__ import annotations

import itertools
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import CHICAGO, CHICAGO_1500, COMMAND, PASADENA, ROOT, Row
from bench_sim_chart import draw

DOCS = ROOT / "docs"
WINDOWS, HOPS = (1_000, 5_000, 20_000, 41_000, 82_000), (2, 10, 20, 40)
HOPS_WINDOW, WINDOW_HOPS = 5_000, 2
SHORT_S, LONG_S = 4, 6  # slow start to 82 000 packets over 264 ms takes 3.5 s
SCHEDULERS = ("heap", "map", "priority-queue", "calendar")
MSS = 8948


def run(scenario: Path, *words: str, out: Path, world: str = "sim") -> tuple[dict[str, Any], float]:
    """A run's JSON, and the processor time that it took with all its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [str(COMMAND), "run", str(scenario), "--world", world, "--json", "--quiet", "--out", str(out), *words]
    print("+", " ".join(command), file=sys.stderr, flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = json.loads(done.stdout)
    if not result["complete"]:
        raise RuntimeError(result["error"])
    return result, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def record_2004(out: Path) -> list[Row]:
    """The record's path, 12 routers and 8 streams, for 60 simulated seconds, with and without joining."""
    rows = []
    for name, words, promise in (("whole", (), 9.0), ("joined", ("--collapse",), 1.8)):
        result, _ = run(PASADENA, "--set", "transfer.duration=60 s", "--set", "expect=null", *words, out=out)
        engine = result["engine"]
        wall, cpu = (engine[key] / engine["simulated_s"] for key in ("wall_s", "cpu_s"))
        plan = json.loads((Path(result["bundle"]) / "plan.json").read_text())
        theory = plan["physics"]["expected_goodput_bps"]
        off = result["steady_goodput_bps"] / theory - 1
        rows += [
            Row(f"2004-06-25, {name}: wall s per simulated s", f"{wall:.2f}", f"≤ {promise}", wall <= promise),
            Row(f"2004-06-25, {name}: processor s per simulated s", f"{cpu:.2f}", "shown", True),
            Row(
                f"2004-06-25, {name}: goodput from 10 s on",
                f"{result['steady_goodput_bps'] / 1e6:.2f} Mbit/s ({off:+.3%})",
                f"{theory / 1e6:.1f} ± 0.5 %",
                abs(off) <= 0.005,
            ),
        ]
    return rows


def geneva_chicago(out: Path) -> list[Row]:
    """The record of 2003 at both MTUs, against the framing limit."""
    rows = []
    for name, scenario in (("9000", CHICAGO), ("1500", CHICAGO_1500)):
        result, _ = run(scenario, "--set", "transfer.duration=20 s", "--set", "expect=null", "--collapse", out=out)
        plan = json.loads((Path(result["bundle"]) / "plan.json").read_text())
        limit = plan["physics"]["framing_limit_bps"]
        off = result["steady_goodput_bps"] / limit - 1
        measured = f"{result['steady_goodput_bps'] / 1e6:.2f} Mbit/s ({off:+.3%})"
        what = f"Geneva–Chicago, MTU {name}: goodput from 10 s on"
        rows.append(Row(what, measured, f"{limit / 1e6:.2f} ± 0.5 %", abs(off) <= 0.005))
    return rows


def schedulers(out: Path) -> list[Row]:
    """ns-3's event schedulers on the record's path, nothing joined."""
    rows = []
    for name in SCHEDULERS:
        words = ("--set", "transfer.duration=4 s", "--set", "expect=null", "--scheduler", name)
        engine = run(PASADENA, *words, out=out)[0]["engine"]
        measured = f"{engine['cpu_s']:.2f} s for {engine['events'] / 1e6:.2f} million events"
        rows.append(Row(f"scheduler {name}: processor time of 4 s", measured, "shown", True))
    return rows


def scenario_text(window_packets: int, hops: int) -> str:
    """One stream over 264 ms and `hops` links of 40 Gbit/s, held by its window."""
    names = ["a", *(f"r{number}" for number in range(1, hops)), "b"]
    delay_us = round(132_000 / hops)
    links = "\n".join(f"  - {{from: {a}, to: {b}, one_way_delay: {delay_us} us}}" for a, b in itertools.pairwise(names))
    return f"""format: 1
name: sim-cost
title: Cost of {window_packets} packets in flight over {hops} links
ip: 4
fidelity: packets
mtu: 9000 B
line_rate: 40 Gbit/s
queue: 1 BDP
hosts:
  a: {{role: sender}}
  b: {{role: receiver}}
path:
{links}
transfer:
  streams: 1
  window: {window_packets * MSS} B
  window_exact: true
  congestion_control: reno
  duration: {LONG_S} s
  receive: discard
"""


def cost_s(window: int, hops: int, world: str, folder: Path, *words: str) -> float:
    """Processor seconds per simulated second in steady state."""
    scenario = folder / "sim-cost.yaml"
    scenario.write_text(scenario_text(window, hops))
    used = [
        run(scenario, "--set", f"transfer.duration={seconds} s", *words, out=folder, world=world)[1]
        for seconds in (SHORT_S, LONG_S)
    ]
    return (used[1] - used[0]) / (LONG_S - SHORT_S)


def cost(out: Path) -> list[Row]:
    """Against window and hops, both worlds; written to docs/."""
    tables: dict[str, list[tuple[int, float, float, float]]] = {"window": [], "hops": []}
    for kind, points in (("window", [(w, WINDOW_HOPS) for w in WINDOWS]), ("hops", [(HOPS_WINDOW, h) for h in HOPS])):
        for window, hops in points:
            whole = cost_s(window, hops, "sim", out)
            joined = cost_s(window, hops, "sim", out, "--collapse")
            emulated = cost_s(window, hops, "emu", out)
            tables[kind].append((window if kind == "window" else hops, whole, joined, emulated))
            print(kind, tables[kind][-1], file=sys.stderr, flush=True)
    write_cost(tables)
    rows = []
    for kind, table in tables.items():
        (least, first, *_), (most, last, *_) = table[0], table[-1]
        growth = (last / first) / (most / least)
        # Linear, or less where something does not grow; the square would be tens of times this.
        rows.append(
            Row(
                f"cost against {kind}: growth over {most / least:.0f} ×",
                f"{growth:.2f} of linear",
                "≤ 1.5",
                growth <= 1.5,
            )
        )
    return rows


def write_cost(tables: dict[str, list[tuple[int, float, float, float]]]) -> None:
    """docs/sim-cost.md and its picture."""
    parts = [
        "# What a simulated second costs",
        "",
        "Processor seconds per simulated second in steady state: one stream over 264 ms, 40 Gbit/s links, MTU 9000,",
        "held by its window. `make bench-sim` measures and writes this page (tests/bench_sim.py, `cost`), in one run;",
        f"each figure is the difference of a run of {LONG_S} s and one of {SHORT_S} s.",
        "",
        "![cost against window and hops](sim-cost.svg)",
    ]
    heads = {
        "window": f"packets in flight ({WINDOW_HOPS} links)",
        "hops": f"links ({HOPS_WINDOW} packets in flight)",
    }
    for kind, table in tables.items():
        parts += [
            "",
            f"| {heads[kind]} | simulated | joined (`--collapse`) | emulated | emulated : simulated |",
            "|---:|---:|---:|---:|---:|",
        ]
        parts += [
            f"| {x:,} | {whole:.3f} | {joined:.3f} | {emulated:.3f} | {emulated / whole:.2f} |".replace(",", " ")
            for x, whole, joined, emulated in table
        ]
    (DOCS / "sim-cost.md").write_text("\n".join(parts) + "\n")
    (DOCS / "sim-cost.svg").write_text(draw(tables, heads))


ALL: dict[str, Callable[[Path], list[Row]]] = {
    each.__name__: each for each in (geneva_chicago, schedulers, cost, record_2004)
}


def main(names: list[str]) -> int:
    """Measure, print a table, say whether every promise is kept."""
    if unknown := [name for name in names if name not in ALL]:
        print(f"bench_sim.py: no {', '.join(unknown)}; there are {', '.join(ALL)}", file=sys.stderr)
        return 2
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="landspeed-bench-sim-") as folder:
        for name in names or list(ALL):
            rows += ALL[name](Path(folder))
    print("| what | measured | promised | |\n|---|---:|---:|---|")
    for row in rows:
        print(f"| {row.what} | {row.measured} | {row.promised} | {'kept' if row.kept else 'NOT KEPT'} |")
    return 0 if all(row.kept for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
