"""`netem` and `jitter_distribution`: what a line means, what is refused, and what the plan and tc have of it."""

import re
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landspeed.base.units import UnitError
from landspeed.scenario.file.load import build_scenario, load_scenario
from landspeed.scenario.file.netem_line import LONGEST_JITTER_NS, NetemLine, read_netem
from landspeed.scenario.plan.plan import Plan
from landspeed.scenario.traces.delay_tables import made_table
from landspeed.worlds.emu.guest.shaping.direction_options import direction_options
from landspeed.worlds.emu.guest.shaping.encode_netem import impairments, words
from landspeed.worlds.registry import plan_for
from tests.support.emu_fixtures import plan_of, scenario
from tests.support.fuzzing import examples
from tests.support.scenario_errors import GOOD, check_link_refused, refused, write
from tests.support.scenario_plan import shown

MS = 10**6
PLACES = ("/usr/lib/tc", "/usr/lib/x86_64-linux-gnu/tc", "/usr/share/tc", "/usr/lib64/tc")
LINES: dict[str, dict[str, Any]] = {
    "delay 100ms": {"delay_ns": 100 * MS},
    "netem latency 1.5s 20msec 25%": {"delay_ns": 1500 * MS, "jitter_ns": 20 * MS, "correlations": {"delay": 0.25}},
    "delay 0.1S 20000us dist normal": {"delay_ns": 100 * MS, "jitter_ns": 20 * MS, "distribution": "normal"},
    "lim 20 del 0": {"limit_packets": 20},
    "loss 1": {"loss": 0.01},
    "drop random 0.3% 25%": {"loss": 0.003, "correlations": {"loss": 0.25}},
    "loss gemodel 1% 10%": {"loss_model": "gemodel", "chances": (0.01, 0.1, 0.0, 0.0), "loss": 0.01 / 0.11},
    "loss gemodel 2% 18% 70% 0.1%": {
        "loss_model": "gemodel", "chances": (0.02, 0.18, 1 - 0.7, 0.001), "loss": 0.1 * 0.7 + 0.9 * 0.001,
    },
    "loss gemodel 25%": {"loss_model": "gemodel", "chances": (0.25, 0.75, 0.0, 0.0), "loss": 0.25},
    "loss state 1% 20% 5% 40% 0.5%": {
        "loss_model": "state", "chances": (0.01, 0.2, 0.05, 0.005, 0.4),
        "loss": 0.055 / (1 + 0.05 + 0.05 * 0.05 / 0.4 + 0.005),
    },
    "loss state 3%": {"loss_model": "state", "chances": (0.03, 0.97, 0.0, 0.0, 1.0), "loss": 0.03},
    "delay 10ms reorder 25% 50% gap 5": {
        "delay_ns": 10 * MS, "gap": 5, "shares": {"reorder": 0.25}, "correlations": {"reorder": 0.5},
    },
    "corrupt 0.1% 5% duplicate 1% 2%": {
        "shares": {"corrupt": 0.001, "duplicate": 0.01}, "correlations": {"corrupt": 0.05, "duplicate": 0.02},
    },
    "rate 1mbit": {"rate_bps": 10**6},
    "rate 2Kibps 20 0 4 seed 7": {"rate_bps": 2 * 1024 * 8, "overhead_bytes": 20, "seed": 7},
}  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_a_line_means_what_tc_takes_it_for(line: str) -> None:
    read, wanted = read_netem(line), NetemLine(line, **LINES[line])
    assert read.loss == pytest.approx(wanted.loss, rel=1e-12)
    assert read.chances == pytest.approx(wanted.chances, rel=1e-12)
    assert replace(read, loss=wanted.loss, chances=wanted.chances) == wanted


BAD_LINES = {
    "delay": ("nothing stands after 'delay'", "delay 100ms"),
    "delay 100": ("old tc takes bare numbers for microseconds", "100ms"),
    "delay 1h": ("is no time", "s, ms, us, ns"),
    "delay 100ms 3s": ("the jitter of 3000000000 ns is too long", f"at most {LONGEST_JITTER_NS} ns"),
    "delay 10ms delay 20ms": ("'delay' stands twice", "once"),
    "delay 10ms 1ms distribution gamma": ("'gamma' is no distribution", "./gamma.dist"),
    "distribution normal": ("a distribution without a delay and a jitter", "distribution normal"),
    "loss 101%": ("is no percentage", "at most 100%"),
    "loss state 60% 10% 0% 0% 50%": ("likelier than 100 %", "lower p13"),
    "reorder 25%": ("there is none", "add delay"),
    "delay 1ms gap 5": ("gap without reorder", "add reorder"),
    "loss 1% ecn": ("netem's 'ecn' has no counterpart here", "leave ecn out"),
    "slot 1ms 2ms": ("netem's 'slot' has no counterpart here", "leave slot out"),
    "rate 1mbit 0 53": ("netem's cells have no counterpart", "write 0"),
    "rate 10": ("no rate of a line", "1kbit"),
    "jitter 10ms": ("'jitter' is no word of netem", "delay, loss"),
    "": ("no word of netem", "delay 100ms"),
    "netem": ("no word of netem", "delay 100ms"),
}


