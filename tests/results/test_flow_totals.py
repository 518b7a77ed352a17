"""All flows of a run together: what the record says of the whole follows from its flows, and stands nowhere else."""

import json
from typing import Any

import pytest

from landspeed.results.calibration_result import CalibrationResult
from landspeed.results.check import Check
from landspeed.results.flow_result import Figures, FlowResult
from landspeed.results.record import RunRecord, command_json
from landspeed.results.tool_result import ToolResult
from tests.support.path_record import path_record


def flow(name: str, **figures: Any) -> FlowResult:
    return FlowResult.model_validate({"name": name, "source": "a", "target": "b", "start_s": 0.0} | figures)


def two(first: dict[str, Any], second: dict[str, Any]) -> RunRecord:
    return RunRecord(scenario="x", flows=[flow("first", **first), flow("second", **second)])


def test_a_path_is_its_one_flow() -> None:
    record = path_record("x", goodput_bps=8e8, bytes=10**9, rtt_ms=50.0, limited_by="window", passed=True)
    assert record.whole is record.flows[0]
    assert (record.goodput_bps, record.bytes, record.rtt_ms) == (8e8, 10**9, 50.0)
    assert (record.limited_by, record.passed) == ("window", True)


def test_several_flows_are_added_up_from_the_runs_start_to_the_last_end() -> None:
    record = two(
        {"begins_s": 0.0, "duration_s": 8.0, "bytes": 10**9, "retransmits": 3, "goodput_bps": 1e9, "rtt_ms": 20.0},
        {"begins_s": 2.0, "duration_s": 8.0, "bytes": 5 * 10**8, "goodput_bps": 5e8, "limited_by": "window"},
    )
    assert (record.bytes, record.duration_s, record.goodput_bps) == (1_500_000_000, 10.0, 1.2e9)
    assert record.retransmits == 3
    assert (record.rtt_ms, record.limited_by, record.streams) == (None, None, [])


def test_without_a_figure_of_any_flow_there_is_none() -> None:
    for record in (RunRecord(scenario="x"), two({}, {}), path_record("x")):
        assert (record.goodput_bps, record.bytes, record.duration_s, record.retransmits) == (None, None, None, None)
        assert (record.calibration, record.verdicts, record.passed) == (None, [], None)


def test_the_tools_result_is_complete_where_every_flows_is() -> None:
    first = ToolResult(version="1", build="abc", start_unix_ns=7)
    record = two({"tool_result": first}, {"tool_result": ToolResult(complete=False, error="reset", start_unix_ns=5)})
    told = record.tool_result
    assert (told.version, told.build, told.complete, told.error) == ("1", "abc", False, "second: reset")
    assert told.start_unix_ns == 5


def test_what_a_calibration_found_wrong_is_told_with_its_flow() -> None:
    wrong = CalibrationResult(passed=False, failures=["RTT to b is 3 ms"])
    calibration = two({"calibration": CalibrationResult(passed=True)}, {"calibration": wrong}).calibration
    assert calibration is not None and calibration.passed is False
    assert calibration.failures == ["second: RTT to b is 3 ms"]


@pytest.mark.parametrize(
    ("oks", "ok", "text"),
    [
        ((True, True), True, "all 2 flows match"),
        ((True, None), True, "1 of 2 flows match"),
        ((None, None), None, "0 of 2 flows match"),
        ((True, False), False, "1 of 2 flows: second: told"),
    ],
)
def test_a_verdict_on_the_whole_is_that_of_its_flows(oks: tuple[bool | None, ...], ok: bool | None, text: str) -> None:
    first, second = ({"verdicts": [Check("rtt", each, "told")], "passed": each is not False} for each in oks)
    record = two(first, second)
    assert [(check.name, check.ok, check.text) for check in record.verdicts] == [("rtt", ok, text)]
    assert record.passed is (ok is not False)


def test_a_run_that_broke_has_not_passed() -> None:
    record = path_record("x", passed=True)
    assert record.passed is True
    record.error = "interrupted"
    assert record.passed is False


def test_totals_cannot_be_set_beside_the_flows() -> None:
    record = path_record("x", goodput_bps=1e9)
    with pytest.raises(ValueError, match="goodput_bps"):
        record.goodput_bps = 2e9  # type: ignore[misc]
    assert record.model_copy(update={"goodput_bps": 2e9}).goodput_bps == 1e9
    assert record.with_flow(goodput_bps=2e9).goodput_bps == 2e9
    assert record.goodput_bps == 1e9


def test_result_json_has_figures_in_the_flows_only_and_the_command_prints_totals() -> None:
    record = path_record("x", goodput_bps=1e9, passed=True)
    data = json.loads(record.model_dump_json())
    assert not data.keys() & Figures.model_fields.keys()
    assert data["flows"][0]["goodput_bps"] == 1e9
    assert RunRecord.model_validate(data) == record
    printed = command_json(record, "runs/x")
    assert printed.keys() >= Figures.model_fields.keys()
    assert (printed["goodput_bps"], printed["passed"]) == (1e9, True)
