"""Every discipline in the emulated world: set as the plan says, and it does to a queue what its paper says."""

from pathlib import Path
from typing import Any

import pytest

from landspeed.report.queue_table import queue_table
from landspeed.results.record import RunRecord
from landspeed.results.samples_reader import Samples
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.emu.world import EmuWorld
from landspeed.worlds.tool import ToolError
from tests.support.emu_fixtures import plan_of, scenario, transfer

RTT_S = 0.04
RATE_BPS = 50e6
FRAME = 1514  # what a veth counts of a packet
QUEUE = 500_000  # 80 ms of the line
LIMIT = (QUEUE + FRAME) // FRAME


def run(folder: Path, discipline: Any, *overrides: str) -> tuple[RunRecord, Samples, Plan]:
    """Four seconds of one CUBIC stream through 50 Mbit/s."""
    links = [
        {"one_way_delay": "5 ms"},
        {"one_way_delay": "10 ms", "line_rate": "50 Mbit/s", "queue": f"{QUEUE} B", "discipline": discipline},
        {"one_way_delay": "5 ms"},
    ]
    folder.mkdir()
    content = scenario(links, transfer={"duration": "4 s", "congestion_control": "cubic"})
    plan = plan_of(folder, content, *overrides)
    record, bundle = transfer(plan, folder)
    return record, Samples(bundle), plan


def delay_ms(samples: Samples) -> float:
    """Mean time that a packet waits in the managed queue from the second second on."""
    waiting = [number for time_s, number in samples.backlogs()[1, "forward"] if time_s >= 2]
    return sum(waiting) / len(waiting) * 8e3 / RATE_BPS


SET = [
    ("codel", f"codel 3: dev eth1 parent 2:1 limit {LIMIT}p target 5ms interval 100ms", 20),
    (
        {"codel": {"target": "2 ms", "interval": "50 ms", "ecn": True, "ce_threshold": "20 ms"}},
        f"codel 3: dev eth1 parent 2:1 limit {LIMIT}p target 2ms ce_threshold 20ms interval 50ms ecn",
        20,
    ),
    ("fq_codel", f"fq_codel 3: dev eth1 parent 2:1 limit {LIMIT}p flows 1024 quantum {FRAME} target 5ms", 20),
    ("pie", f"pie 3: dev eth1 parent 2:1 limit {LIMIT}p target 15ms tupdate 15ms alpha 2 beta 20", 45),
    ("fq_pie", f"fq_pie 3: dev eth1 parent 2:1 limit {LIMIT}p flows 1024 target 15ms tupdate 15ms alpha 2 beta 20", 45),
    ("cake", "cake 3: dev eth1 parent 2:1 bandwidth unlimited diffserv3 triple-isolate", 20),
    ({"sfq": {"depth": 20}}, f"sfq 3: dev eth1 parent 2:1 limit {LIMIT}p quantum {FRAME}b depth 20", 5),  # 20 packets
]  # fmt: skip


@pytest.mark.guest
@pytest.mark.parametrize(("discipline", "said", "most_ms"), SET, ids=[str(row[1]).split()[0] for row in SET])
def test_a_discipline_is_set_as_the_plan_says_and_keeps_the_queue_short(
    tmp_path: Path, discipline: Any, said: str, most_ms: float
) -> None:
    """Without one CUBIC stands at 40 ms and more of the 80: see the next test."""
    record, samples, _ = run(tmp_path / "run", discipline)
    assert f"qdisc {said}" in record.guest.qdiscs["r1"]
    assert delay_ms(samples) < most_ms
    assert samples.passed_by_link("drops")[1, "forward"] > 0
    assert samples.passed_by_link("marks")[1, "forward"] == 0
    assert (record.goodput_bps or 0) > 0.75 * RATE_BPS * 1448 / 1538