@pytest.mark.parametrize("line", BAD_LINES)
def test_a_bad_line_is_refused_with_the_reason(tmp_path: Path, line: str) -> None:
    what, right = BAD_LINES[line]
    text = GOOD.replace("one_way_delay: 5 ms", f"netem: '{line}'", 1)
    message = refused(write(tmp_path, text))
    assert what in message and right in message and ":9:" in message, message


WORDS = [*(word for line in (*LINES, *BAD_LINES) for word in line.split()), "1e3ms", "-5%", "٣ms", "9" * 40, "0x10"]


@examples(400)
@given(st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=6)), max_size=9).map(" ".join))
def test_any_line_is_read_or_refused(text: str) -> None:
    """What is read says the same when it is read again, and its loss is a share."""
    try:
        line = read_netem(text)
    except UnitError as error:
        assert error.what and error.right
        return
    assert read_netem(line.text) == line
    assert 0 <= line.loss <= 1 and 0 <= line.jitter_ns <= LONGEST_JITTER_NS and line.limit_packets >= 1


@examples(100)
@given(
    st.integers(1, 2000), st.integers(1, 500), st.sampled_from(["normal", "pareto", "paretonormal", None]),
    st.lists(st.integers(0, 1000), min_size=4, max_size=4), st.booleans(),
)  # fmt: skip
def test_what_tc_is_told_is_what_was_read(
    delay: int, jitter: int, distribution: str | None, shares: list[int], chain: bool
) -> None:
    """A line becomes a plan, and the plan words for tc: the same line, but for their order and units."""
    loss = f"gemodel {shares[0] / 10}% {shares[1] / 10}%" if chain else f"{shares[0] / 10}% {shares[1] / 10}%"
    line = f"delay {delay}ms {jitter}ms 7%" + (f" distribution {distribution}" if distribution else "")
    line += f" loss {loss} corrupt {shares[2] / 10}% 3% duplicate {shares[3] / 10}%"
    read = read_netem(line)
    again = read_netem(" ".join(words(impairments(_planned(line).links[1].forward))))
    assert (again.delay_ns, again.jitter_ns, again.distribution) == (read.delay_ns, read.jitter_ns, read.distribution)
    assert again.loss_model == ("random" if read.loss == 0 and not chain else read.loss_model)
    assert again.loss == pytest.approx(read.loss, abs=1e-8) and again.chances == pytest.approx(read.chances, abs=1e-8)
    for name, share in read.shares.items():
        assert again.shares.get(name, 0.0) == pytest.approx(share, abs=1e-9)


def _planned(line: str) -> Plan:
    return plan_for(build_scenario(scenario([{"one_way_delay": "1 ms"}, {"netem": line}])), "emu")


@pytest.mark.parametrize("name", ["normal", "pareto", "paretonormal"])
def test_the_tables_are_those_of_tc(name: str) -> None:
    found = [Path(place, f"{name}.dist") for place in PLACES if Path(place, f"{name}.dist").is_file()]
    if not found:
        pytest.skip("tc's tables are not installed here")
    theirs = re.sub(r"^#.*$", "", found[0].read_text(), flags=re.MULTILINE).split()
    assert made_table(name) == [int(entry) for entry in theirs]


@pytest.mark.parametrize(
    ("name", "mean", "sigma"), [("normal", 0, 1), ("pareto", -0.03, 0.82), ("paretonormal", -0.03, 0.83)]
)
def test_the_tables_have_the_moments_that_the_documents_say(name: str, mean: float, sigma: float) -> None:
    table = [entry / 8192 for entry in made_table(name)]
    assert statistics.fmean(table) == pytest.approx(mean, abs=0.005)
    assert statistics.pstdev(table) == pytest.approx(sigma, abs=0.005)


def test_the_plan_has_the_line(tmp_path: Path) -> None:
    """What it does not say is tc's own: 1000 packets; the other direction is the same unless it says otherwise."""
    line = "delay 100ms 20ms distribution normal loss gemodel 1% 10%"
    plan = plan_of(tmp_path, scenario([{"one_way_delay": "1 ms"}, {"netem": line, "reverse": {"netem": "delay 9ms"}}]))
    ahead, back = plan.links[1].forward, plan.links[1].reverse
    assert (ahead.delay_ns, ahead.jitter_ns, ahead.packet_limit, back.delay_ns) == (100 * MS, 20 * MS, 1000, 9 * MS)
    assert ahead.netem and ahead.netem.table == made_table("normal") and ahead.jitters_freely and not back.netem.table  # type: ignore[union-attr]
    assert ahead.losses_in_a_row == pytest.approx(10) and ahead.loss_events == pytest.approx(1 / 110)
    assert ahead.varies_ns == 80 * MS and ahead.loss == pytest.approx(1 / 11)
    assert Plan.from_json(plan.to_json()) == plan
    assert "netem delay 100ms 20ms distribution normal" in shown(plan, 100)
    netem, bucket = direction_options(plan, plan.links[1], ahead, forward=True)
    assert bucket is not None and "rate_bytes_per_s" not in netem and netem["gap"] == 1


