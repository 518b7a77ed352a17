"""The scenario files that ship: each resolves, matches the schema, and says what the documents say."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from landspeed.cli.main import main
from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.file.schema import scenario_schema
from landspeed.scenario.importers import fit_traceroute
from landspeed.scenario.plan.plan import Plan
from landspeed.scenario.resolve.resolve import make_plan
from tests.support.plans import plan_of_file

ROOM = Path(__file__).resolve().parents[2] / "scenarios"
FILES = sorted(path for folder in ("records", "examples", "presets") for path in (ROOM / folder).glob("*.yaml"))
RECORD_2004 = ROOM / "records/2004-06-25-geneva-pasadena.yaml"
RECORD_2003 = ROOM / "records/2003-05-02-geneva-chicago-ipv6.yaml"
RECORD_2003_1500 = ROOM / "records/2003-05-02-geneva-chicago-ipv6-mtu1500.yaml"


def plain(text: str) -> Any:
    return json.loads(json.dumps(YAML(typ="safe", pure=True).load(text)))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_file(path: Path) -> None:
    loaded = load_scenario(path)
    plan = make_plan(loaded)
    assert plan.scenario == path.stem
    assert Plan.from_json(plan.to_json()) == plan
    assert all(node.nic_rate_bps for node in plan.nodes if node.kind == "host")
    assert plan.transfer.congestion_control
    validator = jsonschema.Draft202012Validator(scenario_schema())
    validator.validate(plain(path.read_text()))
    validator.validate(plain(loaded.text_resolved))


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """Setup and the wheel keep what this prints."""
    assert main(["schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == scenario_schema()
    jsonschema.Draft202012Validator.check_schema(printed)


@pytest.mark.parametrize(
    "change",
    [
        {"titel": "x"},
        {"mtu": 9000},
        {"mtu": "9000"},
        {"ip": 5},
        {"transfer": {"streams": "4"}},
        {"transfer": {"window": "1 GBit"}},
        {"hosts": {"A!": {"role": "sender"}}},
        {"path": [{"from": "a"}]},
    ],
)
def test_schema_refuses(change: dict[str, object]) -> None:
    data = plain((ROOM / "examples/first.yaml").read_text())
    validator = jsonschema.Draft202012Validator(scenario_schema())
    validator.validate(data)
    assert not validator.is_valid(data | change)
    assert not validator.is_valid({key: value for key, value in data.items() if key != "title"})


def test_record_of_2004() -> None:
    plan = plan_of_file(RECORD_2004)
    physics, expect = plan.physics, plan.expect
    assert [node.kind for node in plan.nodes] == ["host", *["router"] * 12, "host"]
    assert physics.rtt_ns == 264_000_000
    assert physics.distance_m == 15_766_000
    assert physics.bdp_bytes == 330_000_000
    assert physics.line_rate_limit_bps == 9_900_420_447
    assert physics.bus_limit_bps == pytest.approx(6_626_513_000, abs=10)
    assert physics.expected_goodput_bps == physics.bus_limit_bps
    assert physics.expected_bottleneck.name == "bus of geneva (fitted)"
    assert physics.window_limit_bps
    assert physics.window_limit_bps > 11.2e9
    assert plan.transfer.window_bytes == 372_520_960 // 8
    assert (plan.transfer.streams, plan.transfer.congestion_control) == (8, "reno")
    assert plan.transfer.bytes == 859_052_821_760
    assert expect
    assert expect.host_limits_fitted
    assert expect.streams_goodput_bps
    assert sum(expect.streams_goodput_bps) == 6_626_513_000
    assert expect.score_bit_m_per_s == 6_630_000_000 * 15_766_000
    assert (expect.bytes, expect.duration_ns, expect.retransmits) == (859_052_821_760, 1_037_200_000_000, 11)
    assert len(expect.forward_traceroute) == len(expect.reverse_traceroute) == 13
    assert expect.reverse_traceroute[0].below
    assert expect.reverse_traceroute[0].rtt_ms == [1.0] * 3
    assert not any(link.forward.can_queue or link.reverse.can_queue for link in plan.links)
    assert pytest.approx(6_626_513_000, rel=1e-3) == 859_052_821_760 * 8 / 1037.2


def test_record_of_2004_has_the_fitted_delays() -> None:
    scenario = load_scenario(RECORD_2004).scenario
    fitted = fit_traceroute.fit_scenario(scenario)
    assert [round((link.rtt or 0) / 1e6, 2) for link in scenario.path] == [round(ms, 2) for ms in fitted.links_ms]
    assert sum(link.rtt or 0 for link in scenario.path) == 264_000_000
    for link in scenario.path:
        light = (link.distance or 0) / 1000 * fit_traceroute.LIGHT_MS_PER_KM
        assert (link.rtt or 0) / 1e6 >= light - 0.011, "faster than light"


@pytest.mark.parametrize(
    ("path", "limit", "record", "window", "duration_s"),
    [
        (RECORD_2003, 987.829e6, 983e6, 11_000_000, 3600.2),
        (RECORD_2003_1500, 928.479e6, 919e6, 69_700_000, 3600.9),
    ],
)
def test_records_of_2003(path: Path, limit: float, record: float, window: int, duration_s: float) -> None:
    plan = plan_of_file(path)
    physics, expect = plan.physics, plan.expect
    assert plan.ip_version == 6
    assert physics.rtt_ns == 119_000_000
    assert physics.expected_goodput_bps == physics.line_rate_limit_bps == pytest.approx(limit, rel=1e-6)
    assert physics.expected_bottleneck.kind == "line rate"
    assert plan.transfer.window_bytes == window
    assert plan.transfer.duration_ns == round(duration_s * 1e9)
    assert physics.distance_m == 7_067_000
    assert expect
    assert not expect.host_limits_fitted
    assert expect.goodput_bps == record
    assert physics.expected_goodput_bps == pytest.approx(record, rel=0.015)
    assert (expect.bytes or 0) * 8 / duration_s == pytest.approx(record, rel=0.001)
    assert [link.framing_bytes for link in plan.links] == [38, 9, 38]


def test_window_bound_prediction() -> None:
    plan = plan_of_file(ROOM / "examples/first.yaml", "transfer.window=1 MB")
    assert plan.physics.expected_bottleneck.kind == "window"
    assert plan.physics.expected_goodput_bps == plan.physics.window_limit_bps
    assert 1e6 * 8 / 0.05 <= plan.physics.expected_goodput_bps <= 2e6 * 8 / 0.05


def test_yardstick() -> None:
    plan = plan_of_file(ROOM / "examples/one-stream-10g.yaml")
    assert plan.physics.expected_goodput_bps == 9_900_420_447
    assert plan.physics.rtt_ns == 264_000_000
    assert [node.kind for node in plan.nodes] == ["host", "router", "host"]
