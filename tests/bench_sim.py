"""`make bench-sim`: what simulating costs and whether it is right, measured.

`bench_sim.py NAME…` measures only those parts (ALL, below; none takes more than eight minutes); the parts on cost also
write docs/sim-cost.md and docs/sim-cost.svg. Exit status 1 if a promise is not kept.

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
MEASURED = ROOT / "sim" / "build" / "sim-cost"  # the tables of the cost parts, which can be run apart
WINDOWS, HOPS = (1_000, 5_000, 20_000, 41_000, 82_000), (2, 10, 20, 40)
HOPS_WINDOW, WINDOW_HOPS = 5_000, 2
SHORT_S = 4  # slow start to 82 000 packets over 264 ms takes 3.5 s
TURNS = 2  # of each run; the one that other work delayed least counts
LEAST_MORE_S, MOST_MORE_S, MORE_WINDOWS = 2, 60, 40_000  # the longer run: by so many seconds, few at a large window
SCHEDULERS = ("heap", "map", "priority-queue", "calendar")
MSS = 8948
SAME_LOSS = ROOT / "scenarios" / "examples" / "same-loss.yaml"


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


def steady_bps(result: dict[str, Any]) -> float:
    """Goodput from 10 s on."""
    return float(result["steady_goodput_bps"])


def plan_of(result: dict[str, Any]) -> dict[str, Any]:
    """The plan in a run's bundle."""
    return json.loads((Path(result["bundle"]) / "plan.json").read_text())


def within(what: str, result: dict[str, Any], against_bps: float, share: float) -> Row:
    """A row: goodput from 10 s on against a figure."""
    off = steady_bps(result) / against_bps - 1
    measured = f"{steady_bps(result) / 1e6:.2f} Mbit/s ({off:+.3%})"
    return Row(what, measured, f"{against_bps / 1e6:.2f} ± {share * 100:g} %", abs(off) <= share)


def record_2004(name: str, promise: float, out: Path, *words: str) -> list[Row]:
    """The record's path, 12 routers and 8 streams, for 60 simulated seconds."""
    over = ("--set", "transfer.duration=60 s", "--set", "expect=null")
    emulated, _ = run(PASADENA, *over, out=out, world="emu")
    result, _ = run(PASADENA, *over, *words, out=out)
    engine = result["engine"]
    wall, cpu = (engine[key] / engine["simulated_s"] for key in ("wall_s", "cpu_s"))
    theory = plan_of(result)["physics"]["expected_goodput_bps"]
    return [
        Row(f"2004-06-25, {name}: wall s per simulated s", f"{wall:.2f}", f"≤ {promise}", wall <= promise),
        Row(f"2004-06-25, {name}: processor s per simulated s", f"{cpu:.2f}", "shown", True),
        within(f"2004-06-25, {name}: goodput from 10 s on, theory", result, theory, 0.005),
        within(f"2004-06-25, {name}: … the emulated run", result, steady_bps(emulated), 0.02),
    ]


def record_2004_whole(out: Path) -> list[Row]:
    """Every link by itself."""
    return record_2004("whole", 9.0, out)


def record_2004_joined(out: Path) -> list[Row]:
    """Links that cannot queue joined."""
    return record_2004("joined", 1.8, out, "--collapse")


def geneva_chicago(out: Path) -> list[Row]:
    """The record of 2003 at both MTUs, against the framing limit and the emulated run."""
    rows, over = [], ("--set", "transfer.duration=20 s", "--set", "expect=null")
    for mtu, scenario in (("9000", CHICAGO), ("1500", CHICAGO_1500)):
        result, _ = run(scenario, *over, "--collapse", out=out)
        emulated, _ = run(scenario, *over, out=out, world="emu")
        what = f"Geneva–Chicago, MTU {mtu}: goodput from 10 s on"
        rows += [
            within(f"{what}, framing", result, plan_of(result)["physics"]["framing_limit_bps"], 0.005),
            within(f"Geneva–Chicago, MTU {mtu}: … the emulated run", result, steady_bps(emulated), 0.01),
        ]
    return rows


