"""Flows of datagrams, emulated and simulated alike: what is lost, and how late the rest comes, by arithmetic."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

import landspeed as ls
from landspeed.base import limits
from landspeed.report.beside_recorded import datagram_words
from landspeed.results.bundle import load_record
from landspeed.results.flow_result import FlowResult
from landspeed.results.query import query
from landspeed.results.record import RunRecord
from landspeed.results.samples_reader import Samples
from landspeed.scenario.theory.speech import mean_opinion, rating
from tests.support.scenario_errors import refused

SECONDS = 10
LINE, FRAMING = 10e6, 38
FLOWS: dict[str, dict[str, Any]] = {
    "alone": {"rate": "2 Mbit/s", "packet": "500 B"},
    "full": {"rate": "12 Mbit/s", "packet": "1200 B"},
    "chance": {"rate": "1 Mbit/s", "packet": "125 B"},
    "shaky": {"rate": "250 kbit/s", "packet": "125 B"},
    "turns": {"rate": "1 Mbit/s", "packet": "250 B", "active": "200 ms", "idle": "300 ms"},
    "voice": {"call": "g711"},
}
LAST: dict[str, dict[str, str]] = {
    "full": {"queue": "30 kB"},
    "chance": {"loss": "2 %"},
    "shaky": {"jitter": "2 ms"},
    "voice": {"one_way_delay": "150 ms"},
}
TCP_QUEUE = 60_000


def scenario() -> dict[str, Any]:
    """A way of its own for each flow: 5 ms, and 5 ms behind a line of 10 Mbit/s; one shares it with TCP."""
    links: list[dict[str, Any]] = []
    for name in (*FLOWS, "beside"):
        links.append({"from": f"s-{name}", "to": f"m-{name}", "line_rate": "100 Mbit/s"})
        links.append({"from": f"m-{name}", "to": f"d-{name}", **LAST.get(name, {})})
    links[-1]["queue"] = f"{TCP_QUEUE} B"
    flows = [{"name": name, "protocol": "udp", **keys} for name, keys in FLOWS.items()]
    flows += [{"name": "beside", "protocol": "udp", "rate": "4 Mbit/s", "packet": "1000 B"}, {"name": "stream"}]
    for flow in flows:
        end = "beside" if flow["name"] == "stream" else flow["name"]
        flow |= {"from": f"s-{end}", "to": f"d-{end}"}
    for number, link in enumerate(links):
        links[number] = {"one_way_delay": "5 ms", **link}
    whole = {"format": 1, "name": "datagrams", "title": "datagrams", "line_rate": "10 Mbit/s", "links": links}
    return whole | {"flows": flows, "transfer": {"duration": f"{SECONDS} s", "window": "1 MB"}}


@pytest.fixture(scope="module", params=["sim", pytest.param("emu", marks=pytest.mark.guest)])
def bundle(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("datagrams")
    return ls.run(ls.Scenario.build(scenario()), world=request.param, runs_dir=folder).bundle


@pytest.fixture
def record(bundle: Path) -> RunRecord:
    return load_record(bundle)


@pytest.fixture
def flows(record: RunRecord) -> dict[str, FlowResult]:
    return {flow.name: flow for flow in record.flows}


def way_ms(packet: int, prop_ms: float = 10.0) -> float:
    """Propagation, and the packet on both lines."""
    return prop_ms + (packet + FRAMING) * 8e3 * (1 / 100e6 + 1 / LINE)


def known(value: float | None) -> float:
    assert value is not None
    return value


@pytest.mark.slow
def test_an_idle_way_takes_what_the_lines_take_and_no_more(flows: dict[str, FlowResult]) -> None:
    flow = flows["alone"]
    assert (flow.udp_sent, flow.udp_received, flow.udp_lost) == (500 * SECONDS, 500 * SECONDS, 0)
    assert flow.udp_jitter_ms == pytest.approx(0, abs=1e-6)
    for value in (flow.udp_delay_min_ms, flow.udp_delay_p50_ms, flow.udp_delay_p99_ms):
        assert value == pytest.approx(way_ms(500), rel=2e-4)  # a histogram's step is 1/8192
    assert flow.goodput_bps == pytest.approx(2e6 * 472 / 500, rel=1e-6)
    assert (flow.limited_by, flow.udp_reordered, flow.udp_duplicates) == (limits.PACING, 0, 0)


@pytest.mark.slow
def test_a_full_queue_loses_what_the_line_does_not_carry(record: RunRecord, flows: dict[str, FlowResult]) -> None:
    flow, takes_s = flows["full"], (1200 + FRAMING) * 8 / LINE
    held = 30_000 // (1214 if record.world == "emu" else 1200)  # Linux counts the Ethernet header
    # The line sends all the time from the first arrival to the last, and then what the queue holds.
    assert flow.udp_sent == 1250 * SECONDS
    assert flow.udp_received == pytest.approx(SECONDS / takes_s + held, abs=2)
    longest_ms = way_ms(1200) + held * takes_s * 1e3
    assert known(flow.udp_delay_max_ms) == pytest.approx(longest_ms, abs=takes_s * 1e3)
    assert known(flow.udp_delay_p50_ms) == pytest.approx(longest_ms - takes_s * 5e2, abs=takes_s * 6e2)
    assert flow.limited_by == limits.LINE_RATE and "before the line of link 2" in str(flow.limited_by_why)


@pytest.mark.slow
def test_chance_loses_its_share_and_spreads_its_delays(flows: dict[str, FlowResult]) -> None:
    flow = flows["chance"]
    sent = known(flow.udp_sent)
    assert sent == 1000 * SECONDS
    assert abs(known(flow.udp_lost) - 0.02) < 5 * math.sqrt(0.02 * 0.98 / sent)
    assert flow.limited_by == limits.PACING and "by chance" in str(flow.limited_by_why)
    shaky = flows["shaky"]
    # Of two delays that are each even over 4 ms the difference is 4/3 ms in the mean, with a variance of 8/9 ms²;
    # two differences that follow each other share a delay: their covariance is a tenth of that.
    count = known(shaky.udp_received)
    deviation = math.sqrt(8 / 9 * 1.2 / count)
    assert count == 250 * SECONDS
    assert abs(known(shaky.udp_jitter_mean_ms) - 4 / 3) < 5 * deviation
    # RFC 3550 forgets a sixteenth at each: its deviation is that of 31 of them.
    assert abs(known(shaky.udp_jitter_ms) - 4 / 3) < 5 * math.sqrt(8 / 9 * 1.2 / 31)
    assert known(shaky.udp_delay_p95_ms) - known(shaky.udp_delay_p50_ms) == pytest.approx(1.8, abs=0.15)


@pytest.mark.slow
def test_what_rests_in_turns_sends_as_many_as_have_their_time(flows: dict[str, FlowResult]) -> None:
    flow = flows["turns"]
    assert flow.udp_sent == flow.udp_received == 100 * 2 * SECONDS
    assert flow.duration_s == pytest.approx(SECONDS)
    assert flow.goodput_bps == pytest.approx(0.4 * 1e6 * 222 / 250, rel=1e-6)


@pytest.mark.slow
def test_a_call_sounds_as_its_delay_says(flows: dict[str, FlowResult]) -> None:
    flow = flows["voice"]
    assert (flow.udp_sent, flow.udp_lost) == (50 * SECONDS, 0)
    assert flow.udp_call_mos == pytest.approx(mean_opinion(rating(way_ms(200, 155) + 20, 0)), abs=0.002)


@pytest.mark.slow
def test_beside_tcp_it_keeps_its_rate_and_tcp_takes_the_rest(flows: dict[str, FlowResult]) -> None:
    flow, stream = flows["beside"], flows["stream"]
    assert known(flow.udp_lost) < 0.03
    left = LINE - known(flow.goodput_bps) / 972 * (1000 + FRAMING)
    assert known(stream.settled_goodput_bps) == pytest.approx(left * 1448 / 1538, rel=0.04)
    assert known(flow.udp_delay_p99_ms) < way_ms(1000) + TCP_QUEUE * 8e3 / LINE * 1.05
    assert flow.limited_by in (limits.PACING, limits.SHARED_LINE)


@pytest.mark.slow
def test_one_flow_of_tcp_among_datagrams_has_nobody_to_be_fair_to(record: RunRecord) -> None:
    assert record.jain_index is None


@pytest.mark.slow
def test_record_queries_and_samples_know_them(bundle: Path, record: RunRecord, flows: dict[str, FlowResult]) -> None:
    rows = query("select flow, udp_lost, udp_delay_p99_ms from flows order by flow", bundle.parent).rows
    assert {row[0]: row[1] for row in rows} == {name: flow.udp_lost for name, flow in flows.items()}
    assert record.plan is not None
    series = Samples(bundle).of_flow("alone").curves
    assert series is not None
    assert series.goodput_bps(2, 8) == pytest.approx(2e6 * 472 / 500, rel=0.01)
    words = ", ".join(datagram_words(flows["voice"]))
    assert "0.00 % lost" in words and "MOS" in words
    assert "call (G711)" in (bundle / "report.html").read_text()


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"protocol": "udp"}, "sends datagrams at no rate"),
        ({"rate": "5 Mbit/s"}, "rate is of datagrams, and the transfer is TCP"),
        ({"protocol": "udp", "rate": "5 Mbit/s", "window": "1 MB"}, "window is of TCP"),
        ({"protocol": "udp", "rate": "5 Mbit/s", "bytes": "1 MB"}, "write duration instead"),
        ({"protocol": "udp", "call": "g711", "rate": "5 Mbit/s"}, "a call has its own rate"),
        ({"protocol": "udp", "rate": "5 Mbit/s", "active": "1 s"}, "active without idle"),
        ({"protocol": "udp", "rate": "5 Mbit/s", "packet": "1501 B"}, "write at most 1500 B"),
        ({"protocol": "udp", "rate": "5 Mbit/s", "packet": "67 B"}, "too small"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, keys: dict[str, str], said: str) -> None:
    hosts = {"s": {"role": "sender"}, "r": {"role": "receiver"}}
    path = [{"from": "s", "to": "m", "one_way_delay": "1 ms"}, {"from": "m", "to": "r", "one_way_delay": "1 ms"}]
    whole = {"format": 1, "name": "s", "title": "s", "line_rate": "1 Gbit/s", "hosts": hosts, "path": path}
    text = json.dumps(whole | {"transfer": keys if "bytes" in keys else {"duration": "1 s"} | keys})
    (tmp_path / "s.yaml").write_text(text)
    assert said in refused(tmp_path / "s.yaml")
