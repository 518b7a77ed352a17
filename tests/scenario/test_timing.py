"""The formula for RTT and bottleneck that every world and every verdict uses, against figures made by hand."""

from pathlib import Path
from typing import Any

import pytest

from landspeed.base.units_text import rate_text, time_text
from landspeed.judge.judge import judge
from landspeed.results.record import CalibrationResult
from landspeed.scenario.plan.plan import Plan
from landspeed.scenario.theory import timing, tolerances
from landspeed.worlds.sim.calibration_facts import calibration
from tests.support.emu_fixtures import plan_of, scenario
from tests.support.path_record import path_record

SLOW: list[dict[str, Any]] = [
    {"one_way_delay": "1 ms", "line_rate": "100 Mbit/s"},
    {"one_way_delay": "20 ms", "line_rate": "1 Mbit/s", "reverse": {"line_rate": "128 kbit/s"}},
]
# 84 B + 38 B of framing: 9.76 µs at 100 Mbit/s, 976 µs at 1 Mbit/s, 7.625 ms at 128 kbit/s.
ECHO_NS = 42_000_000 + 2 * 9_760 + 976_000 + 7_625_000


def test_an_echo_takes_propagation_and_its_own_time_on_each_line(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, scenario(SLOW))
    assert timing.echo_ns(plan) == ECHO_NS
    assert timing.echo_ns(plan, 2, 0) == ECHO_NS
    assert timing.one_way_ns(plan, 0, 2, 1500) == 21_000_000 + 123_040 + 12_304_000
    # A router quotes the echo: 20 + 8 + 84 B come back.
    assert timing.hop_echo_ns(plan, 0, 1) == 2_000_000 + 9_760 + (112 + 38) * 80
    assert timing.hop_echo_ns(plan, 2, 1) == 40_000_000 + 7_625_000 + (112 + 38) * 8_000
    # TCP: a full packet there, 52 B back.
    assert timing.data_rtt_ns(plan) == 42_000_000 + 123_040 + 12_304_000 + 90 * 80 + 90 * 62_500


def test_over_ipv6_an_echo_is_twenty_bytes_longer(tmp_path: Path) -> None:
    assert timing.echo_ns(plan_of(tmp_path, scenario(SLOW, ip=6))) == ECHO_NS + 20 * (2 * 80 + 8_000 + 62_500)


def test_a_receiving_bus_is_the_rate_of_the_link_that_reaches_it(tmp_path: Path) -> None:
    content = scenario([{"one_way_delay": "1 ms"}] * 2)
    content["hosts"]["omega"]["bus"] = {"rate": "100 Mbit/s"}
    plan = plan_of(tmp_path, content)
    assert timing.one_way_ns(plan, 0, 2, 1500) == 2_000_000 + 12_304 + 120_000
    assert timing.one_way_ns(plan, 2, 0, 1500) == 2_000_000 + 2 * 12_304
    assert timing.slowest_rate_bps(plan, forward=True) == 100e6


def test_each_direction_has_the_interface_that_sends(tmp_path: Path) -> None:
    """1 Gbit/s forward, 2 Mbit/s back at the receiver: its interface sends at 2 Mbit/s and receives at the line's."""
    content = scenario([{"one_way_delay": "1 ms"}, {"one_way_delay": "1 ms", "reverse": {"line_rate": "2 Mbit/s"}}])
    for host in content["hosts"].values():
        del host["nic"]
    plan = plan_of(tmp_path, content)
    share = 1500 / 1538
    assert timing.slowest_rate_bps(plan, forward=True) == pytest.approx(1e9 * share, rel=1e-12)
    assert timing.slowest_rate_bps(plan, forward=False) == pytest.approx(2e6 * share, rel=1e-12)
    assert {name for _, name in timing.rates_bps(plan, forward=True)} == {
        "link 1 (alpha – r1)",
        "link 2 (r1 – omega)",
        "network interface of alpha",
    }


def judged_rtt(plan: Plan, rtt_ms: float, **calibrated: Any) -> bool | None:
    record = path_record(
        "test", world="emu", clock="virtual", seed=1, rtt_ms=rtt_ms,
        calibration=CalibrationResult(passed=True, rtt_ms=rtt_ms, **calibrated),
    )  # fmt: skip
    return next(verdict.ok for verdict in judge(plan, record).verdicts if verdict.name == "rtt")


def test_the_verdict_is_the_gates(tmp_path: Path) -> None:
    """The RTT with serialization is right, without it wrong; the plan's jitter is no error."""
    plan = plan_of(tmp_path, scenario(SLOW))
    assert judged_rtt(plan, ECHO_NS / 1e6, rtt_floor_ms=0.001)
    assert judged_rtt(plan, ECHO_NS / 1e6 * 1.0009)
    assert judged_rtt(plan, ECHO_NS / 1e6 * 1.0011) is False
    assert judged_rtt(plan, 42.0) is False
    lan = plan_of(tmp_path, scenario([{"one_way_delay": "37 us", "line_rate": "2.5 Gbit/s"}]))
    assert judged_rtt(lan, 0.0748)  # 74 µs and twice 0.39 µs
    assert judged_rtt(lan, 0.0780) is False
    moved = plan_of(tmp_path, scenario([{"one_way_delay": "1 ms", "jitter": "100 us"}]))
    assert judged_rtt(moved, 2.19)
    assert judged_rtt(moved, 2.21) is False


