"""A way back of its own in a network: which links acknowledgments pass, what the plan makes of it, what is refused."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from landspeed.base.errors import ScenarioError
from landspeed.exporters.addresses import interfaces, own_address
from landspeed.exporters.addresses import routes as routes_told
from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.plan.flow_path import UNPASSED, Step, lanes, path_of, steps
from landspeed.scenario.plan.plan import Plan
from landspeed.scenario.plan.routing import routes_of
from landspeed.scenario.resolve.resolve import make_plan
from landspeed.scenario.theory.ack_path import ack_path
from landspeed.scenario.theory.timing import data_rtt_ns, echo_ns, packet_mtu, path_mtu, slowest_rate_bps

GOOD = """\
format: 1
name: asym
title: land there, sky back
line_rate: 100 Mbit/s
queue: 500 kB
links:
  - {from: a, to: r1, one_way_delay: 1 ms}
  - {from: r1, to: r2, name: land, one_way_delay: 5 ms, line_rate: 50 Mbit/s}
  - {from: r2, to: r1, name: sky, one_way_delay: 270 ms, line_rate: 2 Mbit/s}
  - {from: r2, to: b, one_way_delay: 1 ms}
transfer: {duration: 20 s}
flows:
  - {name: data, from: a, to: b, route: [a, r1, land, r2, b], route_back: [b, r2, sky, r1, a]}
