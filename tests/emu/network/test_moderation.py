"""Interrupt moderation of busy links: late by at most what it says, and only where it may be."""

import itertools
import statistics
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from landspeed.results.record import RunRecord
from landspeed.scenario.theory.physics import MODERATION_NS
from tests.support.emu_fixtures import measure, plan_of, request, scenario, transfer

pytestmark = pytest.mark.guest

MSS = 9000 - 52
RTT_S = 0.2
LINK = {"one_way_delay": "50 ms", "line_rate": "10 Gbit/s"}
ASKED = {"duration": "6 s", "window": "40 MB", "congestion_control": "reno", "sample_interval": "10 ms"}
ROWS = round(RTT_S / 0.01)  # of a round trip


def run(folder: Path, *, fidelity: str = "packets", **options: Any) -> tuple[int, float, RunRecord, float]:
    """Moderation in ns, of a steady, window-limited stream its window over goodput in seconds, the record.

    Goodput over 14 round trips, the mean of such spans that begin at each row of one: a window comes within a quarter
    of a round trip, so that one span alone shows a delay not at all, or fourfold, as its ends lie between two windows
    or within one. Last the same over the one span of 3 s.
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
    return record.guest.moderation_ns or 0, window / statistics.mean(rates), record, window / (moved / took_s)


def trains(folder: Path, count: int) -> tuple[list[int], list[int]]:
    """Arrivals in ns after the first departure, of as many packets of 9000 B back to back: exact, then moderated."""
    plan = plan_of(folder, scenario([LINK] * 3, mtu="9000 B"))
    asked = [request(plan, 0, 3, 9000, count, moderation_ns=ns) for ns in (0, MODERATION_NS)]
    exact, moderated = ([each.arrived_ns - train.arrived[0].sent_ns for each in train.arrived]
                        for train in measure(plan, folder, asked))  # fmt: skip
    assert len(exact) == len(moderated) == count
    return exact, moderated


def test_busy_links_hand_packets_on_at_most_a_2048th_late(tmp_path: Path) -> None:
    """Each crossing of 50 ms: 24.4 µs, less than the 64 µs that would be allowed; never early, always in order.

    On the first link the packets queue anyway, and a line that is busy makes up for it. The second hands lumps of four
    to the third, whose line spaces them again and stays as late as the first of them was; then it gathers lumps itself.
    The last 255 of a link leave it at their instants, so that the last of all is late by one crossing.
    """
    late_ns, line_ns, many = 50_000_000 // 2048, (9000 + 38) * 8 / 10, 256
    exact, moderated = trains(tmp_path, 8 * many)
    late = [two - one for one, two in zip(exact, moderated, strict=True)]
    assert statistics.mean(itertools.starmap(lambda a, b: b - a, itertools.pairwise(exact))) == pytest.approx(line_ns)
    assert min(late) >= 0
    assert late_ns < max(late) <= 2 * late_ns
    assert late[-1] <= late_ns
    assert moderated == sorted(moderated)
    together = int(late_ns / line_ns) + 1
    assert len(set(exact)) == len(exact)
    busy = moderated[:-many]
    assert len(busy) / together <= len(set(busy)) < len(busy) / (together - 1)


def test_a_link_with_few_packets_under_way_hands_each_on_at_its_instant(tmp_path: Path) -> None:
    exact, moderated = trains(tmp_path, 255)
    assert exact == moderated


def test_moderation_costs_a_window_limited_stream_no_more_than_it_says(tmp_path: Path) -> None:
    """Each of the four crossings of a round trip is late by 24.4 µs at most.

    A window comes a round trip, but for what the receiver's low-water mark (1/128 of it) may leave unread when the
    window is told. What is joined is sent on the ACK for it in one burst, whose last packet waits for the line behind
    the others: as long as they were gathered.
    """
    late_s = 5 * 0.05 / 2048
    exact_ns, exact_window_s, exact, exact_span_s = run(tmp_path / "exact", exact_timers=True)
    moderated_ns, window_s, moderated, span_s = run(tmp_path / "moderated")
    assert (exact_ns, moderated_ns) == (0, MODERATION_NS)
    assert exact.retransmits == moderated.retransmits == 0
    assert exact.rtt_ms == moderated.rtt_ms  # calibrated before, each packet at its instant
    assert RTT_S < exact_window_s < RTT_S * (1 + 1 / 128)
    assert RTT_S < window_s < (RTT_S + late_s) * (1 + 1 / 128)
    assert exact_span_s == pytest.approx(RTT_S, rel=1 / 2048)
    assert RTT_S * (1 - 1 / 2048) < span_s < RTT_S + late_s


def test_super_packets_leave_at_their_instants(tmp_path: Path) -> None:
    assert run(tmp_path / "super", fidelity="super-packets")[0] == 0


def test_the_receiving_host_joins_what_comes_at_once(tmp_path: Path) -> None:
    """In 24.4 µs come up to four packets of 7.2 µs, and of bursts the rest; for each two of them was an ACK."""
    acks, joined = {}, {}
    for exact in (True, False):
        record = run(tmp_path / str(exact), exact_timers=exact)[2]
        info = record.streams[0].model_dump()["receiver_tcp_info"]
        segments, answers = info["data_segs_in"], info["segs_out"]
        assert record.bytes and segments and answers
        acks[exact] = answers / segments
        joined[exact] = {name: on["gro"] for name, on in record.guest.offloads.items()}
        assert segments == pytest.approx(record.bytes / MSS, rel=1e-3)
    assert acks[True] == pytest.approx(1 / 2, rel=0.02)
    assert 1 / 5 < acks[False] < 0.4
    assert list(joined[True].values()) == [False, False]
    assert list(joined[False].values()) == [False, True]
