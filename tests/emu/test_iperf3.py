"""iperf3 makes the flows of a network: at their times, several to one host, each with its results; else it refuses."""

import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from landspeed.report.run_report import render_report
from landspeed.results.record import RunRecord
from landspeed.results.samples_reader import Samples
from landspeed.scenario.plan.flow_path import path_of
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.emu.iperf3 import IPERF3
from landspeed.worlds.tool import ToolRefused
from tests.support.command import landspeed
from tests.support.emu_fixtures import plan_of, scenario, transfer, write_scenario

LINKS = [
    {"from": "near", "to": "left", "one_way_delay": "1 ms"},
    {"from": "far", "to": "left", "one_way_delay": "41 ms"},
    {"from": "left", "to": "right", "one_way_delay": "8 ms", "line_rate": "300 Mbit/s"},
    {"from": "right", "to": "sink", "one_way_delay": "1 ms"},
]
FLOWS: list[dict[str, Any]] = [
    {"name": "near", "from": "near", "to": "sink", "duration": "10 s"},
    {"name": "far", "from": "far", "to": "sink", "duration": "8 s", "start": "2 s", "streams": 2},
    {"name": "short", "from": "near", "to": "sink", "duration": "2 s", "start": "4 s"},
]
# A window of 32 kB for each stream: 13 Mbit/s at 20 ms, and at 100 ms 2.6 Mbit/s each. All fits; nothing queues. Slow
# start takes it two round trips, in which 20 kB less are sent: 0.8 % of what a stream of far sends in its 8 s, and
# 0.6 % of what short sends in 2 s. (Most of what the test takes is the capture of each packet.)
ASKED = {"window": "32 kB", "congestion_control": "cubic"}


def network(flows: list[dict[str, Any]], **transfer: Any) -> dict[str, Any]:
    head = {"format": 1, "name": "test", "title": "A test", "line_rate": "1 Gbit/s", "queue": "1 MB", "links": LINKS}
    return head | {"flows": flows, "transfer": ASKED | transfer}


# --- What it cannot do -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"receive": "verify"}, "does not verify"),
        ({"duration": None, "bytes": "20 MB"}, "ends when it has sent all"),
        ({"duration": "2500 ms"}, "counts whole seconds"),
        ({"sample_interval": "99 ms"}, "samples every 100 ms to 60 s"),
        ({"sample_interval": "61 s"}, "samples every 100 ms to 60 s"),
        ({"window": "513 MiB"}, "at most 512 MiB"),
        ({"window_exact": True}, "window to the byte"),
        ({"streams": 2, "start_stagger": "1 s"}, "starts all streams at once"),
        ({"send": "splice"}, "no transfer.send: splice"),
        ({"streams": 2, "congestion_controls": ["reno", "cubic"]}, "one congestion control"),
    ],
)
def test_it_refuses_by_name_what_a_flow_asks_for(tmp_path: Path, asked: dict[str, Any], said: str) -> None:
    plan = plan_of(tmp_path, network([FLOWS[0], FLOWS[1] | asked]))
    with pytest.raises(ToolRefused, match=f"iperf3 cannot make this transfer: flow far: it .*{said}"):
        IPERF3.check(plan)
    IPERF3.check(plan_of(tmp_path, network(FLOWS)))


@pytest.mark.guest
def test_it_has_no_mptcp(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, network(FLOWS))
    far = replace(plan.flows[1], transfer=replace(plan.flows[1].transfer, mptcp=True))
    with pytest.raises(ToolRefused, match="flow far: it has no MPTCP"):
        IPERF3.check(replace(plan, flows=[plan.flows[0], far]))


@pytest.mark.guest
def test_what_all_flows_ask_for_is_said_once_and_ends_with_2(tmp_path: Path) -> None:
    done = landspeed("run", write_scenario(tmp_path, network(FLOWS, receive="verify")), "--tool", "iperf3")
    assert done.returncode == 2
    assert "iperf3 cannot make this transfer: it does not verify what it receives" in done.stderr


