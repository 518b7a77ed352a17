"""Parallel links: each host's packets take one of them; which, follows from the seed alone; in both worlds."""

import collections
import json
from pathlib import Path
from typing import Any

import pytest

from landspeed.base.errors import ScenarioError
from landspeed.cli import main as cli
from landspeed.results.bundle import load_record
from landspeed.results.samples_reader import Samples
from landspeed.scenario.file.load import LoadedScenario, build_scenario, change_scenario, load_scenario
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.registry import plan_for
from tests.support.emu_fixtures import transfer
from tests.support.scenario_errors import refused
from tests.support.sim_fixtures import MS, S, simulate

PAIRS, LINES = 3, 4


def net(pairs: int = PAIRS, **more: Any) -> LoadedScenario:
    """As many pairs of hosts, with two routers between, joined by four lines of 100 Mbit/s."""
    core = {"from": "r1", "to": "r2", "name": "core", "parallel": LINES, "one_way_delay": "5 ms", "queue": "60 kB"}
    links = [{"from": f"a{n}", "to": "r1", "one_way_delay": "1 ms"} for n in range(pairs)]
    links += [{"from": "r2", "to": f"b{n}", "one_way_delay": "1 ms"} for n in range(pairs)]
    flows: list[dict[str, Any]] = [{"name": f"f{n}", "from": f"a{n}", "to": f"b{n}"} for n in range(pairs)]
    whole = {"format": 1, "name": "bundle", "title": "a bundle", "line_rate": "100 Mbit/s", "links": [core, *links]}
    return build_scenario(whole | {"flows": flows, "transfer": {"duration": "4 s"}} | more)


def lines(plan: Plan) -> list[tuple[int, int]]:
    """The lines of each flow, there and back."""
    found = [
        [link for link in way if plan.links[link].name]
        for flow in plan.flows
        for way in (flow.route, flow.route_back or flow.route[::-1])
    ]
    return [(found[n][0], found[n + 1][0]) for n in range(0, len(found), 2)]


def test_a_link_written_once_is_several(tmp_path: Path) -> None:
    """Written out, the file is the same."""
    loaded = net()
    plan = plan_for(loaded, "emu")
    assert [link.name for link in plan.links if link.name] == [f"core-{n}" for n in range(1, LINES + 1)]
    (tmp_path / "again.yaml").write_text(loaded.text_resolved)
    assert plan_for(load_scenario(tmp_path / "again.yaml"), "emu").sha256 == plan.sha256


def test_the_seed_says_which_of_equal_chance() -> None:
    """Over 400 seeds each line is as often taken there, and independently back (chi-square, three and nine degrees)."""
    loaded = net(1)
    taken = [lines(plan_for(loaded, "sim", seed))[0] for seed in range(400)]
    assert lines(plan_for(loaded, "emu", 7)) == lines(plan_for(loaded, "sim", 7))
    ahead = collections.Counter(there for there, _ in taken)
    both = collections.Counter(taken)
    assert sum((ahead[n] - 100) ** 2 / 100 for n in range(LINES)) < 21.1  # 1 of 10 000 is above that
    assert sum((both[a, b] - 25) ** 2 / 25 for a in range(LINES) for b in range(LINES)) < 45


def test_a_route_that_names_one_takes_it() -> None:
    """Both ways; one that names all of them takes that of the hash."""
    own, whole = (
        {"name": "f0", "from": "a0", "to": "b0", "route": ["a0", "r1", word, "r2", "b0"]} for word in ("core-3", "core")
    )
    plan = plan_for(net(1, flows=[own]), "emu")
    assert lines(plan) == [(2, 2)] and plan.flow.route_back is None
    assert lines(plan_for(net(1, flows=[whole]), "emu")) == lines(plan_for(net(1), "emu"))


def test_flows_that_share_a_host_share_its_line() -> None:
    """Routers forward by destination: what goes to one host takes one line, whoever sends it."""
    flows = [{"name": f"f{n}{m}", "from": f"a{n}", "to": f"b{m}"} for n in range(PAIRS) for m in range(PAIRS)]
    taken = lines(plan_for(net(flows=flows), "emu"))
    assert all(len({there for there, _ in taken[m::PAIRS]}) == 1 for m in range(PAIRS))
    assert all(len({back for _, back in taken[n * PAIRS : (n + 1) * PAIRS]}) == 1 for n in range(PAIRS))


