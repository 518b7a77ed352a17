"""Links of a network that are passed in one step: which may be, and that nobody can tell, but for the wall time."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from landspeed.results.samples_reader import Samples
from landspeed.scenario.plan.flow_path import path_of
from landspeed.scenario.plan.plan import Plan
from landspeed.scenario.theory.timing import echo_ns
from landspeed.worlds.emu.guest.joined_links import runs_of
from landspeed.worlds.emu.guest.network.network import link_address, own_ends
from tests.support.emu_fixtures import measure, plan_of, transfer


def chain(*nodes: str, **more: Any) -> list[dict[str, Any]]:
    """Links from node to node."""
    return [{"from": a, "to": b, "one_way_delay": "1 ms", **more} for a, b in itertools.pairwise(nodes)]


def network(links: list[dict[str, Any]], *flows: tuple[str, str], **more: Any) -> dict[str, Any]:
    """Gigabit links, and flows by their ends."""
    head = {"format": 1, "name": "test", "title": "A test", "line_rate": "1 Gbit/s", "queue": "500 kB"}
    named = [{"name": f"{a}-{b}", "from": a, "to": b} for a, b in flows]
    return head | {"transfer": {"duration": "1 s"}, "links": links, "flows": named} | more


def joined(folder: Path, content: dict[str, Any]) -> set[tuple[str, ...]]:
    """The nodes that each run passes."""
    plan = plan_of(folder, content)
    return {nodes(plan, run.places) for run in runs_of(plan)}


def nodes(plan: Plan, places: tuple[tuple[int, bool], ...]) -> tuple[str, ...]:
    ends = [(plan.links[link].a, plan.links[link].b) if ahead else (plan.links[link].b, plan.links[link].a)
            for link, ahead in places]  # fmt: skip
    assert all(one[1] == other[0] for one, other in itertools.pairwise(ends))
    return (ends[0][0], *(b for _, b in ends))


# --- Which links -----------------------------------------------------------------------------------------------------


def dumbbell(**more: Any) -> dict[str, Any]:
    """Access paths of three hops, one of them written from its far end, on both sides of 100 Mbit/s."""
    return network(
        [
            *chain("near", "n1", "n2", "left"),
            *chain("left", "f2", "f1", "far"),
            *chain("left", "right", line_rate="100 Mbit/s"),
            *chain("right", "s2", "s1", "sink"),
            *chain("right", "d2", "d1", "drain"),
        ],
        ("near", "sink"),
        ("far", "drain"),
        **more,
    )


def test_the_access_paths_of_a_dumbbell_are_joined_both_ways(tmp_path: Path) -> None:
    """The bottleneck queues. What leaves it comes no faster than the lines behind it, and so do acknowledgments."""
    ahead = {("near", "n1", "n2", "left"), ("far", "f1", "f2", "left")}
    ahead |= {("right", "s2", "s1", "sink"), ("right", "d2", "d1", "drain")}
    assert joined(tmp_path, dumbbell()) == ahead | {run[::-1] for run in ahead}


def test_a_flow_that_comes_or_goes_parts_what_is_joined(tmp_path: Path) -> None:
    """From `m` to `b` it uses the way of another: where it enters a queue can form, and behind that all go together."""
    content = network(
        [*chain("a", "r1", "r2", "r3", "r4", "r5", "b"), *chain("m", "r3")], ("a", "b"), ("m", "b")
    )  # fmt: skip
    found = joined(tmp_path, content)
    assert found == {("a", "r1", "r2", "r3"), ("r4", "r5", "b"), ("b", "r5", "r4", "r3"), ("r3", "r2", "r1", "a")}
    # Behind the queue at r3 → r4 both go on to b. Their answers part at r3.


def test_a_flow_that_crosses_parts_nothing(tmp_path: Path) -> None:
    """It shares a router, and no line."""
    links = [*chain("a", "r1", "x", "r3", "b"), *chain("c", "s1", "x", "s3", "d")]
    ways = {("a", "r1", "x", "r3", "b"), ("c", "s1", "x", "s3", "d")}
    assert joined(tmp_path, network(links, ("a", "b"), ("c", "d"))) == ways | {way[::-1] for way in ways}


def test_flows_that_go_all_the_way_together_share_a_run(tmp_path: Path) -> None:
    """From one host to two behind one router: its line is the sum's limit. The last links are each by itself."""
    plan = plan_of(
        tmp_path,
        network([*chain("a", "r1", "r2", "r3"), *chain("r3", "b"), *chain("r3", "c")], ("a", "b"), ("a", "c")),
    )
    (ahead,) = (run for run in runs_of(plan) if run.from_host)
    assert (nodes(plan, ahead.places), ahead.hosts) == (("a", "r1", "r2", "r3"), (("b", False), ("c", False)))
    (back,) = (run for run in runs_of(plan) if not run.from_host)
    assert (nodes(plan, back.places), back.hosts) == (("r2", "r1", "a"), (("a", False),))  # at r3 the answers meet


def test_a_flow_against_another_is_on_other_lines(tmp_path: Path) -> None:
    """Data against data: acknowledgments go with the other's data, from the same host, at no more than its line."""
    links = chain("a", "r1", "r2", "b")
    assert joined(tmp_path, network(links, ("a", "b"), ("b", "a"))) == {("a", "r1", "r2", "b"), ("b", "r2", "r1", "a")}


