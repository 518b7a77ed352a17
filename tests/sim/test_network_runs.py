"""A network's run in the simulated world: its record, samples, queries, report, and what `compare` makes of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from landspeed.cli import main as cli
from landspeed.judge.fairness import jain_index
from landspeed.report.run_report import render_report
from landspeed.results.bundle import load_record
from landspeed.results.query import query
from landspeed.results.record import RunRecord
from landspeed.results.samples_reader import Samples
from landspeed.scenario.plan.flow_path import path_of
from landspeed.scenario.theory.timing import echo_ns
from tests.support.emu_fixtures import ROOT

EXAMPLES = ROOT / "scenarios" / "examples"
DUMBBELL, PARKING_LOT, FAN_IN = (EXAMPLES / f"{name}.yaml" for name in ("dumbbell", "parking-lot", "fan-in"))
EVENT = "events=[{at: 2 s, down: 50 ms, from: left, to: right}]"
SHORT = (
    "--set",
    "transfer.duration=6 s",
    "--set",
    EVENT,
    "--set",
    "flows.1.start=1 s",
    "--set",
    "flows.1.duration=4 s",
)


def ran(out: Path, file: Path, *words: str) -> Path:
    assert cli.main(["run", str(file), "--world", "sim", *words, "--quiet", "--out", str(out)]) == 0
    (bundle,) = out.iterdir()
    return bundle


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ran(tmp_path_factory.mktemp("runs"), DUMBBELL, *SHORT)


@pytest.fixture
def record(bundle: Path) -> RunRecord:
    return load_record(bundle)


@pytest.mark.slow
def test_each_flow_is_measured_and_judged_as_the_transfer_over_its_path(record: RunRecord) -> None:
    plan = record.plan
    assert plan is not None
    assert record.complete and record.passed and record.tool == "ns-3"
    for flow, found in zip(plan.flows, record.flows, strict=True):
        assert found.calibration is not None and all(check.ok for check in found.calibration.checks)
        assert found.rtt_ms == pytest.approx(echo_ns(path_of(plan, flow)) / 1e6, abs=0.001)
        assert found.streams[0].bytes == found.bytes and found.limited_by
        assert [check.name for check in found.verdicts] == ["calibration", "rtt", "delivery"]
    near, far = record.flows
    # A flow begins when both ends are connected: 1.5 round trips after its start; the run, when the first of them does.
    assert near.begins_s == 0 and far.begins_s is not None
    assert 1 + 0.3 - 0.03 < far.begins_s < 1 + 0.3 - 0.03 + 2 * 0.08  # each of two waits in the line's queue of 1 MB
    assert (near.duration_s, far.duration_s) == (6, 4)
    assert record.bytes == (near.bytes or 0) + (far.bytes or 0)
    assert record.duration_s == 6 and record.goodput_bps == pytest.approx(8 * (record.bytes or 0) / 6)
    assert record.retransmits == (near.retransmits or 0) + (far.retransmits or 0)
    assert record.events[0].packets_lost


def test_samples_count_from_the_runs_start_and_give_jains_index(bundle: Path, record: RunRecord) -> None:
    samples = Samples(bundle)
    table = samples.to_arrow()
    assert set(table["flow"].to_pylist()) == {"near", "far"}
    _, far = record.flows
    first_s, _ = samples.of_flow("far").goodput()[0]
    assert first_s == pytest.approx((far.begins_s or 0) + 0.1)
    together = [samples.of_flow(each.name, each.begins_s or 0).curves for each in record.flows]
    begins_s, ends_s = far.begins_s or 0, (far.begins_s or 0) + 4
    near_bps, far_bps = (
        curves.goodput_bps(begins_s - (each.begins_s or 0), ends_s - (each.begins_s or 0)) if curves else None
        for curves, each in zip(together, record.flows, strict=True)
    )
    assert near_bps and far_bps and record.jain_index == pytest.approx(jain_index([near_bps, far_bps]), rel=1e-6)


def test_nothing_is_left_of_the_simulators_own_folders(bundle: Path) -> None:
    assert not (bundle / "sim").exists() and not (bundle / "flows").exists()
    links = query("SELECT link, direction, max(bytes) AS most FROM links GROUP BY link, direction", bundle.parent)
    assert len(links.rows) == 10 and all(most for _, _, most in links.rows)


def test_flows_are_in_queries_and_the_report(bundle: Path) -> None:
    rows = query(
        "SELECT flow, source, target, world FROM flows JOIN runs USING (bundle) ORDER BY flow", bundle.parent
    ).rows
    assert rows == [("far", "far", "far-sink", "sim"), ("near", "near", "near-sink", "sim")]
    page = render_report(bundle)
    assert "Flow near</h2>" in page and "Flow far</h2>" in page
    assert "Jain" in page and "flow-1-goodput" in page and "Flow by flow" in page


@pytest.mark.slow
def test_runs_are_compared_as_wholes_and_flow_by_flow(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = ran(tmp_path / "other", DUMBBELL, *SHORT, "--seed", "2", "--set", "transfer.congestion_control=cubic")
    page = tmp_path / "page.html"
    words = ["compare", str(bundle), str(other), "--html", str(page)]
    assert cli.main([*words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert [side["flow"] for side in found["sides"]] == [None, None]
    assert all(0.5 <= side["jain_index"] <= 1 for side in found["sides"])
    near, far = found["flows"]
    for number, (one, two) in enumerate(zip(near["sides"], far["sides"], strict=True)):
        assert (one["flow"], two["flow"]) == ("near", "far")
        assert one["label"] == two["label"] == found["sides"][number]["label"]
        assert one["share"] + two["share"] == pytest.approx(1)
    assert cli.main(words) == 0
    shown = capsys.readouterr().out
    assert all(words in shown for words in ("Flow near", "Flow far", "Jain's index", "… of all flows' goodput"))
    assert (
        page.read_text().count('class="plot"') == 1 + 2 * 4
    )  # the goodput of all, and each flow's charts with its queue


@pytest.mark.slow
@pytest.mark.parametrize("file", [PARKING_LOT, FAN_IN], ids=lambda file: file.stem)
def test_the_examples_run_and_pass(file: Path, tmp_path: Path) -> None:
    record = load_record(ran(tmp_path, file, "--set", "transfer.duration=7 s"))
    assert all(flow.limited_by for flow in record.flows) and record.jain_index
