"""The judge, the samples and the queries of a network, on figures made by hand: two flows, the second 2 s later."""

from pathlib import Path

import pytest

from landspeed.judge.fairness import flows_goodput, jain_index, jain_series
from landspeed.judge.judge import judge
from landspeed.report.comparison_sides import load_sides
from landspeed.report.run_report import render_report
from landspeed.report.summary import summary_lines
from landspeed.results.bundle import BundleWriter, load_record
from landspeed.results.flow_result import FlowResult, planned_flows
from landspeed.results.query import query
from landspeed.results.record import RunRecord
from landspeed.results.sample_columns import LINK_COLUMNS, SAMPLE_COLUMNS
from landspeed.results.samples_reader import Samples
from landspeed.scenario.file.load import build_scenario
from landspeed.scenario.plan.flow_path import steps
from landspeed.scenario.plan.plan import Plan
from landspeed.scenario.resolve.resolve import make_plan

S = 10**9
RATES = {"first": 60e6, "second": 30e6}
BEGINS_S = {"first": 0.0, "second": 2.0}
END_S = 10.0


def plan_with(expect_bps: str) -> Plan:
    links = [
        ("b", "left", 20, None),
        ("right", "left", 5, "100 Mbit/s"),
        ("a", "left", 1, None),
        ("right", "c", 1, None),
    ]
    expect = {"goodput": expect_bps, "tolerance": "5 %", "source": "theory"}
    return make_plan(
        build_scenario(
            {
                "format": 1,
                "name": "made",
                "title": "Made by hand",
                "line_rate": "1 Gbit/s",
                "links": [
                    {"from": a, "to": b, "one_way_delay": f"{ms} ms", **({"line_rate": rate} if rate else {})}
                    for a, b, ms, rate in links
                ],
                "transfer": {"duration": "10 s"},
                "flows": [
                    {"name": "first", "from": "a", "to": "c"},
                    {"name": "second", "from": "b", "to": "c", "start": "2 s", "duration": "8 s", "expect": expect},
                ],
            }
        )
    )


def write_flow(folder: Path, name: str) -> None:
    """Both ends' samples of a flow, each 100 ms, from its own start on."""
    folder.mkdir(parents=True)
    for end in ("sender", "receiver"):
        rows = [",".join(SAMPLE_COLUMNS)]
        for tick in range(1, round((END_S - BEGINS_S[name]) * 10) + 1):
            known = {"time_ns": tick * S // 10, "stream": 0, "bytes": round(RATES[name] / 80 * tick), "mss_bytes": 1448}
            known |= {"snd_wnd_bytes": 1 << 30}  # never the limit
            rows.append(",".join(str(known.get(column, 0)) for column in SAMPLE_COLUMNS))
        (folder / f"{end}.csv").write_text("\n".join(rows) + "\n")


def made(out: Path, plan: Plan) -> Path:
    record = RunRecord(scenario=plan.scenario, plan=plan, flows=planned_flows(plan))
    with BundleWriter(out, plan.scenario, record) as bundle:
        flows: list[FlowResult] = []
        for flow in record.flows:
            write_flow(bundle.path / "flows" / flow.name, flow.name)
            lasts_s = END_S - BEGINS_S[flow.name]
            figures = {"begins_s": BEGINS_S[flow.name], "duration_s": lasts_s, "goodput_bps": RATES[flow.name]}
            counts = {"bytes": round(RATES[flow.name] / 8 * lasts_s), "retransmits": 3, "rtt_ms": 1.0}
            flows.append(flow.model_copy(update=figures | counts))
        rows = [",".join(LINK_COLUMNS)]
        for time_ns in (0, 5 * S, 10 * S):
            for link in range(4):
                rows += [
                    f"{time_ns},{link},{way},{time_ns // 10_000 * (link + 1)},{link},{link},0,0,0" for way in (0, 1)
                ]
        (bundle.path / "links.csv").write_text("\n".join(rows) + "\n")
        bundle.record = record.model_copy(update={"flows": flows})
        bundle.convert()
        bundle.finish(judge(plan, bundle.record, bundle.path))
    return bundle.path


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("runs"), plan_with("30 Mbit/s"))


