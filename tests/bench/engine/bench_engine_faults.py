"""Part of `make bench-engine`: faults injected behind the TCP checksum into much verified data; each must be found.

The proxy of tests/engine/test_verify.py, made fast: what is not harmed goes from socket to socket by splice(2).
"""

import fcntl
import os
import random
import socket
import tempfile
from collections import Counter
from pathlib import Path

from tests.bench.bench import Row
from tests.support.engine.fixtures import Bench, free_port
from tests.support.engine.verify import BLOCK, PROXY, RECEIVER, Harm, Proxy, found, key, pass_hello, read_exactly

STREAMS = 8
KINDS = ("flip", "flip_header", "swap", "repeat", "drop", "cut")
EACH = 2  # of each kind in each stream: with them the list of located faults, 16 for a stream, is nearly full
PIPE_BYTES = 1 << 20


class FastProxy(Proxy):
    """Looks only at the blocks that the plan names."""

    def _pass_data(self, near: socket.socket, far: socket.socket) -> None:
        assert isinstance(self.harm, Harm)
        stream, number = pass_hello(near, far), 0
        ends = os.pipe()
        fcntl.fcntl(ends[0], fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        for place in sorted(self.harm.plan[stream]):
            carry(near, far, ends, (place - number) * BLOCK)
            number = place
            while number == place or stream in self.harm.held:
                for part in self.harm(stream, number, read_exactly(near, BLOCK)):
                    far.sendall(part)
                number += 1
        carry(near, far, ends, None)
        far.shutdown(socket.SHUT_WR)
        for end in ends:
            os.close(end)


def carry(near: socket.socket, far: socket.socket, ends: tuple[int, int], count: int | None) -> None:
    """So many bytes, or all to the end, without a copy."""
    while count is None or count > 0:
        got = os.splice(near.fileno(), ends[1], PIPE_BYTES if count is None else min(count, PIPE_BYTES))
        if got == 0:
            return
        left = got
        while left:
            left -= os.splice(ends[0], far.fileno(), left)
        count = None if count is None else count - got


def faults(gigabytes: int) -> list[Row]:
    """As many kinds of faults as the tests know, spread over that much data."""
    blocks = gigabytes * 10**9 // STREAMS // BLOCK
    draw = random.Random(gigabytes)
    plan = {}
    for stream in range(STREAMS):
        kinds = [kind for kind in KINDS for _ in range(EACH)]
        draw.shuffle(kinds)
        # Every third block at most, so that faults cannot hide one another.
        places = sorted(draw.sample(range(1, blocks // 3 - 1), len(kinds)))
        plan[stream] = {3 * place: kind for place, kind in zip(places, kinds, strict=True)}
    harm = Harm(plan, gigabytes)
    with tempfile.TemporaryDirectory(prefix="landspeed-bench-") as folder:
        bench = Bench(Path(__file__).resolve().parents[3] / "engine" / "build" / "landspeed-engine", Path(folder))
        data_port = free_port()
        proxy = FastProxy(bench.port, data_port, harm)
        try:
            receiver = bench.receive("--one-off", "--quiet", "--bind", RECEIVER, "--data-port", str(data_port))
            words = ["--receive", "verify", "--streams", str(STREAMS), "--bytes", str(STREAMS * blocks * BLOCK)]
            sender = bench.send(*words, "--quiet", host=PROXY)
            sender.wait(600)
            receiver.wait(60)
            seen = [key(fault) for fault in found(bench)]
            counted = bench.result()["verification"]["faults"]
            rate = bench.result()["goodput_bps"] / 1e9
        finally:
            proxy.close()
            bench.close()
    injected = {key(fault) for fault in harm.expected}
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(each[0] for each in injected).items()))
    missed, invented = len(injected - set(seen)), len(set(seen) - injected)
    return [
        Row(
            f"verify: faults injected into {gigabytes} GB ({kinds}): missed or in another place; invented; counted",
            f"{missed}; {invented}; {counted} of {len(injected)} ({rate:.1f} Gbit/s through the proxy)",
            f"0; 0; {len(injected)}",
            missed == 0 and invented == 0 and counted == len(injected),
        )
    ]