@pytest.mark.guest
def test_a_start_between_two_seconds_ends_with_2(tmp_path: Path) -> None:
    """Of no tool: where programs begin at whole seconds, a run repeats to the byte."""
    flows = [FLOWS[0], FLOWS[1] | {"start": "1000000001 ns"}]
    done = landspeed("run", write_scenario(tmp_path, network(flows)), "--tool", "iperf3")
    assert done.returncode == 2 and "far starts at 1000000.001 µs" in done.stderr
    assert "write 1 s or 2 s: so a run repeats to the byte" in done.stderr


def test_events_and_flows_that_begin_later_do_not_go_together(tmp_path: Path) -> None:
    """Also on a link that no flow passes: who starts the later flows cannot look after the links meanwhile."""
    event = {"at": "1 s", "loss": "1 packet", "from": "left", "to": "spare"}
    spare = {"from": "left", "to": "spare", "one_way_delay": "1 ms"}
    more = {"events": [event], "links": [*LINKS, spare]}
    with pytest.raises(ToolRefused, match="its flows are started one after the other, and events do not wait"):
        IPERF3.check(plan_of(tmp_path, network(FLOWS) | more))
    IPERF3.check(plan_of(tmp_path, network([flow | {"start": "0 s"} for flow in FLOWS]) | more))


# --- What it does ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[4, 6])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, RunRecord, Path]:
    folder = tmp_path_factory.mktemp("iperf3")
    plan = plan_of(folder, network(FLOWS) | {"ip": request.param})
    return plan, *transfer(plan, folder, tool="iperf3", evidence=True)


@pytest.mark.guest
def test_each_flow_has_its_results(run: tuple[Plan, RunRecord, Path]) -> None:
    """The window, as Linux makes it, per round trip; near and far are alone on their links."""
    plan, record, bundle = run
    assert record.passed and record.tool == "iperf3" and record.retransmits == 0
    near, far, short = record.flows
    assert [len(flow.streams) for flow in record.flows] == [1, 2, 1]
    assert near.duration_s == pytest.approx(10.0, abs=0.1) and far.duration_s == pytest.approx(8.0, abs=0.3)
    assert short.duration_s == pytest.approx(2.0, abs=0.1) and short.bytes is not None and near.bytes is not None
    assert short.bytes * 5 == pytest.approx(near.bytes, rel=0.05)  # a fifth of the time, at the same pace
    assert record.bytes == sum(flow.bytes or 0 for flow in record.flows)
    assert far.goodput_bps is not None and near.goodput_bps is not None
    # Twice the window at five times the RTT.
    assert far.goodput_bps / near.goodput_bps == pytest.approx(2 * 20 / 100, rel=0.05)
    page = render_report(bundle)
    assert all(f"Flow {flow.name}</h2>" in page for flow in plan.flows)


@pytest.mark.guest
def test_it_begins_when_it_is_told_and_its_samples_are_in_their_place(run: tuple[Plan, RunRecord, Path]) -> None:
    """Each flow's first data leaves when `begins_s` says: iperf3 does not tell it, its capture does."""
    plan, record, bundle = run
    samples = Samples(bundle)
    for flow, known in zip(plan.flows, record.flows, strict=True):
        capture = bundle / "flows" / flow.name / "evidence" / "capture-sender.pcap"
        sends_ns = first_full_packet_ns(capture.read_bytes(), path_of(plan, flow).physics.mss_bytes)
        assert known.tool_result.start_unix_ns == pytest.approx(sends_ns, abs=5_000_000), flow.name
        handshake_s = IPERF3.handshake_ns(path_of(plan, flow)) / 1e9
        first_s = IPERF3.handshake_ns(path_of(plan, plan.flows[0])) / 1e9
        assert known.begins_s == pytest.approx(flow.start_ns / 1e9 + handshake_s - first_s, abs=0.001)
        times = samples.of_flow(flow.name, known.begins_s or 0.0).receiver["time_ns"].to_pylist()
        assert min(times) == pytest.approx(100_000_000, rel=0.05)
        assert max(times) / 1e9 == pytest.approx(known.duration_s, abs=0.15)


