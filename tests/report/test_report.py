"""The report: self-contained, without errors in a browser, no wider than a phone, right figures, honest notes."""

import json
import re
import shutil
from collections.abc import Generator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from landspeed.judge.judge import judge
from landspeed.report import charts
from landspeed.report.diagram import bottleneck, slowest_links, tall_svg, wide_svg
from landspeed.report.run_report import render_report, write_report
from landspeed.results.bundle import SAMPLES, BundleWriter, OutputError, load_record
from landspeed.results.sample_columns import LINK_COLUMNS, convert_links
from landspeed.results.samples_reader import Samples
from landspeed.results.series import rounds_of, total_of
from tests.support.browser import dump, requests
from tests.support.pages import chromium, opened
from tests.support.results_fixture import LIMITS, MSS, NS, make_bundle, make_plan, make_record

DRAWN = ["goodput", "rtt", "queues", "goodput-start", "goodput-streams", "cwnd", "cwnd-streams", "retransmits"]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_bundle(tmp_path_factory.mktemp("runs"), 60)
    (made / "scenario.yaml").write_text(
        "name: x\ndescription: An <em>account</em> of it\nassumptions: [Delays were fitted., Queues are assumed.]\n"
    )
    write_report(made)
    return made


@pytest.fixture(scope="module")
def page(bundle: Path) -> str:
    return (bundle / "report.html").read_text(encoding="utf-8")


def _visible(page: str) -> str:
    """The page's text without scripts and styles."""
    text = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.S)
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


