"""The end of a run in the terminal and in a pipe, and the words for quantities."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from landspeed.base import text as wording
from landspeed.cli.run_command import print_table
from landspeed.report.summary import render_summary, summary_lines
from landspeed.results.bundle import BundleWriter, load_record
from landspeed.results.record import RunRecord
from landspeed.runs.run import Run
from tests.support.results_fixture import make_bundle


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("runs"), 60)


def _print(record: RunRecord, *, terminal: bool, width: int = 110) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=width, no_color=True)
    console.print(render_summary(record, Path("/runs/b"), Path("/runs/b/report.html")))
    return out.getvalue()


def test_lines_for_a_pipe(bundle: Path) -> None:
    text = _print(load_record(bundle), terminal=False, width=40)
    assert text.splitlines() == summary_lines(load_record(bundle), Path("/runs/b"), Path("/runs/b/report.html"))
    assert "\x1b" not in text
    for line in (
        "Goodput: 6.432 Gbit/s (recorded 6.627 Gbit/s; 97.07 %)",
        "Data delivered: 48.243 GB (recorded 859.053 GB; 5.62 %)",
        "Round-trip time, idle: 264.003 ms (recorded 264 ms)",
        "Round-trip time under load: 274.074 ms median, 278.084 ms p99",
        "Longest queue: geneva → cern, 6.693 ms median, 9.357 ms p99",
        "Retransmits: 1 (recorded 11)",
        "Score: 1.0141 × 10¹⁷ bit·m/s (recorded 1.0453 × 10¹⁷ bit·m/s; 97.02 %)",
        "Wall time: 16.4 s, 3.7 × real time",
        "Result: passed",
        "Bundle: /runs/b",
        "Report: /runs/b/report.html",
    ):
        assert line in text.splitlines()


def test_table_for_a_terminal(bundle: Path) -> None:
    text = _print(load_record(bundle), terminal=True)
    for part in (
        "recorded",
        "rehearsed",
        "of the record",
        "796.7 … 805.3 Mbit/s",
        "Bound by",
        "bus (fitted)",
        "not judged",
    ):
        assert part in text, part


def test_scenario_without_a_record_has_one_column(bundle: Path) -> None:
    record = load_record(bundle)
    assert record.plan is not None
    record.plan = replace(record.plan, flows=[replace(record.plan.flow, expect=None)])
    text = _print(record, terminal=True)
    assert "recorded " not in text.split("calibration")[0]


def test_without_an_expectation_nothing_is_passed(bundle: Path) -> None:
    record = load_record(bundle)
    assert record.plan is not None
    record.plan = replace(record.plan, flows=[replace(record.plan.flow, expect=None)])
    (line,) = [line for line in _print(record, terminal=False).splitlines() if line.startswith("Result: ")]
    theory = record.plan.physics.expected_goodput_bps
    share = f"{(record.steady_goodput_bps or 0) / theory * 100:.2f} %"
    assert line.startswith("Result: completed; nothing was expected. Theory allows ")
    assert f"{wording.rate_text(record.steady_goodput_bps)} from 10 s on ({share}) came" in line
    assert "far below" not in line
    record.flows[0].steady_goodput_bps = 0.79 * theory
    assert "79.00 %) came; this is far below" in _print(record, terminal=False)
    record.flows[0].passed = False
    assert "Result: failed" in _print(record, terminal=False)


def test_a_table_of_runs_says_completed_where_nothing_was_expected(
    bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The settled goodput stands there, too: that of the span for which a cause is named."""
    plain = load_record(bundle)
    assert plain.plan is not None
    plain.plan = replace(plain.plan, flows=[replace(plain.plan.flow, expect=None)])
    runs = [Run(each, bundle) for each in (load_record(bundle), plain)]
    settled = runs[0].record.flows[0].settled_goodput_bps = 123e6
    print_table([({"seed": str(number)}, run) for number, run in enumerate(runs)])
    told = [line.split() for line in capsys.readouterr().out.splitlines() if bundle.name in line]
    assert ["passed" in told[0], "completed" in told[0]] == [True, False]
    assert ["passed" in told[1], "completed" in told[1]] == [False, True]
    assert wording.rate_text(settled) in " ".join(told[0])


def test_run_that_broke_early(tmp_path: Path) -> None:
    record = load_record(BundleWriter(tmp_path, "dead").fail("the guest stalled"))
    assert "Incomplete: the guest stalled" in _print(record, terminal=False)
    assert "the guest stalled" in _print(record, terminal=True)


@pytest.mark.parametrize(
    ("got", "wanted"),
    [
        (wording.rate_text(6_626_513_000), "6.627 Gbit/s"),
        (wording.rate_text(983_000_000), "983.00 Mbit/s"),
        (wording.rate_text(999), "999 bit/s"),
        (wording.rate_text(None), "–"),
        (wording.bytes_text(859_052_821_760), "859.053 GB"),
        (wording.bytes_text(512), "512 B"),
        (wording.duration_text(1037.2), "1037.2 s (17 min 17 s)"),
        (wording.duration_text(119.96), "120.0 s"),
        (wording.duration_text(0.0123), "12.3 ms"),
        (wording.scientific(1.0452858e17), "1.0453 × 10¹⁷"),
        (wording.scientific(0.00012, 1), "1.2 × 10⁻⁴"),
        (wording.percent_of(1.0, 0), "–"),
        (wording.signed_percent(-0.02929), "−2.929\u202f%"),
        (wording.signed_percent(-1e-7), "0.000\u202f%"),
        (wording.tolerance_text(0.0), "exact"),
        (wording.grouped(95_910_126), "95\u202f910\u202f126"),
    ],
)
def test_words_for_quantities(got: str, wanted: str) -> None:
    assert got == wanted


def test_what_is_no_record_is_expected_not_recorded(tmp_path: Path) -> None:
    """An example's goodput follows from theory; nobody recorded it."""
    record = load_record(make_bundle(tmp_path, 3))
    assert record.plan
    lines = summary_lines(record.model_copy(update={"plan": replace(record.plan, contest=None)}))
    assert any("(expected 6.627 Gbit/s" in line for line in lines)
    assert not any("recorded" in line for line in lines[:6])
