"""From scenario to plan: directions, seeds, where a queue can form, and what `show` prints."""

import json
from pathlib import Path

import pytest

from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.file.template import check_template, template
from landspeed.scenario.importers import fit_traceroute
from landspeed.scenario.plan.plan import Plan
from landspeed.scenario.resolve.resolve import direction_seed, make_plan
from landspeed.worlds.emu.guest.shaping.packet_limit import packet_limit
from landspeed.worlds.registry import plan_for
from landspeed.worlds.world import UnknownWorld
from tests.support.scenario_plan import (
    shown,
)

TEXT = """\
format: 1
name: small
title: a small path
mtu: 1500 B
line_rate: 1 Gbit/s
hosts:
  a: {role: sender, nic: 1 Gbit/s}
  b: {role: receiver, nic: 1 Gbit/s}
path:
  - {from: a, to: r, one_way_delay: 10 ms, distance: 1000 km}
  - {from: r, to: q, one_way_delay: 20 ms, distance: 500 km}
  - {from: q, to: b, one_way_delay: 5 ms}
transfer: {streams: 1, duration: 10 s, congestion_control: reno}
"""
RECORD = Path(__file__).resolve().parents[2] / "scenarios/records/2004-06-25-geneva-pasadena.yaml"


def plan_with(folder: Path, *overrides: str, seed: int | None = None) -> Plan:
    path = folder / "s.yaml"
    path.write_text(TEXT)
    return make_plan(load_scenario(path, overrides), seed=seed)


def queues(plan: Plan) -> tuple[list[bool], list[bool]]:
    return [k.forward.can_queue for k in plan.links], [k.reverse.can_queue for k in plan.links]


def test_defaults(tmp_path: Path) -> None:
    plan = plan_with(tmp_path)
    assert plan.seed == 1
    assert plan.physics.rtt_ns == 70_000_000
    assert plan.physics.distance_m == 1_500_000
    assert plan.links[0].forward.queue_bytes == plan.physics.bdp_bytes == 8_750_000
    assert (plan.calibration.rtt_tolerance, plan.calibration.rate_tolerance) == (0.001, 0.01)
    assert plan.transfer.sample_interval_ns == 100_000_000
    assert plan.physics.window_limit_bps is None
    assert plan.expect is None


def test_autotuning_ends_where_tcp_does() -> None:
    """100 Gbit/s over 280 ms would need 3.5 GB. One stream has 1 GiB at most; four have enough."""

    def streams(count: int) -> Plan:
        answers = {"rate": "100 Gbit/s", "rtt": "280 ms", "streams": str(count)}
        return make_plan(check_template(template("far", answers), Path("far.yaml")))

    plan, four = streams(1), streams(4).physics
    assert (plan.physics.expected_bottleneck.kind, four.expected_bottleneck.kind) == ("window", "line rate")
    allowed_bps = (65535 << 14) * 8 * 10**9 // 280_000_000
    assert plan.physics.expected_goodput_bps == plan.physics.window_limit_bps == allowed_bps
    assert four.window_limit_bps is None
    assert "autotuning: 1 stream × 1 GiB, the largest window of TCP" in shown(plan, 120)


def test_nic_defaults_to_the_line_of_the_host(tmp_path: Path) -> None:
    plan = plan_with(
        tmp_path,
        "hosts.a.nic=null",
        "path.0.line_rate=2 Gbit/s",
        "path.2.reverse.line_rate=1 Mbit/s",
        "hosts.b.nic=null",
    )
    assert [node.nic_rate_bps for node in plan.nodes] == [2 * 10**9, None, None, 10**6]


def test_reverse_overrides_single_values(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "path.1={loss: 1 %, jitter: 1 ms}", "path.1.reverse={loss: 0 %, line_rate: 10 Mbit/s}")
    ahead, back = plan.links[1].forward, plan.links[1].reverse
    assert (ahead.loss, back.loss) == (0.01, 0.0)
    assert (ahead.rate_bps, back.rate_bps) == (10**9, 10**7)
    assert ahead.jitter_ns == back.jitter_ns == 10**6
    assert back.queue_bytes == 10**7 * 70_000_000 // (8 * 10**9)


