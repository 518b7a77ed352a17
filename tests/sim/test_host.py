"""What a simulated sender has in its own host, as with Linux's TCP small queues; against the emulated one."""

from pathlib import Path
from typing import Any

import pytest

import landspeed as ls
from landspeed.results.samples_reader import Samples

pytestmark = pytest.mark.guest

MTU, FRAMING = 1500, 38
RATE_BPS = 1_000_000
PACKET_S = (MTU + FRAMING) * 8 / RATE_BPS
RTT_S = 0.4
SLOW: dict[str, Any] = {
    "format": 1,
    "name": "slow",
    "title": "A host slower than its sender writes",
    "mtu": f"{MTU} B",
    "line_rate": "1 Mbit/s",
    "hosts": {"alpha": {"role": "sender"}, "omega": {"role": "receiver"}},
    "path": [
        {"from": "alpha", "to": "router", "one_way_delay": "50 ms"},
        {"from": "router", "to": "omega", "one_way_delay": "150 ms"},
    ],
    "transfer": {"duration": "1 s", "window": "1 MB", "initial_window": 60, "sample_interval": "10 ms"},
}


def in_flight_by_theory(time_s: float) -> int:
    """Packets sent, before the first acknowledgment: six are in the host, two more whenever two have left it."""
    left = int(time_s / PACKET_S)
    return 6 + left // 2 * 2


@pytest.mark.parametrize("world", ["sim", "emu"])
def test_a_slow_host_has_as_many_packets_as_linux_lets_wait(tmp_path: Path, world: str) -> None:
    """Linux's line is a bucket, in which a packet is a packet's time early: there it may be two behind."""
    bundle = ls.run(ls.Scenario.build(SLOW), world=world, runs_dir=tmp_path).bundle
    rows = Samples(bundle).sender.select(["time_ns", "in_flight_packets"]).to_pylist()
    found = [(row["time_ns"] / 1e9, int(row["in_flight_packets"])) for row in rows if row["time_ns"] < RTT_S * 1e9]
    assert len(found) >= 35
    behind = 0 if world == "sim" else 2
    # At an instant when two have just left either is right.
    settled = [(time_s, packets) for time_s, packets in found if 0.05 < time_s / PACKET_S % 2 < 1.95]
    for time_s, packets in settled:
        assert 0 <= in_flight_by_theory(time_s) - packets <= behind, (time_s, packets)
