"""RED rests: while nothing waits its average falls, below a token bucket as at a device, in both worlds."""

from pathlib import Path
from typing import Any

import pytest

from landspeed.results.bundle import load_record
from landspeed.scenario.theory import physics as ph
from landspeed.worlds.emu.guest.shaping.encode_aqm import red_idle_table
from tests.support.command import landspeed
from tests.support.emu_fixtures import measure, plan_of, request, scenario, write_scenario

FRAME, FRAMING = 1514, 38  # what a queue of the guest counts of a full packet; what the line adds to one
RATE_BPS, QUEUE, MOST = 100e6, 900_000, 100_000
BURST, GAP_NS = 400, 160_000_000


class LinuxRed:
    """The average of Linux's RED, bit by bit (include/net/red.h); nothing is dropped by chance."""

    def __init__(self) -> None:
        """As it is made: empty."""
        self.weight_log = ph.red_weight_log(MOST)
        self.cell_log, self.table = red_idle_table(self.weight_log, 1500 * 8e6 / RATE_BPS)
        self.average = 0
        self.rests_from_ns: float | None = 0.0

    def burst(self, at_ns: float, packets: int) -> int:
        """How many of so many packets, at once, into the empty queue, pass."""
        passed = 0
        for _ in range(packets):
            if self.rests_from_ns is not None:
                self._rested(int((at_ns - self.rests_from_ns) / 1000))
                self.rests_from_ns = None
            else:
                self.average += passed * FRAME - (self.average >> self.weight_log)
            passed += self.average < MOST << self.weight_log
        self.rests_from_ns = at_ns + passed * (1500 + FRAMING) * 8e9 / RATE_BPS
        return passed

    def _rested(self, us: int) -> None:
        us = min(us, 255 << self.cell_log)
        if power := self.table[us >> self.cell_log]:
            self.average >>= power
        else:
            self.average -= min(self.average * us >> self.cell_log, self.average // 2)


@pytest.mark.guest
def test_the_average_falls_while_nothing_waits(tmp_path: Path) -> None:
    """Bursts that raise it above what RED takes, so far apart that it falls in part, and then for good."""
    red = {"red": {"min": f"{MOST - 1000} B", "max": f"{MOST} B", "probability": "1 ppm", "ecn": False}}
    slow = {"line_rate": "100 Mbit/s", "one_way_delay": "5 ms", "queue": f"{QUEUE} B", "discipline": red}
    fast = {"line_rate": "1 Gbit/s", "one_way_delay": "1 ms"}
    plan = plan_of(tmp_path, scenario([fast, slow, fast]))
    asked = [
        request(plan, 1, 2, 1500, 4 * BURST, together=BURST, gap_ns=GAP_NS),
        request(plan, 1, 2, 1500, BURST, together=BURST),
    ]
    bursts, last = measure(plan, tmp_path, asked)
    passed = [sum(each.sequence // BURST == number for each in bursts.arrived) for number in range(4)]
    theory = LinuxRed()
    wanted = [theory.burst(number * GAP_NS, BURST) for number in range(4)]
    assert 0 < wanted[1] < wanted[0] - 10, "rested in part"
    assert passed == wanted
    assert len(last.arrived) == wanted[0], "five seconds later it drops nothing that a new one would not"


@pytest.mark.guest
@pytest.mark.parametrize("world", ["emu", "sim"])
def test_a_flow_after_a_pause_loses_nothing(tmp_path: Path, world: str) -> None:
    """A burst beyond the queue leaves an average of twice `max`; nine seconds later ten packets come."""
    red = {"red": {"min": "5 kB", "max": "15 kB", "ecn": False}}
    links = [
        {"from": "a", "to": "r1", "one_way_delay": "1 ms"},
        {
            "from": "r1",
            "to": "r2",
            "one_way_delay": "5 ms",
            "line_rate": "10 Mbit/s",
            "queue": "120 kB",
            "discipline": red,
        },
        {"from": "r2", "to": "b", "one_way_delay": "1 ms"},
    ]
    content: dict[str, Any] = {
        "format": 1,
        "name": "test",
        "title": "A test",
        "line_rate": "1 Gbit/s",
        "mtu": "1500 B",
        "links": links,
        "flows": [
            {"name": "early", "from": "a", "to": "b", "bytes": "1 kB"},
            {"name": "later", "from": "a", "to": "b", "bytes": "14 kB", "start": "10 s"},
        ],
        "events": [{"at": "1 s", "background": "800 Mbit/s", "for": "4 ms", "from": "r1", "to": "r2"}],
    }
    done = landspeed("run", write_scenario(tmp_path, content), "--world", world, "--quiet", "--out", tmp_path / "runs")
    (bundle,) = (tmp_path / "runs").iterdir()
    record = load_record(bundle)
    assert record.complete, done.stderr
    assert [flow.retransmits for flow in record.flows] == [0, 0]