def test_the_simulated_world_expects_the_same(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, scenario(SLOW))
    hops = [{"ttl": 1, "node": "r1", "rtt_ms": 2.01952}, {"ttl": 2, "node": "omega", "rtt_ms": ECHO_NS / 1e6}]
    found = calibration(
        plan,
        {"hops": hops, "path_mtu_bytes": 1500, "rate_bps": 1e6 * 1500 / 1538, "rate_reverse_bps": 128e3 * 1500 / 1538},
    )
    assert found["failures"] == []
    assert found["rtt_expected_ms"] == ECHO_NS / 1e6


@pytest.mark.parametrize(
    ("got", "wanted"),
    [
        (rate_text(56_000), "56.00 kbit/s"),
        (rate_text(1e6), "1.00 Mbit/s"),
        (rate_text(1e12), "1.000 Tbit/s"),
        (rate_text(9.6), "10 bit/s"),
        (time_text(74_780), "74.78 µs"),
        (time_text(43_972_000), "43.972 ms"),
        (time_text(1.5e9), "1.500 s"),
    ],
)
def test_units_fit(got: str, wanted: str) -> None:
    assert got == wanted


# --- Each part alone -------------------------------------------------------------------------------------------------


def test_a_line_takes_propagation_and_framing() -> None:
    line = timing.Serializer("link 1 (a – b)", delay_ns=1000, jitter_ns=0, rate_bps=10**9, framing_bytes=38)
    assert line.takes_ns(1500) == 1000 + 12_304
    assert line.carries_bps(1500) == 10**9 * 1500 / 1538


def test_links_count_from_one(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, scenario(SLOW))
    assert [timing.link_name(link) for link in plan.links] == ["link 1 (alpha – r1)", "link 2 (r1 – omega)"]
    assert [line.name for line in timing.way(plan, 0, 2)] == ["link 1 (alpha – r1)", "link 2 (r1 – omega)"]
    assert [line.name for line in timing.way(plan, 2, 0)] == ["link 2 (r1 – omega)", "link 1 (alpha – r1)"]
    assert [line.rate_bps for line in timing.way(plan, 2, 0)] == [128_000, 100_000_000]
    assert [line.name for line in timing.way(plan, 2, 1)] == ["link 2 (r1 – omega)"]
    assert list(timing.way(plan, 1, 1)) == []


def test_a_bus_counts_where_it_is_slower_than_the_line_for_full_packets(tmp_path: Path) -> None:
    """A bus moves no framing: 1500/1538 of the line's rate is as fast as the line."""
    content = scenario([{"one_way_delay": "1 ms"}] * 2)
    edge = 10**9 * 1500 // 1538
    lines: dict[int, timing.Serializer] = {}
    for rate in (edge + 1, edge):
        content["hosts"]["omega"]["bus"] = {"rate": f"{rate} bit/s"}
        content["hosts"]["alpha"]["bus"] = {"rate": "100 Mbit/s"}
        plan = plan_of(tmp_path, content)
        lines[rate] = list(timing.way(plan, 0, 2))[-1]
        assert next(timing.way(plan, 0, 2)).name == "link 1 (alpha – r1)"  # a sender's bus does not receive
        back = list(timing.way(plan, 2, 0))
        assert [line.name for line in back] == ["link 2 (r1 – omega)", "bus of alpha"]
    assert (lines[edge + 1].name, lines[edge + 1].rate_bps, lines[edge + 1].framing_bytes) == (
        "link 2 (r1 – omega)", 10**9, 38,
    )  # fmt: skip
    assert (lines[edge].name, lines[edge].rate_bps, lines[edge].framing_bytes) == ("bus of omega", edge, 0)


def test_the_path_carries_what_its_smallest_link_carries(tmp_path: Path) -> None:
    content = scenario([{"one_way_delay": "1 ms", "mtu": "9000 B"}, {"one_way_delay": "1 ms", "mtu": "4470 B"}])
    assert timing.path_mtu(plan_of(tmp_path, content)) == 4470


def test_a_packet_and_its_answer(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, scenario(SLOW))
    there, back = timing.one_way_ns(plan, 0, 2, 1500), timing.one_way_ns(plan, 2, 0, 100)
    assert timing.round_trip_ns(plan, 0, 2, 1500, 100) == there + back
    assert timing.round_trip_ns(plan, 0, 2, 1500) == there + timing.one_way_ns(plan, 2, 0, 1500)
    assert timing.round_trip_ns(plan, 0, 2, 1500, 0) == there + timing.one_way_ns(plan, 2, 0, 0)


def test_echoes() -> None:
    assert (timing.echo_bytes(4), timing.echo_bytes(6)) == (84, 104)
    assert (timing.echo_bytes(4, 1472), timing.echo_bytes(6, 0)) == (1500, 48)


