"""`make bench-sim`: what simulating costs and whether it is right, measured.

`bench_sim.py NAME…` measures only those parts: ALL, below; `recovery`, `cost_window`, `cost_hops` and `schedulers`
stand for all their pieces. No piece takes more than five minutes on a quiet machine. The pieces on cost
(bench_sim_cost.py) also write docs/explanation/sim-cost.md and its picture. Exit status 1 if a promise is not kept.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench.bench import CHICAGO, CHICAGO_1500, COMMAND, PASADENA, ROOT, Row
from tests.bench.sim.bench_sim_cost import PIECES
from tests.bench.sim.bench_sim_recovery import PARTS as RECOVERY
from tests.bench.sim.bench_sim_runs import run

SAME_LOSS = ROOT / "scenarios" / "examples" / "same-loss.yaml"
# As the emulated hosts' fq does. The greatest rate is the NIC's, which limits nothing more.
PACED = ("--set", "transfer.pacing=10 Gbit/s")


def steady_bps(result: dict[str, Any]) -> float:
    """Goodput from 10 s on."""
    return float(result["steady_goodput_bps"])


def run_plan(result: dict[str, Any]) -> dict[str, Any]:
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
    simulator = result["world_facts"]["simulator"]
    wall, cpu = (simulator[key] / simulator["simulated_s"] for key in ("wall_s", "cpu_s"))
    theory = run_plan(result)["flows"][0]["physics"]["expected_goodput_bps"]
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
    """The record of 2003 at both MTUs, against the line rate limit and the emulated run."""
    rows, over = [], ("--set", "transfer.duration=20 s", "--set", "expect=null")
    for mtu, scenario in (("9000", CHICAGO), ("1500", CHICAGO_1500)):
        result, _ = run(scenario, *over, "--collapse", out=out)
        emulated, _ = run(scenario, *over, out=out, world="emu")
        what = f"Geneva–Chicago, MTU {mtu}: goodput from 10 s on"
        rows += [
            within(f"{what}, framing", result, run_plan(result)["flows"][0]["physics"]["line_rate_limit_bps"], 0.005),
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
        paced, _ = run(SAME_LOSS, "--set", f"transfer.congestion_control={control}", *PACED, out=out)
        apart = paced["retransmits"] / two["retransmits"] - 1
        sent = f"{one['retransmits']}, {paced['retransmits']}, {two['retransmits']} ({apart:+.1%} paced)"
        what = f"{control}, sent again: simulated, simulated and paced, emulated"
        rows.append(Row(what, sent, "paced: ± 5 %", abs(apart) <= 0.05))
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


GROUPS = {"recovery": RECOVERY, **PIECES}
ALL: dict[str, Callable[[Path], list[Row]]] = {
    each.__name__: each for each in (geneva_chicago, same_loss, record_2004_joined, record_2004_whole)
} | {name: piece for pieces in GROUPS.values() for name, piece in pieces.items()}


def main(words: list[str]) -> int:
    """Measure, print a table, say whether every promise is kept."""
    names = [name for word in words for name in GROUPS.get(word, [word])] or list(ALL)
    if unknown := [name for name in names if name not in ALL]:
        there = ", ".join((*ALL, *GROUPS))
        print(f"bench_sim.py: no {', '.join(unknown)}; there are {there}", file=sys.stderr)
        return 2
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="landspeed-bench-sim-") as folder:
        for name in names:
            rows += ALL[name](Path(folder))
    print("| what | measured | promised | |\n|---|---:|---:|---|")
    for row in rows:
        print(f"| {row.what} | {row.measured} | {row.promised} | {'kept' if row.kept else 'NOT KEPT'} |")
    return 0 if all(row.kept for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
