"""MPTCP in a scenario: two routes that share no link, what is refused and where, and what theory says of both."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landspeed.base.errors import ScenarioError
from landspeed.base.failures import RunFailed
from landspeed.results.tool_result import TransferResult
from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.plan.flow_path import path_of, subflows
from landspeed.scenario.plan.plan import Plan
from landspeed.scenario.plan.routing import Edge, Routes, nodes_of, routes_of, second_ends
from landspeed.scenario.resolve.resolve import make_plan
from landspeed.scenario.theory import physics as ph
from landspeed.worlds.emu.kernel_build import Kernel
from landspeed.worlds.emu.kernel_source import KernelError
from landspeed.worlds.emu.refusals import check_kernel
from landspeed.worlds.engine.command import engine_commands
from landspeed.worlds.engine.tool import ENGINE
from landspeed.worlds.registry import plan_for

GOOD = """\
format: 1
name: two
title: two routes
line_rate: 100 Mbit/s
queue: 500 kB
links:
  - {from: a, to: r1, one_way_delay: 1 ms}
  - {from: r1, to: b, one_way_delay: 9 ms}
  - {from: a, to: r2, one_way_delay: 1 ms}
  - {from: r2, to: b, one_way_delay: 14 ms, line_rate: 50 Mbit/s}
  - {from: r2, to: r1, one_way_delay: 30 ms}
  - {from: c, to: r1, one_way_delay: 1 ms}
transfer: {duration: 10 s}
flows:
  - {name: both, from: a, to: b, mptcp: true}
