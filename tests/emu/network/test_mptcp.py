"""MPTCP emulated: both routes are as planned, both are filled, one carries on alone, and a run repeats to the byte."""

from pathlib import Path
from typing import Any

import pytest

from landspeed.report.run_report import render_report
from landspeed.results.record import RunRecord
from landspeed.results.samples_reader import Samples
from landspeed.scenario.plan.flow_path import lanes, path_of, subflows
from landspeed.scenario.plan.plan import Plan
from landspeed.scenario.theory import physics as ph
from landspeed.scenario.theory.timing import echo_ns
from tests.support.emu_fixtures import plan_of, transfer

pytestmark = pytest.mark.guest
FAST_BPS, SLOW_BPS = 100_000_000, 50_000_000


def two_routes(**more: Any) -> dict[str, Any]:
    """20 ms over r1 at 100 Mbit/s and 30 ms over r2 at 50 Mbit/s, each with a queue of 2 BDP before its slow link."""
    links = [
        {"from": "a", "to": "r1", "one_way_delay": "1 ms"},
        {"from": "r1", "to": "b", "one_way_delay": "9 ms", "line_rate": "100 Mbit/s", "queue": "500 kB"},
        {"from": "a", "to": "r2", "one_way_delay": "1 ms"},
        {"from": "r2", "to": "b", "one_way_delay": "14 ms", "line_rate": "50 Mbit/s", "queue": "375 kB"},
    ]
    asked = {"duration": "20 s", "mptcp": True, "sample_interval": "50 ms"}
    head = {"format": 1, "name": "test", "title": "A test", "line_rate": "1 Gbit/s", "links": links}
    return head | {"flows": [{"name": "both", "from": "a", "to": "b"}], "transfer": asked} | more


def run(folder: Path, content: dict[str, Any], *overrides: str) -> tuple[Plan, RunRecord, Path]:
    folder.mkdir(exist_ok=True)
    plan = plan_of(folder, content, *overrides)
    return plan, *transfer(plan, folder)


@pytest.fixture(scope="module", params=[4, 6])
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, RunRecord, Path]:
    return run(tmp_path_factory.mktemp("mptcp"), two_routes(ip=request.param))


def test_both_routes_are_measured_as_planned(done: tuple[Plan, RunRecord, Path]) -> None:
    plan, record, _ = done
    (flow,) = record.flows
    for route, found in zip(subflows(plan.flow), (flow.calibration, flow.second_calibration), strict=True):
        path = path_of(plan, route)
        assert found is not None and found.passed and all(check.ok for check in found.checks)
        assert found.rtt_ms == pytest.approx(echo_ns(path) / 1e6, abs=0.001)
        assert [hop["node"] for hop in found.hops] == [node.name for node in path.nodes][1:]
        assert [hop["node"] for hop in found.reverse_hops] == [node.name for node in path.nodes][-2::-1]


def test_it_gets_the_sum_of_both_line_rates(done: tuple[Plan, RunRecord, Path]) -> None:
    """Both queues hold more than the 3/10 that CUBIC takes away, so neither line is ever idle.

    What is read in ten seconds may then differ by what the queues and lines hold, 1.3 MB of 173 MB, and by what was
    sent again.
    """
    plan, record, bundle = done
    mss = ph.mss_bytes(1500, plan.ip_version, mptcp=True)
    theory = (FAST_BPS + SLOW_BPS) * mss / (1500 + ph.ETHERNET_FRAMING)
    (flow,) = record.flows
    steady = Samples(bundle).of_flow("both").curves
    assert steady is not None
    goodput = steady.goodput_bps(10.0)
    assert goodput is not None
    held = 500_000 + 375_000 + ph.bdp_bytes(FAST_BPS, 20_000_000) + ph.bdp_bytes(SLOW_BPS, 30_000_000)
    again = 1500 * (flow.retransmits or 0)
    assert -8 * (held + again) / 10 <= goodput - theory <= 0.0005 * theory
    assert (flow.streams[0].model_extra or {})["receiver_tcp_info"]["rcv_mss"] == mss == plan.flow.physics.mss_bytes
    assert plan.flow.physics.expected_goodput_bps == pytest.approx(theory, abs=2)
    assert flow.limited_by == "line rate" and record.passed


def test_each_route_carries_its_part(done: tuple[Plan, RunRecord, Path]) -> None:
    """In proportion to the rates, as the engine tells it and as the links have counted."""
    plan, record, bundle = done
    (stream,) = record.flows[0].streams
    moved = [subflow.bytes for subflow in stream.subflows]
    assert len(moved) == 2
    assert moved[0] / sum(moved) == pytest.approx(2 / 3, abs=0.02)
    assert sum(moved) == pytest.approx(stream.bytes, rel=0.01)
    counted = Samples(bundle).passed_by_link("bytes")
    for route, acknowledged in zip(subflows(plan.flow), moved, strict=True):
        link, ahead = lanes(plan, route)[0][-1]
        on_wire = counted[link, "forward" if ahead else "reverse"]
        assert on_wire == pytest.approx(acknowledged * 1500 / ph.mss_bytes(1500, plan.ip_version, mptcp=True), rel=0.02)
    verdict = next(check for check in record.flows[0].verdicts if check.name == "routes")
    assert verdict.ok is True and verdict.measured == 2
    page = render_report(bundle)
    assert "a → r1 → b" in page and "a → r2 → b" in page


