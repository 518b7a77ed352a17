"""Right at every rate: gate and verdicts pass what is right. (What a lone packet takes: test_truth.py.)

Theory here is written out once more, apart from the package's: delay, and (bytes + framing) × 8 / rate on each line.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import landspeed
from tests.support.emu_fixtures import plan_of, scenario, transfer, write_scenario

pytestmark = pytest.mark.guest

MICROSECOND_MS = 1e-3
DISCIPLINES = {"discipline": "fq_codel", "framing": "pos", "line_rate": "24.88 Gbit/s"}
REFUSED_ONCE: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "56 kbit/s": ([{"one_way_delay": "1 ms"}, {"one_way_delay": "20 ms", "line_rate": "56 kbit/s"}], {}),
    "5 Mbit/s, IPv6": ([{"one_way_delay": "1 ms"}, {"one_way_delay": "20 ms", "line_rate": "5 Mbit/s"}], {"ip": 6}),
    "20 Mbit/s at MTU 9000": (
        [{"one_way_delay": "1 ms"}, {"one_way_delay": "20 ms", "line_rate": "20 Mbit/s"}],
        {"mtu": "9000 B"},
    ),
    "100 Mbit/s back": (
        [{"one_way_delay": "1 ms"}, {"one_way_delay": "20 ms", "reverse": {"line_rate": "100 Mbit/s"}}],
        {"nic": None},
    ),
    "2 Mbit/s back": (
        [{"one_way_delay": "1 ms"}, {"one_way_delay": "20 ms", "reverse": {"line_rate": "2 Mbit/s"}}],
        {"nic": None},
    ),
    "37 µs at 2.5 Gbit/s": ([{"one_way_delay": "37 us", "line_rate": "2.5 Gbit/s"}], {}),
    "1 µs at 100 Gbit/s": ([{"one_way_delay": "1 us", "line_rate": "100 Gbit/s"}], {}),
    "0.42 ms at 250 Mbit/s": ([{"one_way_delay": "140 us", "line_rate": "250 Mbit/s"}] * 3, {}),
    "POS with fq_codel": (
        [{"one_way_delay": "5 ms", "line_rate": "100 Gbit/s"}, {"one_way_delay": "2 ms", **DISCIPLINES}],
        {},
    ),
    "100 Mbit/s, eight hops": ([{"one_way_delay": "2 ms", "line_rate": "100 Mbit/s"}] * 8, {}),
    "jitter": (
        [{"one_way_delay": "10 ms"}, {"one_way_delay": "5 ms", "jitter": "50 us", "line_rate": "200 Mbit/s"}],
        {},
    ),
    "super-packets at 50 Mbit/s": (
        [{"one_way_delay": "1 ms"}, {"one_way_delay": "9 ms", "line_rate": "50 Mbit/s"}, {"one_way_delay": "3 ms"}],
        {"fidelity": "super-packets"},
    ),
}


def rtt_ms(links: list[dict[str, Any]], there_bytes: int, back_bytes: int) -> float:
    """Propagation, and the time on each line there and back."""
    total = 0.0
    for link in links:
        back = link.get("reverse", {})
        framing = 9 if link.get("framing") == "pos" else 38
        total += (milliseconds(link["one_way_delay"])) * 2
        for lane, size in ((link, there_bytes), (back, back_bytes)):
            rate = lane.get("line_rate") or link.get("line_rate") or "1 Gbit/s"
            total += (size + framing) * 8e3 / bps(rate)
    return total


def milliseconds(text: str) -> float:
    value, unit = text.split()
    return float(value) * {"ms": 1, "us": 1e-3}[unit]


def bps(text: str) -> float:
    value, unit = text.split()
    return float(value) * {"kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}[unit]


@pytest.mark.parametrize("name", REFUSED_ONCE)
def test_a_path_that_is_right_is_not_refused(tmp_path: Path, name: str) -> None:
    """Paths that the gate or the verdicts refused in November 2026: every verdict holds, RTT to a microsecond."""
    links, more = REFUSED_ONCE[name]
    content = scenario(links, **{"nic": "100 Gbit/s", **more})
    for host in content["hosts"].values():
        if host["nic"] is None:
            del host["nic"]
    record, _ = transfer(plan_of(tmp_path, content), tmp_path)
    assert record.passed, [verdict.text for verdict in record.verdicts if verdict.ok is False]
    found = record.calibration
    assert found is not None
    size = 104 if more.get("ip") == 6 else 84
    jitter_ms = 0.1 if name == "jitter" else 0
    assert found.rtt_ms == pytest.approx(rtt_ms(links, size, size), abs=MICROSECOND_MS + jitter_ms)
    assert found.rate_bps == pytest.approx(found.rate_expected_bps, rel=0.02 if jitter_ms else 1e-4)
    assert found.rate_reverse_bps == pytest.approx(found.rate_reverse_expected_bps, rel=0.02 if jitter_ms else 1e-4)


def test_a_way_back_that_drops_acknowledgments_is_no_limit(tmp_path: Path) -> None:
    """A modem's queue overflows with ACKs; each that is left stands for more, and the line ahead is full."""
    links = [{"one_way_delay": "1 ms"}, {"one_way_delay": "20 ms", "reverse": {"line_rate": "2 Mbit/s"}}]
    plan = plan_of(tmp_path, scenario(links, nic="1 Gbit/s", transfer={"duration": "12 s"}))
    assert plan.physics.expected_bottleneck.kind == "line rate"
    record, _ = transfer(plan, tmp_path)
    assert record.steady_goodput_bps == pytest.approx(1e9 * 1448 / 1538, rel=0.01)
    assert record.limited_by == "line rate"


@pytest.mark.parametrize("world", ["emu", "sim"])
def test_a_starved_way_back_bounds_the_transfer(tmp_path: Path, world: str) -> None:
    """2 Mbit/s of ACKs of 90 B for two packets of 1448 B each: 64.4 Mbit/s, predicted, measured, and recognised."""
    links = [{"one_way_delay": "1 ms"}, {"one_way_delay": "20 ms", "reverse": {"line_rate": "2 Mbit/s"}}]
    content = scenario(links, transfer={"duration": "20 s"})
    for host in content["hosts"].values():
        del host["nic"]  # the receiver's is as slow as its line: acknowledgments wait in the host, and none is dropped
    plan = plan_of(tmp_path, content)
    wanted_bps = 2e6 / (90 * 8) * 2 * 1448 * 8
    assert plan.physics.expected_goodput_bps == pytest.approx(wanted_bps, rel=1e-6)
    file = write_scenario(tmp_path, content)
    done = landspeed("run", file, "--world", world, "--json", "--quiet", "--out", tmp_path / "runs")
    record = json.loads(done.stdout)
    assert record["steady_goodput_bps"] == pytest.approx(wanted_bps, rel=0.01 if world == "emu" else 0.06)
    assert record["limited_by"] == "ack path"
