"""Traces of every system, whatever their times: each line is read, and no link gets less than no delay."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzzing import examples
from hypothesis import given
from hypothesis import strategies as st
from landspeed.scenarios.measured.evidence import Evidence, Hop, Trace
from landspeed.scenarios.measured.importing import import_files
from landspeed.scenarios.measured.infer import infer
from landspeed.scenarios.measured.write import write_scenario

HERE = Path(__file__).resolve().parent / "measured"


def links_ms(*traces: str) -> list[float]:
    """The round trip of each link that is imported from these files."""
    made = import_files({"traceroute": [HERE / name for name in traces]})
    return [(link.rtt or 0) / 1e6 for link in made.loaded.scenario.path]


def test_a_hop_that_answers_no_later_than_the_one_before_has_a_link_without_a_delay() -> None:
    made = import_files({"traceroute": [HERE / "two-hops-traceroute.txt"]})
    first, last = made.loaded.scenario.path
    assert (first.rtt, last.rtt) == (5_007_000, 0)
    assert "before answered no sooner than the receiver: the link between them has the least delay" in made.text


TIMES = st.lists(st.floats(0, 400).map(lambda ms: round(ms, 3)), max_size=3).map(tuple)


@examples(200)
@given(st.lists(TIMES, max_size=30), st.lists(TIMES, max_size=30), TIMES.filter(any), st.booleans(), st.booleans())
def test_no_trace_makes_a_negative_delay(
    there: list[tuple[float, ...]], back: list[tuple[float, ...]], last: tuple[float, ...], reached: bool, same: bool
) -> None:
    """Random lists of both ends: links ≥ 0 that add up to the round trip, and a text without a negative number."""
    back = there[::-1] if same else back
    traces = [
        Trace(name, "b", (*(Hop(f"r{n}", ms) for n, ms in enumerate(times)), Hop("b", last)), reached)
        for name, times in (("there", there), ("back", back))
    ]
    evidence = Evidence(traces=traces)
    made = infer(evidence)
    assert min(made.round_trip.links_ms) >= 0
    assert sum(made.round_trip.links_ms) == pytest.approx(made.round_trip.delay.value * 1e3, abs=1e-9)
    written = [line.split("#")[0] for line in write_scenario(made, evidence, "x").splitlines() if "  rtt:" in line]
    assert written and not [line for line in written if "-" in line]
