"""What a simulated second costs: against window, hops and event scheduler, in pieces of minutes.

Each piece keeps what it measured in sim/build/sim-cost; docs/explanation/sim-cost.md and its picture are written from
all that was measured, and the page says with which builds of the simulator.
"""

import hashlib
import itertools
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from landspeed.scenario.file.load import load_scenario
from landspeed.worlds.emu.kernel_build import find_kernel
from landspeed.worlds.registry import plan_for
from landspeed.worlds.sim.world import SIMULATOR, simulator_key
from tests.bench.bench import PASADENA, ROOT, Row
from tests.bench.sim.bench_sim_chart import Table, draw
from tests.bench.sim.bench_sim_runs import run

DOCS = ROOT / "docs" / "explanation"
KEPT = ROOT / "sim" / "build" / "sim-cost"
WINDOWS, HOPS = (1_000, 5_000, 20_000, 41_000, 82_000), (2, 10, 20, 40)
HOPS_WINDOW, WINDOW_HOPS = 5_000, 2
RTT_S = 0.264
MSS = 8948
SHORT_S = 4  # slow start to 82 000 packets over 264 ms takes 3.5 s
LEAST_MORE_S, MOST_MORE_S, MORE_WINDOWS = 4, 60, 80_000  # the longer run: so many seconds, few where each costs much
TURNS = 3  # of each cost; the schedulers take as many as there are, so that each is once the first
MOST_GROWTH = 1.5  # the square would be tens of times the proportion
KINDS = ("simulated", "joined", "emulated")
SCHEDULERS = ("heap", "map", "priority-queue", "calendar", "list")
SIZES = {"large": "2004-06-25, 8 streams, 12 routers, 4 s", "small": "1 000 packets in flight, 12 links, 60 s"}

INTRODUCTION = """
# What a simulated second costs

Processor seconds per simulated second in steady state: one stream over 264 ms, links of 40 Gbit/s, MTU 9000, limited
by its window. *Joined* is the simulated world with `--collapse`. Each figure is the median of three, measured in turns
with the others of its row. Slow start, the first 4 s, is left out. The simulator reports its processor time as it runs;
an emulated figure is the difference between a longer run and one of 4 s.

`python -m tests.bench.sim.bench_sim cost_window cost_hops schedulers` makes this page, in pieces (`cost_window_41000`,
…). Do not edit it: the text is in tests/bench/sim/bench_sim_cost.py.
"""
WINDOW_TEXT = """
## Against the window

Linear means that each packet costs the same at every window. No step of either world looks at more packets when more
are in flight (unmended ns-3 does: [the scoreboard](../ns3/01-tx-buffer.md)).

Memory matters, too. Until 22 November 2026 the cost of a simulated packet doubled from the first row to the fourth. A
packet in flight was seven allocations. Those of a thousand packets stay in the processor's caches (1 MB for a core) for
a round trip; those of forty thousand do not. Now a packet is a record in each of a few rings. Their records lie one
after the other, so the processor fetches them before they are needed. Packet and header are made where the packet
arrives. The samples are the same to the byte. tests/sim/test_cost.py asserts less than 400 B for each further packet in
flight.

An emulated second also has a fixed cost. So the cost of a packet falls with the number of packets.
"""
HOPS_TEXT = """
## Against the number of links

Linear means that each further link costs the same, in addition to the cost of the two hosts. There are 5 000 packets
in flight. A further emulated link is a further router: two interfaces with their queues, and forwarding. A simulated
one is an event for each packet. A joined one is a few additions, because the times are still computed link by link. An
emulated figure is the difference of two runs of a second or two here, so the spread is wide.
"""
SCHEDULERS_TEXT = """
## The event scheduler

Processor seconds of whole runs, links not joined: medians of five turns, each of which begins with another scheduler,
and the median of the ratios within a turn. Few events wait at any time, however many packets are in flight: one for
each part of the path, and a few timers for each stream. The first scheduler is the program's default. The samples are
the same to the byte with each.
"""


def scenario_file(folder: Path, window_packets: int, hops: int, seconds: int) -> Path:
    """One stream over 264 ms and `hops` links of 40 Gbit/s, held by its window."""
    names = ["a", *(f"r{number}" for number in range(1, hops)), "b"]
    delay_us = round(RTT_S / 2 * 1e6 / hops)
    links = "\n".join(f"  - {{from: {a}, to: {b}, one_way_delay: {delay_us} us}}" for a, b in itertools.pairwise(names))
    scenario = folder / f"sim-cost-{window_packets}-{hops}.yaml"
    scenario.write_text(
        f"""format: 1
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
  duration: {seconds} s
  receive: discard
"""
    )
    return scenario


