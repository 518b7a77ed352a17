"""BBR at a limit but for its own looks at the round trip: said so, from a run's own samples."""

from pathlib import Path

import pytest

from landspeed.judge.bbr_probing import probing
from landspeed.results.samples_reader import Samples
from tests.support.emu_fixtures import plan_of, scenario, transfer

pytestmark = pytest.mark.guest
RTT_S = 0.08
LINKS = [{"one_way_delay": delay, "line_rate": "1 Gbit/s"} for delay in ("1 ms", "38 ms", "1 ms")]


@pytest.mark.parametrize(("control", "kind"), [("bbr", "RTT probing"), ("cubic", "bus")])
def test_bbr_under_a_bus_is_held_down_by_its_own_looks(tmp_path: Path, control: str, kind: str) -> None:
    """Every ten seconds four packets for 200 ms, and up to a round trip in which the path fills again."""
    transferred = {"duration": "32 s", "window": "8 MB", "congestion_control": control}
    plan = plan_of(tmp_path, scenario(LINKS, nic="1 Gbit/s", bus="100 Mbit/s", mtu="9000 B", transfer=transferred))
    record, bundle = transfer(plan, tmp_path)
    assert record.limited_by == kind, record.limited_by_why
    assert record.steady_goodput_bps is not None and record.retransmits == 0
    limit_bps = plan.physics.expected_goodput_bps
    found = probing(Samples(bundle), 10.0, RTT_S)
    if control == "cubic":
        assert found is None and record.steady_goodput_bps == pytest.approx(limit_bps, rel=0.002)
        return
    assert found is not None and found.looks in (2, 3)
    assert found.between_bps == pytest.approx(limit_bps, rel=0.01)
    least, most = found.looks * 0.2 / 22, found.looks * (0.2 + 2 * RTT_S) / 22
    assert 1 - most <= record.steady_goodput_bps / found.between_bps <= 1 - least