def test_each_flow_has_a_bound_and_verdicts_of_its_own(bundle: Path) -> None:
    record = load_record(bundle)
    first, second = record.flows
    assert first.limited_by == second.limited_by == "shared line"
    assert "2 flows share left → right (link 2): from 2 s to 10 s they got 90.00 Mbit/s" in str(second.limited_by_why)
    assert "this one 33.3 % of it" in str(second.limited_by_why)
    assert [verdict.name for verdict in second.verdicts] == ["calibration", "rtt", "delivery", "goodput"]
    assert next(verdict for verdict in second.verdicts if verdict.name == "goodput").ok
    assert record.jain_index == pytest.approx(90**2 / (2 * (60**2 + 30**2)), rel=1e-3)


def test_a_flow_that_misses_its_goodput_fails_the_run_and_is_named(tmp_path: Path) -> None:
    record = load_record(made(tmp_path, plan_with("40 Mbit/s")))
    assert not record.passed and not record.flows[1].passed
    (failed,) = [verdict for verdict in record.verdicts if verdict.name == "goodput"]
    assert failed.ok is False and failed.text.startswith("1 of 1 flows: second: 30.00 Mbit/s over the whole run")
    lines = summary_lines(record)
    assert "Jain's index: 0.9000" in lines and any(line.startswith("FAILED: goodput: 1 of 1 flows") for line in lines)


def test_samples_count_from_the_start_of_the_run_or_of_the_flow(bundle: Path) -> None:
    samples = Samples(bundle)
    assert set(samples.to_arrow()["flow"].to_pylist()) == {"first", "second"}
    whole, own = samples.of_flow("second"), samples.of_flow("second", 2.0)
    assert whole.goodput()[0] == (pytest.approx(2.1), pytest.approx(30e6))
    assert own.goodput()[0] == (pytest.approx(0.1), pytest.approx(30e6)) and own.goodput()[-1][0] == pytest.approx(8.0)
    assert own.curves is not None and own.curves.end_s == pytest.approx(8.0)


def test_links_of_a_flow_are_those_of_its_path_and_face_its_way(bundle: Path) -> None:
    record = load_record(bundle)
    plan = record.plan
    assert plan is not None
    samples = Samples(bundle).of_flow("second", 2.0, steps(plan, plan.flows[1]))
    rows = samples.links.to_pylist()
    assert [(row["link"], row["direction"]) for row in rows if row["time_ns"] == 3 * S] == [
        (number, way) for number in range(3) for way in ("forward", "reverse")
    ]
    grown = samples.passed_by_link("bytes")
    assert [grown[number, "forward"] // 10**6 for number in range(3)] == [1, 2, 4]  # links 1, 2 (turned round), 4


def test_queries_see_flows_and_paths_have_one(bundle: Path) -> None:
    rows = query("SELECT flow, source, target, begins_s, goodput_bps, limited_by FROM flows", bundle.parent).rows
    assert rows == [("first", "a", "c", 0.0, 60e6, "shared line"), ("second", "b", "c", 2.0, 30e6, "shared line")]
    counted = query("SELECT flow, count(*) FROM samples GROUP BY flow ORDER BY flow", bundle.parent).rows
    assert counted == [("first", 200), ("second", 160)]


def test_the_page_and_a_comparison_have_each_flow(bundle: Path) -> None:
    page = render_report(bundle)
    assert "Flow by flow" in page and "Flow second</h2>" in page and "flow-1-goodput" in page
    first, second = load_sides(bundle)
    assert (first.label, second.label) == ("first", "second")
    assert second.goodput[0][0] == pytest.approx(0.1) and second.plan.is_path


def test_jains_index() -> None:
    assert jain_index([5, 5, 5]) == pytest.approx(1)
    assert jain_index([1, 0, 0, 0]) == pytest.approx(0.25)
    assert jain_index([]) is None and jain_index([0, 0]) is None


def test_jains_index_over_time_begins_with_the_second_flow(bundle: Path) -> None:
    series = jain_series(flows_goodput(load_record(bundle), Samples(bundle)))
    assert series[0] == (pytest.approx(2.1), pytest.approx(0.9)) and series[-1][0] == pytest.approx(10.0)