"""
BACK = ", route_back: [b, r2, sky, r1, a]"
LEADER = "\n  - {name: back, from: b, to: a, route: [b, r2, sky, r1, a], bytes: 1 kB, start: 15 s}"
MS = 1_000_000


def load(folder: Path, text: str) -> Plan:
    (folder / "s.yaml").write_text(text)
    return make_plan(load_scenario(folder / "s.yaml"))


def test_acknowledgments_pass_the_links_of_the_way_back(tmp_path: Path) -> None:
    plan = load(tmp_path, GOOD)
    assert (plan.flow.route, plan.flow.route_back) == ([0, 1, 3], [3, 2, 0])
    assert steps(plan, plan.flow) == [
        Step((0, True), (0, False)),
        Step((1, True), (2, True)),
        Step((3, True), (3, False)),
    ]
    routes = routes_of(plan)
    assert routes.way("a", "b") == [0, 1, 3] and routes.way("b", "a") == [3, 2, 0]


def test_the_path_of_the_flow_has_lanes_of_both_links(tmp_path: Path) -> None:
    plan = load(tmp_path, GOOD)
    path = path_of(plan, plan.flow)
    assert path.is_path and [(link.a, link.b) for link in path.links] == [("a", "r1"), ("r1", "r2"), ("r2", "b")]
    middle = path.links[1]
    assert (middle.forward, middle.reverse) == (plan.links[1].forward, plan.links[2].forward)
    propagation = (1 + 5 + 1 + 1 + 270 + 1) * MS
    assert plan.flow.physics.rtt_ns == propagation
    # An echo of 84 B, with 38 B of framing, on each line there and back: 100, 50, 100 and 100, 2, 100 Mbit/s.
    assert echo_ns(path) == propagation + sum(round(122 * 8e9 / rate) for rate in (1e8, 5e7, 1e8, 1e8, 2e6, 1e8))
    # A queue in BDP counts the flow's own round trip, on all that it passes.
    lanes = load(tmp_path, GOOD.replace("queue: 500 kB", "queue: 1 BDP")).links
    assert lanes[1].forward.queue_bytes == pytest.approx(50e6 / 8 * propagation / 1e9, rel=0.04)
    assert lanes[2].forward.queue_bytes == pytest.approx(2e6 / 8 * propagation / 1e9, rel=0.04)


def test_a_thin_way_back_tells_what_its_acknowledgments_stand_for(tmp_path: Path) -> None:
    plan = load(tmp_path, GOOD.replace("2 Mbit/s", "200 kbit/s"))
    links, data_bps = path_of(plan, plan.flow).links, plan.flow.physics.line_rate_limit_bps
    back = ack_path(links, mss=1448, ip_version=4, fidelity="packets", line_rate_limit_bps=data_bps)
    assert back is not None and back.drops and back.place == "link 2 r2–r1"
    # 200 kbit/s are 278 packets a second of 52 B with 38 B of framing; each acknowledges two of 1448 B.
    assert back.goodput_bps == pytest.approx(200e3 / (90 * 8) * 2 * 1448 * 8, rel=1e-6)


@pytest.mark.parametrize("first", [True, False])
def test_a_flow_that_goes_the_other_way_leads_the_way_back(tmp_path: Path, first: bool) -> None:
    text = GOOD.replace(BACK, "") + LEADER.strip("\n") + "\n"
    if not first:
        head, data, leader = text.rpartition("  - {name: data")[0], *text.splitlines()[-2:]
        text = f"{head}{leader.replace(', start: 15 s', '')}\n{data}\n"
    data, back = sorted(load(tmp_path, text).flows, key=lambda flow: flow.name, reverse=True)
    assert (data.route, data.route_back) == ([0, 1, 3], [3, 2, 0])
    assert (back.route, back.route_back) == ([3, 2, 0], [0, 1, 3])
    assert data.physics.rtt_ns == back.physics.rtt_ns == 279 * MS


def test_events_are_on_the_lanes_that_the_flow_passes(tmp_path: Path) -> None:
    both = "{at: 1 s, down: 1 s, between: [r1, r2], link: sky}"
    unused = "{at: 2 s, down: 1 s, from: r2, to: r1, link: land}"
    plan = load(tmp_path, f"{GOOD}events: [{both}, {unused}]\n")
    (down,) = path_of(plan, plan.flow).events
    assert (down.at_ns, down.link, down.direction) == (10**9, 1, "reverse")


def test_the_plan_keeps_it_and_one_without_it_has_the_work_of_before(tmp_path: Path) -> None:
    plan = load(tmp_path, GOOD)
    assert Plan.from_dict(json.loads(json.dumps(asdict(plan)))) == plan
    same = load(tmp_path, GOOD.replace(BACK, ", route_back: [b, r2, land, r1, a]"))
    assert same.flow.route_back is None and same.sha256 != plan.sha256
    assert same.sha256 == load(tmp_path, GOOD.replace(BACK, "")).sha256


def test_exported_tables_lead_both_ways(tmp_path: Path) -> None:
    plan = load(tmp_path, GOOD)
    next_hop = {node: dict(told) for node, told in routes_told(plan).items()}
    ends = {(each.link, each.node): each.ip for each in interfaces(plan)}
    assert next_hop["r1"][own_address(plan, "b")] == ends[1, "r2"]
    assert next_hop["r2"][own_address(plan, "a")] == ends[2, "r1"]


# what is replaced, with what, line, the text at the caret, what is said, what would be right
CASES = {
    "not connected": (
        "links:", "links:\n  - {from: r1, to: x, one_way_delay: 1 ms}\n  - {from: x, to: y, one_way_delay: 1 ms}",
        "r2, sky, r1", "r2, x, r1", 15, "x", "there is no link between r2 and x", "write one of: b, r1",
    ),
    "of an unknown node": ("sky, r1, a]", "z, r1, a]", "", "", 13, "z", "no link reaches z", "write one of: a, r1"),
    "that begins elsewhere": (
        "route_back: [b, r2", "route_back: [r2", "", "", 13, "r2", "the way back of data begins at r2", "write b",
    ),
    "a loop": (
        "sky, r1, a]", "sky, r1, land, r2, sky, r1, a]", "", "", 13, "r2", "r2 was passed before", "each node once",
    ),
    "through a host": (
        "links:",
        "hosts: {h: {place: H}}\nlinks:\n  - {from: r1, to: h, one_way_delay: 1 ms}\n"
        "  - {from: h, to: r2, one_way_delay: 1 ms}",
        "r2, sky, r1", "r2, h, r1", 16, "h", "h is a host in the middle", "through a router",
    ),
    "of a node that it does not end at": (
        "sky, r1, a]", "sky, r1]", "", "", 13, "r1", "the way back of data ends at r1", "write a",
    ),
    "with mptcp": ("name: data", "name: data, mptcp: true", "", "", 13, "route_back", "MPTCP", "remove mptcp"),
    "two ways back, with mptcp": (
        "flows:", "flows:\n  - {name: other, from: b, to: a, route: [b, r2, land, r1, a]}",
        "name: data", "name: data, mptcp: true", 14, "route_back", "at r2 the way back of data, which has MPTCP",
        "give both the same way",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_told_where_it_stands(tmp_path: Path, case: str) -> None:
    old, new, also, instead, line, caret, what, right = CASES[case]
    assert old in GOOD and also in GOOD
    with pytest.raises(ScenarioError) as caught:
        load(tmp_path, GOOD.replace(old, new, 1).replace(also, instead, 1 if also else 0))
    told = str(caught.value)
    first = told.splitlines()
    assert f"s.yaml:{line}:" in first[0] and what in told and right in told, told
    shown, carets = first[1].partition("| ")[2], first[2].partition("| ")[2]
    assert shown[carets.index("^") :].startswith(caret), told


def test_a_host_may_send_over_one_link_and_receive_over_another(tmp_path: Path) -> None:
    text = GOOD.replace("{from: a, to: r1,", "{from: a, to: r1, name: wire,", 1)
    text = text.replace("links:", "links:\n  - {from: a, to: r1, name: wifi, one_way_delay: 1 ms}")
    text = text.replace("route: [a,", "route: [a, wire,").replace("r1, a]", "r1, wifi, a]")
    flow = load(tmp_path, text).flow
    assert (flow.route, flow.route_back, flow.own_way) == ([1, 2, 4], [4, 3, 0], True)


def test_a_receiver_tells_the_mtu_of_the_link_over_which_it_answers(tmp_path: Path) -> None:
    text = GOOD.replace("{from: r2, to: b,", "{from: r2, to: b, name: in,")
    text = text.replace("links:", "links:\n  - {from: b, to: r2, name: out, one_way_delay: 1 ms, mtu: 1400 B}")
    text = text.replace("land, r2, b]", "land, r2, in, b]").replace("[b, r2", "[b, out, r2")
    plan = load(tmp_path, text)
    assert plan.flow.physics.mss_bytes == 1348 and path_mtu(path_of(plan, plan.flow)) == 1400


def test_flows_between_the_same_hosts_differ_in_their_ways(tmp_path: Path) -> None:
    more = "  - {name: sky, from: a, to: b, route: [a, r1, sky, r2, b]}\n"
    last = "  - {name: both, from: a, to: b, route: [a, r1, sky, r2, b], route_back: [b, r2, land, r1, a]}\n"
    flows = load(tmp_path, GOOD + more + last).flows
    assert [(flow.route, flow.route_back, flow.own_way) for flow in flows] == [
        ([0, 1, 3], [3, 2, 0], False),
        ([0, 2, 3], None, True),
        ([0, 2, 3], [3, 1, 0], True),
    ]


# --- A way back over other nodes -------------------------------------------------------------------------------------

AROUND = """\
format: 1
name: around
title: there over m, back over x and y
line_rate: 100 Mbit/s
queue: 500 kB
links:
  - {from: a, to: r1, one_way_delay: 1 ms}
  - {from: r1, to: m, one_way_delay: 3 ms}
  - {from: m, to: r2, one_way_delay: 2 ms, line_rate: 50 Mbit/s, loss: 1 ppm}
  - {from: r2, to: b, one_way_delay: 1 ms}
  - {from: x, to: r2, one_way_delay: 10 ms, line_rate: 2 Mbit/s, mtu: 1400 B, reverse: {one_way_delay: 11 ms}}
  - {from: x, to: y, one_way_delay: 20 ms, line_rate: 3 Mbit/s, loss: 0.5 %}
  - {from: y, to: r1, one_way_delay: 30 ms, line_rate: 4 Mbit/s}