@pytest.mark.parametrize("count", ["1", "65", "true", "many", '"5 of"'])
def test_a_bad_number_is_refused(tmp_path: Path, count: str) -> None:
    text = json.dumps(_plain()).replace('"parallel": 4', f'"parallel": {count}')
    (tmp_path / "s.yaml").write_text(text)
    assert "write 2 to 64" in refused(tmp_path / "s.yaml")


def _plain() -> dict[str, Any]:
    core = {"from": "r1", "to": "r2", "name": "core", "parallel": 4, "one_way_delay": "5 ms"}
    ends = [{"from": "a", "to": "r1", "one_way_delay": "1 ms"}, {"from": "r2", "to": "b", "one_way_delay": "1 ms"}]
    flows = [{"name": "f", "from": "a", "to": "b", "duration": "1 s"}]
    return {"format": 1, "name": "s", "title": "s", "line_rate": "1 Gbit/s", "links": [core, *ends], "flows": flows}


def collided() -> Plan:
    """With a seed with which two flows share a line and the third has one to itself."""
    loaded = net()
    for seed in range(1, 100):
        plan = plan_for(loaded, "emu", seed)
        ahead = [there for there, _ in lines(plan)]
        if ahead[0] == ahead[1] != ahead[2]:
            return plan
    raise AssertionError("no seed of a hundred")


def check_shares(plan: Plan, sent: dict[int, float]) -> None:
    """In two seconds a line that is taken carries 100 Mbit/s, by one flow or by two; the others nothing."""
    taken = {there for there, _ in lines(plan)}
    assert len(taken) == PAIRS - 1
    full = 2 * 100e6 / 8 / 1538
    for line, packets in sent.items():
        assert packets == (pytest.approx(full, rel=0.02) if line in taken else 0), sent


@pytest.mark.guest
def test_linux_flows_share_a_line_or_have_one(tmp_path: Path) -> None:
    plan = collided()
    _, bundle = transfer(plan, tmp_path)
    tables = {line: Samples(bundle).link(line, "forward") for line in range(LINES)}
    check_shares(
        plan,
        {line: _between(table["time_ns"].to_pylist(), table["packets"].to_pylist()) for line, table in tables.items()},
    )


def _between(times_ns: list[int], packets: list[int]) -> float:
    """Packets of the two seconds from the second one on."""
    ends = [next(number for number, at in enumerate(times_ns) if at >= end) for end in (2 * S, 4 * S - 50 * MS)]
    return (packets[ends[1]] - packets[ends[0]]) * 2 * S / (times_ns[ends[1]] - times_ns[ends[0]])


@pytest.mark.slow
def test_simulated_flows_share_a_line_or_have_one(tmp_path: Path) -> None:
    plan = collided()
    run = simulate(plan.to_json(), tmp_path / "run")
    assert run.status == 0, run.error
    rows = [row for row in run.rows("links") if row["direction"] == 0]
    tables = {line: [row["packets"] or 0 for row in rows if row["link"] == line] for line in range(LINES)}
    check_shares(plan, {line: float(each[40] - each[20]) for line, each in tables.items()})


# --- By ports --------------------------------------------------------------------------------------------------------


def by_ports(streams: int = 8, **more: Any) -> LoadedScenario:
    """Two hosts, four lines of 100 Mbit/s between their routers; each connection has a line of its own."""
    core = {"from": "r1", "to": "r2", "name": "core", "parallel": LINES, "hash": "ports", "one_way_delay": "5 ms"}
    ends = [{"from": "a", "to": "r1", "one_way_delay": "1 ms"}, {"from": "r2", "to": "b", "one_way_delay": "1 ms"}]
    flow = {"name": "data", "from": "a", "to": "b", "streams": streams} | more
    links = [core | {"line_rate": "100 Mbit/s", "queue": "100 kB"}, *ends]
    whole = {"format": 1, "name": "ports", "title": "ports", "line_rate": "1 Gbit/s", "links": links}
    return build_scenario(whole | {"flows": [flow], "transfer": {} if "bytes" in more else {"duration": "4 s"}})