def same_loss(out: Path) -> list[Row]:
    """The same packet lost, the same line slow for a while, in both worlds."""
    rows = []
    for control in ("reno", "cubic"):
        words = ["compare", "--worlds", "sim,emu", str(SAME_LOSS), "--set", f"transfer.congestion_control={control}"]
        words += ["--json", "--quiet", "--out", str(out), "--html", str(out / "compare.html")]
        done = subprocess.run([str(COMMAND), *words], stdout=subprocess.PIPE, text=True, check=True)
        one, two = json.loads(done.stdout)["sides"]
        apart = one["goodput_bps"] / two["goodput_bps"] - 1
        told = f"{one['goodput_bps'] / 1e6:.1f}, {two['goodput_bps'] / 1e6:.1f} Mbit/s ({apart:+.2%})"
        rows.append(Row(f"{control}, goodput: simulated, emulated", told, "± 2 %", abs(apart) <= 0.02))
        sent = f"{one['retransmits']}, {two['retransmits']}"
        rows.append(Row(f"{control}, sent again: simulated, emulated", sent, "shown", True))
        for ours, theirs in zip(one["responses"], two["responses"], strict=True):
            left = [each["least_mb"] / each["before_mb"] for each in (ours, theirs)]
            told = " and ".join(
                f"{each['before_mb']:.2f} → {each['least_mb']:.2f} MB, back after "
                + ("–" if each["back_s"] is None else f"{each['back_s']:.1f} s")
                for each in (ours, theirs)
            )
            what = f"{control}, window at event {ours['number']} ({ours['kind']}): simulated, emulated"
            near = abs(left[0] - left[1]) <= 0.05
            if ours["kind"] == "loss":
                rows.append(Row(what, told, "share left ± 5 points", near))
            else:  # what is left hangs on the window that the event met, and that on the start
                rows.append(Row(what, told, "shown", True))
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
  duration: {SHORT_S} s
  receive: discard
"""


def cost_s(window: int, hops: int, world: str, folder: Path, *words: str) -> float:
    """Processor seconds per simulated second in steady state."""
    scenario = folder / "sim-cost.yaml"
    scenario.write_text(scenario_text(window, hops))
    more_s = min(max(MORE_WINDOWS // window, LEAST_MORE_S), MOST_MORE_S)
    used = [
        min(
            run(scenario, "--set", f"transfer.duration={seconds} s", *words, out=folder, world=world)[1]
            for _ in range(TURNS)
        )
        for seconds in (SHORT_S, SHORT_S + more_s)
    ]
    return (used[1] - used[0]) / more_s


def cost(kind: str, out: Path) -> list[Row]:
    """Against window or hops, both worlds; written to docs/ together with what was measured of the other."""
    points = {"window": [(w, WINDOW_HOPS) for w in WINDOWS], "hops": [(HOPS_WINDOW, h) for h in HOPS]}[kind]
    table = []
    for window, hops in points:
        whole = cost_s(window, hops, "sim", out)
        joined = cost_s(window, hops, "sim", out, "--collapse")
        emulated = cost_s(window, hops, "emu", out)
        table.append((window if kind == "window" else hops, whole, joined, emulated))
        print(kind, table[-1], file=sys.stderr, flush=True)
    MEASURED.mkdir(exist_ok=True)
    (MEASURED / f"{kind}.json").write_text(json.dumps(table))
    kept = {each: MEASURED / f"{each}.json" for each in ("window", "hops")}
    write_cost({each: json.loads(file.read_text()) for each, file in kept.items() if file.exists()})
    rows = []
    for column, name in ((1, "simulated"), (3, "emulated")):
        # Linear, or less where something does not grow; the square would be tens of times this.
        growth = (table[-1][column] / table[0][column]) / (table[-1][0] / table[0][0])
        what = f"cost against {kind}, {name}: growth over {table[-1][0] / table[0][0]:.0f} ×"
        rows.append(
            Row(what, f"{growth:.2f} of linear", "≤ 1.5" if column == 1 else "shown", column != 1 or growth <= 1.5)
        )
    return rows


def cost_window(out: Path) -> list[Row]:
    """Cost against the window."""
    return cost("window", out)


def cost_hops(out: Path) -> list[Row]:
    """Cost against the number of links."""
    return cost("hops", out)


def write_cost(tables: dict[str, list[tuple[int, float, float, float]]]) -> None:
    """docs/sim-cost.md and its picture."""
    parts = [
        "# What a simulated second costs",
        "",
        "Processor seconds per simulated second in steady state: one stream over 264 ms, 40 Gbit/s links, MTU 9000,",
        "held by its window. Made by `make bench-sim` (tests/bench_sim.py cost_window cost_hops); do not edit;",
        f"each figure is the difference of a run of {SHORT_S} s and one {LEAST_MORE_S} to {MOST_MORE_S} s longer,",
        "the longer the smaller the window, so that starting up is not in it; of two runs each, the cheaper one.",
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
    each.__name__: each
    for each in (geneva_chicago, same_loss, schedulers, cost_window, cost_hops, record_2004_joined, record_2004_whole)
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
