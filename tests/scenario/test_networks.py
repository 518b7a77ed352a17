"""Networks: routes, what is refused and where, the plan, and each flow's own path."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landspeed.base.errors import ScenarioError
from landspeed.scenario.file.load import build_scenario, load_scenario
from landspeed.scenario.plan.flow_path import path_of, steps
from landspeed.scenario.plan.plan import Plan
from landspeed.scenario.plan.routing import Edge, Routes, routes_of
from landspeed.scenario.resolve.resolve import make_plan
from landspeed.scenario.theory.timing import echo_ns
from landspeed.worlds.registry import plan_for

EXAMPLES = Path(__file__).resolve().parents[2] / "scenarios" / "examples"
MS = 1_000_000

GOOD = """\
format: 1
name: small
title: a small network
line_rate: 1 Gbit/s
links:
  - {from: a, to: left, one_way_delay: 1 ms}
  - {from: b, to: left, one_way_delay: 2 ms}
  - {from: left, to: right, one_way_delay: 8 ms, line_rate: 100 Mbit/s}
  - {from: left, to: round, one_way_delay: 9 ms}
  - {from: round, to: right, one_way_delay: 9 ms}
  - {from: right, to: c, one_way_delay: 1 ms}
  - {from: right, to: d, one_way_delay: 1 ms}
transfer: {duration: 10 s}
flows:
  - {name: one, from: a, to: c}
  - {name: two, from: b, to: d, start: 5 s}
