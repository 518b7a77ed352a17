"""Interrupt moderation of busy links: late by at most what it says, and only where it may be."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from emu_fixtures import plan_of, scenario, transfer
from landspeed.results.record import RunRecord

MSS = 9000 - 52
RTT_S = 0.2
LINK = {"one_way_delay": "50 ms", "line_rate": "10 Gbit/s"}
ASKED = {"duration": "6 s", "window": "40 MB", "congestion_control": "reno", "sample_interval": "10 ms"}
ROWS = round(RTT_S / 0.01)  # of a round trip


def run(folder: Path, *, fidelity: str = "packets", **options: Any) -> tuple[int, float, float, RunRecord, float]:
    """Moderation in ns, the least smoothed RTT of a steady, window-limited stream, its window over goodput, the record.

    Times in seconds. The least: of packets that did not wait behind others of their own clump. Goodput over 14 round
    trips, the mean of such spans that begin at each row of one: a window comes within a quarter of a round trip, so
    that one span alone shows a delay not at all, or fourfold, as its ends lie between two windows or within one. Last
    the same over the one span of 3 s.
    """
    folder.mkdir()
    plan = plan_of(folder, scenario([LINK, LINK], mtu="9000 B", fidelity=fidelity, transfer=ASKED))
    record, bundle = transfer(plan, folder, **options)
    rows = [row for row in pq.read_table(bundle / "samples.parquet").to_pylist() if row["time_ns"] > 3e9]
    sender, receiver = ([row for row in rows if row["end"] == end] for end in ("sender", "receiver"))
    ends = list(zip(receiver[:ROWS], receiver[14 * ROWS :][:ROWS], strict=True))
    rates = [(end["bytes"] - begin["bytes"]) / (end["time_ns"] - begin["time_ns"]) * 1e9 for begin, end in ends]
    moved = receiver[-1]["bytes"] - receiver[0]["bytes"]
    took_s = (receiver[-1]["time_ns"] - receiver[0]["time_ns"]) / 1e9
    window = sender[-1]["snd_wnd_bytes"] // MSS * MSS
    least_s = min(row["srtt_us"] for row in sender) / 1e6
    return record.guest["moderation_ns"], least_s, window / statistics.mean(rates), record, window / (moved / took_s)


def test_busy_links_hand_packets_on_at_most_a_2048th_late(tmp_path: Path) -> None:
    """Each of the four crossings: 24.4 µs of 50 ms, less than the 64 µs that would be allowed."""
    late_s = 4 * 0.05 / 2048
    exact_ns, exact_s, exact_window_s, exact, exact_span_s = run(tmp_path / "exact", exact_timers=True)
    moderated_ns, moderated_s, window_s, moderated, span_s = run(tmp_path / "moderated")
    assert (exact_ns, moderated_ns) == (0, 64_000)
    assert exact.retransmits == moderated.retransmits == 0
    assert exact.rtt_ms == moderated.rtt_ms  # calibrated before, each packet at its instant
    assert late_s / 8 < moderated_s - exact_s <= late_s
    # A window a round trip, but for what the receiver's low-water mark (1/128 of it) may leave unread when the window
    # is told. What is joined is sent on the ACK for it in one burst, whose last packet waits for the line behind the
    # others: as long as they were gathered.
    assert RTT_S < exact_window_s < RTT_S * (1 + 1 / 128)
    assert exact_span_s == pytest.approx(RTT_S, rel=1 / 2048)
    assert exact_span_s < span_s < RTT_S + late_s + 0.05 / 2048
    assert late_s / 8 < window_s - exact_window_s < late_s + 0.05 / 2048


def test_super_packets_leave_at_their_instants(tmp_path: Path) -> None:
    assert run(tmp_path / "super", fidelity="super-packets")[0] == 0


def test_the_receiving_host_joins_what_comes_at_once(tmp_path: Path) -> None:
    """In 24.4 µs come up to four packets of 7.2 µs, and of bursts the rest; for each two of them was an ACK."""
    acks, joined = {}, {}
    for exact in (True, False):
        record = run(tmp_path / str(exact), exact_timers=exact)[3]
        info = record.streams[0].model_dump()["receiver_tcp_info"]
        segments, answers = info["data_segs_in"], info["segs_out"]
        assert record.bytes and segments and answers
        acks[exact] = answers / segments
        joined[exact] = {name: on["gro"] for name, on in record.guest["offloads"].items()}
        assert segments == pytest.approx(record.bytes / MSS, rel=1e-3)
    assert acks[True] == pytest.approx(1 / 2, rel=0.02)
    assert 1 / 5 < acks[False] < 0.4
    assert list(joined[True].values()) == [False, False]
    assert list(joined[False].values()) == [False, True]
