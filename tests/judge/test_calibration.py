"""Checks of a calibration: each figure at the edge of what is allowed, in every world's terms."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from landspeed.judge.calibration_checks import calibration_checks, with_checks
from landspeed.report.tables import calibration_table, checks_of, traceroute_tables
from landspeed.results.bundle import load_record
from landspeed.results.record import CalibrationResult, Check
from landspeed.scenario.plan.plan import Plan
from tests.support.results_fixture import make_bundle, make_calibration, make_plan


def _one(plan: Plan, name: str, place: str = "", **fields: Any) -> Check:
    calibration = make_calibration(plan).model_copy(update=fields)
    found = [check for check in calibration_checks(plan, calibration) if check.name == name]
    return next(check for check in found if not place or check.place == place)


def _jittery(plan: Plan, jitter_ns: int, duplicate: float = 0.0) -> Plan:
    data = plan.to_dict()
    data["links"][0]["forward"] |= {"jitter_ns": jitter_ns, "duplicate": duplicate}
    return Plan.from_dict(data)


def test_the_record_of_a_good_path_passes_every_check() -> None:
    plan = make_plan()
    checks = calibration_checks(plan, make_calibration(plan))
    assert all(check.ok for check in checks)
    assert [check.name for check in checks] == ["rtt", "mtu", "rate", "rate"] + ["hop"] * 26
    assert checks[4].place == f"geneva → {plan.nodes[1].name}"
    assert checks[-1].place == "pasadena → geneva"


@pytest.mark.parametrize(
    ("rtt_ms", "ok"), [(264.264, True), (264.265, False), (263.736, True), (263.735, False), (None, False)]
)
def test_rtt_at_the_edge(rtt_ms: float | None, ok: bool) -> None:
    check = _one(make_plan(), "rtt", rtt_ms=rtt_ms)
    assert (check.ok, check.unit) == (ok, "ms")
    assert check.allowed == pytest.approx(0.264, rel=1e-12)


@pytest.mark.parametrize(("floor_ms", "allowed"), [(None, 0.05), (2.0, 2.0), (0.0, 0.001)])
def test_the_floor_of_a_short_rtt_is_the_one_that_the_world_says(floor_ms: float | None, allowed: float) -> None:
    """On the real clock the guest allows 2 ms; a report that judged by 0.05 ms showed passed runs as off."""
    fields = {"rtt_expected_ms": 1.0, "rtt_floor_ms": floor_ms}
    assert _one(make_plan(), "rtt", rtt_ms=1 + 0.999 * allowed, **fields).ok
    assert not _one(make_plan(), "rtt", rtt_ms=1 + 1.001 * allowed, **fields).ok


def test_jitter_and_copies_of_the_plan_are_no_error_of_the_path() -> None:
    plan = _jittery(make_plan(), 1_000_000, duplicate=0.001)
    assert _one(plan, "rtt").allowed == pytest.approx(0.264 + 1.0, rel=1e-12)
    ahead, back = (_one(plan, "rate", way) for way in ("forward", "reverse"))
    lasts_ns = 200 * 9000 * 8e9 / 6_665_000_000
    assert ahead.allowed == pytest.approx((0.01 + 0.002 + 2e6 / lasts_ns) * 6_665_000_000, rel=1e-12)
    assert back.allowed == pytest.approx(0.01 * 9_957_955_000, rel=1e-12)


def test_mtu_is_exact_and_a_rate_may_be_missing() -> None:
    mtu = _one(make_plan(), "mtu", path_mtu_bytes=8999)
    assert (mtu.ok, mtu.allowed, mtu.text) == (False, 0, "path MTU: 8999 B, the plan says 9000 B")
    rate = _one(make_plan(), "rate", "reverse", rate_reverse_bps=None)
    assert not rate.ok
    assert rate.text == "bottleneck rate reverse: not measured, the plan says 9957955000 ± 99579550 bit/s"


def test_a_queue_by_what_the_gate_allowed() -> None:
    plan = make_plan()
    queue = {"link": 1, "direction": "reverse", "expected_bytes": 10**6, "measured_bytes": 10**6 + 18_200}
    place = f"{plan.links[1].b} → {plan.links[1].a}"
    assert _one(plan, "queue", place, queue=[queue | {"allowed_bytes": 18_200}]).ok
    assert not _one(plan, "queue", place, queue=[queue | {"allowed_bytes": 18_199}]).ok
    assert _one(plan, "queue", place, queue=[queue]).allowed == 200_000


def test_the_report_draws_the_checks_of_the_record_and_judges_nothing(tmp_path: Path) -> None:
    plan = make_plan()
    record = load_record(make_bundle(tmp_path, 2))
    assert record.calibration is not None
    record.flows[0].calibration = with_checks(plan, record.calibration)
    record.calibration.checks = [
        replace(check, ok=check.ok and check.name not in ("rtt", "hop"))  # whatever the figures are
        for check in record.calibration.checks
    ]
    table, traces = calibration_table(record, plan), traceroute_tables(record, plan)
    assert table is not None
    assert table.rows[0][-1] == "off"
    assert table.marks == {0: "bad", 1: "good", 2: "good", 3: "good"}
    assert set(traces[0].marks.values()) == {"bad"}


def test_a_record_of_schema_1_is_judged_by_the_same_function(tmp_path: Path) -> None:
    plan = make_plan()
    record = load_record(make_bundle(tmp_path, 2))
    assert isinstance(record.calibration, CalibrationResult)
    record.calibration.checks = []
    assert checks_of(record, plan) == calibration_checks(plan, record.calibration)


def test_every_check_whole() -> None:
    """What the record keeps of each figure, and the sentence that a refused run prints."""
    plan = make_plan()
    queue = {"link": 2, "direction": "forward", "expected_bytes": 10**8, "measured_bytes": None}
    calibration = make_calibration(plan).model_copy(update={"queue": [queue], "rtt_floor_ms": 0.001})
    checks = calibration_checks(plan, calibration)
    told = {
        (check.name, check.place): {key: value for key, value in asdict(check).items() if key not in ("name", "place")}
        for check in checks
    }
    assert told["rtt", "geneva → pasadena"] == {
        "what": "RTT", "expected": 264.0, "measured": 264.003, "allowed": pytest.approx(0.264), "unit": "ms",
        "ok": True, "text": "RTT geneva → pasadena: 264.003 ms, the plan says 264.000 ± 0.264 ms",
    }  # fmt: skip
    assert told["mtu", ""] == {
        "what": "path MTU", "expected": 9000.0, "measured": 9000.0, "allowed": 0.0, "unit": "B", "ok": True,
        "text": "path MTU: 9000 B, the plan says 9000 B",
    }  # fmt: skip
    assert told["rate", "forward"] == {
        "what": "bottleneck rate", "expected": 6.665e9, "measured": 6.66487e9, "allowed": pytest.approx(66.65e6),
        "unit": "bit/s", "ok": True,
        "text": "bottleneck rate forward: 6664870000 bit/s, the plan says 6665000000 ± 66650000 bit/s",
    }  # fmt: skip
    link = plan.links[2]
    assert told["queue", f"{link.a} → {link.b}"] == {
        "what": "queue", "expected": 1e8, "measured": None, "allowed": 1e6, "unit": "B", "ok": False,
        "text": f"queue {link.a} → {link.b}: not measured, the plan says 100000000 ± 1000000 B",
    }  # fmt: skip
    second = calibration.hops[1]
    assert told["hop", f"geneva → {plan.nodes[2].name}"] == {
        "what": "RTT", "expected": second["expected_ms"], "measured": second["rtt_ms"], "unit": "ms", "ok": True,
        "allowed": pytest.approx(0.001 * second["expected_ms"]),
        "text": f"RTT geneva → {plan.nodes[2].name}: {second['rtt_ms']:.3f} ms, the plan says "
        f"{second['expected_ms']:.3f} ± {0.001 * second['expected_ms']:.3f} ms",
    }  # fmt: skip
    assert told["hop", f"pasadena → {plan.nodes[-3].name}"]["expected"] == calibration.reverse_hops[1]["expected_ms"]


def test_what_was_not_planned_is_not_checked() -> None:
    empty = CalibrationResult(hops=[{"ttl": 1, "rtt_ms": 1.0}], queue=[{"link": 0, "direction": "forward"}])
    assert calibration_checks(make_plan(), empty) == []
    assert with_checks(make_plan(), make_calibration(make_plan())).checks


def test_jitter_counts_on_the_lines_that_a_hop_passes() -> None:
    plan = _jittery(make_plan(), 1_000_000)
    checks = {check.place: check for check in calibration_checks(plan, make_calibration(plan)) if check.name == "hop"}
    last, first = plan.nodes[-1].name, plan.nodes[0].name
    assert checks[f"{first} → {plan.nodes[1].name}"].allowed == pytest.approx(0.05 + 1.0)
    short = checks[f"{last} → {plan.nodes[1].name}"].allowed
    assert short is not None and short < 0.27  # the jittery line is beyond it
    assert checks[f"{last} → {first}"].allowed == pytest.approx(0.264 + 1.0)


def test_a_hop_of_an_older_record_and_one_that_was_not_seen() -> None:
    plan = make_plan()
    hops = [{"ttl": 1, "expected_ms": 10.0, "forward_rtt_ms": 10.01}, {"ttl": 2, "expected_ms": 20.0}]
    first, second = calibration_checks(plan, CalibrationResult(hops=hops, tolerance=0.001, rtt_floor_ms=0.0))
    assert (first.measured, first.ok) == (10.01, True)
    assert (second.measured, second.ok) == (None, False)
    assert second.text.endswith(": not measured, the plan says 20.000 ± 0.020 ms")
    (only,) = calibration_checks(plan, CalibrationResult(hops=hops[:1]))  # no tolerance: the floor of former records
    assert only.allowed == 0.05