transfer: {duration: 20 s}
flows:
  - {name: data, from: a, to: b, route: [a, r1, m, r2, b], route_back: [b, r2, x, y, r1, a]}
"""
BACK_ALONE = [(3, False), (4, False), (5, True), (6, True), (0, False)]


def test_a_way_back_over_other_nodes_follows_the_route(tmp_path: Path) -> None:
    plan = load(tmp_path, AROUND)
    assert (plan.flow.route, plan.flow.route_back) == ([0, 1, 2, 3], [3, 4, 5, 6, 0])
    assert lanes(plan, plan.flow) == ([(0, True), (1, True), (2, True), (3, True)], BACK_ALONE)
    assert steps(plan, plan.flow) == [
        Step((0, True), (0, False)),
        Step((1, True), None),
        Step((2, True), None),
        Step((3, True), (3, False)),
        *(Step(None, lane) for lane in BACK_ALONE[3:0:-1]),
    ]
    path = path_of(plan, plan.flow)
    assert not path.is_path and (path.hops, path.flow.route_back) == (4, [3, 6, 5, 4, 0])
    assert [node.name for node in path.nodes] == ["a", "r1", "m", "r2", "b", "y", "x"]
    assert [(link.a, link.b) for link in path.returned] == [
        ("r2", "b"),
        ("x", "r2"),
        ("y", "x"),
        ("r1", "y"),
        ("a", "r1"),
    ]
    lanes_back = [plan.links[index].forward if ahead else plan.links[index].reverse for index, ahead in BACK_ALONE]
    assert [link.reverse for link in path.returned] == lanes_back
    assert path_of(path, path.flow) == path
    assert path.links[1].reverse == path.links[5].forward == UNPASSED


def test_theory_knows_both_ways(tmp_path: Path) -> None:
    plan = load(tmp_path, AROUND)
    path, physics = path_of(plan, plan.flow), plan.flow.physics
    propagation = (1 + 3 + 2 + 1) * MS + (1 + 11 + 20 + 30 + 1) * MS
    assert physics.rtt_ns == propagation and physics.bdp_bytes == pytest.approx(50e6 / 8 * propagation / 1e9, abs=1)
    lines = (1e8, 1e8, 5e7, 1e8, 1e8, 2e6, 3e6, 4e6, 1e8)
    assert echo_ns(path) == pytest.approx(propagation + sum(122 * 8e9 / rate for rate in lines), abs=len(lines))
    data = sum(1538 * 8e9 / rate for rate in lines[:4]) + sum(90 * 8e9 / rate for rate in lines[4:])
    assert data_rtt_ns(path) == pytest.approx(propagation + data, abs=len(lines))
    # Acknowledgments pass a smaller MTU: data does not.
    assert (path_mtu(path), path_mtu(path, forward=False), physics.mss_bytes) == (1500, 1400, 1448)
    assert slowest_rate_bps(path, forward=True) == pytest.approx(50e6 * 1500 / 1538, rel=1e-9)
    assert slowest_rate_bps(path, forward=False) == pytest.approx(2e6 * 1400 / 1438, rel=1e-9)
    assert physics.expected_bottleneck.place == "link 3 m–r2"
    assert [packet_mtu(plan, link) for link in plan.links] == [1500, 1500, 1500, 1500, 1400, 1400, 1400]
    lanes = load(tmp_path, AROUND.replace("queue: 500 kB", "queue: 1 BDP")).links
    assert lanes[4].reverse.queue_bytes == pytest.approx(2e6 / 8 * propagation / 1e9, rel=0.04)


def test_a_thin_line_of_the_way_back_limits_by_its_acknowledgments(tmp_path: Path) -> None:
    plan = load(tmp_path, AROUND.replace("20 ms, line_rate: 3 Mbit/s", "20 ms, line_rate: 200 kbit/s"))
    back = ack_path(
        path_of(plan, plan.flow).links, hops=4, mss=1448, ip_version=4, fidelity="packets",
        line_rate_limit_bps=plan.flow.physics.line_rate_limit_bps,
    )  # fmt: skip
    assert back is not None and back.drops and back.place == "link 6 x–y"
    assert back.goodput_bps == pytest.approx(200e3 / (90 * 8) * 2 * 1448 * 8, rel=1e-6)


def test_links_of_the_same_nodes_may_differ_in_mtu(tmp_path: Path) -> None:
    plan = load(tmp_path, GOOD.replace("name: sky", "name: sky, mtu: 1280 B"))
    path = path_of(plan, plan.flow)
    assert not path.is_path and plan.flow.physics.mss_bytes == 1448 and plan.flow.physics.rtt_ns == 279 * MS
    assert [step.back for step in steps(plan, plan.flow)] == [(0, False), None, (3, False), (2, True)]


def test_events_on_a_link_of_the_way_back_alone(tmp_path: Path) -> None:
    down, unpassed = "{at: 1 s, down: 1 s, between: [x, y]}", "{at: 2 s, down: 1 s, from: y, to: x}"
    plan = load(tmp_path, f"{AROUND}events: [{down}, {unpassed}]\n")
    (event,) = path_of(plan, plan.flow).events
    assert (event.at_ns, event.link, event.direction) == (10**9, 5, "reverse")


def test_queues_are_proved_along_the_way_back(tmp_path: Path) -> None:
    links = load(tmp_path, AROUND).links
    assert links[4].reverse.can_queue and not links[5].forward.can_queue and not links[6].forward.can_queue
    assert not links[0].reverse.can_queue and not links[3].reverse.can_queue


def test_a_flow_that_goes_the_other_way_over_other_nodes_leads(tmp_path: Path) -> None:
    text = AROUND.replace(", route_back: [b, r2, x, y, r1, a]", "")
    plan = load(tmp_path, f"{text}  - {{name: back, from: b, to: a, route: [b, r2, x, y, r1, a], start: 5 s}}\n")
    data, back = plan.flows
    assert data.route_back == back.route and back.route_back == data.route
    assert data.physics.mss_bytes == 1448 and back.physics.mss_bytes == 1348
