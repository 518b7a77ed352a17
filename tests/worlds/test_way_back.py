"""A network whose acknowledgments go over another link than its data: simulated and emulated alike."""

from pathlib import Path

import pytest

import landspeed as ls
from landspeed.results.bundle import load_record
from landspeed.results.record import RunRecord
from landspeed.results.samples_reader import Samples

SCENARIO = """\
format: 1
name: thin
title: land there, a thin sky back
line_rate: 100 Mbit/s
queue: 500 kB
links:
  - {from: a, to: r1, one_way_delay: 1 ms}
  - {from: r1, to: r2, name: land, one_way_delay: 5 ms, line_rate: 50 Mbit/s}
  - {from: r2, to: r1, name: sky, one_way_delay: 270 ms, line_rate: 200 kbit/s}
  - {from: r2, to: b, one_way_delay: 1 ms}
transfer: {duration: 20 s}
flows:
  - {name: data, from: a, to: b, route: [a, r1, land, r2, b], route_back: [b, r2, sky, r1, a]}
"""
RTT_MS = 1 + 5 + 1 + 1 + 270 + 1 + 122 * 8e3 * (4 / 1e8 + 1 / 5e7 + 1 / 2e5)  # with an echo's 84 B and 38 B of framing


@pytest.fixture(scope="module", params=["sim", pytest.param("emu", marks=pytest.mark.guest)])
def bundle(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("back")
    (folder / "thin.yaml").write_text(SCENARIO)
    return ls.run(folder / "thin.yaml", world=request.param, runs_dir=folder / "runs", report=False).bundle


@pytest.fixture
def record(bundle: Path) -> RunRecord:
    return load_record(bundle)


def test_the_round_trip_is_that_of_both_ways(record: RunRecord) -> None:
    (flow,) = record.flows
    assert flow.rtt_ms == pytest.approx(RTT_MS, abs=0.001)
    found = flow.calibration
    assert found is not None and all(check.ok for check in found.checks)
    assert [hop["node"] for hop in found.hops] == ["r1", "r2", "b"]
    assert [hop["node"] for hop in found.reverse_hops] == ["r2", "r1", "a"]


def test_acknowledgments_fill_the_thin_line_and_nothing_else_does(bundle: Path, record: RunRecord) -> None:
    (flow,) = record.flows
    # 200 kbit/s are 278 packets a second of 52 B with 38 B of framing, each of some two packets of data.
    assert flow.limited_by == "ack path" and "r2 → r1 was full 100 %" in str(flow.limited_by_why)
    assert "277 packets a second" in str(flow.limited_by_why) or "278 packets a second" in str(flow.limited_by_why)
    samples = Samples(bundle)
    passed = {(link, way): packets(samples, link, way) for link in (1, 2) for way in ("forward", "reverse")}
    assert passed[2, "forward"] == pytest.approx(10 * 200e3 / (90 * 8), rel=0.005)
    assert passed[1, "forward"] > 2 * passed[2, "forward"]
    assert passed[1, "reverse"] == passed[2, "reverse"] == 0


def packets(samples: Samples, link: int, way: str) -> int:
    """How many passed a direction of a link from 10 s to 20 s."""
    rows = samples.link(link, way)
    times, counts = rows["time_ns"].to_pylist(), rows["packets"].to_pylist()
    return (
        counts[min(range(len(times)), key=lambda n: abs(times[n] - 20e9))]
        - counts[min(range(len(times)), key=lambda n: abs(times[n] - 10e9))]
    )
