"""Congestion controls in the simulator, where a whole transfer shows what a test of one function does not."""

from pathlib import Path

import pytest

from tests.support.sim_fixtures import S, direction, path_plan, simulate


def test_bbr_fills_a_line_that_less_than_a_packet_fills(tmp_path: Path) -> None:
    """After PROBE_RTT at 10 s, too: docs/ns3/16-delivery-rate.md. By theory 524 of each 585 bytes of the line."""
    rate_bps = 4_036_000
    lanes = [
        direction(rate_bps, 3_000, framing="pos", nic=rate_bps, reverse={"rate_bps": 12_108_000}),
        direction(2 * rate_bps, 19_000, framing="pos"),
    ]
    asked = {"congestion_control": "bbr", "duration_ns": 20 * S, "window_bytes": None}
    run = simulate(path_plan(lanes, mtu=576, **asked), tmp_path / "run")
    assert run.status == 0, run.error
    for from_s, to_s in ((5, 9), (11, 20)):
        assert run.goodput_bps(from_s, to_s) == pytest.approx(rate_bps * 524 / 585, rel=0.01)