def test_hosts_send_at_times_that_vary(tmp_path: Path) -> None:
    """Every host on its own link, beside the link's jitter; a host that says its own; no router."""
    plan = plan_with(tmp_path, "send_jitter=300 us", "hosts.b.send_jitter=1 ms", "path.0.jitter=200 us")
    ways = [(link.forward.jitter_ns, link.reverse.jitter_ns) for link in plan.links]
    assert ways == [(500_000, 200_000), (0, 0), (0, 1_000_000)]
    assert plan.links[0].forward.respaces and plan.sha256 != plan_with(tmp_path).sha256
    assert plan_with(tmp_path, "send_jitter=0 s").sha256 == plan_with(tmp_path).sha256


def test_rtt_is_split_evenly_to_the_nanosecond(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "path.0.rtt=7 ns")
    assert (plan.links[0].forward.delay_ns, plan.links[0].reverse.delay_ns) == (3, 4)


def test_seeds_are_stable_and_differ(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, seed=5)
    assert plan.seed == 5
    seeds = [lane.seed for link in plan.links for lane in (link.forward, link.reverse)]
    assert len(set(seeds)) == len(seeds)
    assert seeds[0] == direction_seed(5, 0, "forward") == 1021417512
    assert plan.sha256 == plan_with(tmp_path, seed=5).sha256 != plan_with(tmp_path, seed=6).sha256


