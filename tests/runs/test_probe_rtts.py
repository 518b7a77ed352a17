"""BBR's looks at the round trip, in both worlds: as many, and the same goodput (docs/ns3/17-probe-rtt.md)."""

import itertools
from pathlib import Path

import pytest

import landspeed
from landspeed.results.samples_reader import Samples
from tests.support.emu_fixtures import scenario, write_scenario

RATE_BPS, SECONDS, LEAST_WINDOW = 20e6, 120, 4  # PROBE_RTT keeps four packets in flight for 200 ms: two samples


def looks(bundle: Path) -> int:
    """How often the window fell to four packets."""
    windows = [window for (window,) in Samples(bundle).rows("sender", "cwnd_packets")]
    return sum(before > LEAST_WINDOW >= after for before, after in itertools.pairwise(windows))


@pytest.mark.guest
@pytest.mark.parametrize("loss", ["0 %", "0.1 %", "0.5 %", "1 %"])
def test_bbr_looks_at_the_round_trip_as_often_in_both_worlds(loss: str, tmp_path: Path) -> None:
    """Within one in two minutes, and the goodput within 1 %. Every ten seconds at the most: eleven."""
    slow = {"one_way_delay": "19 ms", "line_rate": f"{RATE_BPS:.0f} bit/s", "queue": "2 BDP", "loss": loss}
    content = scenario(
        [{"one_way_delay": "1 ms"}, slow],
        line_rate="1 Gbit/s",
        mtu="1500 B",
        transfer={"congestion_control": "bbr", "duration": f"{SECONDS} s"},
        seed=1,
    )
    found: dict[str, tuple[int, float]] = {}
    for world in ("emu", "sim"):
        file = write_scenario(tmp_path, content)
        run = landspeed.run(file, world=world, runs_dir=tmp_path / world, report=False)
        found[world] = looks(run.bundle), run.goodput_bps or 0.0
    (emulated, goodput_bps), (simulated, simulated_bps) = found["emu"], found["sim"]
    assert abs(simulated - emulated) <= 1 and 6 <= emulated <= 11, found
    assert simulated_bps == pytest.approx(goodput_bps, rel=0.01), found
