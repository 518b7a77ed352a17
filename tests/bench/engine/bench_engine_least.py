"""What the kernel leaves to any program: least_work.c on the path of bench_engine."""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.engine.bench_engine_path import ENGINE, HOST, SECONDS, Run, measure

PORT = 5302
# What TCP hands to a device at once on either path: whole segments, at most 64 KiB.
PACKET_BYTES = {9000: 7 * 8948, 1500: 45 * 1448}
WAYS = {"discard": ("splice", "discard"), "memory": ("splice", "memory"), "verify": ("make", "check")}
NEAR = 0.95


@contextmanager
def least_program() -> Iterator[str]:
    """It is built with the engine's library, by which it makes blocks and checks them."""
    source = Path(__file__).with_name("least_work.c")
    library = [f"-I{ENGINE.parent.parent / 'src'}", str(source), str(ENGINE.parent / "libengine.a"), "-lxxhash"]
    with tempfile.TemporaryDirectory(prefix="landspeed-bench-") as folder:
        program = str(Path(folder) / "least_work")
        subprocess.run(["cc", "-O2", "-o", program, *library], check=True)
        yield program


def least_work(program: str, mode: str, mtu: int) -> Run:
    """One transfer that does what the engine's receive mode needs, and nothing else."""

    def read(text: str) -> tuple[float, float, dict]:
        result = json.loads(text)
        return result["bytes"], result["seconds"], result

    send, receive = WAYS[mode]
    packet = str(PACKET_BYTES[mtu])
    sending = [program, "send", HOST, str(PORT), send, SECONDS, packet]
    return measure([program, "receive", str(PORT), receive, packet], sending, PORT, read, apart=True)
