"""Each page as somebody gets it who is sent this one file: alone, in a browser, from a phone's width to a screen's."""

from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from landspeed.cli.main import main
from landspeed.course.class_grades import HandIn, copies, overview
from landspeed.course.class_register import ClassRegister
from landspeed.explore.setting import sliders
from landspeed.explore.slider_page import page_data, write_page
from landspeed.report.book_page import BookEntry, render_book
from landspeed.report.comparison import compare
from landspeed.report.comparison_page import write_comparison
from landspeed.report.comparison_sides import load_side
from landspeed.report.probe_page import Part, arrival_picture, write_probe_page
from landspeed.report.run_report import write_report
from landspeed.report.submission import render_submission
from landspeed.report.sweep_comparison import compare_sweeps, load_sweep, write_sweep_comparison
from landspeed.results.bundle import load_record
from landspeed.runs.record_book import record_plans
from landspeed.runs.sweeps.store import Store
from tests.support.pages import chromium, holds_alone
from tests.support.results_fixture import make_bundle
from tests.support.runs_sweep import Sweeps
from tests.support.toy_world import make_site

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    with chromium() as found:
        yield found


def test_a_report(tmp_path: Path, browser: Browser) -> None:
    holds_alone(browser, write_report(make_bundle(tmp_path / "runs", 60)), tmp_path / "alone")


@pytest.mark.parametrize("kind", ["submission", "record book"])
def test_pages_of_records(kind: str, tmp_path: Path, browser: Browser) -> None:
    plans = record_plans()
    bundle = make_bundle(tmp_path / "runs", 20, plans[next(file for file in plans if "pasadena" in file.name)])
    page = tmp_path / "made.html"
    entries = [BookEntry(plan, load_record(bundle)) for plan in plans.values()]
    page.write_text(render_submission(bundle) if kind == "submission" else render_book(entries, {"Made": "now"}))
    holds_alone(browser, page, tmp_path / "alone")


def test_a_comparison(tmp_path: Path, browser: Browser) -> None:
    one, two = (
        load_side(make_bundle(tmp_path / "runs", seconds), name) for seconds, name in ((20, "one"), (30, "two"))
    )
    two.settled_bps, two.record.flows[0].goodput_bps = 3e9, 3e9
    page = write_comparison(compare([one, two]), tmp_path / "compare.html")
    holds_alone(browser, page, tmp_path / "alone")


def test_sweeps(tmp_path: Path, browser: Browser) -> None:
    sweeps = Sweeps(tmp_path, make_site(tmp_path))
    vary = "{transfer.window: [1 MB, 4 MB, 16 MB], transfer.congestion_control: [reno, cubic, bbr], seeds: 2}"
    sweeps.run(vary, "--curve", "even")
    page = Store(sweeps.out).page
    text = page.read_text(encoding="utf-8")
    assert text.count('/report.html">seed') == 18
    holds_alone(browser, page, tmp_path / "alone")
    side = load_sweep(sweeps.out)
    write_sweep_comparison(compare_sweeps(side, side, 0.02), tmp_path / "against.html")
    holds_alone(browser, tmp_path / "against.html", tmp_path / "alone-2")


def test_a_probe(tmp_path: Path, browser: Browser) -> None:
    rising = [(1e-3 * number, 50.0 * number) for number in range(1, 200)]
    picture = arrival_picture("arrived", [time_s for time_s, _ in rising], [count for _, count in rising])
    assert picture is not None
    rows = [["RTT", "took", "bound by"], ["10 ms", "1.2 s", "round trips"]]
    page = write_probe_page(
        tmp_path / "probe.html",
        command="curl http://b/x",
        repeated="landspeed probe -- curl http://b/x",
        parts=[Part("", ["It is bound by round trips"], rows, [picture])],
        errors=["at 10 ms: none"],
        logs=["rtt-10ms/own-logs/a.sqlog"],
        hidden="what it computes",
    )
    holds_alone(browser, page, tmp_path / "alone")


def test_a_class(tmp_path: Path, browser: Browser) -> None:
    """Its overview: grades, open steps, mistakes, copies, and what could not be graded."""
    ada, bob = "Ada Lovelace", "=Bob"
    register = ClassRegister("networks", "a secret of the lecturer", (ada, bob, "Grace Hopper"))
    marks = [
        {"asked": "The bandwidth-delay product, to 1 %", "points": 2, "got": 2, "why": ""},
        {"asked": "The least window that fills the path", "points": 3, "got": 0, "why": "1 MB is not near 16.8 MB"},
    ]
    graded = [
        HandIn("window-Ada", ada, "window", points=5, got=5, marks=[marks[0]], work={"exercise.py": "1" * 64}),
        HandIn("window-Bob", bob, "window", points=5, got=2, marks=marks, work={"exercise.py": "1" * 64}),
        HandIn("queues-Bob", bob, "queues", error="exercise.json is not that of the class"),
    ]
    page = tmp_path / "overview.html"
    page.write_text(overview(register, graded, copies(register, graded)), encoding="utf-8")
    holds_alone(browser, page, tmp_path / "alone")


def test_an_explore_page(tmp_path: Path, browser: Browser) -> None:
    """Theory at once, without a run: the script computes it where the page lies."""
    page = write_page(tmp_path / "explore.html", page_data(sliders(), [], title="", served=False))
    holds_alone(browser, page, tmp_path / "alone")


@pytest.mark.guest
def test_a_network_s_report(tmp_path: Path, browser: Browser) -> None:
    words = ["run", "dumbbell", "--set", "transfer.duration=3 s", "--quiet", "--out", str(tmp_path / "runs")]
    assert main(words) == 0
    (page,) = tmp_path.glob("runs/*/report.html")
    text = page.read_text(encoding="utf-8")
    assert "is the largest share and" in text
    assert all(f'id="chart-{key}"' in text for key in ("flows", "flows-rtt", "queues", "jain"))
    holds_alone(browser, page, tmp_path / "alone")
