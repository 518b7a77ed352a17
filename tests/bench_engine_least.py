"""What the kernel leaves to any program: least_work.c beside the engine and iperf3, in turns on one path."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench import Row
from bench_engine_path import HOST, HOSTS_OWN, SECONDS, TURNS, Run, engine, iperf3, measure, veth_pair

PORT = 5302
# What TCP hands to a device at once on either path: whole segments, at most 64 KiB.
PACKET_BYTES = {9000: 7 * 8948, 1500: 45 * 1448}


def least_work(program: str, send: str, receive: str, mtu: int) -> Run:
    """One transfer that asks of the kernel what must be asked, and does nothing else."""

    def read(text: str) -> tuple[float, float, dict]:
        result = json.loads(text)
        return result["bytes"], result["seconds"], result

    sending = [program, "send", HOST, str(PORT), send, SECONDS, str(PACKET_BYTES[mtu])]
    return measure([program, "receive", str(PORT), receive], sending, PORT, read, apart=True)


def least(mtu: int, congestion: str | None = None) -> list[Row]:
    """How much faster than iperf3 anything can be on this machine, and how near to that the engine is."""
    source = Path(__file__).with_name("least_work.c")
    path = f"MTU {mtu}, {congestion or HOSTS_OWN.read_text().strip()}"
    turns: list[dict[str, Run]] = []
    with tempfile.TemporaryDirectory(prefix="landspeed-bench-") as folder, veth_pair(mtu, congestion):
        program = str(Path(folder) / "least_work")
        subprocess.run(["cc", "-O2", "-o", program, str(source)], check=True)
        programs: dict[str, Callable[[], Run]] = {
            "least discard": lambda: least_work(program, "splice", "discard", mtu),
            "discard": lambda: engine("discard", apart=True),
            "iperf3 -Z": lambda: iperf3("-Z"),
            "least memory": lambda: least_work(program, "splice", "memory", mtu),
            "memory": lambda: engine("memory", apart=True),
            "iperf3": iperf3,
            "least copy": lambda: least_work(program, "write", "memory", mtu),
            "verify": lambda: engine("verify", apart=True),
        }
        for number in range(TURNS):
            turns.append({name: transfer() for name, transfer in programs.items()})
            figures = ", ".join(f"{name} {each.goodput_bps / 1e9:.1f} Gbit/s" for name, each in turns[-1].items())
            print(f"{path}, turn {number + 1}: {figures}", file=sys.stderr, flush=True)

    def ratio(one: str, other: str) -> float:
        return statistics.median(turn[one].goodput_bps / turn[other].goodput_bps for turn in turns)

    def row(least: str, mode: str, other: str) -> Row:
        figures = f"{ratio(least, other):.2f} ×; {ratio(mode, least):.2f} ×"
        return Row(f"{path}: least work for {mode} against {other}; engine against that", figures, "shown", True)

    compared = (("discard", "iperf3 -Z"), ("memory", "iperf3 -Z"))
    return [*(row(f"least {mode}", mode, other) for mode, other in compared), row("least copy", "verify", "iperf3")]
