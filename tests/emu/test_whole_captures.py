"""Whole captures of every node: the disk is said first, and each packet's one-way delay is in a table."""

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from landspeed.results.bundle import list_bundles
from tests.support.command import landspeed

VALUES = ("line_rate=20 Mbit/s", "queue=50 kB", "mtu=1500 B", "transfer.duration=3 s", "path.0.line_rate=1 Gbit/s")
# A router's capture is behind its line's delay.
DELAYS_MS = {"frankfurt": 10, "milan": 18, "bari": 25, "athens": 25}


@pytest.mark.guest
def test_each_packet_has_its_delay_to_every_node(tmp_path: Path) -> None:
    words = [word for value in VALUES for word in ("--set", value)]
    done = landspeed("run", "first", *words, "--capture", "full", "--out", str(tmp_path))
    said = re.search(r"--capture full: the captures take about ([\d.]+) MB on the disk", done.stderr)
    assert said, done.stderr
    (bundle,) = list_bundles(tmp_path)
    captures = list((bundle / "evidence").glob("capture-*.pcap"))
    assert {each.stem for each in captures} == {
        f"capture-{end}" for end in ("sender", "hop1", "hop2", "hop3", "receiver")
    }
    assert sum(each.stat().st_size for each in captures) == pytest.approx(float(said[1]) * 1e6, rel=0.15)
    table = pq.read_table(bundle / "evidence" / "delays.parquet")
    sent, queue_ms = (
        table.num_rows,
        34 * 1538 * 8 / 20e6 * 1e3,
    )  # 33 packets of 1514 B are 50 kB, and one is on the line
    for name, delay_ms in DELAYS_MS.items():
        came = [each for each in table[f"{name}_ns"].to_pylist() if each is not None]
        least, most, count = min(came), max(came), len(came)
        assert least / 1e6 == pytest.approx(delay_ms, abs=1.0), name  # and small packets' time on the lines
        assert delay_ms + 0.9 * queue_ms <= most / 1e6 <= delay_ms + queue_ms + 3, name  # frankfurt has the queue
        assert 0 < sent - count < 0.1 * sent, name  # what it dropped never came