@pytest.mark.parametrize(("broken", "left_bps"), [("r1", SLOW_BPS), ("r2", FAST_BPS)])
def test_it_goes_on_over_the_route_that_is_left(tmp_path: Path, broken: str, left_bps: int) -> None:
    """A line is cut for 6 s: the other one is full meanwhile, and afterwards both are again.

    What was under way on the broken one is sent again over the other after a timeout or several, so 3 s later all that
    was late has come; after the end TCP's own timeout has doubled to seconds before it tries the line again.
    """
    events = [{"at": "5 s", "down": "6 s", "between": [broken, "b"]}]
    plan, record, bundle = run(tmp_path / "run", two_routes(events=events))
    assert record.passed and record.events[0].packets_lost
    curves = Samples(bundle).of_flow("both").curves
    assert curves is not None
    meanwhile, before = curves.goodput_bps(8.0, 11.0), curves.goodput_bps(3.0, 5.0)
    assert meanwhile is not None and before is not None
    left = ph.line_rate_limit_bps(left_bps, 1500, ph.ETHERNET_FRAMING, 4, mptcp=True)
    assert 0.995 * left <= meanwhile <= 1.0005 * left
    assert before > 1.2 * meanwhile
    again = curves.goodput_bps(17.0, 20.0)
    assert again is not None and again >= 0.97 * plan.flow.physics.expected_goodput_bps


def test_a_route_that_carries_nothing_fails_the_run(tmp_path: Path) -> None:
    """The second subflow has joined before the data begins, and then its line is cut until the end."""
    events = [{"at": "0 s", "down": "10 s", "between": ["r2", "b"]}]
    content = two_routes(events=events, transfer={"duration": "2 s", "mptcp": True})
    _, record, _ = run(tmp_path / "run", content)
    (flow,) = record.flows
    verdict = next(check for check in flow.verdicts if check.name == "routes")
    assert record.passed is False and (verdict.ok, verdict.measured) == (False, 1)
    assert flow.streams[0].subflows[1].bytes == 0


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    """Losses on one route, several streams, super-packets on no route: samples and links to the byte."""
    content = two_routes(transfer={"duration": "3 s", "mptcp": True, "streams": 3, "sample_interval": "50 ms"})
    content["links"][3] |= {"loss": "0.1 %"}

    def measured(folder: str) -> tuple[bytes, bytes]:
        _, record, bundle = run(tmp_path / folder, content)
        assert record.retransmits and all(len(stream.subflows) == 2 for stream in record.flows[0].streams)
        return (bundle / "samples.parquet").read_bytes(), (bundle / "links.parquet").read_bytes()

    assert measured("a") == measured("another-folder")


def test_one_window_bounds_both_routes(tmp_path: Path) -> None:
    """It has to last the longest round trip (RFC 6182 section 5.3). Linux fills it in bursts, and not quite."""
    plan, record, _ = run(tmp_path / "run", two_routes(), "transfer.window=200 kB")
    (flow,) = record.flows
    window = flow.window.advertised_bytes
    assert window is not None and flow.steady_goodput_bps is not None
    assert plan.flow.physics.expected_bottleneck.kind == "window"
    allowed = window * 8 / (echo_ns(path_of(plan, subflows(plan.flow)[1])) / 1e9)
    assert allowed == pytest.approx(plan.flow.physics.window_limit_bps, rel=0.02)
    assert 0.8 * allowed <= flow.steady_goodput_bps <= allowed
    assert flow.limited_by == "window" and flow.retransmits == 0


def test_a_second_route_may_reach_a_host_over_its_own_address_s_link(tmp_path: Path) -> None:
    """The first route is given over each host's second link: then the second addresses are those of these links."""
    flows = [{"name": "both", "from": "a", "to": "b", "route": ["a", "r2", "b"]}]
    content = two_routes(flows=flows, transfer={"duration": "4 s", "mptcp": True})
    plan, record, _ = run(tmp_path / "run", content)
    assert (plan.flow.route, plan.flow.second_route) == ([2, 3], [0, 1])
    moved = [subflow.bytes for subflow in record.flows[0].streams[0].subflows]
    assert record.passed and moved[1] > 1.5 * moved[0] > 0


def test_a_flow_without_it_beside_it_stays_on_its_route(tmp_path: Path) -> None:
    """Two senders by MPTCP to one receiver, and plain TCP from a third: each as its own flow says."""
    content = two_routes(transfer={"duration": "3 s"})
    content["links"] += [
        {"from": "c", "to": "r1", "one_way_delay": "2 ms"},
        {"from": "c", "to": "r2", "one_way_delay": "2 ms"},
        {"from": "d", "to": "r1", "one_way_delay": "2 ms"},
    ]
    content["flows"] = [
        {"name": "one", "from": "a", "to": "b", "mptcp": True},
        {"name": "two", "from": "c", "to": "b", "mptcp": True},
        {"name": "plain", "from": "d", "to": "b"},
    ]
    _, record, bundle = run(tmp_path / "run", content)
    one, two, plain = (flow.streams[0] for flow in record.flows)
    assert record.passed and [len(each.subflows) for each in (one, two, plain)] == [2, 2, 0]
    counted = Samples(bundle).passed_by_link("bytes")
    second = one.subflows[1].bytes + two.subflows[1].bytes
    # At the end there may be a full queue and what is on the line; what was sent again passed twice.
    again = one.subflows[1].retransmits + two.subflows[1].retransmits
    more = counted[3, "forward"] - second * 1500 / 1420
    assert 0 <= more <= 375_000 + SLOW_BPS * 0.033 / 8 + 1500 * again
