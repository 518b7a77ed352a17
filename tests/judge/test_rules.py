"""The contest's rules at their boundaries, and distances against known geodesics."""

from pathlib import Path
from typing import Any

import pytest

from landspeed.judge.contest_rules import check_rules, contest_class, previous_score, rules_summary, transferred_text
from landspeed.judge.distance import geodesic_m, legs
from landspeed.results.record import CalibrationResult, RunRecord, StreamResult
from landspeed.scenario.plan.plan import Plan
from tests.support.path_record import path_record
from tests.support.plans import plan_of_file

RECORDS = Path(__file__).resolve().parents[2] / "scenarios" / "records"
PASADENA = RECORDS / "2004-06-25-geneva-pasadena.yaml"
CHICAGO = RECORDS / "2003-05-02-geneva-chicago-ipv6.yaml"
LULEA = RECORDS / "2004-04-14-san-jose-lulea.yaml"
REDMOND = RECORDS / "2000-03-redmond-arlington.yaml"


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
        "tool_result": {"receive_mode": "verify"},
        "calibration": CalibrationResult(hops=routers, reverse_hops=back),
    }
    return path_record(plan.scenario, **(known | fields))


def states(plan: Plan, record: RunRecord, distance_m: int | None = 15_766_000) -> dict[str, str]:
    return {check.name: check.state for check in check_rules(plan, record, distance_m)}


def test_a_run_at_every_boundary_meets_the_rules() -> None:
    plan = plan_of_file(PASADENA)
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
        ("delivered", {"tool_result": {"receive_mode": "discard"}}, "not met"),
        ("delivered", {"tool_result": {"receive_mode": "memory"}}, "met"),
        ("delivered", {"tool_result": {}}, "not shown"),
        ("unique", {"tool_result": {"receive_mode": "memory"}}, "not met"),
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
    plan = plan_of_file(PASADENA)
    assert states(plan, record_of(plan, **fields))[rule] == state


def test_distance_below_the_least_and_unknown() -> None:
    plan = plan_of_file(PASADENA)
    assert states(plan, record_of(plan), 99_999)["distance"] == "not met"
    assert states(plan, record_of(plan), None)["distance"] == "not shown"
    assert states(plan, record_of(plan), 17_000_000)["legs"] == "not met"  # 9 % more than the geodesics


def test_legs_of_2004_against_the_documents_table() -> None:
    """Each leg within 2.5 % of what that team measured with its own tool, the sum within 1 %."""
    plan = plan_of_file(PASADENA)
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
    assert contest_class(plan_of_file(PASADENA)) == "IPv4 multiple stream"
    assert contest_class(plan_of_file(CHICAGO)) == "IPv6 single stream"
    assert previous_score(plan_of_file(PASADENA)) == 77_699_310_000_000_000
    assert previous_score(plan_of_file(LULEA)) == pytest.approx(69.073e15 / 1.12)
    assert previous_score(plan_of_file(REDMOND)) is None


def test_unknown_places_are_not_shown() -> None:
    plan = plan_of_file(LULEA)
    checks = {check.name: check for check in check_rules(plan, record_of(plan), 16_343_000)}
    assert checks["legs"].state == "not shown"
    assert "39 of 41 places are not known" in checks["legs"].evidence
    assert rules_summary(list(checks.values())) == "7 met, 2 not shown"


# --- The words that a submission prints ------------------------------------------------------------------------------

THIN = "\u202f"
RULES = {
    "amount": "At least 100 megabytes are transferred",
    "distance": "Over a terrestrial distance of at least 100 km",
    "legs": "Distance counted between the cities of the router hops (rule 7)",
    "routers": "At least two router hops in each direction",
    "networks": "Across operational, production-oriented research and education networks",
    "class": "In one class: IPv4 or IPv6, single or multiple stream",
    "delivered": "The data reaches the receiving application",
    "unique": "The data is unique, not one buffer again and again",
    "improvement": "At least 10 % above the record of its class before it",
}


def evidence(plan: Plan, distance_m: int | None = 15_766_000, **fields: Any) -> dict[str, str]:
    """Rule → evidence; the rules themselves are quoted as they are, whatever the run was."""
    checks = check_rules(plan, record_of(plan, **fields), distance_m)
    assert {check.name: check.rule for check in checks} == RULES
    return {check.name: check.evidence for check in checks}


def test_the_evidence_of_a_good_run() -> None:
    plan = plan_of_file(PASADENA)
    assert plan.contest is not None and plan.contest.networks is not None and plan.contest.previous is not None
    found = evidence(plan)
    assert found == {
        "amount": f"100{THIN}000{THIN}000 B read by the receiver",
        "distance": f"15{THIN}766 km, as stated",
        "legs": f"geodesics leg by leg 15{THIN}781 km, stated 15{THIN}766 km (+0.10{THIN}%)",
        "routers": "routers that answered a traceroute: 12 from the sender, 12 from the receiver",
        "networks": f"a rehearsal crosses no network but its own; recorded: {plan.contest.networks.strip()}",
        "class": "IPv4 multiple stream: 8 TCP connections",
        "delivered": "received in mode verify",
        "unique": "each block numbered, of generated data of its own, its checksum verified by the receiver: "
        "40 blocks, 0 faults",
        "improvement": f"8.5469 × 10¹⁶ against 7.7699 × 10¹⁶ bit·m/s (+10.0{THIN}%); "
        f"before: {plan.contest.previous.what.strip()}",
    }