"""
FLOW = "from: a, to: b, mptcp: true"


def load(tmp_path: Path, text: str = GOOD, *overrides: str) -> Plan:
    file = tmp_path / "two.yaml"
    file.write_text(text)
    return make_plan(load_scenario(file, overrides))


def names(plan: Plan, route: list[int]) -> list[str]:
    return [node.name for node in path_of(plan, replace(plan.flow, route=route)).nodes]


def test_the_second_route_is_the_shortest_that_shares_no_link(tmp_path: Path) -> None:
    plan = load(tmp_path)
    assert not plan.is_path
    assert [each.route for each in subflows(plan.flow)] == [[0, 1], [2, 3]]
    assert [each.second_route for each in subflows(plan.flow)] == [None, None]
    # A first route that is given leaves another one: not the shortest of all, but the shortest that is free.
    plan = load(tmp_path, GOOD.replace(FLOW, f"{FLOW}, route: [a, r2, b]"))
    assert [names(plan, each.route) for each in subflows(plan.flow)] == [["a", "r2", "b"], ["a", "r1", "b"]]
    third = "  - {from: a, to: r3, one_way_delay: 40 ms}\n  - {from: r3, to: b, one_way_delay: 40 ms}\ntransfer:"
    text = GOOD.replace("transfer:", third).replace(FLOW, f"{FLOW}, route: [a, r2, r1, b]")
    plan = load(tmp_path, text)
    assert [names(plan, each.route) for each in subflows(plan.flow)] == [["a", "r2", "r1", "b"], ["a", "r3", "b"]]


def test_both_routes_can_be_given(tmp_path: Path) -> None:
    given_routes = f"{FLOW}, route: [a, r2, b], second_route: [a, r1, b]"
    plan = load(tmp_path, GOOD.replace(FLOW, given_routes))
    assert (plan.flow.route, plan.flow.second_route) == ([2, 3], [0, 1])
    assert Plan.from_json(plan.to_json()) == plan


def test_every_flow_can_take_it_from_the_transfer(tmp_path: Path) -> None:
    text = GOOD.replace(", mptcp: true", "").replace("duration: 10 s", "duration: 10 s, mptcp: true")
    assert load(tmp_path, text).flow.second_route == [2, 3]
    assert load(tmp_path, text, "flows.0.mptcp=false").flow.second_route is None


def test_routers_forward_to_second_addresses_along_the_second_route(tmp_path: Path) -> None:
    plan = load(tmp_path)
    routes = routes_of(plan)
    assert routes.second_to("b") == {"a": 2, "r2": 3}
    assert routes.second_to("a") == {"b": 3, "r2": 2}
    assert routes.to("b")["a"] == 0  # what goes to the own address takes the first
    edges = routes.edges
    assert second_ends(edges, "a", [0, 1], [2, 3]) == [(2, 0), (3, 1)]
    # Where the second route comes over the host's first link, whose address is its own: that of the other link.
    assert second_ends(edges, "a", [2, 3], [0, 1]) == [(2, 0), (3, 1)]


def test_a_plan_without_it_is_the_work_that_it_was(tmp_path: Path) -> None:
    plain = load(tmp_path, GOOD.replace(", mptcp: true", ""))
    told: dict[str, Any] = json.loads(plain.to_json())
    del told["flows"][0]["second_route"], told["flows"][0]["transfer"]["mptcp"]
    assert Plan.from_dict(told).sha256 == plain.sha256
    assert load(tmp_path).sha256 != plain.sha256
    other = load(tmp_path, GOOD.replace(FLOW, f"{FLOW}, second_route: [a, r2, b]"))
    assert other.sha256 == load(tmp_path).sha256


# --- Theory ----------------------------------------------------------------------------------------------------------


def test_the_expected_goodput_is_the_sum_of_both_line_rates(tmp_path: Path) -> None:
    """1500 B: 20 IP, 20 TCP, 12 timestamps, 28 of MPTCP leave 1420 of 1538 B on the line."""
    physics = load(tmp_path).flow.physics
    assert physics.mss_bytes == 1420
    limits = [rate * 1420 // 1538 for rate in (100_000_000, 50_000_000)]
    assert physics.expected_goodput_bps == physics.line_rate_limit_bps == sum(limits)
    assert physics.expected_bottleneck.kind == "line rate"
    assert physics.expected_bottleneck.name == "line rate of every link and link 2 r2–b"
    six = load(tmp_path, GOOD.replace("format: 1", "format: 1\nip: 6")).flow.physics
    assert six.expected_goodput_bps == sum(rate * 1400 // 1538 for rate in (100_000_000, 50_000_000))


def test_one_window_serves_both_routes_and_lasts_the_longest_round_trip(tmp_path: Path) -> None:
    """RFC 6182 section 5.3: what is under way is the sum of the rates times the longest RTT, here 30 ms."""
    physics = load(tmp_path, GOOD, "flows.0.window=200 kB", "flows.0.streams=2").flow.physics
    usable = ph.linux_usable_window_bytes(200_000, 1420, "packets")
    assert physics.window_limit_bps == 2 * usable * 8 * 10**9 // 30_000_000
    assert physics.expected_bottleneck.kind == "window"
    assert physics.bdp_bytes == ph.bdp_bytes(physics.line_rate_limit_bps, 30_000_000)


def test_what_bounds_one_route_is_named(tmp_path: Path) -> None:
    text = GOOD.replace("line_rate: 50 Mbit/s}", "line_rate: 50 Mbit/s, loss: 0.1 %}")
    physics = load(tmp_path, text, "flows.0.congestion_control=reno").flow.physics
    lossy = ph.square_root_law_bps(1420, 30_000_000, 0.001)
    assert physics.expected_goodput_bps == 100_000_000 * 1420 // 1538 + lossy
    assert physics.expected_bottleneck.kind == "loss"
    assert "every link and loss" in physics.expected_bottleneck.name


# --- Refusals --------------------------------------------------------------------------------------------------------

MIDDLE = GOOD[GOOD.index("  - {from: r1, to: b") : GOOD.index("  - {from: c")]
# The shortest route, a r1 r2 b, leaves no other one; the longer ones, a r1 b and a r2 b, would be free of each other.
TRAP = """\
  - {from: r1, to: b, one_way_delay: 90 ms}
  - {from: a, to: r2, one_way_delay: 90 ms}
  - {from: r2, to: b, one_way_delay: 1 ms}
  - {from: r1, to: r2, one_way_delay: 1 ms}
