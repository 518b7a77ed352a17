"""Every verdict whole: its figures, its tolerance, and its sentence, as report and command print them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from landspeed.judge.judge import judge
from landspeed.results.check import Check
from landspeed.results.record import CalibrationResult, StreamResult
from landspeed.scenario.plan.plan import Plan
from tests.support.path_record import path_record
from tests.support.results_fixture import make_plan

THIN = "\u202f"
PLANNED_MS = 264.0  # of make_plan: propagation alone
ECHO_MS = 264.00253952  # … and 84 + 38 B on 13 lines of 10 Gbit/s each way, the first one's bus aside


def verdict(plan: Plan, name: str, goodput: float | None = 6.6e9, **fields: Any) -> Check | None:
    known: dict[str, Any] = {"bytes": 1000, "duration_s": 60.0, "retransmits": 0, "rtt_ms": PLANNED_MS}
    record = path_record("x", **({"goodput_bps": goodput} | known | fields))
    found = {each.name: each for each in judge(plan, record).verdicts}
    return found.get(name)


def streams(*rates: float | None) -> list[dict[str, Any]]:
    return [StreamResult(stream=number, goodput_bps=rate).model_dump() for number, rate in enumerate(rates)]


def asked(**transfer: Any) -> Plan:
    return make_plan(transfer={"bytes": None, "duration_ns": None} | transfer)


ASKED = {"bytes": 12345, "duration_ns": None}
EXPECTED = {"goodput_bps": 10**9, "goodput_tolerance": 0.05}
LONG = {"duration_ns": 1_037_200_000_000}
CASES: list[tuple[Plan, str, dict[str, Any], dict[str, Any] | None]] = [
    (make_plan(), "calibration", {}, {"ok": None, "text": "the path was not calibrated"}),
    (
        make_plan(), "calibration", {"calibration": CalibrationResult()},
        {"ok": None, "text": "the path was not calibrated"},
    ),
    (
        make_plan(), "calibration", {"calibration": CalibrationResult(passed=True)},
        {"ok": True, "text": "RTT, MTU and rate of the built path match the plan"},
    ),
    (
        make_plan(), "calibration", {"calibration": CalibrationResult(passed=False, failures=["one", "two"])},
        {"ok": False, "text": "one; two"},
    ),
    (
        make_plan(), "calibration", {"calibration": CalibrationResult(passed=False)},
        {"ok": False, "text": "calibration failed"},
    ),
    (
        make_plan(), "rtt", {},
        {"ok": True, "measured": 264.0, "wanted": 264.0, "tolerance": 0.001,
         "text": f"264.000 ms, the record's 264.000 ms (±{THIN}0.1{THIN}%)"},
    ),
    (
        make_plan(), "rtt", {"rtt_ms": None},
        {"ok": None, "wanted": 264.0, "tolerance": 0.001, "text": "RTT was not measured"},
    ),
    (
        make_plan(), "rtt", {"rtt_ms": 266.0, "calibration": CalibrationResult(passed=True, rtt_floor_ms=2.0)},
        {"ok": True, "measured": 266.0, "wanted": 264.0, "tolerance": 0.001,
         "text": f"266.000 ms, the record's 264.000 ms (±{THIN}2.000 ms)"},
    ),
    (
        make_plan(), "rtt", {"rtt_ms": 261.999, "calibration": CalibrationResult(passed=True, rtt_floor_ms=2.0)},
        {"ok": False, "measured": 261.999, "wanted": 264.0, "tolerance": 0.001,
         "text": f"261.999 ms, the record's 264.000 ms (±{THIN}2.000 ms)"},
    ),
    (
        make_plan(transfer=ASKED), "delivery", {"bytes": 12345, "tool_result": {"complete": True}},
        {"ok": True, "measured": 12345.0, "wanted": 12345.0,
         "text": f"12{THIN}345 B read by the receiver, 12{THIN}345 B asked for"},
    ),
    (
        make_plan(transfer=ASKED), "delivery", {"bytes": 12344, "tool_result": {"complete": True}},
        {"ok": False, "measured": 12344.0, "wanted": 12345.0,
         "text": f"12{THIN}344 B read by the receiver, 12{THIN}345 B asked for"},
    ),
    (
        make_plan(transfer=ASKED), "delivery", {"error": "the link fell", "bytes": 5},
        {"ok": False, "measured": 5.0, "wanted": 12345.0, "text": "the link fell"},
    ),
    (make_plan(), "delivery", {"bytes": None}, {"ok": False, "text": "no transfer was made"}),
    (
        make_plan(), "delivery", {"bytes": 1, "tool_result": {"complete": True}},
        {"ok": True, "measured": 1.0, "text": "1 B read by the receiver"},
    ),
    (
        make_plan(), "delivery", {"bytes": 0, "tool_result": {"complete": True}},
        {"ok": False, "measured": 0.0, "text": "0 B read by the receiver"},
    ),
    (
        make_plan(), "delivery", {"bytes": 7, "tool_result": {"complete": False}},
        {"ok": False, "measured": 7.0, "text": "7 B read by the receiver"},
    ),
    (make_plan(with_expect=False), "goodput", {}, None),
    (make_plan(expect={"goodput_bps": None}), "goodput", {}, None),
    (
        make_plan(expect=EXPECTED), "goodput", {"goodput_bps": 0.98e9},
        {"ok": True, "measured": 0.98e9, "wanted": 1e9, "tolerance": 0.05,
         "text": f"980.00 Mbit/s over the whole run, expected 1.000 Gbit/s (−2.000{THIN}%, ±{THIN}5{THIN}%)"},
    ),
    (
        make_plan(expect=EXPECTED | {"goodput_tolerance": None}), "goodput", {"goodput_bps": 1.02e9},
        {"ok": False, "measured": 1.02e9, "wanted": 1e9, "tolerance": 0.01,
         "text": f"1.020 Gbit/s over the whole run, expected 1.000 Gbit/s (+2.000{THIN}%, ±{THIN}1{THIN}%)"},
    ),
    (
        make_plan(expect=EXPECTED | {"goodput_from_s": 10.0}), "goodput", {"steady_goodput_bps": 1e9},
        {"ok": True, "measured": 1e9, "wanted": 1e9, "tolerance": 0.05,
         "text": f"1.000 Gbit/s from 10 s on, expected 1.000 Gbit/s (0.000{THIN}%, ±{THIN}5{THIN}%)"},
    ),
    (
        make_plan(expect=EXPECTED | {"goodput_from_s": 2.5}), "goodput", {"steady_goodput_bps": 1e9},
        {"ok": False, "wanted": 1e9, "tolerance": 0.05, "text": "not measured from 2.5 s on"},
    ),
    (
        make_plan(expect=EXPECTED), "goodput", {"goodput_bps": None},
        {"ok": False, "wanted": 1e9, "tolerance": 0.05, "text": "not measured over the whole run"},
    ),
    (make_plan(expect={"bytes": None}), "bytes", {}, None),
    (make_plan(with_expect=False), "bytes", {}, None),
    (
        make_plan(), "bytes", {"bytes": 5},
        {"ok": None, "measured": 5.0, "wanted": 859052821760.0,
         "text": "not compared: this run was asked for another amount than the record's"},
    ),
    (
        make_plan(transfer=LONG), "bytes", {"bytes": None},
        {"ok": False, "wanted": 859052821760.0, "text": "no bytes were moved"},
    ),
    (
        make_plan(transfer=LONG), "bytes", {"bytes": 850_000_000_000},
        {"ok": True, "measured": 850e9, "wanted": 859052821760.0, "tolerance": 0.05,
         "text": "850.000 GB moved, the record moved 859.053 GB"},
    ),
    (
        make_plan(transfer=LONG, expect={"goodput_tolerance": None}), "bytes", {"bytes": 850_000_000_000},
        {"ok": False, "measured": 850e9, "wanted": 859052821760.0, "tolerance": 0.01,
         "text": "850.000 GB moved, the record moved 859.053 GB"},
    ),
    (
        asked(bytes=859_052_821_760), "bytes", {"bytes": 859_052_821_760},
        {"ok": True, "measured": 859052821760.0, "wanted": 859052821760.0,
         "text": "859.053 GB moved, the record moved 859.053 GB"},
    ),
    (make_plan(expect={"streams_goodput_bps": None}), "streams", {}, None),
    (make_plan(with_expect=False), "streams", {}, None),
    (
        make_plan(transfer={"streams": 2}), "streams", {"streams": streams(1.02e9, 0.98e9)},
        {"ok": True, "measured": pytest.approx(0.02), "wanted": 0.0, "tolerance": 0.03,
         "text": "every stream within 2 % of the mean of 1.000 Gbit/s (at most 3 %)"},
    ),
    (
        make_plan(transfer={"streams": 2}), "streams", {"streams": streams(1.04e9, 0.96e9)},
        {"ok": False, "measured": pytest.approx(0.04), "wanted": 0.0, "tolerance": 0.03,
         "text": "every stream within 4 % of the mean of 1.000 Gbit/s (at most 3 %)"},
    ),
    (
        make_plan(transfer={"streams": 2}), "streams", {"streams": streams(1e9, None)},
        {"ok": False, "wanted": 0.0, "tolerance": 0.03, "text": "1 of 2 streams were measured"},
    ),
    (
        make_plan(transfer={"streams": 2}), "streams", {"streams": streams(0.0, 0.0)},
        {"ok": False, "wanted": 0.0, "tolerance": 0.03, "text": "2 of 2 streams were measured"},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("plan", "name", "fields", "wanted"), CASES, ids=[f"{n}-{c[1]}" for n, c in enumerate(CASES)])
def test_a_verdict_whole(plan: Plan, name: str, fields: dict[str, Any], wanted: dict[str, Any] | None) -> None:
    found = verdict(plan, name, **fields)
    if wanted is None:
        assert found is None
        return
    assert found is not None
    empty = {"measured": None, "wanted": None}
    told = {"ok": found.ok, "measured": found.measured, "wanted": found.expected, "text": found.text}
    assert told == empty | {key: value for key, value in wanted.items() if key != "tolerance"}
    if wanted.get("tolerance") and name in ("goodput", "bytes") and found.allowed is not None:
        assert found.allowed == pytest.approx(wanted["tolerance"] * wanted["wanted"], rel=1e-6)


def test_an_rtt_that_nobody_recorded_is_the_plans() -> None:
    found = verdict(make_plan(with_expect=False), "rtt", rtt_ms=264.0)
    assert found is not None and found.expected == pytest.approx(ECHO_MS, abs=1e-4)
    assert found.text.startswith("264.000 ms, the plan's 264.003 ms (")


def test_a_calibrated_rtt_counts_where_the_run_has_none_of_its_own() -> None:
    calibration = CalibrationResult(passed=True, rtt_ms=264.1)
    plan = make_plan()
    assert judge(plan, path_record("x", calibration=calibration)).rtt_ms == 264.1
    assert judge(plan, path_record("x", rtt_ms=5.0, calibration=calibration)).rtt_ms == 5.0


def test_rules_are_checked_where_there_is_a_contest(tmp_path: Path) -> None:
    record = path_record("x", goodput_bps=1e9)
    with_rules = judge(make_plan(), record, tmp_path)
    assert [rule.name for rule in with_rules.rules][:2] == ["amount", "distance"]
    assert {rule.name: rule.state for rule in with_rules.rules}["distance"] == "met"
    assert judge(replace(make_plan(), contest=None), record, tmp_path).rules == []
    assert with_rules.limited_by_why is not None
