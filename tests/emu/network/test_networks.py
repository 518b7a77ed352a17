"""Networks emulated: every route is what the plan says, flows share what they pass, and a run repeats to the byte."""

import re
from pathlib import Path
from typing import Any

import pytest

from landspeed.report.run_report import render_report
from landspeed.results.query import query
from landspeed.results.record import RunRecord
from landspeed.results.samples_reader import Samples
from landspeed.scenario.plan.flow_path import path_of
from landspeed.scenario.plan.plan import Plan
from landspeed.scenario.theory.timing import echo_ns
from tests.support.emu_fixtures import ROOT, execute, plan_of, transfer

pytestmark = pytest.mark.guest
DUMBBELL = ROOT / "scenarios" / "examples" / "dumbbell.yaml"


def network(links: list[dict[str, Any]], flows: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A network of Gigabit links where nothing else is said."""
    head = {"format": 1, "name": "test", "title": "A test", "line_rate": "1 Gbit/s", "queue": "500 kB"}
    return head | {"links": links, "flows": flows} | more


def link(a: str, b: str, delay: str, **more: Any) -> dict[str, Any]:
    return {"from": a, "to": b, "one_way_delay": delay, **more}


# A bottleneck that both share, one from each side, and a way round it; `x` meets itself: it has flows in and out.
LINKS = [
    link("x", "r1", "1 ms"),
    link("r2", "y", "2 ms"),
    link("r1", "r2", "5 ms", line_rate="50 Mbit/s"),
    link("r2", "r3", "4 ms", name="direct", line_rate="200 Mbit/s"),
    link("r2", "r3", "9 ms", name="long"),
    link("z", "r3", "1 ms"),
    link("r3", "r1", "20 ms"),
]
FLOWS = [
    {"name": "ahead", "from": "x", "to": "y", "streams": 2},
    {"name": "against", "from": "y", "to": "x"},
    {
        "name": "later",
        "from": "z",
        "to": "y",
        "start": "2 s",
        "duration": "2 s",
        "route": ["z", "r3", "long", "r2", "y"],
    },
]
ASKED = {"duration": "4 s", "congestion_control": "cubic", "sample_interval": "50 ms"}


@pytest.fixture(scope="module", params=[4, 6])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, RunRecord, Path]:
    folder = tmp_path_factory.mktemp("network")
    plan = plan_of(folder, network(LINKS, FLOWS, ip=request.param, transfer=ASKED))
    return plan, *transfer(plan, folder)


def test_every_route_is_measured_as_planned(run: tuple[Plan, RunRecord, Path]) -> None:
    plan, record, _ = run
    assert record.calibration is not None and record.calibration.passed and record.passed
    for flow, found in zip(plan.flows, record.flows, strict=True):
        assert found.calibration is not None
        assert found.rtt_ms == pytest.approx(echo_ns(path_of(plan, flow)) / 1e6, abs=0.001)
        seen = [hop["node"] for hop in found.calibration.hops]
        assert seen == [node.name for node in path_of(plan, flow).nodes][1:]
        assert all(check.ok for check in found.calibration.checks)
    later = record.flows[2]
    assert later.rtt_ms == pytest.approx(24.0, abs=0.05)  # by the long link, as given


def test_flows_begin_when_they_are_told_and_get_what_their_links_allow(run: tuple[Plan, RunRecord, Path]) -> None:
    _, record, bundle = run
    ahead, against, later = record.flows
    assert ahead.begins_s is not None and later.begins_s is not None and later.duration_s is not None
    assert 0 <= ahead.begins_s < 0.2 and 2 <= later.begins_s < 2.3
    assert record.duration_s == pytest.approx(4.1, abs=0.3) and later.duration_s == pytest.approx(2, abs=0.2)
    assert len(ahead.streams) == 2 and record.bytes == sum(flow.bytes or 0 for flow in record.flows)
    # Each direction of the bottleneck has its own 50 Mbit/s; ACKs of the other flow take a part of it.
    for flow in (ahead, against):
        assert flow.goodput_bps is not None and 30e6 < flow.goodput_bps < 48.5e6, flow.name
    assert later.goodput_bps is not None and later.goodput_bps > 300e6
    table = Samples(bundle).to_arrow()
    assert set(table["flow"].to_pylist()) == {"ahead", "against", "later"}
    starts = [
        time
        for time, flow in zip(table["time_ns"].to_pylist(), table["flow"].to_pylist(), strict=True)
        if flow == "later"
    ]
    assert min(starts) > 2e9


def test_flows_are_in_queries_and_the_report(run: tuple[Plan, RunRecord, Path]) -> None:
    _, record, bundle = run
    sql = "SELECT flow, source, target, streams, goodput_bps FROM flows ORDER BY flow"
    rows = query(sql, bundle.parent).rows
    assert [row[:4] for row in rows] == [("against", "y", "x", 1), ("ahead", "x", "y", 2), ("later", "z", "y", 1)]
    counted = query(
        "SELECT flow, max(bytes) FROM samples WHERE \"end\" = 'receiver' AND stream = 0 GROUP BY flow", bundle.parent
    )
    assert len(counted.rows) == 3
    page = render_report(bundle)
    for flow in record.flows:
        assert f"Flow {flow.name}</h2>" in page
    assert "Jain" in page and "flow-2-goodput" in page


def test_the_same_network_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    events = [{"at": "1 s", "down": "100 ms", "between": ["r1", "r2"]}]
    links = [*LINKS[:3], LINKS[3] | {"loss": "0.01 %"}, *LINKS[4:]]
    plan = plan_of(tmp_path, network(links, FLOWS, transfer=ASKED | {"duration": "2500 ms"}, events=events), seed=3)

    def measured(folder: str) -> tuple[bytes, bytes]:
        record, bundle = transfer(plan, tmp_path / folder)
        assert record.events[0].packets_lost
        return (bundle / "samples.parquet").read_bytes(), (bundle / "links.parquet").read_bytes()

    assert measured("a") == measured("another-folder")


def test_every_node_reaches_every_other(tmp_path: Path) -> None:
    """Also those at which no flow ends, from any node, and with the round trip of the shortest way."""
    plan = plan_of(tmp_path, network(LINKS, FLOWS, transfer=ASKED))
    names = [node.name for node in plan.nodes]
    command = "; ".join(f"ping -n -c 1 {name} | tail -1" for name in names if name != "r3")
    shown = execute(plan, tmp_path, "sh", "-c", command, at="r3")
    times = [float(line.split("=")[1].split("/")[0]) for line in shown.out.splitlines() if "rtt" in line]
    # x: r3–r2–r1–x is 2·(4+5+1) ms, by the link r3–r1 it were 42 ms. To y by the long link, as a flow's route has it.
    wanted = {"x": 20, "r1": 18, "r2": 8, "y": 9 + 2 + 4 + 2, "z": 2}
    assert times == [pytest.approx(wanted[name], abs=0.2) for name in names if name != "r3"], shown.out


def test_evidence_is_of_each_flow(tmp_path: Path) -> None:
    """Each flow has a folder of its own, and its captures have its packets alone, though two begin at one host."""
    both = [{"name": "near", "from": "x", "to": "y"}, {"name": "far", "from": "x", "to": "z"}]
    plan = plan_of(tmp_path, network(LINKS, both, transfer={"bytes": "100 kB"}))
    record, bundle = transfer(plan, tmp_path, evidence=True)
    told = record.guest.captured_packets
    assert {*told} == {f"{flow['name']}: {end}" for flow in both for end in ("sender", "receiver")}
    assert all(count > 100_000 / 1448 for count in told.values())
    for flow in plan.flows:
        folder = bundle / "flows" / flow.name / "evidence"
        assert "10 received, 0% packet loss" in (folder / "ping-sender.txt").read_text()
        lines = (folder / "first-40-sender-lines.txt").read_text().splitlines()
        assert "[SYN]" in lines[0]
        ends = {frozenset(re.findall(r"\d+\.\d+\.\d+\.\d+", line)) for line in lines}
        assert len(ends) == 1
    assert not (bundle / "evidence").exists()
