"""`bench_engine.py ways`: each way of sending beside write, in turns on one cable."""

import statistics

from tests.bench.bench import Row
from tests.bench.engine.bench_engine_path import TURNS, engine, veth_pair

# Blocks that are verified differ from one another: they cannot come out of a file or a pipe.
WAYS = {"discard": ("write", "sendfile", "splice", "zerocopy", "io_uring"), "verify": ("write", "zerocopy", "io_uring")}


def ways() -> list[Row]:
    """Goodput and processor time of both ends per byte, against write of the same turn."""
    rows = []
    for mtu in (9000, 1500):
        with veth_pair(mtu):
            for mode, names in WAYS.items():
                turns = [{way: engine(mode, "--send", way, apart=True) for way in names} for _ in range(TURNS)]
                for way in names:
                    speed = statistics.median(turn[way].goodput_bps / turn["write"].goodput_bps for turn in turns)
                    cost = statistics.median(turn[way].cpu_s_per_gb / turn["write"].cpu_s_per_gb for turn in turns)
                    goodput = statistics.median(turn[way].goodput_bps for turn in turns) / 1e9
                    figures = f"{goodput:.1f} Gbit/s; {speed:.2f} ×, {cost:.2f} ×"
                    what = f"MTU {mtu}, {mode}, --send {way}, {TURNS} turns: goodput; against write, CPU per byte"
                    rows.append(Row(what, figures, "shown", True))
    return rows