def first_full_packet_ns(pcap: bytes, mss: int) -> int:
    """When the first packet with a whole segment was seen (pcap-savefile(5), microseconds or nanoseconds)."""
    scale = 1 if struct.unpack_from("<I", pcap)[0] == 0xA1B23C4D else 1000
    at = 24
    while at < len(pcap):
        seconds, part, kept, whole = struct.unpack_from("<IIII", pcap, at)
        if whole > mss:
            return seconds * 1_000_000_000 + part * scale
        at += 16 + kept
    raise AssertionError("no full packet")


@pytest.mark.guest
def test_it_and_the_engine_get_the_same(run: tuple[Plan, RunRecord, Path], tmp_path: Path) -> None:
    """Of the window's limit; slow start is a part of both."""
    plan, record, _ = run
    if plan.ip_version == 6:
        pytest.skip("once is enough")
    engine, _ = transfer(plan, tmp_path)
    for mine, theirs in zip(record.flows[:2], engine.flows[:2], strict=True):
        assert mine.goodput_bps == pytest.approx(theirs.goodput_bps, rel=0.05), mine.name


@pytest.mark.guest
def test_the_same_flows_twice_give_the_same_bytes(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, network([FLOWS[0] | {"duration": "4 s"}, FLOWS[1] | {"start": "1 s", "duration": "2 s"}]))

    def measured(name: str) -> tuple[bytes, bytes]:
        _, bundle = transfer(plan, tmp_path / name, tool="iperf3")
        return (bundle / "samples.parquet").read_bytes(), (bundle / "links.parquet").read_bytes()

    assert measured("a") == measured("another-folder")


@pytest.mark.guest
def test_compare_has_a_part_for_each_flow(tmp_path: Path) -> None:
    file = write_scenario(
        tmp_path, network([FLOWS[0] | {"duration": "2 s"}, FLOWS[1] | {"start": "1 s", "duration": "2 s"}])
    )
    bundles = []
    for tool in ("engine", "iperf3"):
        done = landspeed("run", file, "--tool", tool, "--json", "--out", tmp_path / tool)
        assert done.returncode == 0, done.stderr
        bundles.append(json.loads(done.stdout)["bundle"])
    compared = landspeed("compare", *bundles)
    assert compared.returncode == 0, compared.stderr
    assert " Flow near" in compared.stdout and " Flow far" in compared.stdout


@pytest.mark.guest
def test_an_outage_comes_at_its_time_and_is_survived(tmp_path: Path) -> None:
    """Five minutes, in which iperf3's own server would wait for two. Its figures are those of whole seconds."""
    links = [{"one_way_delay": "1 ms"}, {"one_way_delay": "24 ms", "queue": "100 kB"}]
    cut = [{"at": "10 s", "down": "300 s", "between": ["r1", "omega"]}]
    asked = {"duration": "450 s", "sample_interval": "1 s"}
    content = scenario(links, line_rate="10 Mbit/s", nic="10 Mbit/s", events=cut, transfer=asked)
    record, bundle = transfer(plan_of(tmp_path, content), tmp_path / "runs", tool="iperf3")
    assert record.complete
    (event,) = record.events
    assert (event.at_s, event.until_s) == (pytest.approx(10, abs=1e-3), pytest.approx(310, abs=1e-3))
    read = {row["time_ns"] // 10**9: row["bytes"] for row in Samples(bundle).receiver.to_pylist()}
    assert read[11] == read[309] < read[449]
    assert read[10] * 8 == pytest.approx(10 * 9.41e6, rel=0.02)
