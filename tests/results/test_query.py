"""DuckDB over bundles: the views, an empty folder, damaged bundles, wrong SQL, the output for pipes."""

import json
from pathlib import Path

import pytest

from landspeed.results.bundle import BundleWriter, load_record
from landspeed.results.query import QueryError, query, show_runs, show_sql
from landspeed.results.record import RunRecord
from tests.support.path_record import path_record
from tests.support.results_fixture import make_bundle


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("it's runs")  # a quote in the path must not matter
    make_bundle(folder, 12)
    make_bundle(folder, 15)
    BundleWriter(folder, "dead").fail("the guest stalled")
    BundleWriter(folder, "killed")
    damaged = make_bundle(folder, 5)
    (damaged / "samples.parquet").write_bytes((damaged / "samples.parquet").read_bytes()[:1000])
    unreadable = make_bundle(folder, 5)
    (unreadable / "result.json").write_text("{")
    (folder / "something else").mkdir()
    return folder


def test_runs_has_one_row_for_each_bundle(runs: Path) -> None:
    rows = query("SELECT * FROM runs ORDER BY bundle", runs).dicts()
    assert len(rows) == 5
    assert sorted(row["complete"] for row in rows) == [False, False, True, True, True]
    first = rows[0]
    record = load_record(runs / first["bundle"])
    assert first["goodput_bps"] == record.goodput_bps
    assert first["streams"] == 8
    assert first["started"].isoformat() == "2026-11-21T10:15:00"
    assert first["record_score_bit_m_per_s"] == pytest.approx(1.0452858e17)
    assert [row["error"] for row in rows if row["scenario"] == "dead"] == ["the guest stalled"]


def test_samples_and_links_of_all_whole_bundles(runs: Path) -> None:
    found = query('SELECT bundle, "end", count(*) AS n FROM samples GROUP BY ALL ORDER BY n', runs).dicts()
    assert [row["n"] for row in found] == [960, 960, 1200, 1200]
    assert query("SELECT count(DISTINCT bundle) FROM links WHERE direction = 'forward'", runs).rows == [(3,)]


def test_views_join_and_result_json(runs: Path) -> None:
    sql = (
        "SELECT r.limited_by, max(s.goodput_bps) FROM runs r JOIN samples s USING (bundle) "
        "WHERE s.\"end\" = 'receiver' GROUP BY ALL"
    )
    ((limited_by, most),) = query(sql, runs).rows
    assert limited_by == "bus (fitted)"
    assert 8.2e8 < most < 9e8
    assert query("SELECT DISTINCT result->>'$.flows[0].window.asked_bytes' FROM runs WHERE complete", runs).rows == [
        ("46565120",)
    ]


@pytest.mark.parametrize("view", ["runs", "samples", "links"])
def test_empty_folder_has_the_same_columns(runs: Path, tmp_path: Path, view: str) -> None:
    full, empty = query(f"SELECT * FROM {view} LIMIT 1", runs), query(f"SELECT * FROM {view}", tmp_path / "none")
    assert empty.columns == full.columns
    assert empty.rows == []


def test_wrong_sql_is_told(runs: Path) -> None:
    with pytest.raises(QueryError, match="selec"):
        query("selec 1", runs)
    with pytest.raises(QueryError, match="nonsense"):
        query("SELECT nonsense FROM runs", runs)


def test_output_for_a_pipe(runs: Path) -> None:
    assert show_sql("SELECT 1 AS a, NULL AS b, 'x [red]y' AS c", runs) == "a\tb\tc\n1\t\tx [red]y"
    lines = show_runs(runs).splitlines()
    assert lines[0].split("\t")[0] == "bundle"
    words = [line.split("\t")[-1] for line in lines[1:]]
    assert sorted(words) == ["failed"] * 3 + ["incomplete"] * 2  # runs too short for the record's goodput
    assert show_runs(runs / "none").startswith("no runs in ")


def test_a_run_of_which_nothing_was_expected_has_passed_nothing(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path, 12)
    told = json.loads((bundle / "result.json").read_text())
    told["flows"][0]["passed"] = True
    for expect, outcome in ((told["plan"]["flows"][0]["expect"], "passed"), (None, "completed")):
        told["plan"]["flows"][0]["expect"] = expect
        (bundle / "result.json").write_text(json.dumps(told))
        assert query("SELECT outcome FROM runs", tmp_path).rows == [(outcome,)]
    assert show_runs(tmp_path).splitlines()[1].endswith("\tcompleted")


def test_record_without_anything_is_listed(tmp_path: Path) -> None:
    BundleWriter(tmp_path, "bare").finish(RunRecord(scenario="bare"))
    assert query("SELECT scenario, goodput_bps, complete FROM runs", tmp_path).rows == [("bare", None, True)]


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ({}, True),
        ({"goodput_bps": "fast"}, False),
        ({"complete": 1}, False),
        ({"seed": True}, False),
        ({"plan": 3}, True),
    ],
)
def test_a_bundle_whose_figures_are_none_is_left_out(change: dict[str, object], kept: bool, tmp_path: Path) -> None:
    writer = BundleWriter(tmp_path, "odd")
    bundle = writer.finish(path_record("odd", goodput_bps=1e9))
    data = json.loads((bundle / "result.json").read_text())
    own = {name: change.pop(name) for name in change.keys() & data["flows"][0].keys()}
    data["flows"][0] |= own
    (bundle / "result.json").write_text(json.dumps(data | change))
    assert len(query("SELECT * FROM runs", tmp_path).rows) == kept
    assert show_runs(tmp_path).startswith("bundle" if kept else "no runs in")


def test_numbers_that_json_does_not_have_leave_a_bundle_out(tmp_path: Path) -> None:
    bundle = BundleWriter(tmp_path, "odd").finish(path_record("odd", goodput_bps=1.0))
    text = (bundle / "result.json").read_text()
    (bundle / "result.json").write_text(text.replace('"goodput_bps": 1.0', '"goodput_bps": NaN'))
    assert query("SELECT * FROM runs", tmp_path).rows == []