"""

# what is replaced, with what, line, the text at the caret, what is said, what would be right
CASES = {
    "path beside links": (
        "transfer:", "path: [{from: a, to: b, rtt: 1 ms}]\ntransfer:", 13, "path", "'path' beside 'links'",
        "write its links under links",
    ),
    "expect beside links": (
        "transfer:", "expect: {source: x}\ntransfer:", 13, "expect", "'expect' beside 'links'", "write it in a flow",
    ),
    "links without flows": (
        "flows:\n  - {name: one, from: a, to: c}\n  - {name: two, from: b, to: d, start: 5 s}\n", "", 5, "links",
        "nothing is sent", "add flows",
    ),
    "host that no link reaches": (
        "links:", "hosts: {x: {place: X}}\nlinks:", 5, "x", "no link reaches x", "add a link",
    ),
    "router that no link reaches": (
        "links:", "routers: {x: {place: X}}\nlinks:", 5, "x", "no link reaches x", "add a link",
    ),
    "end that no link reaches": (
        "to: c}\n  - {name: two", "to: z}\n  - {name: two", 15, "z", "no link reaches z",
        "write one of: a",
    ),
    "no route": (
        "  - {from: right, to: d, one_way_delay: 1 ms}", "  - {from: e, to: d, one_way_delay: 1 ms}", 16, "d",
        "there is no route from b to d", "from b one reaches a, c",
    ),
    "through a host": (
        "  - {from: right, to: d, one_way_delay: 1 ms}", "  - {from: c, to: d, one_way_delay: 1 ms}", 16, "d",
        "there is no route from b to d", "add links",
    ),
    "two links without names": (
        "  - {from: left, to: round,", "  - {from: right, to: left,", 8, "from",
        "another link between left and right", "add name",
    ),
    "a name twice": (
        "one_way_delay: 9 ms}\n  - {from: round, to: right,",
        "name: x, one_way_delay: 9 ms}\n  - {from: round, to: right, name: x,",
        10, "x", "link 4 has the name x", "another name",
    ),
    "a link to itself": ("from: round, to: right", "from: round, to: round", 10, "round", "to itself", "another node"),
    "loop in a route": (
        "to: c}\n", "to: c, route: [a, left, round, left, right, c]}\n", 15, "left", "loop in the route of one", "once",
    ),
    "gap in a route": (
        "to: c}\n", "to: c, route: [a, round, right, c]}\n", 15, "round", "no link between a and round",
        "write one of: left",
    ),
    "route that begins elsewhere": (
        "to: c}\n", "to: c, route: [b, left, right, c]}\n", 15, "b", "begins at b",
        "write a",
    ),
    "route over a host": (
        "to: c}\n", "to: c, route: [a, left, right, d, c]}\n", 15, "d", "d is a host in the middle", "through a router",
    ),
    "half a second": ("start: 5 s", "start: 5.5 s", 16, "5.5 s", "not a whole second", "write 5 s or 6 s"),
    "after the end": ("start: 5 s", "start: 20 s", 16, "20 s", "after every flow before it has ended", "before 10 s"),
    "nobody starts": (
        "to: c}\n", "to: c, start: 1 s}\n", 15, "1 s", "no flow starts at 0 s", "start: 0 s",
    ),
    "two flows of a name": ("name: two", "name: one", 16, "one", "flow 1 has the name one", "another name"),
    "role": ("links:", "hosts: {a: {role: sender}}\nlinks:", 5, "role", "have no role", "remove it"),
    "router that sends": (
        "links:", "routers: {a: {place: X}}\nlinks:", 5, "a", "is a router, and a host",
        "one of the two",
    ),
    "end of a flow without end": (
        "transfer: {duration: 10 s}", "transfer: {streams: 1}", 15, "{", "the flow one has no end", "add duration",
    ),
    "event between no neighbours": (
        "flows:", "events: [{at: 1 s, down: 1 s, between: [a, right]}]\nflows:", 14, "right", "not neighbours",
        "write left",
    ),
    "unknown key of a flow": ("start: 5 s", "begin: 5 s", 16, "begin", "unknown key 'begin'", "start"),
    "congestion control of a flow": (
        "start: 5 s", "congestion_control: warp", 16, "warp", "not in the world 'emu'", "reno, cubic",
    ),
}  # fmt: skip


def write(folder: Path, text: str) -> Path:
    path = folder / "s.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_told_where_it_stands(tmp_path: Path, case: str) -> None:
    old, new, line, caret, what, right = CASES[case]
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(ScenarioError) as caught:
        plan_for(load_scenario(path), "emu")
    told = str(caught.value)
    first = told.splitlines()
    match = re.match(rf"{re.escape(str(path))}:(\d+):(\d+): ", first[0])
    assert match and int(match[1]) == line, told
    assert what in told and right in told, told
    shown, carets = first[1].partition("| ")[2], first[2].partition("| ")[2]
    assert shown[carets.index("^") :].startswith(caret), told


def test_worlds_without_networks_say_so(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"a network \(links and flows\) is not in the world 'real'") as caught:
        plan_for(load_scenario(write(tmp_path, GOOD)), "real")
    assert "the world emu or sim can (--world emu)" in str(caught.value)


def small(tmp_path: Path, *overrides: str) -> Plan:
    return make_plan(load_scenario(write(tmp_path, GOOD), overrides))


def test_each_flow_has_its_own_path(tmp_path: Path) -> None:
    plan = small(tmp_path)
    assert (
        not plan.is_path
        and [node.kind for node in plan.nodes] == ["host", "router", "host", "router", *["router", "host", "host"]][:7]
    )
    one, two = (path_of(plan, flow) for flow in plan.flows)
    assert [node.name for node in one.nodes] == ["a", "left", "right", "c"]
    assert [(link.index, link.a, link.b) for link in two.links] == [
        (0, "b", "left"),
        (1, "left", "right"),
        (2, "right", "d"),
    ]
    assert one.is_path and one.physics.rtt_ns == 20 * MS and two.physics.rtt_ns == 22 * MS
    assert one.physics.expected_bottleneck.place == "link 2 left–right"
    assert echo_ns(one) > one.physics.rtt_ns
    assert path_of(one, one.flow) is one
    again = Plan.from_json(plan.to_json())
    assert again == plan and again.sha256 == plan.sha256


def test_a_flow_takes_from_the_transfer_what_it_does_not_say(tmp_path: Path) -> None:
    plan = small(tmp_path, "flows.1.bytes=1 GB", "flows.1.streams=3", "transfer.congestion_control=reno")
    one, two = (flow.transfer for flow in plan.flows)
    assert (one.duration_ns, one.bytes, one.streams, one.congestion_control) == (10**10, None, 1, "reno")
    assert (two.duration_ns, two.bytes, two.streams, two.congestion_control) == (None, 10**9, 3, "reno")
    assert plan.flows[1].start_ns == 5 * 10**9


def test_a_given_route_turns_links_round(tmp_path: Path) -> None:
    text = GOOD.replace("to: c}", "to: c, route: [a, left, round, right, c]}").replace(
        "from: left, to: round", "from: round, to: left"
    )
    plan = make_plan(load_scenario(write(tmp_path, text)))
    assert [step.ahead for step in steps(plan, plan.flows[0])] == [
        (0, True),
        (3, False),
        (4, True),
        (5, True),
    ]
    assert [link.a for link in path_of(plan, plan.flows[0]).links] == ["a", "left", "round", "right"]
    assert [node.name for node in path_of(plan, plan.flows[1]).nodes] == ["b", "left", "right", "d"]


def test_flows_to_one_host_by_two_ways_have_addresses_of_their_own(tmp_path: Path) -> None:
    more = "to: c, route: [a, left, round, right, c]}\n  - {name: more, from: b, to: c, route: [b, left, right, c]}\n"
    plan = make_plan(load_scenario(write(tmp_path, GOOD.replace("to: c}\n", more))))
    assert [(flow.name, flow.route, flow.own_way) for flow in plan.flows] == [
        ("one", [0, 3, 4, 5], False),
        ("more", [1, 2, 5], True),
        ("two", [1, 2, 6], False),
    ]


def test_links_between_the_same_nodes_are_told_apart_by_name(tmp_path: Path) -> None:
    more = "  - {from: left, to: right, name: slow, one_way_delay: 20 ms}\nflows:"
    text = GOOD.replace("  - {from: left, to: right, one", "  - {from: left, to: right, name: fast, one")
    text = text.replace("transfer:", more.replace("flows:", "transfer:"), 1)
    text = text.replace("to: c}", "to: c, route: [a, left, slow, right, c]}")
    plan = make_plan(load_scenario(write(tmp_path, text)))
    assert [plan.links[index].name for index in plan.flows[0].route] == [None, "slow", None]
    assert [plan.links[index].name for index in plan.flows[1].route] == [None, "fast", None]


def test_queues_form_where_flows_meet_and_nowhere_else(tmp_path: Path) -> None:
    plan = small(tmp_path)
    ahead = {f"{link.a}–{link.b}": link.forward.can_queue for link in plan.links}
    assert ahead["left–right"] and not ahead["a–left"] and not ahead["right–c"]
    assert ahead["left–round"]  # nothing passes: nothing is proved
    assert not plan.links[5].reverse.can_queue and plan.links[2].reverse.can_queue  # ACKs of both flows meet at right


def test_events_and_their_links_follow_a_flow_that_goes_against_them(tmp_path: Path) -> None:
    text = GOOD.replace("from: a, to: c", "from: c, to: a")
    text += "events:\n  - {at: 1 s, loss: 1 packet, from: left, to: right}\n"
    plan = make_plan(load_scenario(write(tmp_path, text)))
    (event,) = path_of(plan, plan.flows[0]).events
    assert (event.link, event.direction) == (1, "reverse")
    assert path_of(plan, plan.flows[1]).events[0].direction == "forward"


@pytest.mark.parametrize("name", ["dumbbell", "parking-lot", "fan-in"])
def test_examples_are_networks(name: str) -> None:
    plan = make_plan(load_scenario(EXAMPLES / f"{name}.yaml"))
    assert not plan.is_path and len(plan.flows) >= 2


def test_a_network_of_one_chain_with_one_flow_is_a_path() -> None:
    links = [{"from": a, "to": b, "one_way_delay": "1 ms", "line_rate": "1 Gbit/s"} for a, b in ("ab", "bc")]
    flows = [{"name": "only", "from": "a", "to": "c", "duration": "1 s"}]
    built = build_scenario({"format": 1, "name": "chain", "title": "A chain", "links": links, "flows": flows})
    assert make_plan(built).is_path


@pytest.mark.slow
@given(st.data())
def test_routes_are_the_same_both_ways_and_every_part_is_a_route(data: Any) -> None:
    count = data.draw(st.integers(2, 9))
    names = [f"n{number}" for number in range(count)]
    tree = [
        Edge(names[data.draw(st.integers(0, number - 1))], names[number], data.draw(st.integers(0, 3)))
        for number in range(1, count)
    ]
    pairs = st.tuples(st.sampled_from(names), st.sampled_from(names)).filter(lambda pair: pair[0] != pair[1])
    more = [Edge(a, b, data.draw(st.integers(0, 3))) for a, b in data.draw(st.lists(pairs, max_size=8))]
    routes = Routes([*tree, *more], frozenset())
    source, target = data.draw(pairs)
    way = routes.way(source, target)
    assert way is not None and routes.way(target, source) == way[::-1]
    node = source
    for number, index in enumerate(way):
        assert routes.way(node, target) == way[number:]
        node = routes.edges[index].other(node)


def test_the_tables_of_a_plan_lead_along_its_flows(tmp_path: Path) -> None:
    text = GOOD.replace("to: c}", "to: c, route: [a, left, round, right, c]}")
    plan = make_plan(load_scenario(write(tmp_path, text)))
    routes = routes_of(plan)
    for flow in plan.flows:
        assert routes.way(flow.source, flow.target) == flow.route
        assert routes.way(flow.target, flow.source) == flow.route[::-1]