def simulated_s(plan: Path, out: Path, *words: str) -> float:
    """Processor seconds per simulated second from SHORT_S on, by what the simulator tells as it goes."""
    command = [str(SIMULATOR), str(plan), str(out), *words]
    print("+", " ".join(command), file=sys.stderr, flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    steady = [line for line in lines if line["time_s"] >= SHORT_S]
    return (steady[-1]["cpu_s"] - steady[0]["cpu_s"]) / (steady[-1]["time_s"] - steady[0]["time_s"])


def emulated_s(scenario: Path, more_s: int, out: Path) -> float:
    """Processor seconds per virtual second from SHORT_S on: what a longer run takes more than a short one."""
    short, long = (
        run(scenario, "--set", f"transfer.duration={seconds} s", out=out, world="emu")[1]
        for seconds in (SHORT_S, SHORT_S + more_s)
    )
    return (long - short) / more_s


def cost_piece(kind: str, window: int, hops: int) -> Callable[[Path], list[Row]]:
    """Processor seconds per simulated second at one point, in turns: simulated, links joined, emulated."""

    def measure(out: Path) -> list[Row]:
        more_s = min(max(MORE_WINDOWS * WINDOW_HOPS // (window * hops), LEAST_MORE_S), MOST_MORE_S)
        scenario = scenario_file(out, window, hops, SHORT_S + more_s)
        plan = out / "plan.json"
        plan.write_text(plan_for(load_scenario(scenario), "sim").to_json())
        costs: dict[str, list[float]] = {name: [] for name in KINDS}
        for _ in range(TURNS):
            costs["simulated"].append(simulated_s(plan, out))
            costs["joined"].append(simulated_s(plan, out, "--collapse"))
            costs["emulated"].append(emulated_s(scenario, more_s, out))
        keep(f"{kind}-{window if kind == 'window' else hops}", costs)
        what = f"cost of {window} packets over {hops} links"
        return [
            Row(f"{what}, {name}", " ".join(f"{each:.3f}" for each in sorted(found)) + " s", "shown", True)
            for name, found in costs.items()
        ] + linearity()

    return measure


def linearity() -> list[Row]:
    """Of what has all its points: how far the cost grows beyond the proportion."""
    rows = []
    for kind, points in (("window", WINDOWS), ("hops", HOPS)):
        table = medians(kind, points)
        for column, name in ((1, "simulated"), (3, "emulated")) if len(table) == len(points) else ():
            more = table[-1][0] / table[0][0]
            growth = table[-1][column] / table[0][column] / more
            promised = MOST_GROWTH if name == "simulated" else None
            rows.append(
                Row(
                    f"cost against {kind}, {name}: growth over {more:.0f} ×",
                    f"{growth:.2f} of the proportion",
                    f"≤ {promised}" if promised else "shown",
                    promised is None or growth <= promised,
                )
            )
    return rows


def schedulers_piece(size: str) -> Callable[[Path], list[Row]]:
    """ns-3's event schedulers in turns on one input, nothing joined: cost, and whether samples are the same."""

    def measure(out: Path) -> list[Row]:
        if size == "large":
            scenario, words = PASADENA, ("--set", "transfer.duration=4 s", "--set", "expect=null")
        else:
            scenario, words = scenario_file(out, 1_000, 12, 60), ()
        costs: dict[str, list[float]] = {name: [] for name in SCHEDULERS}
        samples = set()
        for turn in range(len(SCHEDULERS)):
            # Each turn begins with another: what the machine does at one time then strikes no scheduler alone.
            for name in SCHEDULERS[turn:] + SCHEDULERS[:turn]:
                result = run(scenario, *words, "--event-scheduler", name, out=out)[0]
                costs[name].append(result["world_facts"]["simulator"]["cpu_s"])
                files = [Path(result["bundle"]) / f"{each}.parquet" for each in ("samples", "links")]
                samples.add(hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest())
        default = run(scenario, *words, out=out)[0]["world_facts"]["simulator"]["scheduler"]
        keep(f"schedulers-{size}", costs, default=default)
        told = ratios(costs, default)
        fastest = min(told, key=lambda name: told[name])
        rows = [
            Row(
                f"scheduler {name}, {size}: processor time",
                f"{statistics.median(costs[name]):.2f} s, {told[name]:.3f} of {default}'s",
                "shown",
                True,
            )
            for name in SCHEDULERS
        ]
        # Two that are this near each other change places from one measurement to the next.
        near = told[fastest] >= 0.95
        rows.append(Row(f"the default, {size}", default, f"within 5 % of the fastest, {fastest}", near))
        rows.append(Row(f"samples, {size}", f"{len(samples)} different", "1, whichever scheduler", len(samples) == 1))
        return rows

    return measure


def ratios(costs: dict[str, list[float]], against: str) -> dict[str, float]:
    """Median over the turns of each one's cost against that of one of them in the same turn."""
    return {
        name: statistics.median(mine / theirs for mine, theirs in zip(found, costs[against], strict=True))
        for name, found in costs.items()
    }


def keep(name: str, costs: dict[str, list[float]], **more: str) -> None:
    """Keep what a piece measured, and write the page anew."""
    KEPT.mkdir(exist_ok=True)
    found = {"build": simulator_key(), "kernel": find_kernel().key, "costs": costs}
    (KEPT / f"{name}.json").write_text(json.dumps(found | more))
    write_page()


def kept(name: str) -> dict[str, Any] | None:
    """What a piece measured last; None if it was not measured."""
    file = KEPT / f"{name}.json"
    return json.loads(file.read_text()) if file.exists() else None


def builds(names: Iterable[str]) -> str:
    """With which simulator and guest kernel these were measured, and how far repetitions differ."""
    found = [piece for name in names if (piece := kept(name))]
    told = (", ".join(sorted({piece[what] for piece in found})) for what in ("build", "kernel"))
    apart = sorted(max(costs) / min(costs) - 1 for piece in found for costs in piece["costs"].values())
    spread = f"the greatest is {statistics.median(apart):.0%} above the least, at worst {apart[-1]:.0%}"
    return "Measured with simulator {}, guest kernel {}. Of the repetitions of a figure ".format(*told) + spread + "."


def medians(kind: str, points: Sequence[int]) -> Table:
    """Of each point that was measured: what is on the x axis, then the cost of each of KINDS."""
    measured = [(point, piece["costs"]) for point in points if (piece := kept(f"{kind}-{point}"))]
    table = []
    for point, costs in measured:
        whole, joined, emulated = (statistics.median(costs[name]) for name in KINDS)
        table.append((point, whole, joined, emulated))
    return table


def window_table(table: Table) -> list[str]:
    """Cost against the window, and what each packet costs: the same at each window if the cost is linear."""
    lines = [
        "| packets in flight | simulated | joined | emulated | emulated : simulated | each packet, simulated | joined "
        "| emulated |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for window, *costs in table:
        told = " | ".join(f"{cost:.3f} s" for cost in costs)
        each = " | ".join(f"{cost * RTT_S / window * 1e6:.1f} µs" for cost in costs)
        lines.append(f"| {spaced(window)} | {told} | {costs[2] / costs[0]:.2f} | {each} |")
    return lines


def hops_table(table: Table) -> list[str]:
    """Cost against the number of links, and what each link more costs: the same everywhere if the cost is linear."""
    lines = [
        "| links | simulated | joined | emulated | emulated : simulated | each link more, simulated | joined "
        "| emulated |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for before, (hops, *costs) in zip([None, *table], table, strict=False):
        told = " | ".join(f"{cost:.3f} s" for cost in costs)
        more = ["", "", ""]
        if before:
            steps = [(cost - less) / (hops - before[0]) for cost, less in zip(costs, before[1:], strict=True)]
            more = [f"{step * 1e3:.1f} ms" for step in steps]
        lines.append(f"| {hops} | {told} | {costs[2] / costs[0]:.2f} | {' | '.join(more)} |")
    return lines


def schedulers_table() -> list[str]:
    """Processor time with each scheduler, and the median of its ratios to the default's in the same turn."""
    found = [(head, piece) for size, head in SIZES.items() if (piece := kept(f"schedulers-{size}"))]
    if not found:
        return []
    told = [ratios(piece["costs"], piece["default"]) for _, piece in found]
    heads = " | ".join(f"{head} | of {piece['default']}'s" for head, piece in found)
    lines = [f"| scheduler | {heads} |", "|---|" + "---:|---:|" * len(found)]
    for name in sorted(SCHEDULERS, key=lambda each: statistics.geometric_mean(ratio[each] for ratio in told)):
        cells = " | ".join(
            f"{statistics.median(piece['costs'][name]):.2f} s | {ratio[name]:.2f}"
            for (_, piece), ratio in zip(found, told, strict=True)
        )
        lines.append(f"| {name} | {cells} |")
    return lines


def spaced(number: int) -> str:
    """With a space at each thousand."""
    return f"{number:,}".replace(",", " ")


def write_page() -> None:
    """docs/explanation/sim-cost.md and its picture, of what has been measured."""
    tables = {"window": medians("window", WINDOWS), "hops": medians("hops", HOPS)}
    heads = {
        "window": f"packets in flight ({WINDOW_HOPS} links)",
        "hops": f"links ({spaced(HOPS_WINDOW)} packets in flight)",
    }
    parts = [INTRODUCTION]
    if drawn := {kind: table for kind, table in tables.items() if len(table) > 1}:
        (DOCS / "sim-cost.svg").write_text(draw(drawn, heads, "window"))
        parts.append("![cost against window and hops](sim-cost.svg)")
    for kind, text, lines in (
        ("window", WINDOW_TEXT, window_table(tables["window"])),
        ("hops", HOPS_TEXT, hops_table(tables["hops"])),
    ):
        if tables[kind]:
            parts += [text, "\n".join(lines), builds(f"{kind}-{point}" for point in (*WINDOWS, *HOPS))]
    if lines := schedulers_table():
        parts += [SCHEDULERS_TEXT, "\n".join(lines), builds(f"schedulers-{size}" for size in SIZES)]
    (DOCS / "sim-cost.md").write_text("\n\n".join(part.strip() for part in parts) + "\n")


PIECES: dict[str, dict[str, Callable[[Path], list[Row]]]] = {
    "schedulers": {f"schedulers_{size}": schedulers_piece(size) for size in SIZES},
    "cost_window": {f"cost_window_{window}": cost_piece("window", window, WINDOW_HOPS) for window in WINDOWS},
    "cost_hops": {f"cost_hops_{hops}": cost_piece("hops", HOPS_WINDOW, hops) for hops in HOPS},
}
