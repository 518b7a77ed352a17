"""Imports of slow lines and of a LAN: a packet's own time on the line is no delay, and what was imported passes."""

from pathlib import Path

import pytest

from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.importers.import_files import import_files
from landspeed.scenario.resolve.resolve import make_plan
from landspeed.scenario.theory.timing import echo_ns
from tests.support.places import TESTS

HERE = TESTS / "scenario" / "importer_inputs"


@pytest.mark.parametrize(("name", "delay_ms", "line_bps"), [("slow10", 20.0, 10e6), ("lan", 0.04, 100e6)])
def test_what_packets_take_on_the_line_is_no_delay(name: str, delay_ms: float, line_bps: float, tmp_path: Path) -> None:
    """10 Mbit/s and 20 ms; 100 Mbit/s and 40 µs: the delay found is the path's, and a ping sees what is expected."""
    made = import_files({"iperf3": [HERE / f"{name}-iperf3.json"], "ss": [HERE / f"{name}-ss.txt"]})
    path = made.loaded.scenario.path
    assert sum(link.rtt or 0 for link in path) / 1e6 == pytest.approx(delay_ms, rel=0.001, abs=0.002)
    assert path[1].line_rate == pytest.approx(line_bps, rel=0.01)
    (tmp_path / "x.yaml").write_text(made.text)
    plan = make_plan(load_scenario(tmp_path / "x.yaml"))
    assert plan.expect is not None
    assert plan.expect.rtt_ns == pytest.approx(echo_ns(plan), abs=100)