def test_a_rate_keeps_the_order_and_counts_as_netem_does(tmp_path: Path) -> None:
    """Ethernet's header and the overhead; what is over of the limit, once the line is full, waits."""
    line = "rate 10mbit 6 delay 100ms 20ms limit 200"
    plan = plan_of(tmp_path, scenario([{"one_way_delay": "1 ms"}, {"netem": line}]))
    link = plan.links[1]
    assert (link.framing_bytes, link.forward.rate_bps) == (20, 10**7)
    assert link.forward.queue_bytes == 200 * 1514 - 125_000
    assert not link.forward.overtakes and link.forward.netem is not None and link.forward.netem.keeps_order


def test_a_seed_is_the_lines_own(tmp_path: Path) -> None:
    assert _planned("delay 1ms seed 77").links[1].forward.seed == 77


def test_a_plan_without_it_is_the_work_that_it_was(tmp_path: Path) -> None:
    """Of a plan of the release before."""
    plan = plan_of(tmp_path, scenario([{"one_way_delay": "1 ms", "jitter": "10 us"}]))
    assert plan.links[0].forward.netem is None
    assert plan.sha256 == "5269b63f23fe717e7e54bdffa65f93ad8f4250e6876aa3ddca195853b277cb4e"


TABLE = "# a test\n -8192 -8192 0\n 0 16384\n"


def test_a_table_of_its_own(tmp_path: Path) -> None:
    """Relative to the file; the box of real hosts and tc on another machine have no such table, and say so."""
    (tmp_path / "mine.dist").write_text(TABLE)
    link = {"one_way_delay": "10 ms", "jitter": "1 ms", "jitter_distribution": "./mine.dist"}
    plan = plan_of(tmp_path, scenario([{"one_way_delay": "1 ms"}, link]))
    assert plan.links[1].forward.netem is not None
    assert plan.links[1].forward.netem.table == [-8192, -8192, 0, 0, 16384]
    assert plan.links[1].forward.varies_ns == 2 * MS and not plan.links[1].forward.overtakes
    with pytest.raises(ValueError, match="a table of the scenario's own"):
        words(impairments(plan.links[1].forward))


BAD_TABLES = {
    "": "has 0 entries",
    "0 0 0": "has 3 entries",
    "1 x 2": "'x' is no entry",
    "1 40000": "'40000' is no entry",
}


@pytest.mark.parametrize("text", BAD_TABLES)
def test_a_bad_table_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.dist").write_text(text)
    line = "one_way_delay: 5 ms, jitter: 1 ms, jitter_distribution: ./mine.dist"
    assert BAD_TABLES[text] in refused(write(tmp_path, GOOD.replace("one_way_delay: 5 ms", line, 1)))


BESIDE = {
    "a delay": ("netem: delay 1ms", "one_way_delay", "one_way_delay and netem", "remove one_way_delay"),
    "a distribution of nothing": ("jitter_distribution: normal", "jitter_dist", "of no jitter", "add jitter"),
    "no distribution": ("jitter: 1 ms, jitter_distribution: gamma", "gamma", "'gamma' is no distribution", "normal"),
    "no file": ("jitter: 1 ms, jitter_distribution: ./none", "./none", "cannot be read", "relative to"),
}


@pytest.mark.parametrize("case", BESIDE)
def test_what_contradicts_it_is_refused_where_it_stands(tmp_path: Path, case: str) -> None:
    check_link_refused(tmp_path, *BESIDE[case])


def test_more_that_contradicts(tmp_path: Path) -> None:
    for keys, what in {
        "netem: delay 1ms, loss: 1 %": "loss and netem",
        "netem: rate 1mbit, line_rate: 1 Mbit/s": "line_rate and netem's rate",
        "netem: delay 1ms, reverse: {jitter: 1 ms}": "jitter and netem",
        "netem: rate 1mbit, reverse: {netem: rate 1mbit 4}": "two overheads",
    }.items():
        line = "one_way_delay: 5 ms, line_rate: 1 Gbit/s"
        message = refused(
            write(tmp_path, GOOD.replace(line, keys if "rate" in keys else f"{keys}, line_rate: 1 Gbit/s"))
        )
        assert what in message, message
    message = refused(
        write(tmp_path, GOOD.replace("one_way_delay: 5 ms", "netem: delay 1ms 1ms") + "send_jitter: 1 us\n")
    )
    assert "b has a send_jitter" in message, message


@pytest.mark.parametrize(
    ("world", "line"),
    [
        ("emu", "delay 5ms 1ms distribution pareto loss 1%"),
        ("real", "delay 5ms 1ms distribution pareto loss 1%"),
        ("sim", "delay 5ms loss gemodel 1% 10%"),  # refuses packets that overtake many (test_world.py)
    ],
)
def test_every_world_takes_it(tmp_path: Path, world: str, line: str) -> None:
    text = GOOD.replace("one_way_delay: 5 ms", f"netem: {line}", 1)
    plan_for(load_scenario(write(tmp_path, text)), world)