@pytest.mark.parametrize(
    ("rule", "fields", "said"),
    [
        ("amount", {"bytes": None}, "no transfer was made"),
        ("class", {"streams": []}, "IPv4 multiple stream was planned; no stream was measured"),
        ("class", {"streams": streams(1)}, "IPv4 multiple stream: 1 TCP connection"),
        ("delivered", {"tool_result": {}, "tool": "iperf3"}, "iperf3 does not say how it received"),
        (
            "delivered",
            {"tool_result": {"receive_mode": "discard"}},
            "received in mode discard: the kernel counted the payload and threw it away",
        ),
        ("unique", {"streams": []}, "verification was asked for, and no block is in the result"),
        (
            "unique",
            {"streams": streams(8, blocks=2000, faults=3)},
            "each block numbered, of generated data of its own, its checksum verified by the receiver: "
            f"16{THIN}000 blocks, 3 faults",
        ),
        (
            "unique",
            {"tool_result": {"receive_mode": "memory"}},
            "the payload is one memory file, sent again and again",
        ),
        ("routers", {"calibration": None}, "12 routers in the scenario; no traceroute was made"),
        ("routers", {"calibration": CalibrationResult()}, "12 routers in the scenario; no traceroute was made"),
    ],
)
def test_the_evidence_of_what_is_not_met_or_not_shown(rule: str, fields: dict[str, Any], said: str) -> None:
    assert evidence(plan_of_file(PASADENA), **fields)[rule] == said


def test_payload_of_another_program_is_not_known() -> None:
    plan = plan_of_file(PASADENA)
    assert states(plan, record_of(plan, tool="iperf3", tool_result={"receive_mode": "memory"}))["unique"] == "not shown"


def test_routers_count_where_they_answered() -> None:
    plan = plan_of_file(PASADENA)
    names = [node.name for node in plan.nodes[1:-1]]
    three = [{"node": name, "rtt_ms": 1.0} for name in names[:2]] + [
        {"node": names[2], "rtt_ms": None},
        {"rtt_ms": 1.0},
    ]
    two = [*three[:1], {"node": plan.nodes[-1].name, "rtt_ms": 2.0}]
    enough = CalibrationResult(hops=three, reverse_hops=three)
    assert evidence(plan, calibration=enough)["routers"].endswith(": 2 from the sender, 2 from the receiver")
    assert states(plan, record_of(plan, calibration=enough))["routers"] == "met"
    few = CalibrationResult(hops=three, reverse_hops=two)
    assert evidence(plan, calibration=few)["routers"].endswith(": 2 from the sender, 1 from the receiver")
    assert states(plan, record_of(plan, calibration=few))["routers"] == "not met"


def test_distances_that_are_not_known() -> None:
    plan = plan_of_file(PASADENA)
    assert evidence(plan, None)["distance"] == "the scenario states no distance"
    assert evidence(plan, None)["legs"] == "no positions, or no distance stated"
    lulea = plan_of_file(LULEA)
    whole = sum(leg.computed_m for leg in legs(lulea))
    told = f"39 of 41 places are not known; geodesics between the known ones: {whole / 1000:,.0f} km".replace(",", THIN)
    assert evidence(lulea, 16_343_000)["legs"] == f"{told}, of 16{THIN}343 km stated"
    short = round(whole / 1.021)
    assert states(lulea, record_of(lulea), short)["legs"] == "not met"
    assert evidence(lulea, short)["legs"].startswith(f"{told}, more than the ")
    assert states(lulea, record_of(lulea), round(whole / 1.019))["legs"] == "not shown"


def test_geodesics_within_two_per_cent_of_what_is_stated() -> None:
    plan = plan_of_file(PASADENA)
    whole = sum(leg.computed_m for leg in legs(plan))
    for share, state in ((1.0199, "met"), (1.0201, "not met"), (0.9801, "met"), (0.9799, "not met")):
        assert states(plan, record_of(plan), round(whole / share))["legs"] == state


def test_a_record_without_one_before_it() -> None:
    plan = plan_of_file(REDMOND)
    assert evidence(plan, 9_000_000)["improvement"] == "the scenario names no record before it"


def test_ten_per_cent_to_the_bit() -> None:
    plan = plan_of_file(PASADENA)
    least = previous_score(plan)
    assert least is not None
    assert states(plan, record_of(plan, score_bit_m_per_s=1.0999 * least))["improvement"] == "not met"
    assert states(plan, record_of(plan, score_bit_m_per_s=1.1001 * least))["improvement"] == "met"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"goodput_bps": 6.6265e9, "bytes": 859_052_821_760, "duration_s": 1037.2},
            "859.053 GB in 1037.200 s, 6626.500 Mbit/s",
        ),
        ({"goodput_bps": 1e6, "bytes": 10, "duration_s": 0.5}, "10 B in 0.500 s, 1.000 Mbit/s"),
        ({"goodput_bps": 999_999.0, "bytes": 10, "duration_s": 0.5}, "10 B in 0.500 s, 999.999 kbit/s"),
        ({}, "– in 0.000 s, –"),
    ],
)
def test_a_transfer_in_one_line(fields: dict[str, Any], said: str) -> None:
    assert transferred_text(path_record("x", **fields)) == said


def test_a_summary_leaves_out_what_there_is_none_of() -> None:
    checks = check_rules(plan_of_file(PASADENA), record_of(plan_of_file(PASADENA)), 15_766_000)
    assert rules_summary(checks) == "8 met, 1 not shown"
    assert rules_summary(checks[:1]) == "1 met"
    assert rules_summary([]) == ""
