"""Delay under load: percentiles by time, a queue's wait by its line, and a home line held against arithmetic."""

import itertools
import json
import math
import statistics
from dataclasses import replace
from pathlib import Path

import pytest

import landspeed
from landspeed.base.text import NARROW
from landspeed.cli import main as cli
from landspeed.judge.loaded_delay import loaded_rtt, ping_figures, queue_delays, settled_s
from landspeed.report.comparison import compare, difference_lines
from landspeed.report.comparison_sides import load_side
from landspeed.report.summary import summary_lines
from landspeed.results.bundle import PINGS
from landspeed.results.sample_columns import (
    LINK_COLUMNS,
    SAMPLE_COLUMNS,
    convert_links,
    convert_pings,
    convert_samples,
)
from landspeed.results.samples_reader import Samples
from landspeed.scenario.plan.plan import Event, Plan
from landspeed.scenario.plan.trace import Trace
from landspeed.scenario.theory.queueing import FullQueue, full_queue
from landspeed.scenario.theory.timing import data_rtt_ns
from tests.support.emu_fixtures import plan_of, scenario

QUEUE, RATE_BPS, FULL, FRAMED, MSS = 1_000_000, 50e6, 1500, 1538, 1448
FULL_PACKETS_MS = 3 * FRAMED * 8 / RATE_BPS * 1e3  # a fair queue's quantum, and what is on the line
WINDOW = 900_000  # more than the 188 kB that are under way, and less than these and the queue
LINKS = [
    {"one_way_delay": "7 ms"},
    {
        "one_way_delay": "7 ms",
        "line_rate": "50 Mbit/s",
        "queue": f"{QUEUE} B",
        "reverse": {"line_rate": "10 Mbit/s"},
    },
    {"one_way_delay": "1 ms"},
]
HOME = scenario(LINKS, name="home", title="A home line", transfer={"duration": "40 s"})


def home_of(folder: Path, world: str, *overrides: str) -> landspeed.Run:
    """A run of it."""
    file = folder / "home.yaml"
    file.write_text(json.dumps(HOME))
    return landspeed.run(landspeed.load(file, overrides), world=world, runs_dir=folder / "runs", report=False)


def samples_of(folder: Path, rtt: list[tuple[float, int, int]], queue: list[tuple[float, int, int]]) -> Samples:
    """A bundle's samples.

    Args:
        rtt: of the sender: time in s, stream, smoothed RTT in µs.
        queue: of the first link, forward: time in s, bytes and packets that wait.
    """
    for name, columns, rows in (
        ("sender", SAMPLE_COLUMNS, [{"time_ns": at, "stream": stream, "srtt_us": us} for at, stream, us in rtt]),
        ("links", LINK_COLUMNS, [{"time_ns": at, "backlog_bytes": b, "backlog_packets": n} for at, b, n in queue]),
    ):
        lines = [",".join(columns)]
        for row in rows:
            known = row | {"time_ns": round(row["time_ns"] * 1e9), "link": 0, "direction": 0}
            lines.append(",".join(str(known.get(column, 0)) for column in columns))
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    convert_samples(folder / "sender.csv", None, folder / "samples.parquet")
    convert_links(folder / "links.csv", folder / "links.parquet")
    return Samples(folder)


# --- arithmetic ------------------------------------------------------------------------------------------------------


def test_settled_is_from_ten_seconds_on_or_the_second_half() -> None:
    assert settled_s(60.0) == (10.0, 60.0)
    assert settled_s(11.0) == (10.0, 11.0)
    assert settled_s(10.9) == (5.45, 10.9)


def test_a_sample_counts_for_as_long_as_it_held(tmp_path: Path) -> None:
    """30 ms held for 97 s, 200 ms for 2 s, 300 ms for 1 s; how many samples say so makes no difference."""
    often = [(97 + number / 10, 0, 200_000) for number in range(20)]
    samples = samples_of(tmp_path, [(0.0, 0, 0), (1.0, 0, 30_000), *often, (99.0, 0, 300_000)], [])
    found = loaded_rtt(samples, (0.0, 100.0))
    assert found is not None
    assert (found.median_ms, found.p95_ms, found.p99_ms, found.max_ms) == (30.0, 30.0, 300.0, 300.0)
    late = loaded_rtt(samples, (98.0, 99.0))
    assert late is not None
    assert (late.median_ms, late.max_ms) == (200.0, 200.0)
    assert loaded_rtt(samples_of(tmp_path, [(0.0, 0, 0)], []), (0.0, 100.0)) is None


