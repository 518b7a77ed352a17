"""The contest's rules at their boundaries, and distances against known geodesics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from landspeed.results.distance import geodesic_m, legs
from landspeed.results.record import CalibrationResult, RunRecord, StreamResult
from landspeed.results.rules import check_rules, contest_class, previous_score, rules_summary
from landspeed.scenarios.load import load_scenario
from landspeed.scenarios.plan import Plan
from landspeed.scenarios.resolve import make_plan

RECORDS = Path(__file__).resolve().parent.parent / "scenarios" / "records"
PASADENA = "2004-06-25-geneva-pasadena"
CHICAGO = "2003-05-02-geneva-chicago-ipv6"


def plan_of(name: str, *overrides: str) -> Plan:
    return make_plan(load_scenario(RECORDS / f"{name}.yaml", overrides))


def streams(count: int, blocks: int = 5, faults: int = 0) -> list[StreamResult]:
    """Streams whose payload was verified; the first one has the faults."""
    return [
        StreamResult.model_validate({"stream": n, "verified": {"blocks": blocks, "faults": faults if n == 0 else 0}})
        for n in range(count)
    ]


def record_of(plan: Plan, **fields: Any) -> RunRecord:
    """A run that meets every rule a rehearsal can."""
    routers = [{"node": node.name, "rtt_ms": 1.0} for node in plan.nodes[1:]]
    back = [{"node": node.name, "rtt_ms": 1.0} for node in plan.nodes[-2::-1]]
    known: dict[str, Any] = {
        "bytes": 10**8,
        "streams": streams(plan.transfer.streams),
        "score_bit_m_per_s": 1.1 * (previous_score(plan) or 1),
        "engine": {"receive_mode": "verify"},
        "calibration": CalibrationResult(hops=routers, reverse_hops=back),
    }
    return RunRecord(scenario=plan.scenario, **(known | fields))


def states(plan: Plan, record: RunRecord, distance_m: int | None = 15_766_000) -> dict[str, str]:
    return {check.name: check.state for check in check_rules(plan, record, distance_m)}


def test_a_run_at_every_boundary_meets_the_rules() -> None:
    plan = plan_of(PASADENA)
    found = states(plan, record_of(plan))
    assert found.pop("networks") == "not shown"
    assert set(found.values()) == {"met"}
    assert states(plan, record_of(plan), 100_000)["distance"] == "met"


@pytest.mark.parametrize(
    ("rule", "fields", "state"),
    [
        ("amount", {"bytes": 10**8 - 1}, "not met"),
        ("amount", {"bytes": None}, "not shown"),
        ("class", {"streams": [StreamResult(stream=0)]}, "not met"),
        ("class", {"streams": []}, "not shown"),
        ("delivered", {"engine": {"receive_mode": "discard"}}, "not met"),
        ("delivered", {"engine": {"receive_mode": "memory"}}, "met"),
        ("delivered", {"engine": {}}, "not shown"),
        ("unique", {"engine": {"receive_mode": "memory"}}, "not met"),
        ("unique", {"streams": streams(8, faults=1)}, "not met"),
        ("unique", {"streams": streams(8, blocks=0)}, "not shown"),
        ("unique", {"streams": [StreamResult(stream=0)]}, "not shown"),
        ("routers", {"calibration": None}, "not shown"),
        ("routers", {"calibration": CalibrationResult(hops=[{"node": "chicago", "rtt_ms": 1.0}])}, "not met"),
        ("improvement", {"score_bit_m_per_s": 1.0999 * 77.69931e15}, "not met"),
        ("improvement", {"score_bit_m_per_s": None}, "not shown"),
    ],
)
def test_a_rule_that_is_not_met_or_not_shown(rule: str, fields: dict[str, Any], state: str) -> None:
    plan = plan_of(PASADENA)
    assert states(plan, record_of(plan, **fields))[rule] == state


def test_distance_below_the_least_and_unknown() -> None:
    plan = plan_of(PASADENA)
    assert states(plan, record_of(plan), 99_999)["distance"] == "not met"
    assert states(plan, record_of(plan), None)["distance"] == "not shown"
    assert states(plan, record_of(plan), 17_000_000)["legs"] == "not met"  # 9 % more than the geodesics


def test_legs_of_2004_against_the_documents_table() -> None:
    """Each leg within 2.5 % of what that team measured with its own tool, the sum within 1 %."""
    plan = plan_of(PASADENA)
    stated = [7067, 1158, 328, 876, 1128, 1040, 891, 1652, 1137, 489]
    known = [leg for leg in legs(plan) if leg.stated_m]
    assert [(leg.stated_m or 0) / 1000 for leg in known] == stated
    for leg in known:
        assert leg.computed_m == pytest.approx(leg.stated_m, rel=0.03)
    assert sum(leg.computed_m for leg in known) == pytest.approx(15_766_000, rel=0.01)


def test_geodesics() -> None:
    """One degree of the equator on WGS 84 is 111 319.491 m; a quarter meridian 10 001 965.729 m."""
    assert geodesic_m((0, 0), (0, 1)) == pytest.approx(111_319.491, abs=0.001)
    assert geodesic_m((0, 0), (90, 0)) == pytest.approx(10_001_965.729, abs=0.001)


def test_classes_and_previous_records() -> None:
    assert contest_class(plan_of(PASADENA)) == "IPv4 multiple stream"
    assert contest_class(plan_of(CHICAGO)) == "IPv6 single stream"
    assert previous_score(plan_of(PASADENA)) == 77_699_310_000_000_000
    assert previous_score(plan_of("2004-04-14-san-jose-lulea")) == pytest.approx(69.073e15 / 1.12)
    assert previous_score(plan_of("2000-03-redmond-arlington")) is None


def test_unknown_places_are_not_shown() -> None:
    plan = plan_of("2004-04-14-san-jose-lulea")
    checks = {check.name: check for check in check_rules(plan, record_of(plan), 16_343_000)}
    assert checks["legs"].state == "not shown"
    assert "39 of 41 places are not known" in checks["legs"].evidence
    assert rules_summary(list(checks.values())) == "7 met, 2 not shown"
