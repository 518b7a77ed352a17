"""`.venv/bin/python tests/bench/bench_networks.py`: what networks take, and how Reno's shares follow the RTTs.

Exit status 1 if a promise is not kept.
"""

import itertools
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.bench.bench import ROOT, Row, run, told
from tests.bench.network_shares import TO_S, Shares, shares_of

DUMBBELL = ROOT / "scenarios" / "examples" / "dumbbell.yaml"
SIZES = ((10, 12, 8), (30, 45, 32), (100, 200, 128))  # nodes, links, flows


def mesh(nodes: int, links: int, flows: int, seed: int = 7) -> dict[str, Any]:
    """A connected network of routers at random, hosts on them, flows between these."""
    chance = random.Random(seed)
    hosts = [f"h{number}" for number in range(nodes * 3 // 5)]
    routers = [f"r{number}" for number in range(nodes - len(hosts))]
    pairs = {(routers[chance.randrange(max(0, n - 6), n)], routers[n]) for n in range(1, len(routers))}
    while len(pairs) < links - len(hosts):
        a, b = sorted(chance.sample(range(len(routers)), 2))
        pairs.add((routers[a], routers[b]))
    joined = [*sorted(pairs), *((host, chance.choice(routers)) for host in hosts)]
    ends = [chance.sample(hosts, 2) for _ in range(flows)]
    return {
        "format": 1,
        "name": f"mesh-{nodes}",
        "title": f"{nodes} nodes, {links} links, {flows} flows",
        "line_rate": "100 Mbit/s",
        "queue": "200 kB",
        "links": [{"from": a, "to": b, "one_way_delay": f"{chance.randrange(1, 20)} ms"} for a, b in joined],
        "transfer": {"bytes": "100 kB"},
        "flows": [{"name": f"f{number}", "from": a, "to": b} for number, (a, b) in enumerate(ends)],
    }


def building(folder: Path) -> list[Row]:
    """Networks of several sizes, built and calibrated."""
    rows: list[Row] = []
    for size in SIZES:
        file = folder / "mesh.yaml"
        file.write_text(json.dumps(mesh(*size)))
        result = run(file, "--stall", "120", out=folder)
        guest = json.loads((Path(result["bundle"]) / "result.json").read_text())["world_facts"]["guest"]
        built = guest["network_build_s"]
        shown = f"{built:.1f} s, calibrated in {result['calibrate_s']:.1f} s"
        most = 8.0 if size == SIZES[-1] else float("inf")
        rows.append(Row(f"{result['title']}: built", shown, "≤ 8 s" if most == 8.0 else "", built <= most))
    return rows


def access_paths(hops: int = 5) -> dict[str, Any]:
    """A dumbbell whose hosts are so many hops from the routers of the bottleneck."""

    def chain(nodes: list[str], delay: str) -> list[dict[str, Any]]:
        return [{"from": a, "to": b, "one_way_delay": delay} for a, b in itertools.pairwise(nodes)]

    ends = (
        ("near", "left", "1 ms"),
        ("far", "left", "10 ms"),
        ("near-sink", "right", "1 ms"),
        ("far-sink", "right", "1 ms"),
    )
    links = [{"from": "left", "to": "right", "one_way_delay": "8 ms", "line_rate": "100 Mbit/s"}]
    for host, router, delay in ends:
        links += chain([host, *(f"{host}-{number}" for number in range(1, hops)), router], delay)
    return {
        "format": 1,
        "name": "access-paths",
        "title": f"A dumbbell with access paths of {hops} hops",
        "line_rate": "1 Gbit/s",
        "queue": "1 MB",
        "links": links,
        "transfer": {"congestion_control": "reno", "duration": "60 s"},
        "flows": [{"name": host, "from": host, "to": f"{host}-sink"} for host in ("near", "far")],
    }


def steps(folder: Path) -> list[Row]:
    """Routers passed in one step, against hop by hop: wall time of the same transfer."""
    file = folder / "access-paths.yaml"
    file.write_text(json.dumps(access_paths()))
    short, every = (run(file, *words, out=folder) for words in ((), ("--every-hop",)))
    times = [result["transfer_wall_s"] for result in (short, every)]
    goodputs = [result["goodput_bps"] / 1e6 for result in (short, every)]
    shown = f"{times[0]:.1f} s, hop by hop {times[1]:.1f} s: {times[1] / times[0]:.1f} × as fast"
    shown += f"; {goodputs[0]:.2f} and {goodputs[1]:.2f} Mbit/s"
    return [Row(f"{short['title']}, 60 s: routers in one step", shown, "faster", times[0] < times[1])]


def shares(folder: Path) -> list[Row]:
    """Two Reno flows of 20 and 200 ms in both worlds: as 1/RTT, the queue's delay included (Mathis et al. 1997)."""
    words = ("--set", f"transfer.duration={TO_S} s", "--set", "transfer.sample_interval=500 ms")
    rows, found = list[Row](), list[Shares]()
    for world, how in (("emu", "emulated"), ("sim", "simulated")):
        one = shares_of(Path(run(DUMBBELL, *words, "--world", world, out=folder)["bundle"]))
        shown = f"{one.ratio:.2f} : 1, by theory {one.theory:.2f} : 1 ({one.ratio / one.theory - 1:+.1%})"
        kept = abs(one.ratio / one.theory - 1) <= 0.15
        rows.append(Row(f"Reno, 20 and 200 ms through 100 Mbit/s, {how}: shares", shown, "± 15 %", kept))
        found.append(one)
    emulated, simulated = (each.share for each in found)
    shown = f"{emulated:.1%} and {simulated:.1%} ({simulated / emulated - 1:+.1%})"
    kept = abs(simulated / emulated - 1) <= 0.10
    return [*rows, Row("… the near flow's share, emulated and simulated", shown, "± 10 %", kept)]


def main() -> int:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="landspeed-bench-") as folder:
        rows = [*building(Path(folder)), *steps(Path(folder)), *shares(Path(folder))]
    return told(rows)


if __name__ == "__main__":
    sys.exit(main())