"""
# what is replaced, with what, line, the text at the caret, what is said, what would be right
CASES = {
    "host with one link": (
        FLOW, "from: a, to: c, mptcp: true", 15, "mptcp", "c has one link, and MPTCP of both needs two there",
        "add a link from c",
    ),
    "receiver with one link": (
        "from: r2, to: b", "from: r2, to: x", 15, "mptcp", "b has one link", "add a link from b",
    ),
    "trap": (MIDDLE, TRAP, 15, "mptcp", "shares no link with a → r1 → r2 → b", "add links, or give a route"),
    "shared link": (
        FLOW, f"{FLOW}, second_route: [a, r2, r1, b]", 15, "second_route", "both routes of both take the link r1 – b",
        "share no link",
    ),
    "second route without MPTCP": (
        FLOW, "from: a, to: b, second_route: [a, r2, b]", 15, "second_route", "no MPTCP to use it", "add mptcp: true",
    ),
    "gap in a second route": (
        FLOW, f"{FLOW}, second_route: [a, b]", 15, "b", "there is no link between a and b", "write one of: r1, r2",
    ),
    "pacing": (FLOW, f"{FLOW}, pacing: 10 Mbit/s", 15, "pacing", "no SO_MAX_PACING_RATE", "remove pacing, or mptcp"),
    "exact window": (
        FLOW, f"{FLOW}, window: 1 MB, window_exact: true", 15, "window_exact", "no TCP_WINDOW_CLAMP", "remove window",
    ),
    "zero copy": (FLOW, f"{FLOW}, send: zerocopy", 15, "send", "no SO_ZEROCOPY", "write send: auto"),
    "both ways": (
        "to: b, mptcp: true}", "to: b, mptcp: true}\n  - {name: back, from: b, to: a, mptcp: true}", 16, "mptcp",
        "b sends and receives by MPTCP", "let another host",
    ),
    "not a truth value": (FLOW, "from: a, to: b, mptcp: maybe", 15, "maybe", "mptcp", "true or false"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_is_refused_with_its_place(tmp_path: Path, case: str) -> None:
    old, new, line, caret, what, right = CASES[case]
    assert old in GOOD
    with pytest.raises(ScenarioError) as caught:
        load(tmp_path, GOOD.replace(old, new))
    problem = caught.value.problems[0]
    text = (tmp_path / "two.yaml").read_text().splitlines()
    assert problem.mark is not None
    assert (problem.mark.line + 1, what in problem.what, right in problem.right) == (line, True, True), problem
    assert text[line - 1][problem.mark.column :].startswith(caret), problem


def test_flows_that_need_two_second_addresses_of_a_host_are_refused(tmp_path: Path) -> None:
    more = "  - {from: a, to: r4, one_way_delay: 1 ms}\n  - {from: r4, to: b, one_way_delay: 2 ms}\ntransfer:"
    text = GOOD.replace("transfer:", more) + "  - {name: more, from: a, to: b, mptcp: true, route: [a, r1, b]}\n"
    text = text.replace(f"{FLOW}}}", f"{FLOW}, route: [a, r1, b], second_route: [a, r2, b]}}")
    with pytest.raises(ScenarioError, match="second routes reach it over different links"):
        load(tmp_path, text)


def test_a_path_and_other_worlds_refuse_it(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(GOOD)
    with pytest.raises(ScenarioError, match=r"flows.0.mptcp is not in the world 'sim'") as caught:
        plan_for(load_scenario(file), "sim")
    assert "the world emu can (--world emu)" in str(caught.value)
    with pytest.raises(ScenarioError, match=r"flows.0.mptcp is not in the world 'real'"):
        plan_for(load_scenario(file), "real")
    first = Path(__file__).resolve().parents[2] / "scenarios" / "examples" / "first.yaml"
    with pytest.raises(ScenarioError, match="a path has one route, and MPTCP takes two") as caught:
        load_scenario(first, ("transfer.mptcp=true",))
    assert "write links and flows" in caught.value.problems[0].right


def test_a_kernel_without_it_is_refused_by_name(tmp_path: Path) -> None:
    """Builds of before it was configured; the name of the path manager is in the program or it is not."""
    program = tmp_path / "linux"
    program.write_bytes(b"\x7fELF of a kernel without it")
    old = Kernel(program, "0" * 16, "6.12.117", {})
    with pytest.raises(KernelError, match=r"mptcp: Linux 6.12.117 \(0000000000000000\) lacks it.*CONFIG_MPTCP"):
        check_kernel(load(tmp_path), old)
    program.write_bytes(b"\x7fELF\0mptcp_pm\0")
    check_kernel(load(tmp_path), old)


# --- The engine ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mptcp", "subflows_of_streams", "said"),
    [
        (False, [[], []], "the connections fell back to TCP"),
        (True, [["a", "b"], ["a"]], "no second subflow was joined to stream 1"),
        (True, [["a", "b"], ["a", "b"]], None),
    ],
)
def test_the_sender_is_told_and_a_fall_back_is_no_result(
    tmp_path: Path,
    mptcp: bool,
    subflows_of_streams: list[list[str]],
    said: str | None,
) -> None:
    """What fell back to TCP, or got no second subflow, fails the run: it is never taken for MPTCP."""
    plan = load(tmp_path)
    path = path_of(plan, plan.flow)
    receiver, sender = engine_commands(path.transfer, "/out")
    assert "--mptcp" in sender and "--mptcp" not in receiver
    streams = [
        {"stream": number, "subflows": [{"bytes": 1, "retransmits": 0} for _ in each]}
        for number, each in enumerate(subflows_of_streams)
    ]
    told = {"path": {"mptcp": mptcp}, "streams": streams, "engine": {}, "complete": True, "error": None}
    told |= {"bytes": 1, "duration_s": 1.0, "start_unix_ns": 0}
    (tmp_path / "engine.json").write_text(json.dumps(told))
    if said is None:
        assert ENGINE.convert(tmp_path, path) == TransferResult.of(told)
        return
    with pytest.raises(RunFailed, match=f"MPTCP was asked for and was not used: {said}"):
        ENGINE.convert(tmp_path, path)


# --- Routes ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(st.data())
def test_a_second_way_is_the_cheapest_of_all_that_share_no_link(data: Any) -> None:
    """Against all simple ways of a small graph."""
    nodes = [f"n{number}" for number in range(data.draw(st.integers(2, 6)))]
    pairs = st.tuples(st.sampled_from(nodes), st.sampled_from(nodes)).filter(lambda pair: pair[0] != pair[1])
    edges = [Edge(a, b, data.draw(st.integers(0, 9))) for a, b in data.draw(st.lists(pairs, min_size=1, max_size=9))]
    routes = Routes(edges, frozenset())
    source, target = data.draw(pairs)
    first = routes.way(source, target)
    if first is None:
        return
    second = routes.way(source, target, without=first)
    free = [way for way in ways(edges, source, target) if not set(way) & set(first)]
    if second is None:
        assert not free
        return
    assert not set(second) & set(first)
    assert nodes_of(edges, source, second)[-1] == target
    cost = [sum(edges[index].round_trip_ns for index in way) for way in (second, *free)]
    assert cost[0] == min(cost)


def ways(edges: list[Edge], source: str, target: str, passed: frozenset[str] = frozenset()) -> list[list[int]]:
    if source == target:
        return [[]]
    return [
        [index, *rest]
        for index, edge in enumerate(edges)
        if source in (edge.a, edge.b) and edge.other(source) not in passed
        for rest in ways(edges, edge.other(source), target, passed | {source})
    ]