class _Loads(HTMLParser):
    """Collects everything that an element would load, and the table headers."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.counts: dict[str, int] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.addresses += [value or "" for name, value in attrs if name in {"src", "href", "action", "data", "poster"}]


@pytest.mark.slow
def test_nothing_is_loaded_from_anywhere(page: str) -> None:
    loads = _Loads()
    loads.feed(re.sub(r"<script>.*?</script>", "", page, flags=re.S))
    assert loads.addresses == ["data:,"]
    style = re.search(r"<style>(.*?)</style>", page, re.S)
    assert style is not None
    assert "url(" not in style[1]
    assert "@import" not in style[1]
    policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
    assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">' in page
    assert loads.counts["h1"] == 1
    assert loads.counts["table"] >= 7


def test_size(page: str) -> None:
    assert len(page.encode()) < 400_000


def test_the_command_tells_where_a_bundle_is_damaged(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from landspeed.cli.main import main

    for name, told in (("result.json", "result.json:1:3: "), ("samples.parquet", "samples.parquet: ")):
        damaged = bundle.parent / f"damaged-{name}"
        shutil.copytree(bundle, damaged)
        (damaged / name).write_bytes(b"{ no")
        assert main(["report", str(damaged)]) == 2
        assert told in capsys.readouterr().err


def test_figures_and_notes(page: str) -> None:
    text = _visible(page)
    for part in (
        "6.627 Gbit/s",  # recorded
        "6.432 Gbit/s",  # rehearsed
        "859.053 GB",
        "264.003 ms",
        "1.0453 × 10¹⁷ bit·m/s",
        "What bound this run: bus (fitted)",
        "is fitted to the recorded result, so the goodput is reproduced, not predicted.",
        "Fidelity: super-packets.",
        "MSG_TRUNC",
        "nycmng-chinng.abilene.ucaid.edu",
        "landspeed run scenarios/records/2004-06-25-geneva-pasadena.yaml",
        "--seed 1",
        "Granted to the receiver",
        "2 assumptions of the scenario",
        "828.195",
    ):
        assert part in text, part
    assert "An &lt;em&gt;account&lt;/em&gt; of it" in page


def test_the_large_figure_is_the_one_that_was_judged(tmp_path: Path) -> None:
    """The expected goodput counts from 5 s on: so does the one beside it."""
    plan = make_plan(transfer={"duration_ns": 9 * NS}, expect={"goodput_from_s": 5.0})
    made = make_bundle(tmp_path, 9, plan)
    judged = next(check for check in load_record(made).verdicts if check.name == "goodput")
    assert judged.measured is not None
    text = _visible(render_report(made))
    assert f"{judged.measured / 1e9:.3f} Gbit/s from 5 s on; " in text
    assert "– from 5 s on" not in text


def test_text_from_outside_cannot_break_out(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path, 3)
    file = bundle / "result.json"
    data = json.loads(file.read_text())
    nasty = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    data |= {"title": nasty, "error": nasty, "command": [nasty]}
    data["flows"][0] |= {"limited_by_why": nasty, "source": nasty}
    data["plan"]["nodes"][1]["name"] = data["plan"]["links"][0]["b"] = data["plan"]["links"][1]["a"] = nasty
    data["plan"]["flows"][0]["physics"]["limits"][0]["place"] = nasty
    file.write_text(json.dumps(data))
    page = render_report(bundle)
    assert "<script>alert" not in page
    assert "<img" not in re.sub(r"<script>.*?</script>", "", page, flags=re.S)


def test_thinning_keeps_extremes_ends_and_order() -> None:
    series = [(float(number), 1.0) for number in range(100_000)]
    series[54_321] = (54_321.0, 9.0)
    series[54_322] = (54_322.0, -9.0)
    thinned = charts.thin(series)
    assert len(thinned) <= charts.POINTS
    assert thinned == sorted(thinned)
    assert {(54_321.0, 9.0), (54_322.0, -9.0), series[0], series[-1]} <= set(thinned)
    assert charts.thin(series[:1500]) == series[:1500]


def test_charts_are_plotly_figures_with_the_right_levels(bundle: Path) -> None:
    import plotly.graph_objects as go

    record = load_record(bundle)
    plan = record.plan
    assert plan is not None
    made = {chart.key: chart for chart in charts.make_charts(Samples(bundle), record, plan)}
    assert list(made) == DRAWN
    for chart in made.values():
        text = re.sub(r'"--[a-z0-9-]+"', '"#123456"', json.dumps(chart.figure))
        go.Figure(json.loads(text))
        assert chart.caption.endswith(".")
        assert all(len(trace["x"]) == len(trace["y"]) <= charts.POINTS for trace in chart.figure["data"])
    total = made["goodput"].figure["data"]
    assert max(total[0]["y"]) == pytest.approx(6.6265, rel=0.01)
    assert {line["name"].split(" (")[0] for line in total} >= {"rehearsed", "recorded"}
    bdp = next(line for line in made["cwnd"].figure["data"] if line["name"].startswith("BDP at the reached rate"))
    assert bdp["y"][0] == pytest.approx(6.6265e9 * 0.264003 / 8e6, rel=1e-3)
    cwnd = made["cwnd-streams"].figure["data"][0]["y"]
    assert cwnd[0] == pytest.approx(13 * MSS / 1e6, rel=0.05)
    assert made["retransmits"].figure["data"][0]["name"] == "stream 3"
    (queue,) = made["queues"].figure["data"]
    assert queue["name"] == "geneva → cern"


@pytest.mark.slow
def test_long_run_shows_its_start_enlarged(tmp_path: Path) -> None:
    plan = make_plan()
    for seconds, shown in ((54, True), (50, False)):  # 40 round trips of 264 ms, five times
        bundle = make_bundle(tmp_path, seconds)
        made = {chart.key: chart for chart in charts.make_charts(Samples(bundle), load_record(bundle), plan)}
        assert ("goodput-start" in made) is shown
        if shown:
            assert made["goodput-start"].figure["data"][0]["x"][-1] == pytest.approx(40 * 0.264, abs=0.1)


def test_queues_never_seen_are_told_and_not_drawn(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path, 3)
    lines = [",".join(LINK_COLUMNS), *(f"{tick * NS},0,0,{tick},1,0,0,0,0" for tick in range(3))]
    (tmp_path / "links.csv").write_text("\n".join(lines) + "\n")
    convert_links(tmp_path / "links.csv", bundle / "links.parquet")
    page = render_report(bundle)
    assert "No bytes were seen waiting at any port of the path." in _visible(page)
    assert 'id="chart-queues"' not in page


def test_limits_far_above_are_told_and_not_drawn(tmp_path: Path) -> None:
    plan = make_plan(limits=LIMITS | {"window": 90_000_000_000})
    bundle = make_bundle(tmp_path, 3, plan)
    goodput = charts.make_charts(Samples(bundle), load_record(bundle), plan)[0]
    assert "Beyond the picture: window (90 Gbit/s)" in goodput.caption
    assert not any("90" in line["name"] for line in goodput.figure["data"])


def test_many_streams_are_a_band(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path, 3, make_plan(transfer={"streams": 40}, with_expect=False))
    record = load_record(bundle)
    made = charts.make_charts(Samples(bundle), record, make_plan(transfer={"streams": 40}, with_expect=False))
    lines = next(chart for chart in made if chart.key == "goodput-streams").figure["data"]
    assert [line["name"] for line in lines] == ["least of 40 streams", "median of 40 streams", "most of 40 streams"]


def test_a_band_is_of_all_streams_though_their_rows_come_apart() -> None:
    # As the engine samples: the first rows and the last are read at one time, those between by each stream itself.
    times = {stream: [0.0, *(second + stream / 100 for second in (1, 2, 3)), 5.0] for stream in range(40)}
    apart = {stream: [(time_s, float(stream)) for time_s in times[stream]] for stream in times}
    assert [sorted(values) for _, values in rounds_of(apart)] == [[float(stream) for stream in range(40)]] * 5
    for which, trace in enumerate(charts._band(apart)):
        assert trace["y"] == [(0.0, 20.0, 39.0)[which]] * 5


def test_diagram_marks_what_binds() -> None:
    plan = make_plan()
    assert bottleneck(plan, "bus (fitted)").node == "geneva"
    assert bottleneck(plan, "line rate").links == slowest_links(plan) == frozenset(range(13))
    assert (bottleneck(plan, "window").node, bottleneck(plan, "window").links) == (None, frozenset())
    assert wide_svg(plan, "line rate").count("link bottleneck") == 13
    for svg in (wide_svg(plan, "bus (fitted)"), tall_svg(plan, "bus (fitted)")):
        assert svg.count("<circle") == 12
        assert "7\u202f067 km" in svg
        assert "http" not in svg


def test_incomplete_runs_have_a_report_too(tmp_path: Path) -> None:
    dead = BundleWriter(tmp_path, "dead").fail("the guest stalled: init ran")
    assert "Incomplete. the guest stalled: init ran" in _visible(write_report(dead).read_text())
    plan = make_plan()
    raw = make_record(plan, [], 1).with_flow(goodput_bps=None, bytes=None, duration_s=None, streams=[])
    assert raw.calibration is not None
    raw.calibration.passed, raw.calibration.failures = False, ["link 1 (cern – chicago): RTT is off"]
    raw.calibration.hops[1]["rtt_ms"] = 126.103
    writer = BundleWriter(tmp_path, plan.scenario)
    page = write_report(writer.fail("calibration out of tolerance", judge(plan, raw, writer.path))).read_text()
    assert "link 1 (cern – chicago): RTT is off" in _visible(page)
    assert page.count('<tr class="bad">') == 1
    assert "No samples were taken." in page


def test_damaged_scenario_copy_does_not_matter(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path, 3)
    (bundle / "scenario.yaml").write_bytes(b"a: [\xff\x00")
    write_report(bundle)


def test_report_that_cannot_be_written(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path, 3)
    (bundle / "report.html").mkdir()
    with pytest.raises(OutputError, match=r"cannot write .*report\.html"):
        write_report(bundle)


def test_report_is_the_same_twice(bundle: Path) -> None:
    assert render_report(bundle) == render_report(bundle)
    assert (bundle / SAMPLES).exists()


# --- In a browser ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    with chromium() as found:
        yield found


@pytest.mark.slow
def test_one_cursor_and_one_span_of_time_for_all_charts(bundle: Path, browser: Browser) -> None:
    page = browser.new_page()
    with opened(page, bundle / "report.html"):
        drawn = page.locator(".plot:has(svg path[stroke-width])")
        assert drawn.evaluate_all("all => all.map(each => each.id)") == [f"chart-{key}" for key in DRAWN]
        assert "NaN" not in page.content()
        box = page.locator("#chart-goodput")
        box.hover(position={"x": 200, "y": 100})
        told = page.locator(".told:not([hidden]) b").all_inner_texts()
        assert len(told) == len(DRAWN) - 1  # the enlarged start has ended by then
        assert set(told) == {told[0]}
        at = float(told[0].removesuffix(" s"))
        assert 20 < at < 40
        assert page.locator("#chart-rtt .told").inner_text().startswith(f"{told[0]}\n272.9 ms, stream 0\n")
        area = box.bounding_box()
        assert area is not None
        page.mouse.down()
        page.mouse.move(area["x"] + 330, area["y"] + 100)
        page.mouse.up()
        for key in ("goodput", "queues"):
            times = page.locator(f"#chart-{key} svg text[text-anchor=middle]").all_text_contents()
            least = min(float(each) for each in times if re.fullmatch(r"[0-9.]+", each))
            assert at - 1 < least < 45, key
        box.dblclick(position={"x": 200, "y": 100})
        assert "0" in page.locator("#chart-goodput svg text[text-anchor=middle]").all_text_contents()
        page.locator("#chart-goodput + .legend button").first.click()
        assert page.locator("#chart-goodput svg path[stroke='var(--rehearsed)']").count() == 0


@pytest.mark.slow
def test_console_check_sees_errors(tmp_path: Path) -> None:
    (tmp_path / "x.html").write_text("<script>missing()</script>")
    assert "missing is not defined" in dump(tmp_path / "x.html", tmp_path)[1]


@pytest.mark.slow
def test_browser_asks_no_network_for_anything(bundle: Path, tmp_path: Path) -> None:
    assert requests(bundle / "report.html", tmp_path) == set()


@pytest.mark.slow
def test_request_check_sees_one(tmp_path: Path) -> None:
    (tmp_path / "x.html").write_text('<img src="http://127.0.0.1:9/x.png">')
    assert requests(tmp_path / "x.html", tmp_path) == {"http://127.0.0.1:9/x.png"}


def test_a_total_takes_rows_of_one_time_or_of_each_streams_own() -> None:
    together = {0: [(1.0, 3.0), (2.0, 5.0), (3.0, 7.0)], 1: [(1.0, 10.0), (2.0, 20.0)]}
    assert total_of(together) == [(1.0, 13.0), (2.0, 25.0), (3.0, 7.0)]  # stream 1 has ended
    apart = {0: [(1.0, 3.0), (2.1, 5.0), (3.0, 7.0)], 1: [(1.0, 10.0), (2.2, 20.0), (3.0, 30.0)]}
    assert total_of(apart) == [(1.0, 13.0), (2.2, 25.0), (3.0, 37.0)]
    skipped = {0: [(1.0, 3.0), (2.0, 5.0), (3.0, 7.0)], 1: [(1.0, 10.0), (3.0, 30.0)]}
    assert total_of(skipped) == [(1.0, 13.0), (3.0, 37.0)]  # never a dip to what one stream has alone
    assert total_of({}) == total_of({0: []}) == []


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (13.4, 15, [13.5, 14, 14.5, 15]),
        (0.01001, 0.04, [0.02, 0.03, 0.04]),
        (4.1, 4.9, [4.25, 4.5, 4.75]),
        (0.5, 264, [1, 10, 100]),
        (1, 20, [1, 2, 5, 10, 20]),
    ],
)
def test_a_logarithmic_axis_has_ticks_however_short_it_is(low: float, high: float, wanted: list[float]) -> None:
    from landspeed.report.svg_lines import _logarithmic_ticks

    assert _logarithmic_ticks(low, high) == pytest.approx(wanted)
