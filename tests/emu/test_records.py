"""What the records rest on in the emulated world: hops, an exact window, long paths of super-packets."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.emu_fixtures import plan_of, scenario, transfer

pytestmark = pytest.mark.guest

RECORDS = Path(__file__).resolve().parents[2] / "scenarios" / "records"
MSS = 4470 - 52


def steady_bps(bundle: Path, begin_s: float, span_s: float = 60.0) -> float:
    """Payload read from a time on, over the time it took; a window-bound stream comes in one burst a round trip."""
    rows = [row for row in pq.read_table(bundle / "samples.parquet").to_pylist() if row["end"] == "receiver"]
    rows = [row for row in rows if begin_s * 1e9 <= row["time_ns"] <= (begin_s + span_s) * 1e9 + 1e6]
    return (rows[-1]["bytes"] - rows[0]["bytes"]) * 8e9 / (rows[-1]["time_ns"] - rows[0]["time_ns"])


@pytest.mark.parametrize(
    ("file", "rtt_ms"), [("2004-04-14-san-jose-lulea", 276.138), ("2004-06-25-geneva-pasadena", 264.0)]
)
def test_every_hop_is_where_the_scenario_has_it(file: str, rtt_ms: float, tmp_path: Path) -> None:
    """Traceroute both ways within 1 ms at each hop, and the end where it was recorded."""
    plan = plan_of(
        tmp_path,
        RECORDS / f"{file}.yaml",
        "transfer.bytes=null",
        "transfer.duration=4 s",
        "transfer.sample_interval=12 ms",
    )
    record, bundle = transfer(plan, tmp_path)
    calibration = record.calibration
    assert calibration
    delays = [link.forward.delay_ns + link.reverse.delay_ns for link in plan.links]
    for hops, links in ((calibration.hops, delays), (calibration.reverse_hops, delays[::-1])):
        assert len(hops) == len(plan.links)
        for number, hop in enumerate(hops):
            assert hop["rtt_ms"] == pytest.approx(sum(links[: number + 1]) / 1e6, abs=1.0)
    assert record.rtt_ms == pytest.approx(rtt_ms, abs=0.05)
    if file.startswith("2004-04-14"):
        assert record.window.model_dump()["advertised_bytes"] == 36622 * 4096  # 150 MB in units of the window scale
        five_trips = steady_bps(bundle, 2.52, 5 * 0.276)
        assert five_trips == pytest.approx(150e6 * 8 / 0.276138, rel=0.005)
        assert record.limited_by == "window"


def test_an_exact_window_is_offered_to_the_byte(tmp_path: Path) -> None:
    """Window over round trip to 0.3 %, where Linux on its own would have offered more."""
    links = [{"one_way_delay": "25 ms", "line_rate": "10 Gbit/s"}] * 2
    asked = {"duration": "4 s", "window": "9 MB", "window_exact": True, "congestion_control": "reno"}
    record, bundle = transfer(plan_of(tmp_path, scenario(links, mtu="4470 B", transfer=asked)), tmp_path)
    window = -(-9_000_000 // 256) * 256  # rounded up to the window scale of 9 MB, 2^8
    assert record.window.model_dump()["advertised_bytes"] == window
    assert steady_bps(bundle, 2.0) == pytest.approx(window // MSS * MSS * 8 / 0.1, rel=0.003)


def test_the_initial_window_is_the_one_asked_for(tmp_path: Path) -> None:
    """Two packets first, as RFC 2581 had it: two, four, eight … after each round trip."""
    links = [{"one_way_delay": "25 ms", "line_rate": "10 Gbit/s"}] * 2
    asked: dict[str, Any] = {"duration": "1 s", "window": "200 MB", "initial_window": 2, "congestion_control": "reno"}
    _, bundle = transfer(plan_of(tmp_path, scenario(links, mtu="4470 B", transfer=asked)), tmp_path)
    rows = [row for row in pq.read_table(bundle / "samples.parquet").to_pylist() if row["end"] == "sender"]
    assert [row["cwnd_packets"] for row in rows[:8]] == [2 * 2**n for n in range(8)]


def test_super_packets_are_not_serialized_whole_at_each_hop(tmp_path: Path) -> None:
    """Ten lines of 1 Gbit/s: 180 KB stored and forwarded at each would make 20 ms into 34."""
    links = [{"one_way_delay": "1 ms", "line_rate": "1 Gbit/s"}] * 10
    asked = {"duration": "4 s", "window": "1 MB", "window_exact": True, "congestion_control": "reno"}
    found = {}
    for fidelity in ("packets", "super-packets"):
        content = scenario(links, mtu="4470 B", fidelity=fidelity, queue="2 MB", nic="1 Gbit/s", transfer=asked)
        folder = tmp_path / fidelity
        folder.mkdir()
        record, bundle = transfer(plan_of(folder, content), folder)
        assert record.calibration
        assert record.calibration.passed
        found[fidelity] = steady_bps(bundle, 1.0)
    print(found)
    assert found["super-packets"] == pytest.approx(found["packets"], rel=0.1)
