"""`bench_engine.py goodput`: transfers of 1 kB to 1 GB over 0, 10 and 264 ms in the guest, beside the kernel's capture.

A row is one transfer: the goodput that the engine tells, and what the kernel's clock says of the same bytes.
"""

import tempfile
from pathlib import Path

from tests.bench.bench import Row
from tests.support.engine.goodput_kernel import LINE_BPS, PACKET, PAYLOAD, Cell, cells

SIZES = ["1k", "10k", "100k", "1M", "10M", "100M", "1G"]
RTTS_MS = (0, 10, 264)
ALLOWED = 0.001


def row(size: str, rtt_ms: float, cell: Cell) -> Row:
    """Engine and kernel of one transfer."""
    what = f"{size} over 100 Mbit/s, RTT {rtt_ms:g} ms: goodput by the engine, by the kernel's clock"
    told = cell.told["goodput_bps"]
    whole = cell.told["bytes"] == cell.arrivals[-1][1]
    if told is None:
        return Row(what, cell.told["goodput_reason"], "no rate", whole)
    kernel = cell.kernel_bps
    true = whole and abs(told / kernel - 1) <= ALLOWED and told <= LINE_BPS * PAYLOAD / PACKET * (1 + 1e-6)
    return Row(what, f"{told / 1e6:.4f}, {kernel / 1e6:.4f} Mbit/s", "within 0.1 %, not above the line", true)


def goodput() -> list[Row]:
    """All sizes over each round trip, a guest each."""
    rows = []
    for rtt_ms in RTTS_MS:
        with tempfile.TemporaryDirectory() as folder:
            rows += [row(size, rtt_ms, cell) for size, cell in cells(Path(folder), rtt_ms, SIZES).items()]
    return rows
