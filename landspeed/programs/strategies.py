"""Hypothesis strategies for paths and for what happens to them; what is found shrinks to a short, clean path.

    from landspeed.programs import strategies as lst

    @given(scenario=lst.paths(), data=st.data())
    def test_copy_arrives(scenario, data):
        with ls.path(scenario, seed=1) as path:
            for fault in data.draw(lst.faults(scenario, before="10 s")):
                fault.plan(path)
            ...

Every value shrinks towards the harmless: one router, short delays, fast lines, no loss, no fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from landspeed.base.units import TIME, parse
from landspeed.runs.scenario import Scenario

if TYPE_CHECKING:
    from landspeed.programs.path import NetworkPath

RATES = ("1 Gbit/s", "100 Mbit/s", "10 Mbit/s", "2 Mbit/s")  # the harmless first: that is where they shrink to
LOSSES = ("0 %", "0.01 %", "0.1 %", "1 %")
QUEUES = ("1 BDP", "4 BDP", "0.25 BDP")
MTUS = ("1500 B", "9000 B", "1280 B")
LONGEST_MS = 300
MOST_ROUTERS = 4


@dataclass(frozen=True)
class LinkFault:
    """Event on a link.

    Attributes:
        at: of the path's clock.
        link: its two nodes.
        what: an entry of a scenario's `events`.
    """

    at: str
    link: tuple[str, str]
    what: Mapping[str, str]

    def plan(self, path: NetworkPath) -> None:
        """Let it happen on a path."""
        path.at(self.at, link=self.link, **self.what)


@st.composite
def paths(
    draw: st.DrawFn,
    *,
    most_routers: int = MOST_ROUTERS,
    longest_ms: int = LONGEST_MS,
    rates: tuple[str, ...] = RATES,
    losses: tuple[str, ...] = LOSSES,
) -> Scenario:
    """Paths between the hosts `a` and `b` over routers `r1`, `r2`, …

    Args:
        draw: Hypothesis gives it.
        most_routers: at most so many, at least one.
        longest_ms: of the round trip, of which each link has the same share.
        rates: of lines, the harmless first.
        losses: of each link, the same.
    """
    figures = st.fixed_dictionaries(
        {"line_rate": st.sampled_from(rates), "loss": st.sampled_from(losses), "queue": st.sampled_from(QUEUES)}
    )
    drawn = draw(st.lists(figures, min_size=2, max_size=most_routers + 1))
    one_way_us = draw(st.integers(0, longest_ms * 1000 // 2))
    names = ["a", *(f"r{number}" for number in range(1, len(drawn))), "b"]
    links: list[dict[str, Any]] = [
        {"from": first, "to": second, "one_way_delay": f"{one_way_us // len(drawn)} us", **each}
        for (first, second), each in zip(pairwise(names), drawn, strict=True)
    ]
    return Scenario.build(
        format=1,
        name="drawn",
        title=f"A path that Hypothesis drew, {len(links)} links",
        mtu=draw(st.sampled_from(MTUS)),
        hosts={"a": {"role": "sender", "nic": "1 Gbit/s"}, "b": {"role": "receiver", "nic": "1 Gbit/s"}},
        path=links,
        transfer={"duration": "10 s"},
    )


@st.composite
def faults(draw: st.DrawFn, scenario: Scenario, *, before: str = "10 s", most: int = 3) -> list[LinkFault]:
    """Draw events on the links of a path, each link at most once.

    Args:
        draw: Hypothesis gives it.
        scenario: the path.
        before: of the path's clock: all of it happens before.
        most: at most so many.
    """
    latest_ms = max(parse(TIME, before) // 10**6 - 1, 0)
    ends = [(each.from_, each.to) for each in scenario.contents.all_links]
    chosen = draw(st.lists(st.sampled_from(ends), max_size=min(most, len(ends)), unique=True))
    return [LinkFault(f"{draw(st.integers(0, latest_ms))} ms", link, draw(_happening())) for link in chosen]


def _happening() -> st.SearchStrategy[dict[str, str]]:
    lasts = st.integers(1, 2000).map(lambda ms: f"{ms} ms")
    return st.one_of(
        st.integers(1, 20).map(lambda count: {"loss": f"{count} packet{'s' * (count > 1)}"}),
        lasts.map(lambda time: {"down": time}),
        st.tuples(st.sampled_from(RATES[1:]), lasts).map(lambda both: {"line_rate": both[0], "for_": both[1]}),
        st.tuples(st.integers(1, 200), lasts).map(lambda both: {"one_way_delay": f"{both[0]} ms", "for_": both[1]}),
    )
