"""Events and disciplines in the emulated world: at their time, with the effect that the scenario says."""

import itertools
import math
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from landspeed.results.record import RunRecord
from landspeed.scenario.theory import physics as ph
from landspeed.worlds.emu.guest.shaping import lose_next as loss
from landspeed.worlds.emu.guest.shaping.encode_aqm import red_idle_table
from tests.support.emu_fixtures import plan_of, scenario, transfer

MICROSECONDS = 1e-6
THERE, BACK = {"from": "r1", "to": "r2"}, {"from": "r2", "to": "r1"}
MSS, MTU, FRAME = 1448, 1500, 1538


def with_events(events: list[dict[str, Any]], *, middle: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Three links of 1 Gbit/s and 20 ms in all; a window that half fills them, so that nothing is lost by itself."""
    links = [{"one_way_delay": "2 ms"}, {"one_way_delay": "6 ms", **(middle or {})}, {"one_way_delay": "2 ms"}]
    settings = {"duration": "4 s", "window": "1 MB", "congestion_control": "reno", "sample_interval": "10 ms"}
    return scenario(links, nic="1 Gbit/s", events=events, transfer=settings | more.pop("transfer", {}), **more)


def run(folder: Path, content: dict[str, Any], *overrides: str) -> tuple[RunRecord, Path]:
    return transfer(plan_of(folder, content, *overrides), folder / "runs")


def received_bytes(bundle: Path, time_s: float) -> int:
    """What the receiver had read by then."""
    table = parquet.read_table(bundle / "samples.parquet", filters=[("end", "=", "receiver")])
    rows = zip(table["time_ns"].to_pylist(), table["bytes"].to_pylist(), strict=True)
    return max((count for time_ns, count in rows if time_ns <= time_s * 1e9), default=0)


def goodput_bps(bundle: Path, from_s: float, to_s: float) -> float:
    return (received_bytes(bundle, to_s) - received_bytes(bundle, from_s)) * 8 / (to_s - from_s)


def link_packets(bundle: Path, column: str, from_s: float, to_s: float, link: int = 1) -> int:
    table = parquet.read_table(bundle / "links.parquet", filters=[("link", "=", link), ("direction", "=", "forward")])
    rows = list(zip(table["time_ns"].to_pylist(), table[column].to_pylist(), strict=True))
    at = [max((count for time_ns, count in rows if time_ns <= time_s * 1e9), default=0) for time_s in (from_s, to_s)]
    return at[1] - at[0]


@pytest.mark.guest
@pytest.mark.exact
def test_exactly_the_next_packets_are_lost_and_sent_again(tmp_path: Path) -> None:
    events = [
        {"at": "1 s", "loss": "1 packet", **THERE},
        {"at": "2 s", "loss": "3 packets", **THERE},
        {"at": "3 s", "loss": "100 packets", **THERE},
        {"at": "3900 ms", "loss": "2 packets", **BACK},
    ]
    record, bundle = run(tmp_path, with_events(events))
    assert [event.packets_lost for event in record.events] == [1, 3, 100, 2]
    for event in record.events:
        assert event.at_s == pytest.approx(event.planned_s, abs=5 * MICROSECONDS)
    # What was lost was sent again, and nothing else was: no queue on this path drops, and ACKs are cumulative.
    assert record.retransmits == 104
    assert link_packets(bundle, "drops", 0, 4) == 104


@pytest.mark.guest
@pytest.mark.exact
def test_a_line_at_half_its_rate_for_a_second(tmp_path: Path) -> None:
    events = [{"at": "2 s", "line_rate": "200 Mbit/s", "for": "1 s", **THERE}]
    record, bundle = run(tmp_path, with_events(events, middle={"queue": "10 MB"}))
    (event,) = record.events
    assert event.at_s == pytest.approx(2, abs=5 * MICROSECONDS)
    assert event.until_s == pytest.approx(3, abs=5 * MICROSECONDS)
    framing = MSS / FRAME
    assert goodput_bps(bundle, 2.1, 2.9) == pytest.approx(200e6 * framing, rel=0.01)
    before = goodput_bps(bundle, 1.0, 1.9)
    assert before > 390e6  # 1 MB at least in 20 ms
    assert record.retransmits == 0


@pytest.mark.guest
@pytest.mark.exact
@pytest.mark.parametrize("middle", [{}, {"duplicate": "30 %"}], ids=["plain", "copies"])
def test_a_link_that_is_down_passes_nothing(tmp_path: Path, middle: dict[str, Any]) -> None:
    """Nor one that copies: netem's loss takes the copy, and lets the packet by."""
    events = [{"at": "2 s", "down": "300 ms", "between": ["r1", "r2"]}]
    record, bundle = run(tmp_path, with_events(events, middle=middle))
    (event,) = record.events
    assert (event.at_s, event.until_s) == pytest.approx((2.0, 2.3), abs=10 * MICROSECONDS)
    assert (event.packets_lost or 0) > 100
    # What entered before 2 s has left the link 6 ms later, and 2 ms later it is read (samples are 10 ms apart).
    assert received_bytes(bundle, 2.29) == received_bytes(bundle, 2.02)
    assert received_bytes(bundle, 4.0) > received_bytes(bundle, 2.3)


@pytest.mark.guest
@pytest.mark.exact
def test_a_longer_way_makes_the_window_carry_less(tmp_path: Path) -> None:
    events = [{"at": "2 s", "one_way_delay": "26 ms", **THERE}]
    record, bundle = run(tmp_path, with_events(events))
    (event,) = record.events
    assert event.at_s == pytest.approx(2, abs=5 * MICROSECONDS)
    assert event.until_s is None
    # The same window, 40 ms instead of 20: half the rate, a window each round trip, of which either end may cut one.
    short, long = goodput_bps(bundle, 1.2, 1.9), goodput_bps(bundle, 2.5, 3.9)
    assert long / short == pytest.approx(0.5, rel=1 / 35)
    assert record.retransmits == 0


@pytest.mark.guest
def test_background_traffic_takes_its_share_and_no_more(tmp_path: Path) -> None:
    events = [{"at": "2 s", "background": "700 Mbit/s", "for": "1 s", **THERE}]
    record, bundle = run(tmp_path, with_events(events, middle={"queue": "10 MB"}))
    (event,) = record.events
    wanted = 700e6 / 8 / MTU
    assert event.packets_sent == pytest.approx(wanted, rel=0.001)
    # It leaves at the far end of its link; what is under way on the next one has been counted on the first alone.
    under_way = 0.002 * 1e9 / 8 / FRAME
    more = link_packets(bundle, "packets", 0, 4) - link_packets(bundle, "packets", 0, 4, link=2)
    assert wanted - 1 <= more <= wanted + under_way + 1
    left_bps = (1e9 - 700e6 * FRAME / MTU) * MSS / FRAME
    assert goodput_bps(bundle, 2.1, 2.9) == pytest.approx(left_bps, rel=0.02)


@pytest.mark.guest
def test_a_share_is_lost_for_a_time(tmp_path: Path) -> None:
    events = [{"at": "2 s", "loss": "2 %", "for": "1 s", **THERE}]
    record, bundle = run(tmp_path, with_events(events))
    (event,) = record.events
    passed = link_packets(bundle, "packets", 2.0, 3.0)
    lost = event.packets_lost or 0
    share, sigma = lost / (passed + lost), (0.02 * 0.98 / (passed + lost)) ** 0.5
    assert share == pytest.approx(0.02, abs=4 * sigma)
    assert (record.retransmits or 0) >= lost


@pytest.mark.guest
def test_disciplines_are_set_as_the_plan_says(tmp_path: Path) -> None:
    middle = {"discipline": "red", "queue": "1200 kB", "line_rate": "100 Mbit/s"}
    reverse = {"reverse": {"discipline": "fq_codel", "line_rate": "50 Mbit/s"}}
    record, _ = run(tmp_path, with_events([], middle=middle | reverse), "transfer.window=null")
    ahead, back = record.guest.qdiscs["r1"], record.guest.qdiscs["r2"]
    assert "qdisc red 3: dev eth1 parent 2:1 limit 1201514b min 100000b max 300000b ecn" in ahead
    assert "probability 0.02" in ahead
    assert f"qdisc fq_codel 3: dev eth0 parent 2:1 limit {1_201_514 // 1514}p flows 1024 quantum 1514" in back
    assert "target 5ms interval 100ms" in back
    # RED begins at 100 kB: a stream that fills a queue of 1.2 MB otherwise is held far below.
    assert (record.retransmits or 0) > 0


@pytest.mark.guest
def test_an_event_that_the_transfer_does_not_reach_is_told(tmp_path: Path) -> None:
    events = [{"at": "1 h", "loss": "1 packet", **THERE}]
    record, _ = run(tmp_path, with_events(events, transfer={"duration": None, "bytes": "10 MB"}))
    (event,) = record.events
    assert (event.at_s, event.packets_lost) == (None, None)


@pytest.mark.guest
def test_with_ecn_red_marks_instead_of_dropping(tmp_path: Path) -> None:
    """RFC 3168: the same path without it loses packets; with it the window falls and nothing is sent again.

    No more is asked of the goodput than that there is some: while its slow average is above the upper threshold RED
    marks every packet, and CUBIC shrinks its window once a round trip, further than one burst of losses would.
    """
    middle = {"discipline": "red", "queue": "1200 kB", "line_rate": "100 Mbit/s"}
    (tmp_path / "without").mkdir()
    (tmp_path / "with").mkdir()
    lossy, _ = run(tmp_path / "without", with_events([], middle=middle), "transfer.window=null")
    marked, _ = run(tmp_path / "with", with_events([], middle=middle), "transfer.window=null", "transfer.ecn=true")
    assert (lossy.retransmits or 0) > 0
    assert marked.retransmits == 0
    assert 0 < (marked.goodput_bps or 0) < (lossy.goodput_bps or 0)


@pytest.mark.parametrize("packets", [1, 2, 3, 12, loss.MOST_AT_ONCE])
def test_netem_s_model_with_the_chosen_seed_loses_that_many_in_a_row(packets: int) -> None:
    """The kernel's loss_4state as it is written, over the draws that the seed gives."""
    seed, told = loss.exactly(packets)
    model = told.fields
    state, fate = "gap", ""
    for draw in itertools.islice(loss.draws(seed), 5000):
        lost = False
        if state == "gap" and draw < model["p14"] + model["p13"]:
            state, lost = "burst", True
        elif state == "burst":
            state, lost = ("good", False) if draw < model["p32"] else ("burst", True)
        elif state == "good" and draw < model["p23"]:
            state, lost = "burst", True
        fate += "x" if lost else "."
    assert fate == "x" * packets + "." * (5000 - packets)


def test_red_forgets_its_average_as_the_line_would_have_emptied_it() -> None:
    cell_log, table = red_idle_table(9, packet_us=12.0)
    halving_us = 12 / -math.log2(1 - 1 / 512)
    for cell, power in enumerate(table):
        assert power == min(31, int((cell << cell_log) / halving_us))
    assert table[255] == 31
    assert ph.red_weight_log(300_000) == 9
    assert ph.red_weight_log(82_500_000) == 4  # the kernel's 32 bits
    assert ph.red_weight_log(1_250_000_000) == 0
    assert red_idle_table(0, packet_us=0.1) == (0, bytes([0] + [31] * 255))  # the average is the queue
