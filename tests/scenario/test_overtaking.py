"""`reorder`: a packet that overtakes skips the delay, never the line; to the microsecond, in both worlds."""

import math
from pathlib import Path
from typing import Any

import pytest

import landspeed as ls
from tests.support.emu_fixtures import measure, plan_of, request, scenario, write_scenario
from tests.support.sim_fixtures import MS, direction, path_plan, simulate

SIGMAS = 5
SHARE = 0.3
COUNT = 120
DELAY_NS = 500_000_000
SLOW: dict[str, Any] = {"line_rate": "56 kbit/s", "one_way_delay": "500 ms", "queue": "1 MB"}
LINE_NS = (1500 + 38) * 8e9 / 56_000  # a full packet on it: 220 ms

# Where the line is: netem's own; a token bucket below netem, over its own queue or over a managed one.
LINES: dict[str, tuple[str, dict[str, Any], bool]] = {
    "netem": ("56 kbit/s", {}, False),
    "bucket": ("1 Gbit/s", {}, True),
    "managed": ("1 Gbit/s", {"discipline": {"sfq": {"depth": 127}}}, True),
}


@pytest.mark.guest
@pytest.mark.parametrize("line", LINES)
def test_a_reordered_packet_waits_for_the_line(tmp_path: Path, line: str) -> None:
    """All sent at once, and then each alone: the line takes them one after the other, whoever overtakes behind it."""
    before, more, queues = LINES[line]
    fast = {"line_rate": before, "one_way_delay": "1 ms"}
    plan = plan_of(tmp_path, scenario([fast, SLOW | more | {"reorder": f"{SHARE:.0%}"}, fast]))
    assert plan.links[1].forward.can_queue == queues
    settle_s = COUNT * LINE_NS / 1e9 + 2
    asked = [{"together": COUNT, "settle_s": settle_s}, {"gap_ns": 10**9}]
    trains = measure(plan, tmp_path, [request(plan, 1, 2, 1500, COUNT, **each) for each in asked])
    for train, alone in zip(trains, (False, True), strict=True):
        early = 0
        assert sorted(each.sequence for each in train.arrived) == list(range(COUNT))
        for each in train.arrived:
            sent_ns = LINE_NS * (1 if alone else each.sequence + 1)
            travels_ns = each.one_way_ns - sent_ns
            overtakes = travels_ns < DELAY_NS / 2
            assert travels_ns == pytest.approx(0 if overtakes else DELAY_NS, abs=1000), each
            early += overtakes
        assert early == pytest.approx(SHARE * COUNT, abs=SIGMAS * math.sqrt(COUNT * SHARE * (1 - SHARE)))


@pytest.mark.guest
def test_a_queue_overflows_at_its_bytes_where_packets_overtake(tmp_path: Path) -> None:
    """A burst of twice the queue. What overtakes takes room as everything else does."""
    queue = 300_000
    slow = SLOW | {"line_rate": "100 Mbit/s", "queue": f"{queue} B", "reorder": "30 %"}
    fast = {"line_rate": "1 Gbit/s", "one_way_delay": "1 ms"}
    plan = plan_of(tmp_path, scenario([fast, slow, fast]))
    holds = queue // 1514
    (train,) = measure(plan, tmp_path, [request(plan, 1, 2, 1500, 2 * holds, together=2 * holds)])
    assert sorted(each.sequence for each in train.arrived) == list(range(len(train.arrived)))
    assert holds <= len(train.arrived) <= holds + 1  # one more is being sent


@pytest.mark.guest
def test_jitter_keeps_the_order_of_what_does_not_overtake(tmp_path: Path) -> None:
    """With a queue behind 1 Gbit/s: those that keep the delay arrive in their order, within it and its jitter."""
    slow = {"line_rate": "100 Mbit/s", "one_way_delay": "50 ms", "queue": "1 MB", "jitter": "5 ms", "reorder": "30 %"}
    fast = {"line_rate": "1 Gbit/s", "one_way_delay": "1 ms"}
    plan = plan_of(tmp_path, scenario([fast, slow, fast]))
    (train,) = measure(plan, tmp_path, [request(plan, 1, 2, 1500, 400, together=400)])
    line_ns = (1500 + 38) * 8e9 / 100e6
    travels = {each.sequence: each.one_way_ns - line_ns * (each.sequence + 1) for each in train.arrived}
    assert len(travels) == 400
    late = [(each.sequence, each.arrived_ns) for each in train.arrived if travels[each.sequence] > 20e6]
    assert [sequence for sequence, _ in late] == sorted(sequence for sequence, _ in late)
    assert all(45e6 - 1000 <= travels[sequence] <= 55e6 + 1000 for sequence, _ in late)
    assert all(abs(ns) < 1000 for ns in travels.values() if ns <= 20e6)
    assert 0.15 * 400 < 400 - len(late) < 0.45 * 400


@pytest.mark.slow
@pytest.mark.parametrize("discipline", ["fifo", "red"])
def test_the_simulated_world_does_the_same(tmp_path: Path, discipline: str) -> None:
    """One packet, where all overtake: theory without the delay."""
    fast, slow = direction(10**9, MS), direction(56_000, 500 * MS, reorder=1, discipline=discipline)
    run = simulate(path_plan([fast, slow, fast], mtu=1500, bytes=1448), tmp_path / "run")
    assert run.status == 0, run.error
    wanted_ns = 2 * (MS + 1538 * 8) + LINE_NS
    assert run.result["streams"][0]["first_byte_ns"] == pytest.approx(wanted_ns, abs=1000)


@pytest.mark.guest
@pytest.mark.parametrize("control", ["cubic", "reno", "bbr"])
def test_the_worlds_agree_where_the_simulated_one_runs(tmp_path: Path, control: str) -> None:
    """5 % overtake two others, and skip a hundredth of the round trip: nobody loses, and the line is full."""
    slow = {"line_rate": "100 Mbit/s", "one_way_delay": "20 ms"}
    links = [slow, slow | {"one_way_delay": "360 us", "reorder": "5 %"}]
    transfer = {"duration": "5 s", "window": "16 MB", "congestion_control": control}
    file = write_scenario(tmp_path, scenario(links, nic="1 Gbit/s", transfer=transfer))
    emu, sim = (ls.run(file, world=world, runs_dir=tmp_path, report=False).record for world in ("emu", "sim"))
    assert emu.goodput_bps and sim.goodput_bps
    assert sim.goodput_bps == pytest.approx(emu.goodput_bps, rel=0.02)
    assert sim.goodput_bps > 0.9 * 100e6 * 1448 / 1538