def _line(tmp_path: Path) -> Plan:
    return plan_of(tmp_path, scenario([{"one_way_delay": "5 ms", "line_rate": "10 Mbit/s"}]))


@pytest.mark.parametrize(("world", "counted"), [("emu", 1514), ("sim", 1500)])
def test_a_wait_is_what_the_line_takes_for_what_stands_before_it(tmp_path: Path, world: str, counted: int) -> None:
    """Framing counts, whatever header of a packet a world counts; acknowledgments are small packets."""
    samples = samples_of(tmp_path, [], [(0.0, 100 * counted, 100), (5.0, 10 * (counted - 1448), 10)])
    (found,) = queue_delays(_line(tmp_path), world, samples, (0.0, 8.0))
    assert (found.link, found.direction, found.source, found.target) == (0, "forward", "alpha", "omega")
    assert found.median_ms == pytest.approx(100 * 1538 * 8 / 10e6 * 1e3, rel=1e-9)
    (late,) = queue_delays(_line(tmp_path), world, samples, (6.0, 8.0))
    assert late.max_ms == pytest.approx(10 * (52 + 38) * 8 / 10e6 * 1e3, rel=1e-9)


def test_super_packets_are_as_many_on_the_line_as_they_have_segments(tmp_path: Path) -> None:
    samples = samples_of(tmp_path, [], [(0.0, 40 * 1514, 1)])
    (found,) = queue_delays(_line(tmp_path), "emu", samples, (0.0, 8.0))
    assert found.median_ms == pytest.approx(40 * 1538 * 8 / 10e6 * 1e3, rel=1e-9)


def test_a_queue_that_stayed_empty_is_not_named(tmp_path: Path) -> None:
    assert queue_delays(_line(tmp_path), "emu", samples_of(tmp_path, [], [(0.0, 0, 0), (1.0, 0, 0)]), (0.0, 2.0)) == []


def test_a_rate_that_changes_while_packets_wait(tmp_path: Path) -> None:
    """100 packets are 123.04 ms of 10 Mbit/s; half a line from 61.52 ms on makes 184.56 ms of them."""
    plan, half_ms = _line(tmp_path), 100 * 1538 * 8 / 10e6 * 1e3 / 2
    samples = samples_of(tmp_path, [], [(0.0, 100 * 1500, 100)])
    event = Event(at_ns=round(half_ms * 1e6), kind="rate", link=0, direction="forward", rate_bps=5_000_000)
    (found,) = queue_delays(replace(plan, events=[event]), "sim", samples, (0.0, 8.0))
    assert found.max_ms == pytest.approx(3 * half_ms, rel=1e-6)
    trace = Trace(file="x", at_ns=[0, 10**6], lasts_ns=2 * 10**6, loops=True, rate_bps=[20_000_000, 0])
    line = replace(plan.links[0], forward=replace(plan.links[0].forward, trace=trace))
    (found,) = queue_delays(replace(plan, links=[line]), "sim", samples, (0.0, 8.0))
    assert found.max_ms == pytest.approx(2 * half_ms, abs=1.0)  # every other millisecond nothing leaves


# --- a home line -----------------------------------------------------------------------------------------------------


@pytest.mark.guest
@pytest.mark.parametrize("world", ["sim", "emu"])
def test_a_full_fifo_of_1_mb_delays_by_its_bytes(tmp_path: Path, world: str) -> None:
    """1 MB of full packets are 164 ms of 50 Mbit/s with framing; CUBIC fills them again and again."""
    run = home_of(tmp_path, world)
    assert run.plan is not None
    idle_ms, queue_ms = data_rtt_ns(run.plan) / 1e6, QUEUE / FULL * FRAMED * 8 / RATE_BPS * 1e3
    record = run.record
    assert run.rtt_ms == pytest.approx(30.121, abs=0.001)
    assert record.rtt_loaded_max_ms == pytest.approx(idle_ms + queue_ms, rel=0.02)
    assert run.rtt_loaded_p99_ms == pytest.approx(idle_ms + queue_ms, rel=0.02)
    theory = full_queue(run.plan)
    assert theory is not None
    assert record.rtt_loaded_max_ms == pytest.approx(theory.rtt_ns / 1e6, rel=0.02)
    queue = max(run.queue_delays, key=lambda each: each.median_ms)
    assert (queue.source, queue.target, queue.direction) == ("r1", "r2", "forward")
    assert queue.max_ms == pytest.approx(queue_ms, rel=0.02)
    assert run.rtt_loaded_median_ms == pytest.approx(idle_ms + queue.median_ms, rel=0.02)