def test_by_ports_each_stream_is_a_flow_with_a_line_of_its_own() -> None:
    plan = plan_for(by_ports(3, bytes="10 B", congestion_controls=["reno", "cubic"]), "sim")
    assert [(flow.name, flow.transfer.streams, flow.own_way) for flow in plan.flows] == [
        (f"data-{n}", 1, True) for n in (1, 2, 3)
    ]
    assert [flow.transfer.bytes for flow in plan.flows] == [4, 3, 3]
    assert [flow.transfer.congestion_control for flow in plan.flows] == ["reno", "cubic", "reno"]
    assert plan_for(by_ports(), "emu").flows == plan_for(by_ports(), "sim").flows


def test_one_connection_has_one_line() -> None:
    """Of equal chance each, and independently back (chi-square over 400 seeds, nine degrees: 1 of 10 000 is above)."""
    loaded = by_ports(1)
    both = collections.Counter(lines(plan_for(loaded, "sim", seed))[0] for seed in range(400))
    assert [flow.name for flow in plan_for(loaded, "sim").flows] == ["data"]
    assert sum((both[a, b] - 25) ** 2 / 25 for a in range(LINES) for b in range(LINES)) < 45


def test_streams_spread_as_balls_over_bins() -> None:
    """Of eight streams and four lines one is empty with chance (3/4)^8 each: 0.4 in the mean, over 200 seeds."""
    loaded = by_ports()
    empty = [LINES - len({there for there, _ in lines(plan_for(loaded, "sim", seed))}) for seed in range(200)]
    assert sum(empty) / 200 == pytest.approx(4 * 0.75**8, abs=5 * 0.55 / 200**0.5)


def test_a_connection_that_names_a_line_takes_it_beside_others() -> None:
    loaded = by_ports(2)
    pinned = {"name": "own", "from": "a", "to": "b", "route": ["a", "r1", "core-3", "r2", "b"]}
    flows = [{"name": "data", "from": "a", "to": "b"}, pinned]
    plan = plan_for(change_scenario(loaded, {"flows": flows}), "emu")
    assert lines(plan)[1] == (2, 2)


@pytest.mark.parametrize(("key", "value"), [("expect", {"goodput": "1 Gbit/s", "tolerance": "1 %"}), ("mptcp", True)])
def test_what_is_of_several_streams_is_refused(key: str, value: Any) -> None:
    with pytest.raises(ScenarioError, match="over links with hash: ports each stream of data is a flow"):
        by_ports(2, **{key: value})


def test_a_hash_of_one_link_is_refused(tmp_path: Path) -> None:
    text = json.dumps(_plain()).replace('"parallel": 4', '"hash": "ports"')
    (tmp_path / "s.yaml").write_text(text)
    assert "a hash chooses among parallel links, and this is one" in refused(tmp_path / "s.yaml")


@pytest.mark.slow
@pytest.mark.parametrize("world", ["sim", pytest.param("emu", marks=pytest.mark.guest)])
def test_each_stream_goes_at_its_lines_share(tmp_path: Path, world: str) -> None:
    """A line of 100 Mbit/s carries 94.15 Mbit/s of payload, by however many take it."""
    loaded = by_ports()
    (tmp_path / "s.yaml").write_text(loaded.text_resolved)
    words = ["run", str(tmp_path / "s.yaml"), "--world", world, "--quiet", "--out", str(tmp_path / "runs")]
    assert cli.main(words) == 0
    (bundle,) = (tmp_path / "runs").iterdir()
    record, plan = load_record(bundle), plan_for(loaded, world)
    taken = [there for there, _ in lines(plan)]
    shares = collections.Counter(taken)
    assert sorted(shares.values()) == [1, 2, 2, 3]  # seed 1
    for line in shares:
        got = [flow.settled_goodput_bps or 0 for flow, own in zip(record.flows, taken, strict=True) if own == line]
        assert sum(got) == pytest.approx(94.15e6, rel=0.03)
        assert all(each == pytest.approx(94.15e6 / len(got), rel=0.6) for each in got), got  # CUBIC, two seconds
    assert all(flow.calibration and flow.calibration.passed for flow in record.flows)
    word = {flow.name: flow.limited_by for flow, own in zip(record.flows, taken, strict=True) if shares[own] == 1}
    assert set(word.values()) == {"line rate"}
