"""Examples of Mininet scripts in docs/examples/mininet, in the guest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from landspeed.base.places import ROOT
from tests.support.command import landspeed

OSPFD = Path("/usr/lib/frr/ospfd")


@pytest.mark.guest
@pytest.mark.slow
@pytest.mark.skipif(not OSPFD.exists(), reason="FRRouting is not here: apt-get install frr")
def test_ospf_waits_for_its_dead_interval_and_goes_round(tmp_path: Path) -> None:
    done = landspeed("mn", "--quiet", "--out", tmp_path, ROOT / "docs/examples/mininet/routing.py", "ospf")
    assert done.returncode == 0, done.stderr
    ((apart_s, timers_s),) = re.findall(r"OSPF: apart for ([\d.]+) s, by its timers ([\d.]+) s", done.stdout)
    assert 30 <= float(timers_s) <= 40  # RouterDeadInterval, less what has passed of HelloInterval
    # Both hosts ping each 0.1 s, before and after; then the other routers hear of it, and compute in 50 ms.
    assert float(apart_s) == pytest.approx(float(timers_s), abs=0.3)
    assert "10.1.2.2 is now the second hop" in done.stdout