def test_an_echo_of_another_size_and_to_another_node(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, scenario(SLOW))
    assert timing.echo_ns(plan, payload_bytes=1472) == timing.round_trip_ns(plan, 0, 2, 1500)
    assert timing.echo_ns(plan, 0, 1) == 2_000_000 + 2 * 9_760
    assert timing.hop_echo_ns(plan, 0, 2) == timing.echo_ns(plan, 0, 2)  # at the end it is an ordinary reply
    assert timing.hop_echo_ns(plan, 2, 0) == timing.echo_ns(plan, 2, 0)


def test_over_ipv6_a_router_quotes_with_a_longer_header(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, scenario(SLOW, ip=6))
    assert timing.hop_echo_ns(plan, 0, 1) == 2_000_000 + (104 + 38) * 80 + (40 + 8 + 104 + 38) * 80


def test_a_router_quotes_no_more_than_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an echo of 1500 B, a Linux router quotes as much as fills 576 B."""
    monkeypatch.setattr(timing, "ICMP_HEADER_BYTES", 1000)
    plan = plan_of(tmp_path, scenario(SLOW))
    assert timing.hop_echo_ns(plan, 0, 1) == 2_000_000 + (1076 + 38) * 80 + (576 + 38) * 80


def test_how_far_an_rtt_may_be(tmp_path: Path) -> None:
    lanes: list[dict[str, Any]] = [
        {"one_way_delay": "1 ms", "jitter": "100 us", "reverse": {"jitter": "10 us"}},
        {"one_way_delay": "1 ms", "reverse": {"jitter": "1 us"}},
    ]
    plan = plan_of(tmp_path, scenario(lanes))
    assert tolerances.rtt_allowed_ms(plan, 0, 2, 100.0, tolerance=0.01) == pytest.approx(1.111, rel=1e-12)
    assert tolerances.rtt_allowed_ms(plan, 0, 1, 100.0, tolerance=0.01) == pytest.approx(1.110, rel=1e-12)
    assert tolerances.rtt_allowed_ms(plan, 2, 1, -100.0, tolerance=0.01) == pytest.approx(1.001, rel=1e-12)
    assert tolerances.rtt_allowed_ms(plan, 1, 2, 0.0, tolerance=0.01) == pytest.approx(0.002, rel=1e-12)
    assert tolerances.rtt_allowed_ms(plan, 1, 2, 1.0, tolerance=0.01, floor_ms=2.0) == pytest.approx(2.001, rel=1e-12)


def test_every_part_of_a_direction_has_its_rate(tmp_path: Path) -> None:
    content = scenario([{"one_way_delay": "1 ms"}, {"one_way_delay": "1 ms", "framing": "pos"}])
    content["hosts"]["alpha"] |= {"nic": "2 Gbit/s", "bus": {"rate": "600 Mbit/s"}}
    content["hosts"]["omega"] |= {"nic": "3 Gbit/s", "bus": {"rate": "700 Mbit/s"}}
    plan = plan_of(tmp_path, content)
    assert {name: rate for rate, name in timing.rates_bps(plan, forward=True)} == {
        "link 1 (alpha – r1)": pytest.approx(1e9 * 1500 / 1538, rel=1e-12),
        "bus of omega": 700e6,
        "network interface of alpha": pytest.approx(2e9 * 1500 / 1538, rel=1e-12),
        "bus of alpha": 600e6,
    }
    assert {name: rate for rate, name in timing.rates_bps(plan, forward=False)} == {
        "link 2 (r1 – omega)": pytest.approx(1e9 * 1500 / 1509, rel=1e-12),
        "bus of alpha": 600e6,
        "network interface of omega": pytest.approx(3e9 * 1500 / 1509, rel=1e-12),
        "bus of omega": 700e6,
    }
    assert timing.slowest_rate_bps(plan, forward=True) == 600e6


def test_how_far_a_trains_rate_may_be(tmp_path: Path) -> None:
    """Jitter moves the ends of a train of 200 packets, which lasts 24.6 ms at 100 Mbit/s; then copies count too."""
    steady = plan_of(tmp_path, scenario([{"one_way_delay": "1 ms", "line_rate": "100 Mbit/s", "duplicate": "1 %"}]))
    assert tolerances.rate_allowed(steady, 0.01, forward=True) == 0.01
    lanes: list[dict[str, Any]] = [
        {"one_way_delay": "1 ms", "line_rate": "100 Mbit/s", "duplicate": "1 %", "jitter": "123.04 us"},
        {"one_way_delay": "1 ms", "line_rate": "200 Mbit/s", "reverse": {"duplicate": "2 %"}},
    ]
    plan = plan_of(tmp_path, scenario(lanes))
    wanted = 0.01 + 2 * 0.12304 / 24.608 + 2 * 0.01
    assert tolerances.rate_allowed(plan, 0.01, forward=True) == pytest.approx(wanted, rel=1e-12)
    assert tolerances.rate_allowed(plan, 0.01, forward=False) == pytest.approx(wanted + 2 * 0.02, rel=1e-12)
