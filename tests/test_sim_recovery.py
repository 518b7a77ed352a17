"""One loss over 264 ms, simulated as a user would: Reno and CUBIC against their formulas (bench_sim_recovery.py)."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench_sim_recovery import TOLERANCE, Part, cubic, reno


@pytest.mark.parametrize("part", [reno(0.1, 9000), cubic(1, 9000)], ids=["reno", "cubic"])
def test_growth_after_a_loss_is_the_formula_s(tmp_path: Path, part: Part) -> None:
    """Reno's whole recovery at 100 Mbit/s; CUBIC's curve at 1 Gbit/s, which the host's short queue must not bend."""
    assert TOLERANCE == 0.05
    rows = part(tmp_path)
    assert len(rows) >= 3
    assert [row for row in rows if not row.kept] == []
