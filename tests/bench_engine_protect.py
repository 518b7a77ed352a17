"""What --protect costs: verified blocks without, with a MAC, encrypted; in turns on one cable."""

from __future__ import annotations

import statistics
import subprocess
import tempfile
from pathlib import Path

from bench import Row
from bench_engine_path import ENGINE, SECONDS, TURNS, Run, engine, veth_pair

WAYS = ("none", "mac", "aead")


def busier_bps(run: Run) -> float:
    """Goodput if the busier end's processor did nothing else: what a pair of processors manages."""
    busiest_s = max(sum(end.values()) for end in run.result["cpu"].values())
    return run.result["bytes"] * 8 / busiest_s


def protect() -> list[Row]:
    """Each way's goodput, and what the busier processor's time allows, against none of the same turn."""
    with tempfile.TemporaryDirectory() as folder, veth_pair(9000):
        path = str(Path(folder) / "key")
        subprocess.run([str(ENGINE), "key", path], check=True)
        key = ("--key", path)
        turns = []
        for _ in range(TURNS):
            limit = ("--time", SECONDS)
            turns.append(
                {way: engine("verify", *key, "--protect", way, limit=limit, receiver=key, apart=True) for way in WAYS}
            )
    rows = []
    for way in WAYS:
        allowed = statistics.median(busier_bps(turn[way]) for turn in turns) / 1e9
        goodput = statistics.median(turn[way].goodput_bps for turn in turns) / 1e9
        ratio = statistics.median(turn[way].goodput_bps / turn["none"].goodput_bps for turn in turns)
        by_time = statistics.median(busier_bps(turn[way]) / busier_bps(turn["none"]) for turn in turns)
        wanted = {"none": (0.0, 0.0), "mac": (10.0, 0.0), "aead": (10.0, 0.5)}[way]
        rows.append(
            Row(
                f"verify --protect {way}, {len(turns)} turns: goodput; what the busier processor allows; against none "
                "(by processor time)",
                f"{goodput:.1f} Gbit/s; {allowed:.1f} Gbit/s; {ratio:.2f} × ({by_time:.2f} ×)",
                f"≥ {wanted[0]:.0f} Gbit/s per pair of processors, ≥ {wanted[1]} ×" if wanted[0] else "shown",
                allowed >= wanted[0] and ratio >= wanted[1],
            )
        )
    return rows
