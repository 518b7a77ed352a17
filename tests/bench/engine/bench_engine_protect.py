"""What --protect costs: verified blocks without, with a MAC, encrypted; in turns on one cable.

How fast AES-256-GCM is depends on libcrypto: since OpenSSL 3.1 it has this processor's widest vectors. To measure with
another one: LD_LIBRARY_PATH=FOLDER, with its libcrypto.so.3 in the folder.
"""

import json
import statistics
import subprocess
import tempfile
from pathlib import Path

from tests.bench.bench import Row
from tests.bench.engine.bench_engine_path import ENGINE, SECONDS, TURNS, Run, engine, veth_pair

WAYS = ("none", "mac", "aead")
NEAR = 0.95


def ends_s_per_gb(run: Run) -> tuple[float, float]:
    """Processor time of the sender and of the receiver."""
    cpu = run.result["cpu"]
    return tuple(sum(cpu[end].values()) / (run.result["bytes"] / 1e9) for end in ("sender", "receiver"))


def busier_s_per_gb(run: Run) -> float:
    """Processor time of the busier end: it decides what a pair of processors manages."""
    return max(ends_s_per_gb(run))


def libcrypto() -> dict:
    """Which one, and its processor time for sealing and opening a GB."""
    build = ENGINE.parent
    subprocess.run(["ninja", "-C", str(build), "bench_sealing"], check=True, stdout=subprocess.DEVNULL)
    return json.loads(subprocess.run([str(build / "bench_sealing")], check=True, stdout=subprocess.PIPE).stdout)


def protect() -> list[Row]:
    """Each way's goodput, and what the busier processor's time allows, against none of the same turn."""
    with tempfile.TemporaryDirectory() as folder, veth_pair(9000):
        path = str(Path(folder) / "key")
        subprocess.run([str(ENGINE), "key", path], check=True)
        key = ("--key", path)
        turns, costs = [], []
        for _ in range(TURNS):
            limit = ("--time", SECONDS)
            turns.append(
                {way: engine("verify", *key, "--protect", way, limit=limit, receiver=key, apart=True) for way in WAYS}
            )
            costs.append(libcrypto())

    def by_time(way: str) -> list[float]:
        return [busier_s_per_gb(turn["none"]) / busier_s_per_gb(turn[way]) for turn in turns]

    # Were encryption all that is added: no program that uses this library could do better.
    possible = []
    for turn, cost in zip(turns, costs, strict=True):
        sender, receiver = ends_s_per_gb(turn["none"])
        possible.append(busier_s_per_gb(turn["none"]) / max(sender + cost["seal"], receiver + cost["open"]))
    seal, opened = (statistics.median(cost[what] for cost in costs) for what in ("seal", "open"))
    rows = [
        Row(
            f"{costs[0]['library']}: AES-256-GCM, sealed; opened; aead against none if nothing else were added",
            f"{seal:.3f} s/GB; {opened:.3f} s/GB; {statistics.median(possible):.2f} ×",
            "shown",
            True,
        )
    ]
    for way in WAYS:
        allowed = statistics.median(8 / busier_s_per_gb(turn[way]) for turn in turns)
        goodput = statistics.median(turn[way].goodput_bps for turn in turns) / 1e9
        ratio = statistics.median(turn[way].goodput_bps / turn["none"].goodput_bps for turn in turns)
        figures = f"{goodput:.1f} Gbit/s; {allowed:.1f} Gbit/s; {ratio:.2f} × ({statistics.median(by_time(way)):.2f} ×)"
        promised, kept = "shown", True
        if way != "none":
            promised, kept = "≥ 10 Gbit/s per pair of processors", allowed >= 10
        if way == "aead":
            promised += ", ≥ 0.5 ×"
            if ratio < 0.5:
                near = statistics.median(own / most for own, most in zip(by_time(way), possible, strict=True))
                figures += f"; {near:.2f} × what libcrypto allows"
                promised += f" or ≥ {NEAR} × what libcrypto allows"
                kept = kept and near >= NEAR
        rows.append(
            Row(
                f"verify --protect {way}, {len(turns)} turns: goodput; what the busier processor allows; against none "
                "(by processor time)",
                figures,
                promised,
                kept,
            )
        )
    return rows
