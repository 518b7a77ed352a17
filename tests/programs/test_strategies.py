"""The strategies: what they draw are scenarios and events that are right, and what fails shrinks to little."""

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

import landspeed as ls
from landspeed.programs import strategies as lst
from landspeed.programs.events import PathEvents
from tests.support.fuzzing import examples

ONCE = settings(database=None, max_examples=300, derandomize=True, deadline=None)


@examples(10)
@given(scenario=lst.paths(), data=st.data())
def test_what_is_drawn_is_right(scenario: ls.Scenario, data: st.DataObject) -> None:
    plan = scenario.plan()
    assert 2 <= len(plan.links) <= 1 + lst.MOST_ROUTERS
    assert sum(link.forward.delay_ns + link.reverse.delay_ns for link in plan.links) <= lst.LONGEST_MS * 10**6
    faults = data.draw(lst.faults(scenario, before="5 s"))
    planned = PathEvents(scenario)
    for fault in faults:
        event = planned.add(fault.at, fault.link, fault.what)
        assert event.at_ns < 5 * 10**9


def test_what_fails_shrinks_to_the_shortest_and_cleanest() -> None:
    """A path that is slow somewhere: one router, no delay, no loss, and the fastest line that is slow."""

    def is_slow(scenario: ls.Scenario) -> bool:
        return any(link.forward.rate_bps < 50_000_000 for link in scenario.plan().links)

    plan = find(lst.paths(), is_slow, settings=ONCE).plan()
    assert [node.name for node in plan.nodes] == ["a", "r1", "b"]
    assert sorted(link.forward.rate_bps for link in plan.links) == [10_000_000, 1_000_000_000]
    assert all(link.forward.delay_ns == 0 and link.forward.loss == 0 for link in plan.links)


def test_faults_shrink_to_none_or_to_one_packet() -> None:
    scenario = ls.load("lan")
    assert find(lst.faults(scenario), lambda _: True, settings=ONCE) == []
    (one,) = find(lst.faults(scenario), bool, settings=ONCE)
    assert one == lst.LinkFault("0 ms", ("a", "switch"), {"loss": "1 packet"})


@pytest.mark.guest
@pytest.mark.exact
def test_drawn_faults_happen() -> None:
    scenario = ls.load("lan")
    faults = [
        lst.LinkFault("100 ms", ("a", "switch"), {"loss": "2 packets"}),
        lst.LinkFault("200 ms", ("switch", "b"), {"line_rate": "2 Mbit/s", "for_": "300 ms"}),
    ]
    with ls.path(scenario) as path:
        for fault in faults:
            fault.plan(path)
        path.sender.run(["ping", "-c", "10", "-i", "0.1", "-W", "1", "b"])
        lost, slow = path.session.events
        assert lost.packets_lost == 4  # two in each direction: between its ends
        assert slow.until_s == pytest.approx(0.5, abs=1e-6)
