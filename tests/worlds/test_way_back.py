"""Networks whose acknowledgments go over other links or nodes than their data: simulated and emulated alike."""

from pathlib import Path

import pytest

import landspeed as ls
from landspeed.base.captures import Capture
from landspeed.cli import main as cli
from landspeed.report.run_report import render_report
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
    seen = {(link, way): passed(samples, link, way, 10, 20) for link in (1, 2) for way in ("forward", "reverse")}
    assert seen[2, "forward"] == pytest.approx(10 * 200e3 / (90 * 8), rel=0.005)
    assert seen[1, "forward"] > 2 * seen[2, "forward"]
    assert seen[1, "reverse"] == seen[2, "reverse"] == 0


# --- Over other nodes ------------------------------------------------------------------------------------------------

NODES = """\
format: 1
name: around
title: there over m; back over x and y, or over s
line_rate: 100 Mbit/s
queue: 500 kB
links:
  - {from: a, to: r1, one_way_delay: 1 ms}
  - {from: r1, to: m, one_way_delay: 3 ms}
  - {from: m, to: r2, one_way_delay: 2 ms, line_rate: 50 Mbit/s}
  - {from: r2, to: b, one_way_delay: 1 ms}
  - {from: r2, to: x, one_way_delay: 10 ms, line_rate: 2 Mbit/s, mtu: 1400 B}
  - {from: x, to: y, one_way_delay: 20 ms, line_rate: 400 kbit/s}
  - {from: y, to: r1, one_way_delay: 30 ms, line_rate: 2 Mbit/s}
  - {from: b, to: s, one_way_delay: 5 ms, line_rate: 10 Mbit/s}
  - {from: s, to: a, one_way_delay: 7 ms, line_rate: 10 Mbit/s}
  - {from: p, to: z, one_way_delay: 1 ms}
  - {from: z, to: q, one_way_delay: 1 ms}
events:
  - {at: 2 s, down: 100 ms, from: x, to: y}
flows:
  - {name: window, from: a, to: b, route: [a, r1, m, r2, b], route_back: [b, r2, x, y, r1, a], duration: 6 s,
     window: 49232 B, window_exact: true}
  - {name: line, from: a, to: b, route: [a, r1, m, r2, b], route_back: [b, s, a], start: 8 s, duration: 8 s}
  - {name: thin, from: a, to: b, route: [a, r1, m, r2, b], route_back: [b, r2, x, y, r1, a], start: 18 s,
     duration: 20 s}
  - {name: clock, from: p, to: q, protocol: udp, rate: 80 kbit/s, packet: 1000 B, duration: 38 s}
"""
AHEAD_S, LONG_S, SHORT_S = 0.007, 0.062, 0.012
AHEAD, LONG, SHORT = (1e8, 1e8, 5e7, 1e8), (1e8, 2e6, 4e5, 2e6, 1e8), (1e7, 1e7)


def line_s(size: int, *lines: float) -> float:
    """Time to send a packet of that size, with 38 B of framing, over lines one after the other."""
    return sum((size + 38) * 8 / rate for rate in lines)


