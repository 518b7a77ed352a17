"""Goodput in the guest is what the kernel's capture says: what it delivered by its clock, never above the line.

The whole table, to 1 GB: `python -m tests.bench.engine.bench_engine goodput`.
"""

from pathlib import Path

import pytest

from tests.support.engine.goodput_kernel import LINE_BPS, PACKET, PAYLOAD, READ_NS, cells

pytestmark = pytest.mark.guest

SIZES = {"1k": 1000, "20k": 20_000, "100k": 100_000, "10M": 10_000_000}


@pytest.mark.parametrize("rtt_ms", [0, 10, 264])
def test_goodput_is_the_kernels(tmp_path: Path, rtt_ms: float) -> None:
    for size, cell in cells(tmp_path, rtt_ms, list(SIZES)).items():
        told, said = cell.told, f"{size} over {rtt_ms} ms"
        assert told["bytes"] == cell.arrivals[-1][1] == SIZES[size], said
        # The clock begins with the first read, for which a packet came; what had come until then took no time.
        assert cell.nearest_ns(cell.begun_ns) <= READ_NS, said
        assert told["early_bytes"] == cell.come_by(cell.begun_ns + READ_NS), said
        if told["goodput_bps"] is None:
            assert told["goodput_reason"].startswith("too short for a rate"), said
            assert cell.arrivals[-1][0] - cell.arrivals[0][0] < rtt_ms * 1e6 + READ_NS + 1e5, said
            continue
        assert told["goodput_bps"] == pytest.approx(cell.kernel_bps, rel=1e-4), said
        assert told["goodput_bps"] <= LINE_BPS * PAYLOAD / PACKET * (1 + 1e-6), said
