"""Losses, simulated as a user would: Reno and CUBIC against their formulas, and against the emulated world."""

from pathlib import Path

import pytest

from tests.bench.sim.bench_sim import PACED, SAME_LOSS
from tests.bench.sim.bench_sim_recovery import TOLERANCE, Part, cubic, reno
from tests.bench.sim.bench_sim_runs import run


@pytest.mark.slow
@pytest.mark.parametrize("part", [reno(0.1, 9000), cubic(1, 9000)], ids=["reno", "cubic"])
def test_growth_after_a_loss_is_the_formula_s(tmp_path: Path, part: Part) -> None:
    """Reno's whole recovery at 100 Mbit/s; CUBIC's curve at 1 Gbit/s, which the host's short queue must not bend."""
    assert TOLERANCE == 0.05
    rows = part(tmp_path)
    assert len(rows) >= 3
    assert [row for row in rows if not row.kept] == []


@pytest.mark.guest
@pytest.mark.parametrize("control", ["reno", "cubic"])
def test_paced_as_the_emulated_host_it_loses_what_that_loses(tmp_path: Path, control: str) -> None:
    """Slow start overflows the queue, and when the hole is filled a window is free at once (sim/README.md, Bursts).

    As many packets are sent again as by Linux with fq where the simulated sender paces; a burst loses more.
    """
    over = ("--set", f"transfer.congestion_control={control}", "--set", "transfer.duration=3 s", "--set", "events=[]")
    emulated, _ = run(SAME_LOSS, *over, out=tmp_path, world="emu")
    burst, _ = run(SAME_LOSS, *over, out=tmp_path)
    paced, _ = run(SAME_LOSS, *over, *PACED, out=tmp_path)
    assert emulated["retransmits"] > 400
    assert paced["retransmits"] == pytest.approx(emulated["retransmits"], rel=0.05)
    assert burst["retransmits"] > 1.25 * emulated["retransmits"]
