"""Events of a path: checked beside each other, told when they never came; and what is no path."""

import pytest

import landspeed as ls
from landspeed.programs.events import PathEvents

pytestmark = pytest.mark.guest


def test_events_are_checked_beside_each_other() -> None:
    """Before anything is asked of a guest."""
    planned = PathEvents(ls.load("lan"))
    planned.add("1 s", "switch-a", {"down": "5 s"})
    with pytest.raises(ls.ScenarioError, match="still holds on this link at 3 s"):
        planned.add("3 s", "a-switch", {"down": "1 s"})
    event = planned.add("7 s", None, {"from_": "switch", "to": "a", "loss": "2 packets"})
    assert (event.at_ns, event.link, event.direction, event.packets) == (7 * 10**9, 0, "reverse", 2)


def test_an_event_that_never_came_is_told() -> None:
    said = r"planned for 9.000 s, and the path's clock ended at 1.000 s"
    with pytest.warns(ls.LandspeedWarning, match=said), ls.path("lan") as path:
        path.at("9 s", link="a-switch", down="1 s")
        path.advance("1 s")


@pytest.mark.parametrize("what", ["no-such-path", "no/such/file.yaml", {"format": 1}])
def test_a_path_that_is_none(what: str | dict[str, int]) -> None:
    with pytest.raises(ls.ScenarioError), ls.path(what):
        pass
