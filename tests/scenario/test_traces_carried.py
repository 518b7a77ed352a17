"""Traces on their links: what both worlds carry in each interval, in which order, and that a run repeats."""

from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from landspeed.results.record import RunRecord
from landspeed.scenario.file.load import load_scenario
from landspeed.worlds.registry import plan_for
from tests.support.emu_fixtures import plan_of, scenario, transfer, write_scenario
from tests.support.sim_fixtures import simulate

MS, S = 10**6, 10**9
MTU, FRAME, PAYLOAD = 1500, 1538, 1448
STEPS = "time [s],rate [kbit/s]\n0,24608\n2,12304\n4,0\n5,61520\n7,3076\n9,24608\n10,24608\n"
RATES = [(0.0, 2.0, 24608), (2.0, 4.0, 12304), (4.0, 5.0, 0), (5.0, 7.0, 61520), (7.0, 9.0, 3076), (9.0, 10.0, 24608)]


def stepped(folder: Path, **more: Any) -> dict[str, Any]:
    """A line that always has something to send: the window is far more than what is under way, and so is the queue."""
    folder.mkdir(exist_ok=True)
    (folder / "t.csv").write_text(STEPS)
    settings = {"duration": "21 s", "window": "2 MB", "congestion_control": "reno", "sample_interval": "10 ms"}
    links = [
        {"one_way_delay": "1 ms"},
        {"one_way_delay": "10 ms", "trace": "t.csv", "queue": "20 MB", "reverse": {"trace": "none"}},
        {"one_way_delay": "1 ms"},
    ]
    return scenario(links, transfer=settings, **more)


def check_steps(left: dict[int, int], *, allowed: float, late_ms: int = 0) -> None:
    """Of each interval: what has left the line, in packets, against its rate; `left`: time in ms → packets so far.

    `late_ms`: in the guest the delay comes before the line (landspeed/worlds/emu/guest/shaping/link_qdiscs.py).
    """
    for turn in (0, 10):
        for start, end, kbps in RATES:
            if turn == 0 and start == 0:
                continue  # slow start
            packets = left[round(1000 * (turn + end)) + late_ms] - left[round(1000 * (turn + start)) + late_ms]
            wanted = kbps * 1000 * (end - start) / 8 / FRAME
            assert abs(packets - wanted) <= allowed, (turn, start, end, packets, wanted)


@pytest.mark.slow
def test_the_simulator_s_line_carries_each_interval_of_its_trace(tmp_path: Path) -> None:
    """To the packet, also one that is being sent when the rate changes."""
    plan = plan_for(load_scenario(write_scenario(tmp_path, stepped(tmp_path))), "sim")
    run = simulate(plan.to_json(), tmp_path / "run")
    assert run.status == 0, run.error
    rows = [row for row in run.rows("links") if (row["link"], row["direction"]) == (1, 0)]
    check_steps({round((row["time_ns"] or 0) / MS): row["packets"] or 0 for row in rows}, allowed=1)
    mean = plan.physics.expected_goodput_bps
    assert run.goodput_bps(1, 21) == pytest.approx(mean, rel=0.02)


@pytest.mark.guest
def test_the_emulated_line_carries_each_interval_of_its_trace(tmp_path: Path) -> None:
    """To two packets: what is being sent when the rate changes is reckoned at one of the two rates."""
    plan = plan_of(tmp_path, stepped(tmp_path))
    record, bundle = transfer(plan, tmp_path / "runs")
    assert record.calibration is not None and record.calibration.passed
    filters = [("link", "=", 1), ("direction", "=", "forward")]
    table = parquet.read_table(bundle / "links.parquet", filters=filters)
    times = [round(time_ns / MS) for time_ns in table["time_ns"].to_pylist()]
    left = dict(zip(times, table["packets"].to_pylist(), strict=True))
    check_steps(left, allowed=3, late_ms=10)
    assert (record.steady_goodput_bps or 0) == pytest.approx(plan.physics.expected_goodput_bps, rel=0.03)


SHORTER = "time [s],delay [ms]\n0,60\n1,10\n1.5,20\n2,35\n2.5,60\n3,60\n"


def shorter(folder: Path) -> dict[str, Any]:
    """A delay that falls by 50 ms every 3 s, below a window that loses nothing by itself.

    It rises by less than a round trip at a time: two without an acknowledgment would call for a probe (RFC 8985).
    """
    folder.mkdir(exist_ok=True)
    (folder / "t.csv").write_text(SHORTER)
    settings = {"duration": "6 s", "window": "300 kB", "congestion_control": "reno"}
    links = [
        {"one_way_delay": "1 ms"},
        {"trace": "t.csv", "line_rate": "500 Mbit/s", "reverse": {"trace": "none", "one_way_delay": "5 ms"}},
    ]
    return scenario(links, transfer=settings)


@pytest.mark.guest
def test_a_delay_that_falls_lets_nothing_overtake(tmp_path: Path) -> None:
    """Both worlds: what came out of order would be taken for lost, and sent again."""
    record, _ = transfer(plan_of(tmp_path, shorter(tmp_path)), tmp_path / "runs")
    assert record.retransmits == 0
    run = simulate(plan_for(load_scenario(tmp_path / "scenario.yaml"), "sim").to_json(), tmp_path / "run")
    assert run.status == 0, run.error
    assert run.rows("sender")[-1]["retransmits"] == 0


@pytest.mark.guest
def test_a_trace_repeats_to_the_byte_and_moves_delay_and_loss(tmp_path: Path) -> None:
    """Two seconds of 30 ms and 2 % lost, two of 10 ms and nothing lost, twice over; a window that is no limit."""
    made: list[tuple[bytes, bytes]] = []
    record: RunRecord | None = None
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "t.csv").write_text("time [s],delay [ms],loss [%]\n0,10,0\n2,30,2\n4,10,0\n")
        links = [
            {"one_way_delay": "1 ms", "line_rate": "100 Mbit/s"},
            {"trace": "t.csv", "line_rate": "100 Mbit/s", "reverse": {"trace": "none", "one_way_delay": "5 ms"}},
        ]
        asked = {"duration": "8 s", "congestion_control": "bbr", "sample_interval": "10 ms"}
        record, bundle = transfer(plan_of(folder, scenario(links, nic="100 Mbit/s", transfer=asked), seed=4), folder)
        made.append(((bundle / "samples.parquet").read_bytes(), (bundle / "links.parquet").read_bytes()))
        table = parquet.read_table(bundle / "links.parquet", filters=[("link", "=", 1), ("direction", "=", "forward")])
        rows = list(zip(*(table[name].to_pylist() for name in ("time_ns", "packets", "drops")), strict=True))
        for start, loss in ((2, 0.02), (6, 0.02), (4, 0.0)):
            first, last = (max(row for row in rows if row[0] <= at * S) for at in (start + 0.1, start + 2))
            packets, drops = (last[i] - first[i] for i in (1, 2))
            sigma = (packets * loss * (1 - loss)) ** 0.5
            assert abs(drops - (packets + drops) * loss) <= 5 * sigma, (start, packets, drops)
    assert made[0] == made[1]
    assert record is not None and record.retransmits