def test_a_second_route_of_mptcp_is_a_way_of_its_own(tmp_path: Path) -> None:
    """To the second addresses; and a second subflow that comes into another flow's way parts it, as a flow does."""
    links = [*chain("a", "r1", "r2", "b"), *chain("a", "s1", "s2", "b")]
    flows = [{"name": "both", "from": "a", "to": "b", "mptcp": True}]
    plan = plan_of(tmp_path, network(links) | {"flows": flows})
    found = {nodes(plan, run.places): run.hosts for run in runs_of(plan)}
    second = "s1" if plan.flows[0].second_route == [3, 4, 5] else "r1"
    assert len(found) == 4
    assert all(hosts == ((way[-1], second in way),) for way, hosts in found.items()), found


# --- And nobody can tell ---------------------------------------------------------------------------------------------


def meeting(ip: int, fidelity: str = "packets", access: str = "10 Gbit/s", **more: Any) -> dict[str, Any]:
    """Two ways that meet, go on together over 10 Gbit/s, and part; the second of three lines each time is faster."""

    def uneven(*way: str, line_rate: str = access) -> list[dict[str, Any]]:
        links = chain(*way, line_rate=line_rate)
        for number, link in enumerate(links):
            link["one_way_delay"] = f"{300 + 7 * number} us"
        links[1] |= {"line_rate": "25 Gbit/s", "framing": "pos"} if line_rate == "10 Gbit/s" else {}
        return links

    links = [*uneven("alpha", "a1", "a2", "left"), *uneven("beta", "b1", "b2", "left")]
    links += [*uneven("left", "m1", "m2", "right", line_rate="10 Gbit/s")]
    links += [*reversed(uneven("omega", "o1", "o2", "right")), *uneven("psi", "p1", "p2", "right")]
    return network(links, ("alpha", "omega"), ("beta", "psi"), ip=ip, fidelity=fidelity, **more)


@pytest.mark.guest
@pytest.mark.parametrize(("ip", "fidelity"), [(4, "packets"), (6, "packets"), (4, "super-packets")])
def test_each_packet_arrives_at_the_same_nanosecond(tmp_path: Path, ip: int, fidelity: str) -> None:
    """Alone and in trains, of both flows, both ways, through all runs and the queue between them."""
    plan = plan_of(tmp_path, meeting(ip, fidelity))
    assert len(runs_of(plan)) == 10
    own = own_ends(plan)
    requests = [
        {"origin": a, "target": b, "address": link_address(ip, *own[b]), "size": size, "count": count, **more}
        for a, b in (("alpha", "omega"), ("beta", "psi"), ("omega", "alpha"), ("psi", "beta"))
        for size, count, more in (
            (100, 3, {"gap_ns": 20_000_000}),
            (577, 3, {"gap_ns": 20_000_000}),
            (1500, 100, {"together": 100}),
            (100, 100, {"together": 100}),
        )
    ]
    seen = []
    for every_hop in (False, True):
        folder = tmp_path / str(every_hop)
        folder.mkdir()
        trains = measure(plan, folder, requests, every_hop=every_hop)
        assert [len(train.arrived) for train in trains] == [request["count"] for request in requests]
        seen.append([[(each.sequence, each.one_way_ns, each.frame_bytes) for each in t.arrived] for t in trains])
    assert seen[0] == seen[1]


@pytest.mark.guest
@pytest.mark.parametrize("ip", [4, 6])
def test_flows_are_the_same_over_every_hop_and_both_ways_are_measured(tmp_path: Path, ip: int) -> None:
    """Each fills its access path of 1 Gbit/s, where no queue overflows."""
    plan = plan_of(tmp_path, meeting(ip, access="1 Gbit/s", transfer={"duration": "3 s", "window": "2 MB"}))
    found = []
    for every_hop in (False, True):
        record, bundle = transfer(plan, tmp_path / str(every_hop), every_hop=every_hop, exact_timers=True)
        assert record.passed, record.verdicts
        assert len(record.guest.joined) == (0 if every_hop else 10)
        found.append((record, Samples(bundle)))
        for flow, known in zip(plan.flows, record.flows, strict=True):
            assert known.calibration is not None
            path = path_of(plan, flow)
            one_step = [each for each in known.calibration.checks if each.place.endswith("in one step")]
            assert [each.name for each in one_step] == ([] if every_hop else ["rtt", "ttl"] * 2)
            assert known.rtt_ms == pytest.approx(echo_ns(path) / 1e6, abs=0.001)
            assert len([each for each in known.calibration.checks if each.place.endswith("hop by hop")]) == (
                0 if every_hop else 2
            )
    (short, short_samples), (every, every_samples) = found
    assert short.retransmits == every.retransmits == 0
    for mine, theirs in zip(short.flows, every.flows, strict=True):
        assert mine.goodput_bps == pytest.approx(theirs.goodput_bps, rel=1e-4)
    counted = [samples.passed_by_link("packets") for samples in (short_samples, every_samples)]
    assert counted[0].keys() == counted[1].keys()
    for place, packets in counted[0].items():
        assert packets == pytest.approx(counted[1][place], abs=30), place
