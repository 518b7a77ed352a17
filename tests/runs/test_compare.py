"""`landspeed compare` over the stand-in for the simulator: tables, differences, the page, refusals."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from landspeed.base.limits import WINDOW, RunLimit
from landspeed.cli import main as cli
from landspeed.report import differences as diff
from landspeed.report.comparison import Comparison, compare, difference_lines
from landspeed.report.comparison_page import render_page
from landspeed.report.comparison_sides import Response, Side, SlowStart, load_side, second_half_bps
from landspeed.report.side_words import what_differs
from landspeed.results.series import ByteCurves
from tests.support.browser import dump, requests
from tests.support.emu_fixtures import FIRST
from tests.support.fake_sim import fake_sim  # noqa: F401  (fixture)

pytestmark = pytest.mark.usefixtures("fake_sim")
SHORT = ("--set", "transfer.duration=2 s", "--set", "expect=null")
LOSS = "events=[{at: 1 s, loss: 3 packets, from: frankfurt, to: milan}]"


@pytest.fixture
def side(tmp_path: Path) -> Side:
    """A simulated run."""
    words = ["run", str(FIRST), "--world", "sim", *SHORT, "--set", LOSS, "--quiet", "--out", str(tmp_path / "one")]
    assert cli.main(words) == 0
    (bundle,) = (tmp_path / "one").iterdir()
    return load_side(bundle, "one")


@pytest.mark.slow
def test_bundle_beside_file_in_terminal_json_and_page(
    side: Side, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    out = tmp_path / "two"
    words = ["compare", str(side.bundle), str(FIRST), "--worlds", "sim", *SHORT, "--out", str(out), "--html", str(page)]
    assert cli.main([*words, "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["goodput_bps"] for each in found["sides"]] == [4e8, 4e8]
    assert found["differences"] == []
    assert len({each["label"] for each in found["sides"]}) == 2
    html = page.read_text()
    assert "default-src 'none'" in html
    assert "http://" not in html.split("<script")[0]
    assert html.count('class="plot"') == 4
    assert '"--event"' in html  # the loss is marked
    assert cli.main([*words]) == 0
    shown = capsys.readouterr().out
    assert "Goodput differs by no more than 2 %" in shown
    assert "Goodput" in shown
    assert str(page) in shown


def test_the_first_sentence_says_what_was_gained_and_lost(side: Side) -> None:
    other = load_side(side.bundle, "two")
    side.label = "one"
    assert compare([side, other]).finding.startswith("Goodput differs by no more than 2 %; the round-trip time under")
    other.record.flows[0].goodput_bps = 3e8
    told = compare([side, other]).finding
    assert told.startswith("From one to two, goodput falls by 25\u202f%, from 400.00 Mbit/s to 300.00 Mbit/s; ")
    assert told.endswith("; the round trip under load is the same.")
    for each, ms in ((side, 40.0), (other, 20.0)):
        each.record.flows[0].rtt_loaded_median_ms = each.record.flows[0].rtt_loaded_p99_ms = ms
    told = compare([side, other]).finding
    assert told.startswith(
        "From one to two, the round trip under load falls from 40 ms to 20 ms (median), and goodput "
    )
    other.record.flows[0].goodput_bps = 4e8
    told = compare([side, other]).finding
    assert told == (
        "From one to two, the round trip under load falls from 40 ms to 20 ms (median); goodput is the same."
    )
    other.record.flows[0].rtt_loaded_median_ms = other.record.flows[0].rtt_loaded_p99_ms = 40.0
    other.full_s = other.nearly_full_s = 9.0
    told = compare([side, other]).finding
    assert told == "From one to two, time to full rate differs; goodput as a whole is the same."
    other.nearly_full_s = side.full_s  # one sample, a little below the level: nothing to tell
    assert compare([side, other]).finding.startswith("Goodput differs by no more than 2 %")


def test_sides_have_the_names_of_what_differs(tmp_path: Path) -> None:
    bundles: list[Path] = []
    for name, more in (("a", {}), ("b", {"discipline": "cake"}), ("c", {"discipline": "cake", "queue": "2 MB"})):
        bundles.append(tmp_path / name)
        bundles[-1].mkdir()
        path = [{"from": "x", "to": "y", "queue": "1 MB", **more}]
        (bundles[-1] / "scenario.yaml").write_text(json.dumps({"name": name, "title": name, "path": path}))
    assert what_differs(bundles[:2]) == ["discipline fifo", "discipline cake"]
    assert what_differs(bundles[1:]) == ["queue 1 MB", "queue 2 MB"]
    assert what_differs(bundles[:1] * 2) is None
    (bundles[0] / "scenario.yaml").unlink()
    assert what_differs(bundles) is None


def _page(side: Side) -> str:
    """A comparison with everything on it: charts, an event, differences with and without a cause."""
    other = load_side(side.bundle, "two, with a long name as a bundle of a long scenario has it")
    other.settled_bps, other.record.flows[0].goodput_bps = 3e8, 3.9e8
    one, two = (SlowStart(0.4, 892, by_loss=False), SlowStart(1.2, 1974, by_loss=True))
    side.slow_start, other.slow_start = one, two
    side.responses, other.responses = ([Response(1, "loss", 1.0, 9.8, least, 3.0)] for least in (6.9, 3.0))
    comparison = compare([side, other])
    assert len(comparison.differences) >= 4
    return render_page(comparison)


@pytest.mark.slow
def test_page_in_a_browser(side: Side, tmp_path: Path) -> None:
    """At 390 and 1440 px: nothing on the console, no sideways scrolling, every chart drawn."""
    page = _page(side)
    told = "<script>onload=()=>{const r=document.documentElement;parent.postMessage([r.scrollWidth,r.clientWidth,"
    told += "document.querySelectorAll('.plot svg path[stroke-width]').length>=3],'*')}</script>"
    (tmp_path / "inner.html").write_text(page.replace("</body>", told + "</body>"))
    outer = "<script>let a=[];onmessage=e=>{a.push(e.data.join(' '));document.title=a.join(';')}</script>"
    for width in (390, 1440):
        outer += f'<iframe src="inner.html" style="width:{width}px;height:900px;border:0"></iframe>'
    (tmp_path / "outer.html").write_text(outer)
    document, console = dump(
        tmp_path / "outer.html", tmp_path, "--window-size=1900,1000", "--virtual-time-budget=20000"
    )
    assert console == ""
    found = re.search(r"<title>([^<]*)</title>", document)
    assert found
    told_of = sorted(each.split() for each in found[1].split(";"))
    assert len(told_of) == 2
    for (takes, has, drawn), width in zip(sorted(told_of, key=lambda each: int(each[1])), (390, 1440), strict=True):
        assert width - 20 <= int(has) <= width
        assert takes == has
        assert drawn == "true"


@pytest.mark.slow
def test_page_asks_no_network_for_anything(side: Side, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(_page(side))
    assert requests(tmp_path / "page.html", tmp_path) == set()


@pytest.mark.slow
def test_what_cannot_be_compared_is_told_before_anything_runs(
    side: Side, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(tmp_path / "none"), "--html", str(tmp_path / "x.html")]
    for words, said in (
        ([str(side.bundle)], "nothing to compare with"),
        ([str(side.bundle), str(tmp_path)], "not a bundle"),
        ([str(FIRST), "--worlds", "sim,moon"], "at most once"),
        ([str(FIRST), "--worlds", "sim,sim"], "at most once"),
        ([str(FIRST), str(tmp_path / "no.yaml"), "--worlds", "sim"], "no such file"),
        ([str(FIRST), "--collapse"], "--collapse works only with --world sim"),
    ):
        assert cli.main(["compare", *words, *out]) == 2
        assert said in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
def test_a_difference_has_a_cause_only_with_evidence(side: Side) -> None:
    other = load_side(side.bundle, "two")
    assert diff.differences(side, other, 0.02) == []
    side.settled_bps, other.settled_bps = 4e8, 4.2e8
    (found,) = diff.differences(side, other, 0.02)
    assert (found.what, found.cause) == ("Settled goodput", "")
    assert diff.differences(side, other, 0.06) == []
    # Windows of different sizes are no cause where the judge saw none that was full.
    side.offered_window_bytes, other.offered_window_bytes = 2_500_000, 27_000_000
    assert side.record.limited_by != WINDOW
    assert diff.differences(side, other, 0.02)[0].cause == ""
    side.record.flows[0].limited_by = WINDOW
    assert diff.differences(side, other, 0.02)[0].cause == "buffer granting"


@pytest.mark.slow
def test_one_cause_the_strongest_and_told_once(side: Side) -> None:
    """A loss in slow start goes before the ACK policy, which stands beside it; the next line does not repeat it."""
    other = load_side(side.bundle, "two")
    side.slow_start, other.slow_start = SlowStart(0.3, 800, by_loss=True), SlowStart(1.2, 3000, by_loss=False)
    side.packets_per_ack, other.packets_per_ack, side.full_s, other.full_s = 2.0, 1.0, 0.3, 1.2
    other.nearly_full_s = 1.2
    first, second = diff.differences(side, other, 0.02)
    assert (first.cause, first.also) == (
        "loss in slow start",
        "ACK policy (2.0 packets per ACK one, 1.0 packets per ACK two)",
    )
    assert (second.cause, second.evidence) == (first.cause, first.evidence)
    one, two = difference_lines(Comparison([side, other], [], [("two", first), ("two", second)], 0.02))
    assert one.endswith(f"; likely {first.cause} ({first.evidence}); also {first.also}.")
    assert two.endswith("; likely for the same cause.")


@pytest.mark.slow
def test_few_random_losses_are_a_cause_and_many_are_not(side: Side) -> None:
    """Of 9 and of 16 recoveries the square-root law leaves sqrt(1/9 + 1/16) = 0.417 of the logarithm."""
    other = load_side(side.bundle, "two")
    first = side.plan.links[0]
    lossy = replace(first, forward=replace(first.forward, loss=0.001))
    side.recoveries, other.recoveries = 9, 16
    side.settled_bps = 4e8
    for times, cause in (
        (math.exp(0.41), "chance"),
        (math.exp(-0.41), "chance"),
        (math.exp(0.42), "the control's answer to losses"),
    ):
        other.settled_bps = times * 4e8
        side.plan = replace(side.plan, links=[lossy, *side.plan.links[1:]])
        assert diff.differences(side, other, 0.02)[0].cause == cause
        side.plan = replace(side.plan, links=[first, *side.plan.links[1:]])  # no loss of chance
        assert diff.differences(side, other, 0.02)[0].cause == cause.replace("chance", "few losses")


@pytest.mark.slow
def test_where_a_single_loss_falls_decides(side: Side) -> None:
    """Of one loss no rate of losses follows: in slow start a round trip later means twice the window."""
    other = load_side(side.bundle, "two")
    side.settled_bps, other.settled_bps = 4e8, 40e8
    few = "few losses"
    for recoveries, cause in (((2, 2), "the control's answer to losses"), ((1, 2), few), ((2, 1), few)):
        side.recoveries, other.recoveries = recoveries
        for each, count in zip((side, other), recoveries, strict=True):
            each.record = each.record.with_flow(bytes=10**8 * count)  # as often a recovery
        assert diff.differences(side, other, 0.02)[0].cause == cause
    told = "2 recoveries one and 1 recovery two: where so few fall makes any difference between two runs"
    assert diff.differences(side, other, 0.02)[0].evidence == told


@pytest.mark.parametrize(("moved", "found_bps"), [(0, 0.0), (999, 0.0), (1000, 8e4)])
def test_less_than_a_segment_in_the_second_half_is_nothing(moved: int, found_bps: float) -> None:
    """A sample that comes a little after the half leaves some of its bytes to it."""
    curves = ByteCurves()
    for time_s, count in ((0.1001, 100_000), (0.2, 100_000 + moved)):
        curves.add(0, time_s, count)
    assert second_half_bps(curves, 0.2, 1000 + 100) == 0.0
    curves = ByteCurves()
    for time_s, count in ((0.1, 100_000), (0.2, 100_000 + moved)):
        curves.add(0, time_s, count)
    assert second_half_bps(curves, 0.2, 1000) == found_bps


@pytest.mark.slow
def test_waiting_for_timeouts_is_a_cause_where_it_explains_half(side: Side) -> None:
    other = load_side(side.bundle, "two")
    assert (side.waiting, side.standing) == (0.0, 0.0)
    side.settled_bps, other.settled_bps, side.recoveries, other.recoveries = 4e8, 2e8, 1, 1
    for waiting, standing, cause in ((0.24, 0.0, "few losses"), (0.25, 0.0, "timeouts"), (0.0, 0.25, "timeouts")):
        other.waiting, other.standing = waiting, standing
        assert diff.differences(side, other, 0.02)[0].cause == cause
    assert diff.differences(side, other, 0.02)[0].evidence == "received nothing in 25% of the samples two, in 0% one"
    side.standing = 0.25  # both stood still
    assert diff.differences(side, other, 0.02)[0].cause == "few losses"
    other.settled_bps, other.backs_off = 0.0, True
    found = diff.differences(side, other, 0.02)[0]
    assert (found.cause, found.evidence) == (
        "timeouts",
        "two ended waiting for a timeout, each of twice the time of the one before",
    )


@pytest.mark.slow
def test_the_slower_side_alone_had_losses_or_another_bound(side: Side) -> None:
    other = load_side(side.bundle, "two")
    side.settled_bps, other.settled_bps, side.recoveries = 4e8, 4.4e8, 2
    (found,) = diff.differences(side, other, 0.02)
    assert (found.cause, found.evidence) == ("loss and its recovery", "2 recoveries one, none two")
    other.settled_bps = 3.6e8  # who lost packets was faster: they are no cause
    assert diff.differences(side, other, 0.02)[0].cause == ""
    cases: list[tuple[tuple[RunLimit, RunLimit], str]] = [
        (("window", "loss"), "another bound"),
        (("unknown", "loss"), ""),
        (("loss", "slow start"), "slow start"),
    ]
    for bounds, cause in cases:
        side.record.flows[0].limited_by, other.record.flows[0].limited_by = bounds
        assert diff.differences(side, other, 0.02)[0].cause == cause


@pytest.mark.slow
def test_many_losses_or_another_answer_to_them(side: Side) -> None:
    """Four times the losses halve the goodput (square-root law); where as many fall, the control differs."""
    other = load_side(side.bundle, "two")
    side.settled_bps, other.settled_bps = 2e8, 4e8
    side.record = side.record.with_flow(bytes=10**8, retransmits=400)
    other.record = other.record.with_flow(bytes=10**8, retransmits=300)
    for recoveries, cause in (((400, 100), "loss and its recovery"), ((100, 100), "the control's answer to losses")):
        side.recoveries, other.recoveries = recoveries
        assert diff.differences(side, other, 0.02)[-1].cause == cause


@pytest.mark.slow
def test_the_end_of_slow_start_names_hystart_or_a_loss(side: Side) -> None:
    other = load_side(side.bundle, "two")
    side.slow_start, other.slow_start = SlowStart(0.3, 800, by_loss=False), SlowStart(1.2, 3000, by_loss=True)
    (found,) = diff.differences(side, other, 0.02)
    assert (found.what, found.cause) == ("Slow start", "HyStart")
    assert "0.30 s at 800 packets" in found.evidence
    bbr = replace(other.plan.flows[0].transfer, congestion_control="bbr")
    other.plan = replace(other.plan, flows=[replace(other.plan.flows[0], transfer=bbr)])
    assert diff.differences(side, other, 0.02)[0].cause == "the congestion control (bbr, cubic)"
    side.slow_start = SlowStart(0.3, 800, by_loss=True)
    assert diff.differences(side, other, 0.02)[0].cause == "loss in slow start"
    side.slow_start = SlowStart(1.1, 3000, by_loss=True)  # nearer than a tenth, a round trip and a sample
    assert diff.differences(side, other, 0.02) == []


def test_the_threshold_of_the_start_is_no_end_of_slow_start() -> None:
    import pyarrow as pa

    from landspeed.report.comparison_sides import _slow_start

    rows = {
        "stream": [0, 0, 0],
        "time_ns": [10**8, 2 * 10**8, 3 * 10**8],
        "cwnd_packets": [100, 1500, 1500],
        "ssthresh_packets": [479_991, 479_991, 1498],  # ns-3 begins with 2^32 B, Linux with 2^31 packets
        "retransmits": [0, 0, 0],
    }
    assert _slow_start(pa.table(rows), 8948) == SlowStart(0.3, 1498, by_loss=False)
    assert _slow_start(pa.table({**rows, "ssthresh_packets": [2**31 - 1] * 3}), 8948) is None


@pytest.mark.slow
def test_the_response_to_the_same_loss(side: Side) -> None:
    assert [(each.number, each.kind, each.at_s) for each in side.responses] == [(1, "loss", 1.0)]
    assert side.responses[0].share == 1.0
    other = load_side(side.bundle, "two")
    side.responses = [Response(1, "loss", 1.0, 10.0, 7.0, 4.0)]
    other.responses = [Response(1, "loss", 1.0, 10.0, 5.0, 9.0)]
    (found,) = diff.differences(side, other, 0.02)
    assert found.what == "Response to event 1 (loss)"
    assert found.apart == "70 % and 50 % of the window were left"