def test_hash_does_not_depend_on_the_place_of_the_file(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    assert plan_with(tmp_path).sha256 == plan_with(other).sha256


@pytest.mark.parametrize(
    ("overrides", "forward", "reverse"),
    [
        ([], [False] * 3, [False] * 3),
        (["path.1.line_rate=999 Mbit/s"], [False, True, False], [False, True, False]),
        (["hosts.a.nic=10 Gbit/s"], [True, False, False], [False] * 3),
        (["hosts.b.nic=10 Gbit/s"], [False] * 3, [False, False, True]),
        (["path.1.framing=pos"], [False] * 3, [False] * 3),
        (["path.0.framing=pos"], [False, True, False], [False] * 3),  # POS packs more packets per second into 1 Gbit/s
        (["path.0.jitter=1 ms"], [False, True, False], [False] * 3),
        (["path.1.duplicate=1 %"], [False, True, True], [True, True, False]),
        (["path.0.loss=1 %", "path.0.corrupt=1 %"], [False] * 3, [False] * 3),
        (["hosts.a.nic=10 Gbit/s", "hosts.a.bus={rate: 300 Mbit/s}"], [False] * 3, [False] * 3),
        (["hosts.a.nic=10 Gbit/s", "hosts.a.bus={rate: 900 Mbit/s}"], [True, False, False], [False] * 3),
    ],
)
def test_where_a_queue_can_form(tmp_path: Path, overrides: list[str], forward: list[bool], reverse: list[bool]) -> None:
    assert queues(plan_with(tmp_path, *overrides)) == (forward, reverse)


def test_packet_limit_is_taken_or_computed(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "path.0.packet_limit=20000")
    assert plan.links[0].forward.packet_limit == 20_000 == packet_limit(plan, plan.links[0], forward=True)
    assert plan.links[0].reverse.packet_limit == 20_000 == packet_limit(plan, plan.links[0], forward=False)
    needed = 10**9 * 0.020 / 8 / 1538 + 8_750_000 / 1500
    assert plan.links[1].forward.packet_limit is None
    assert packet_limit(plan, plan.links[1], forward=True) > needed


def test_limits_of_the_transfer(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "path.1.loss=0.01 %", "transfer.pacing=500 Mbit/s", "hosts.b.bus={rate: 700 Mbit/s}")
    assert [(limit.kind, limit.place, limit.fitted) for limit in plan.physics.limits] == [
        ("bus", "b", False),
        ("line rate", "every link", False),
        ("pacing", None, False),
        ("loss", None, False),
    ]
    words = ["bus of b", "line rate of every link", "pacing", "loss (square-root law)"]
    assert [limit.name for limit in plan.physics.limits] == words
    assert plan.physics.bus_limit_bps == 700_000_000 * 1448 // 1500
    assert plan.physics.expected_bottleneck == plan.physics.limits[3]
    assert plan.physics.expected_goodput_bps == min(limit.goodput_bps for limit in plan.physics.limits)


def test_super_packets_need_a_queue_for_one(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "fidelity=super-packets", "queue=0.001 BDP")
    assert plan.links[0].forward.queue_bytes == 10 * 180_000


def test_unknown_world(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(TEXT)
    with pytest.raises(UnknownWorld, match="no world 'moon'; there are emu, real, sim"):
        plan_for(load_scenario(tmp_path / "s.yaml"), "moon")


@pytest.mark.parametrize("width", [80, 100, 120])
def test_show(width: int) -> None:
    plan = make_plan(load_scenario(RECORD))
    text = shown(plan, width)
    assert max(len(line.rstrip()) for line in text.split("\n")) <= width
    for wanted in ("chicago-cern", "chi-vlan595-143.cern.ch", "15766", "264.000", "10 Gbit/s", "(64 MB)", "330 MB"):
        assert wanted in text
    for wanted in (
        "6.627 Gbit/s",
        "9.900 Gbit/s",
        "16.27 Gbit/s",
        "104.5 Pbit·m/s",
        "2.38 s",
        "403 s",
        "13.2 s",
        "1.75 GiB",
    ):
        assert wanted in text


def test_show_names_impairments_and_asymmetry(tmp_path: Path) -> None:
    text = shown(plan_with(tmp_path, "path.1.loss=0.1 %", "path.1.reverse={loss: 0 %, line_rate: 10 Mbit/s}"), 80)
    assert "→ loss 0.1 %" in text
    assert "← loss" not in text
    assert "← 10 Mbit/s" in text
    assert "autotuning" in text


def test_show_names_how_a_queue_is_kept(tmp_path: Path) -> None:
    assert "fq_codel" in shown(plan_with(tmp_path, "path.1.discipline=fq_codel"), 80)
    one_way = shown(plan_with(tmp_path, "path.1.reverse={discipline: codel}"), 80)
    assert "← codel" in one_way
    assert "→ codel" not in one_way
    assert "fifo" not in one_way


def test_plan_json(tmp_path: Path) -> None:
    plan = plan_with(tmp_path)
    assert json.loads(plan.to_json(indent=1))["flows"][0]["physics"]["mss_bytes"] == 1448
    assert Plan.from_json(plan.to_json(indent=1)) == Plan.from_json(plan.to_json()) == plan


def test_isotonic_by_hand() -> None:
    assert fit_traceroute.isotonic([1, 3, 2, 4], [1, 1, 1, 1]) == [1, 2.5, 2.5, 4]
    assert fit_traceroute.isotonic([3, 2, 1], [1, 1, 2]) == [1.75] * 3


def test_fit_agrees_where_lists_agree_and_respects_light() -> None:
    fitted = fit_traceroute.fit(100, [0, 30, 0], [10, 20, None], [10, 24, None])
    assert fitted.hops_ms[-1] == 100
    assert fitted.links_ms[1] >= 30
    assert sum(fitted.links_ms) == pytest.approx(100)
    assert all(link >= 0 for link in fitted.links_ms)
    with pytest.raises(ValueError, match="light"):
        fit_traceroute.fit(100, [60, 60], [None, None], [None, None])


def test_fit_of_a_hop_that_nobody_saw() -> None:
    fitted = fit_traceroute.fit(50, [0, 5, 0], [10, None, None], [12, None, None])
    assert fitted.hops_ms == [11, 16, 50]


def test_fit_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert fit_traceroute.main([str(RECORD)]) == 0
    assert "sum of the links 264.00 ms" in capsys.readouterr().out
    (tmp_path / "s.yaml").write_text(TEXT)
    assert fit_traceroute.main([str(tmp_path / "s.yaml")]) == 2
    assert fit_traceroute.main([]) == 2