@pytest.mark.guest
def test_a_queue_that_nobody_manages_stands(tmp_path: Path) -> None:
    record, samples, plan = run(tmp_path / "run", "fifo", "path.1.queue=1 MB")
    assert delay_ms(samples) > 40
    table = queue_table(plan, samples, record.queue_delays)  # slow start has overflowed it
    assert table is not None
    ((queue, kept, median_ms, _, longest_ms, *_),) = [row for row in table.rows if row[-2] != "0"]
    assert (queue, kept) == ("r1 → r2", "fifo")
    assert 40 < float(median_ms) <= float(longest_ms) < 1.02 * 1e6 / 1500 * 1538 * 8 / RATE_BPS * 1e3


@pytest.mark.guest
@pytest.mark.parametrize("kind", ["codel", "fq_codel", "pie", "fq_pie", "cake"])
def test_with_ecn_a_discipline_marks_instead_of_dropping(tmp_path: Path, kind: str) -> None:
    """RFC 3168. PIE drops still where its probability passes 10 % (RFC 8033 section 5.1): at slow start's end."""
    discipline = kind if kind == "cake" else {kind: {"ecn": True}}  # CAKE always does
    # A queue that slow start does not overflow: what finds no room is dropped, ECN or not.
    record, samples, _ = run(tmp_path / "run", discipline, "transfer.ecn=true", "path.1.queue=5 MB")
    marks, drops = (samples.passed_by_link(name)[1, "forward"] for name in ("marks", "drops"))
    assert marks > 0
    if "pie" not in kind:
        assert (drops, record.retransmits) == (0, 0)
    assert drops < marks


@pytest.mark.guest
def test_a_token_bucket_lets_a_burst_through_and_then_its_rate(tmp_path: Path) -> None:
    """Tokens come at 20 Mbit/s. Behind a queue of 80 ms the line of 50 Mbit/s is never full for long."""
    discipline = {"tbf": {"rate": "20 Mbit/s", "burst": "100 kB"}}
    record, samples, plan = run(tmp_path / "run", discipline, "transfer.duration=8 s")
    assert record.limited_by == "token bucket", record.limited_by_why
    curves = samples.curves
    assert curves is not None
    assert curves.goodput_bps(4.0) == pytest.approx(20e6 * 1448 / 1538, rel=0.01)
    table = queue_table(plan, samples, record.queue_delays)
    assert table is not None
    (kept,) = [row[1] for row in table.rows if row[0] == "r1 → r2"]
    assert "tbf: rate 20.00 Mbit/s, burst 100" in kept


@pytest.mark.guest
def test_a_short_queue_makes_the_token_bucket_a_policer(tmp_path: Path) -> None:
    """Nothing waits long: a packet finds tokens, or room for two packets, or is dropped."""
    discipline = {"tbf": {"rate": "20 Mbit/s", "burst": "10 kB"}}
    _, samples, _ = run(tmp_path / "run", discipline, "path.1.queue=3 kB")
    assert max(number for _, number in samples.backlogs()[1, "forward"]) <= 3_000 + FRAME
    assert samples.passed_by_link("drops")[1, "forward"] > 0


@pytest.mark.guest
def test_the_gate_s_trains_are_forgotten_by_red(tmp_path: Path) -> None:
    """A train fills a queue of eight packets: below a token bucket RED's average would drop all that comes after it."""
    links = [
        {"one_way_delay": "1 ms"},
        {"one_way_delay": "1 ms", "line_rate": "10 Mbit/s", "queue": "12 kB", "discipline": "red"},
        {"one_way_delay": "1 ms"},
    ]
    record, _ = transfer(plan_of(tmp_path, scenario(links, transfer={"bytes": "3 kB"})), tmp_path)
    assert record.passed
    assert record.retransmits == 0


def test_a_threshold_beyond_the_kernel_s_32_bits_is_refused(tmp_path: Path) -> None:
    links = [
        {"one_way_delay": "1 ms"},
        {"one_way_delay": "1 ms", "discipline": "red", "queue": "11 GB"},
    ]
    with pytest.raises(ToolError, match=r"link 2 .* write a smaller queue"):
        EmuWorld().check(plan_of(tmp_path, scenario(links)))
