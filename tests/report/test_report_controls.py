"""The report of streams of several congestion controls: grouped and coloured by control, and a table of them."""

from pathlib import Path

import pytest

from landspeed.report import charts
from landspeed.report.tables import controls_table
from landspeed.results.bundle import load_record
from landspeed.results.record import RunRecord
from landspeed.results.samples_reader import Samples
from tests.support.results_fixture import make_bundle, make_plan


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("runs"), 60)


def _mixed(bundle: Path, count: int) -> tuple[RunRecord, dict[str, str]]:
    """The record with every other stream's control another one, and the colour of each line of the window chart."""
    record = load_record(bundle)
    for stream in record.streams:
        stream.congestion_control = ("cubic", "bbr")[stream.stream % 2]
    plan = make_plan(transfer={"streams": count}, with_expect=False)
    made = {chart.key: chart for chart in charts.make_charts(Samples(bundle), record, plan)}
    assert "cubic and bbr" in made["cwnd-streams"].caption
    assert [trace["name"] for trace in made["goodput-controls"].figure["data"]] == [
        f"cubic, {count // 2} streams",
        f"bbr, {count // 2} streams",
    ]
    whole, parts = (made[key].figure for key in ("goodput", "goodput-controls"))
    assert parts["layout"]["yaxis"]["title"] == whole["layout"]["yaxis"]["title"]  # the unit
    assert sum(trace["y"][-1] for trace in parts["data"]) == pytest.approx(whole["data"][0]["y"][-1])
    return record, {each["name"]: each["line"]["color"] for each in made["cwnd-streams"].figure["data"]}


def test_streams_of_several_controls_are_grouped_and_coloured_by_control(bundle: Path) -> None:
    record, colours = _mixed(bundle, 8)
    names = [name for name in colours if "stream " in name and "share" not in name]
    assert names == [f"cubic, stream {n}" for n in (0, 2, 4, 6)] + [f"bbr, stream {n}" for n in (1, 3, 5, 7)]
    assert {colours[name] for name in names[:4]} == {"--series-0"}
    assert {colours[name] for name in names[4:]} == {"--series-1"}
    table = controls_table(record)
    assert table is not None
    assert [row[:2] for row in table.rows] == [["cubic", "4"], ["bbr", "4"]]
    parts = [sum(each.bytes or 0 for each in record.streams[first::2]) for first in (0, 1)]
    assert [row[4] for row in table.rows] == [f"{part / sum(parts) * 100:.2f} %" for part in parts]


def test_many_streams_of_several_controls_are_a_band_for_each(tmp_path: Path) -> None:
    plan = make_plan(transfer={"streams": 40, "duration_ns": 12 * 10**9}, with_expect=False)
    _, colours = _mixed(make_bundle(tmp_path, 12, plan), 40)
    bands = [name for name in colours if " of 20 " in name]
    assert bands == [f"{part} of 20 {control}" for control in ("cubic", "bbr") for part in ("least", "median", "most")]


def test_one_control_has_no_table_of_controls(bundle: Path) -> None:
    assert controls_table(load_record(bundle)) is None
