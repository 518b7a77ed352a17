"""A line back that is full: at which share, in which world's counters, and how it is told."""

from dataclasses import replace
from pathlib import Path

import pytest

from landspeed.judge.ack_path import fullest_line
from landspeed.judge.bound import limited_by
from landspeed.results.samples_reader import Samples
from landspeed.scenario.plan.plan import Plan
from tests.support.judge_bound import linked, record_of, sampled
from tests.support.results_fixture import BUS_GOODPUT, make_plan


def back(plan: Plan, *rates_bps: int) -> Plan:
    """The plan with other rates of its first links' reverse directions."""
    links = [*plan.links]
    for number, rate in enumerate(rates_bps):
        links[number] = replace(links[number], reverse=replace(links[number].reverse, rate_bps=rate))
    return replace(plan, links=links)


def test_a_line_back_is_full_at_ninety_seven_per_cent(tmp_path: Path) -> None:
    """10 s of 1000 packets of 100 B, 38 B of framing in the simulated world: 1.104 Mbit/s."""
    samples = linked(tmp_path, "0,0,1,0,0,0", "10,0,1,1000000,10000,0", "0,0,0,0,0,0", "10,0,0,10000000000,1,0")
    for rate, full in ((1_104_000, True), (round(1_104_000 / 0.97), True), (round(1_104_000 / 0.9699), False)):
        found = fullest_line(back(make_plan(), rate), "sim", samples, 0.0, "reverse")
        assert (found is not None) is full
        if found:
            assert (found.link.index, found.packets_per_s) == (0, 1000.0)
            assert found.share == pytest.approx(1_104_000 / rate, rel=1e-12)


def test_a_veth_has_counted_the_header_already(tmp_path: Path) -> None:
    samples = linked(tmp_path, "0,0,1,500,5,0", "10,0,1,1000500,10005,0")
    emulated = fullest_line(back(make_plan(), 992_000), "emu", samples, 0.0, "reverse")
    assert emulated is not None and emulated.share == pytest.approx(1.0, rel=1e-12)  # 8 × (100 + 24) × 1000
    simulated = fullest_line(back(make_plan(), 992_000), "sim", samples, 0.0, "reverse")
    assert simulated is not None and simulated.share == pytest.approx(138 / 124, rel=1e-12)


def test_of_several_lines_the_fullest(tmp_path: Path) -> None:
    samples = linked(
        tmp_path, "0,0,1,0,0,0", "0,1,1,0,0,0", "10,0,1,1000000,10000,0", "10,1,1,2000000,10000,0", "10,2,1,1,1,0"
    )  # fmt: skip
    found = fullest_line(back(make_plan(), 1_104_000, 1_850_000), "sim", samples, 0.0, "reverse")
    assert found is not None and found.link.index == 1
    found = fullest_line(back(make_plan(), 1_104_000, 2_000_000), "sim", samples, 0.0, "reverse")
    assert found is not None and found.link.index == 0


def test_only_the_time_that_counts(tmp_path: Path) -> None:
    """Empty for 10 s, then full; one row alone shows no rate."""
    samples = linked(tmp_path, "0,0,1,0,0,0", "10,0,1,0,0,0", "20,0,1,1000000,10000,0")
    plan = back(make_plan(), 1_104_000)
    assert fullest_line(plan, "sim", samples, 0.0, "reverse") is None
    assert fullest_line(plan, "sim", samples, 10.0, "reverse") is not None
    assert fullest_line(plan, "sim", samples, 10.001, "reverse") is None
    assert fullest_line(plan, "sim", Samples(tmp_path / "none"), 0.0, "reverse") is None


def test_a_full_way_back_is_told_with_its_figures(tmp_path: Path) -> None:
    """100 Mbit/s are 12.5 MB/s in 1000 packets a second: 1.4 packets of 8948 B each."""
    window = {"cwnd_packets": 100, "in_flight_packets": 100, "snd_wnd_bytes": 10**9, "mss_bytes": 8948}
    sampled(tmp_path, *({**window, "time_s": at, "bytes": 12_500_000 * at} for at in (5, 10)), end="sender")
    samples = linked(tmp_path, "0,0,1,0,0,0", "10,0,1,1000000,10000,0")
    plan = back(make_plan(limits={"bus of geneva (fitted)": BUS_GOODPUT}), 1_104_000)
    kind, why = limited_by(plan, record_of(100e6, world="sim", duration_s=10.0), samples)
    assert kind == "ack path"
    assert why == (
        "the line back cern → geneva was full 100 % of the time from 0 s on: 1000 packets a second, "
        "each the acknowledgment of 1.4 full packets"
    )