def test_theory_has_the_round_trip_of_a_full_queue(tmp_path: Path) -> None:
    """The queue's bytes over the line's rate; less where the window ends first; nothing of a managed queue."""

    def of(*overrides: str) -> FullQueue | None:
        return full_queue(plan_of(tmp_path, HOME, *overrides))

    queue_ms = QUEUE / FULL * FRAMED * 8 / RATE_BPS * 1e3
    full = of()
    assert full is not None
    assert (full.link.a, full.link.b, full.wait_ns / 1e6) == ("r1", "r2", pytest.approx(queue_ms, rel=1e-6))
    assert full.rtt_ns / 1e6 == pytest.approx(data_rtt_ns(plan_of(tmp_path, HOME)) / 1e6 + queue_ms, rel=1e-6)
    part = of(f"transfer.window={WINDOW} B", "transfer.window_exact=true")
    assert part is not None
    assert part.rtt_ns / 1e6 == pytest.approx(WINDOW / MSS * FRAMED * 8 / RATE_BPS * 1e3, rel=1e-3)
    assert of("path.1.discipline=fq_codel") is None
    assert of("transfer.window=100 kB") is None  # binds
    assert of("events=[{at: 1 s, from: r1, to: r2, line_rate: 10 Mbit/s}]") is None


@pytest.mark.guest
def test_predict_has_the_delay_measured_and_by_theory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "home.yaml"
    file.write_text(json.dumps(HOME))
    words = ["predict", str(file), "--bytes", "1GB", "--worlds", "sim", "--seeds", "1", "--at-most", "20"]
    assert cli.main([*words, "--out", str(tmp_path / "out"), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["predictions"]
    assert told["rtt_full_queue_ms"] == pytest.approx(194.5, rel=0.005)
    assert 0.7 * 194.5 < told["rtt_loaded_median_ms"] < 1.02 * 194.5


@pytest.mark.guest
@pytest.mark.parametrize("world", ["sim", "emu"])
def test_a_window_larger_than_the_path_stands_in_the_queue(tmp_path: Path, world: str) -> None:
    """Without a loss the round trip is what is in flight, on the line; emulated, the reader holds the window open."""
    asked = (f"transfer.window={WINDOW} B", "transfer.window_exact=true", "transfer.duration=12 s")
    run = home_of(tmp_path, world, *asked)
    flight = statistics.median(number for _, number in run.samples.by_stream("sender", "in_flight_packets")[0])
    assert flight == pytest.approx(WINDOW // MSS, rel=0.03)
    wanted_ms = flight * FRAMED * 8 / RATE_BPS * 1e3
    assert run.record.retransmits == 0
    assert run.rtt_loaded_median_ms == pytest.approx(wanted_ms, rel=0.02)
    assert run.rtt_loaded_p99_ms == pytest.approx(wanted_ms, rel=0.02)


@pytest.mark.guest
def test_text_sql_and_comparison_name_the_delay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """CAKE gives 4 % of the goodput for 80 % of the delay: the first sentence says so."""
    fifo, cake = (home_of(tmp_path, "emu", f"path.1.discipline={each}") for each in ("fifo", "cake"))
    lines = summary_lines(fifo.record)
    median, tail = fifo.record.rtt_loaded_median_ms, fifo.record.rtt_loaded_p99_ms
    assert f"Round-trip time under load: {median:.3f} ms median, {tail:.3f} ms p99" in lines
    assert "Round-trip time, idle: 30.121 ms" in lines
    assert any(line.startswith("Longest queue: r1 → r2, 1") for line in lines)

    comparison = compare([load_side(fifo.bundle, "FIFO"), load_side(cake.bundle, "CAKE")])
    first, goodput, settled, *_ = difference_lines(comparison)
    assert first.startswith(f"Round-trip time under load, FIFO against CAKE: {median:.3f} ms and ")
    assert "of goodput; likely the queue before r1 → r2 (packets waited " in first
    assert goodput.startswith("Goodput, FIFO against CAKE: −3.")
    assert "; likely the shorter queue (r1 → r2 was full 100 % and " in goodput.replace(NARROW, " ")
    assert settled.endswith("; likely for the same cause.")
    (row,) = [row for row in comparison.rows if row.name == "… under load, median"]
    assert row.values[0] == f"{median:.3f} ms"

    assert (
        cli.main(["compare", str(fifo.bundle), str(cake.bundle), "--json", "--html", str(tmp_path / "page.html")]) == 0
    )
    told = json.loads(capsys.readouterr().out)["finding"]
    start = f"From discipline fifo to discipline cake, the round trip under load falls from {median:.4g} ms to "
    assert told.startswith(start)
    assert "(median), and goodput falls by 3." in told

    words = ["results", "--runs", str(tmp_path / "runs")]
    sql = "SELECT rtt_loaded_median_ms, rtt_loaded_p99_ms FROM runs ORDER BY rtt_loaded_median_ms"
    assert cli.main([*words, sql]) == 0
    _, low, high = capsys.readouterr().out.splitlines()
    assert float(low.split("\t")[0]) == cake.rtt_loaded_median_ms
    assert [float(each) for each in high.split("\t")] == [median, tail]


@pytest.mark.slow
def test_the_simulated_world_names_the_delay_first(tmp_path: Path) -> None:
    """CAKE is not there: fq_codel instead."""
    runs = [home_of(tmp_path, "sim", f"path.1.discipline={each}") for each in ("fifo", "fq_codel")]
    fifo, managed = (run.record.rtt_loaded_median_ms for run in runs)
    found = compare([load_side(run.bundle, name) for run, name in zip(runs, ("FIFO", "FQ-CoDel"), strict=True)]).finding
    start = f"From FIFO to FQ-CoDel, the round trip under load falls from {fifo:.4g} ms to "
    assert found.startswith(f"{start}{managed:.4g} ms (median), and goodput falls by 3.")


# --- echoes ----------------------------------------------------------------------------------------------------------


def test_figures_of_echoes() -> None:
    """Of 20 loaded ones one is lost; round trips a minute are of the shortest 95 % of the others, and of TCP's own."""
    idle = [(-3.0 + number / 10, 30.0) for number in range(20)] + [(-0.01, 400.0)]  # the last met the first SYN
    loaded = [(10.0 + number, 100.0) for number in range(18)] + [(28.0, 900.0), (29.0, math.inf)]
    own = [(200.0, 19.0), (4000.0, 1.0)]
    found = ping_figures([*idle, (5.0, 5000.0), *loaded, (31.0, 9999.0)], (10.0, 30.0), own)
    assert found.pop("rpm") == pytest.approx((60_000 / ((18 * 100 + 0.05 * 900) / 18.05) + 60_000 / 200) / 2)
    assert found.pop("ping_lost") == pytest.approx(1 / 20)
    assert [found[f"ping_idle_{name}_ms"] for name in ("median", "p99", "max")] == [30.0, 30.0, 30.0]
    assert [found[f"ping_loaded_{name}_ms"] for name in ("median", "p95", "max")] == [100.0, 900.0, 900.0]
    many = [(10.0 + number / 10, 100.0 if number < 95 else 900.0) for number in range(100)]
    assert ping_figures(many, (10.0, 30.0), [(50.0, 1.0)])["rpm"] == pytest.approx((600 + 1200) / 2)
    assert "rpm" not in ping_figures(many, (10.0, 30.0), [])
    assert ping_figures([], (10.0, 30.0), own) == {}


def test_lost_echoes_are_those_before_the_last_answer(tmp_path: Path) -> None:
    """Numbers 1, 2 and 4 of 0 … 5 did not come back; of the copies of 3 the first counts."""
    csv = tmp_path / "pings.csv"
    csv.write_text("number,sent_ns,rtt_ns\n3,1300,70\n0,1000,50\n3,1300,90\n5,1500,60\n")
    assert convert_pings({"main": csv}, tmp_path / PINGS, 1200) == 6
    told = [(round(at * 1e9), round(ms * 1e6) if math.isfinite(ms) else None) for at, ms in Samples(tmp_path).pings]
    assert told == [(-200, 50), (-100, None), (0, None), (100, 70), (200, None), (300, 60)]


@pytest.mark.guest
@pytest.mark.parametrize("world", ["sim", "emu"])
def test_echoes_wait_in_a_fifo_and_pass_a_fair_queue(tmp_path: Path, world: str) -> None:
    """Beside CUBIC they wait as its own packets do; FQ-CoDel lets a flow of single packets pass."""
    asked = ("transfer.ping=true", "transfer.duration=20 s", "transfer.sample_interval=50 ms")
    fifo = home_of(tmp_path, world, *asked)
    record = fifo.record
    assert record.ping_idle_median_ms == pytest.approx(record.rtt_ms, rel=1e-3)
    assert record.ping_idle_max_ms == pytest.approx(record.rtt_ms, rel=1e-3)
    assert record.ping_loaded_median_ms == pytest.approx(record.rtt_loaded_median_ms, rel=0.02)
    assert record.ping_loaded_max_ms == pytest.approx(record.rtt_loaded_max_ms, rel=0.02)
    values = sorted(ms for at, ms in fifo.samples.pings if 10.0 <= at < 20.0 and math.isfinite(ms))
    assert len(values) > 190
    kept = values[: math.ceil(0.95 * len(values))]
    foreign = 60_000 * len(kept) / sum(kept)
    assert record.rtt_loaded_median_ms is not None
    assert fifo.rpm == pytest.approx((foreign + 60_000 / record.rtt_loaded_median_ms) / 2, rel=0.02)
    lines = summary_lines(record)
    assert f"Ping under load: {fifo.ping_loaded_median_ms:.3f} ms median, {fifo.ping_loaded_p99_ms:.3f} ms p99" in [
        line.split(" p99")[0] + " p99" for line in lines
    ]
    assert f"Responsiveness: {fifo.rpm:.0f} round trips a minute (RPM)" in lines

    fair = home_of(tmp_path, world, *asked, "path.1.discipline=fq_codel")
    assert fair.record.ping_lost == 0
    assert fair.ping_loaded_p99_ms == pytest.approx(30.121, abs=FULL_PACKETS_MS)
    assert fair.rpm is not None
    assert fifo.rpm is not None
    assert fair.rpm > 4 * fifo.rpm


ECHO_BITS = 8 * (84 + 38)  # an ordinary ping, and Ethernet's frame around it
SLOW = scenario(
    [{"one_way_delay": "1 ms"}, {"one_way_delay": "20 ms", "line_rate": "10 kbit/s", "queue": "6 kB"}],
    transfer={"duration": "800 s", "ping": True},  # a packet is 0.2 % of all
)


def test_echoes_take_a_twentieth_of_a_line_at_most(tmp_path: Path) -> None:
    """By the slowest rate that it ever has, in either direction, with all echoes that pass it."""

    def interval_s(content: dict[str, object], *overrides: str) -> list[float]:
        return [(each.transfer.ping_interval_ns or 0) / 1e9 for each in plan_of(tmp_path, content, *overrides).flows]

    assert interval_s(HOME) == [0]
    assert interval_s(HOME, "transfer.ping=true") == [0.1]
    assert interval_s(HOME, "transfer.ping=true", "path.1.reverse.line_rate=100 kbit/s") == [0.2]
    assert 1.9 < ECHO_BITS / 0.05 / 10e3 < 1.96
    assert interval_s(SLOW) == [2.0]
    assert interval_s(SLOW, "transfer.sample_interval=10 ms") == [1.96]
    assert interval_s(SLOW, "events=[{at: 9 s, from: r1, to: omega, line_rate: 1 kbit/s}]") == [19.6]
    links = [{"from": each, "to": "xy"[each in "cd"], "one_way_delay": "1 ms"} for each in "abcd"]
    links.append({"from": "x", "to": "y", "one_way_delay": "5 ms", "line_rate": "100 kbit/s"})
    flows = [{"name": "one", "from": "a", "to": "c", "ping": True}, {"name": "two", "from": "b", "to": "d"}]
    net = {key: SLOW[key] for key in ("format", "name", "title", "line_rate", "mtu")}
    net |= {"links": links, "flows": flows, "transfer": {"duration": "9 s"}}
    assert interval_s(net) == [0.2, 0]
    assert interval_s(net, "flows.1.ping=true") == [0.4, 0.4]


@pytest.mark.guest
@pytest.mark.parametrize("world", ["sim", "emu"])
def test_echoes_leave_a_slow_line_to_the_transfer(tmp_path: Path, world: str) -> None:
    """At 10 kbit/s echoes each 100 ms would fill the line; goodput and echoes together are what the line carries."""
    run = landspeed.run(landspeed.Scenario.build(SLOW), world=world, runs_dir=tmp_path, report=False)
    sent = [at for at, _ in run.samples.pings]
    assert [round(b - a, 3) for a, b in itertools.pairwise(sent)] == [2.0] * (len(sent) - 1)
    assert run.record.ping_idle_median_ms == pytest.approx(run.record.rtt_ms, rel=1e-3)
    goodput_bps, passed = run.record.settled_goodput_bps or 0, [at for at, ms in run.samples.pings if math.isfinite(ms)]
    echoes_bps = ECHO_BITS * sum(10 <= at < 800 for at in passed) / 790
    assert goodput_bps > 0.94 * 10e3 * MSS / FRAMED
    assert goodput_bps * FRAMED / MSS + echoes_bps == pytest.approx(10e3, rel=0.01)