@pytest.fixture(scope="module", params=["sim", pytest.param("emu", marks=pytest.mark.guest)])
def around(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("around")
    (folder / "around.yaml").write_text(NODES)
    return ls.run(folder / "around.yaml", world=request.param, runs_dir=folder / "runs").bundle


def test_an_echo_takes_both_ways(around: Path) -> None:
    record = load_record(around)
    assert record.passed
    echoes = [(AHEAD_S + back + line_s(84, *AHEAD, *lines)) * 1e3 for back, lines in ((LONG_S, LONG), (SHORT_S, SHORT))]
    assert [flow.rtt_ms for flow in record.flows[:3]] == pytest.approx([echoes[0], echoes[1], echoes[0]], abs=0.001)
    for flow in record.flows[:3]:
        found = flow.calibration
        assert found is not None and all(check.ok for check in found.checks)
        assert found.path_mtu_bytes == 1500
        last = [(hop["node"], hop["rtt_ms"]) for hop in (found.hops[-1], found.reverse_hops[-1])]
        assert last == [("b", flow.rtt_ms), ("a", flow.rtt_ms)]
    slowest = [flow.calibration.rate_reverse_bps for flow in record.flows[:3] if flow.calibration]
    assert slowest == pytest.approx([4e5 * 1400 / 1438, 1e7 * 1500 / 1538, 4e5 * 1400 / 1438], rel=0.001)
    if record.world == "emu":
        found = record.flows[1].calibration
        assert found is not None and [hop["node"] for hop in found.hops] == ["r1", "m", "r2", "b"]
        assert [hop["node"] for hop in found.reverse_hops] == ["s", "a"]


def test_tcp_measures_the_round_trip_of_both_ways(around: Path) -> None:
    samples = Samples(around)
    for name, back_s, lines in (("window", LONG_S, LONG), ("line", SHORT_S, SHORT)):
        least_us = min(filter(None, samples.of_flow(name).sender["min_rtt_us"].to_pylist()))
        # A packet of the handshake has 60 B at most; what little data comes after it is acknowledged by 52 B.
        fastest, slowest = ((AHEAD_S + back_s + line_s(size, *AHEAD, *lines)) * 1e6 for size in (52, 60))
        assert 0.999 * fastest < least_us < 1.001 * slowest


def test_a_window_goes_round_once_in_a_round_trip_of_both_ways(around: Path) -> None:
    record = load_record(around)
    flow = record.flows[0]
    rtt_s = AHEAD_S + LONG_S + line_s(1500, *AHEAD) + line_s(52, *LONG)
    curves = Samples(around).of_flow("window", flow.begins_s or 0.0).curves
    assert curves is not None
    assert curves.goodput_bps(3.0, 6.0) == pytest.approx(34 * 1448 * 8 / rtt_s, rel=0.02)
    assert flow.limited_by == "window"


def test_the_line_ahead_limits_where_the_way_back_is_wide(around: Path) -> None:
    flow = load_record(around).flows[1]
    curves = Samples(around).of_flow("line", flow.begins_s or 0.0).curves
    assert curves is not None
    assert curves.goodput_bps(5.0, 8.0) == pytest.approx(50e6 * 1448 / 1538, rel=0.02)
    assert flow.limited_by == "line rate" and "link 3 m–r2" in str(flow.limited_by_why)


def test_a_thin_line_of_the_way_back_limits(around: Path) -> None:
    flow, samples = load_record(around).flows[2], Samples(around)
    assert flow.limited_by == "ack path" and "x → y was full" in str(flow.limited_by_why)
    begin_s = flow.begins_s or 0.0
    acks = passed(samples, 5, "forward", begin_s + 10, begin_s + 20)
    assert acks == pytest.approx(10 * 400e3 / (90 * 8), rel=0.005)


def test_data_is_on_the_one_way_and_acknowledgments_are_on_the_other(around: Path) -> None:
    record, samples = load_record(around), Samples(around)
    spans = {
        flow.name: ((flow.begins_s or 0) - 0.5, (flow.begins_s or 0) + (flow.duration_s or 0) + 1)
        for flow in record.flows
    }
    for name, back in (("window", (4, 5, 6)), ("line", (7, 8)), ("thin", (4, 5, 6))):
        for link in range(9):
            mean = {way: mean_bytes(samples, link, way, *spans[name]) for way in ("forward", "reverse")}
            if link in (1, 2):
                assert mean["forward"] > 1300 and mean["reverse"] == 0, (name, link)
            elif link in back:
                assert 0 < mean["forward"] < 120 and mean["reverse"] == 0, (name, link)
            elif link > 3:
                assert mean == {"forward": 0, "reverse": 0}, (name, link)


def test_an_event_on_the_way_back_alone_takes_acknowledgments(around: Path) -> None:
    (event,) = load_record(around).events
    # 34 packets of a window in 75.6 ms, an acknowledgment for two of them, 100 ms long; or the window ends before.
    assert event.packets_lost and 10 <= event.packets_lost <= 24
    assert load_record(around).flows[0].retransmits is not None


def test_the_report_draws_both_ways(around: Path) -> None:
    page = render_report(around)
    for nodes in ("a, r1, m, r2, b", "b, r2, x, y, r1, a", "b, s, a"):
        assert f": {nodes}" in page
    thin = page.partition("Flow thin</h2>")[2].partition("Flow clock</h2>")[0]
    assert thin.count('class="path wide"') == 2
    there, back = thin.split('class="path wide"')[1:3]
    assert "link bottleneck" not in there and back.count("link bottleneck") == 1


@pytest.mark.guest
def test_every_hop_answers_on_both_ways_over_ipv6_and_captures_have_one_each(tmp_path: Path) -> None:
    """A receiver of two links: no packet of data is in the captures of its way back, nor an answer in the others."""
    text = NODES.partition("events:")[0] + "ip: 6\nflows:\n"
    text += "  - {name: data, from: a, to: b, route: [a, r1, m, r2, b], route_back: [b, s, a], duration: 2 s}\n"
    (tmp_path / "two.yaml").write_text(text)
    words = ["run", str(tmp_path / "two.yaml"), "--evidence", "--quiet", "--out", str(tmp_path / "runs")]
    assert cli.main(words) == 0
    (bundle,) = (tmp_path / "runs").iterdir()
    (flow,) = load_record(bundle).flows
    assert flow.calibration is not None and all(check.ok for check in flow.calibration.checks)
    assert [hop["node"] for hop in flow.calibration.hops] == ["r1", "m", "r2", "b"]
    assert [hop["node"] for hop in flow.calibration.reverse_hops] == ["s", "a"]
    for end in ("sender", "receiver"):
        data, answers = (
            [length for _, _, _, length, _ in Capture(bundle / f"flows/data/evidence/capture-{end}{way}.pcap")]
            for way in ("", "-back")
        )
        assert len(data) > len(answers) > 500
        assert sum(data) / len(data) > 1300 and sum(answers) / len(answers) < 120


def mean_bytes(samples: Samples, link: int, way: str, *span_s: float) -> float:
    """Mean size of the packets that passed a direction of a link; 0 if none did."""
    count = passed(samples, link, way, *span_s)
    return passed(samples, link, way, *span_s, column="bytes") / count if count else 0


def passed(samples: Samples, link: int, way: str, *span_s: float, column: str = "packets") -> int:
    """What passed a direction of a link between two times."""
    rows = samples.link(link, way)
    times, counts = rows["time_ns"].to_pylist(), rows[column].to_pylist()
    first, last = (min(range(len(times)), key=lambda n: abs(times[n] - at * 1e9)) for at in span_s)
    return counts[last] - counts[first]
