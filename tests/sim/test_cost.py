"""What the simulated path costs in events and memory, and that the scheduler is the cheapest one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import builds
from tests.support.sim_fixtures import MS, SIMULATOR, S, direction, path_plan, simulate

pytestmark = pytest.mark.slow

COST_PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "sim-cost.md"
GBIT = 1_000_000_000
MOST_MEMORY = """
import os, sys
no_output = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
process = os.posix_spawn(sys.argv[1], sys.argv[1:], {}, file_actions=[no_output])
_, status, used = os.wait4(process, 0)
assert status == 0
print(used.ru_maxrss * 1024)
"""


def test_the_default_scheduler_is_the_cheapest_and_none_changes_anything(tmp_path: Path) -> None:
    """The first row of docs/explanation/sim-cost.md's table (`bench_sim.py schedulers`) is the cheapest one's."""
    _, table = COST_PAGE.read_text().split("| scheduler |")
    cheapest = table.splitlines()[2].split("|")[1].strip()
    lanes = [direction(GBIT, 3 * MS, queue_bytes=200_000), direction(GBIT, MS, loss=0.001, jitter_ns=5_000, seed=5)]
    plan = path_plan(lanes, streams=3, duration_ns=S)
    default = simulate(plan, tmp_path / "default")
    assert (default.status, default.result["scheduler"]) == (0, cheapest), default.error
    for name in {"heap", "map", "priority-queue", "calendar", "list"} - {cheapest}:
        other = simulate(plan, tmp_path / name, "--scheduler", name)
        assert (other.status, other.result["scheduler"]) == (0, name), other.error
        assert other.series() == default.series()
        assert other.result["events"] == default.result["events"]


def test_only_packets_are_events(tmp_path: Path) -> None:
    """No timer is made for an acknowledgment: what was cancelled would wait in the scheduler, 4 000 of them here."""
    plan = path_plan([direction(10 * GBIT, MS), direction(10 * GBIT, 19 * MS)], duration_ns=2 * S, window_bytes=10**8)
    result = simulate(plan, tmp_path / "run").result
    arrivals = sum(lane["packets"] for lane in result["lanes"])
    told = result["lanes"][0]["packets"]  # ns-3 tells the application of each packet that it sends
    assert arrivals + told <= result["events"] <= 1.01 * (arrivals + told)


@pytest.mark.skipif(builds.sanitized("sim"), reason="a sanitizer's own memory would be counted")
def test_a_packet_in_flight_takes_little_memory(tmp_path: Path) -> None:
    """What each of 82 000 in flight takes must come from memory again: cost grew with the window when it was 700 B."""

    def most_bytes(window_packets: int) -> int:
        lanes = [direction(40 * GBIT, MS), direction(40 * GBIT, 49 * MS)]
        folder = tmp_path / str(window_packets)
        folder.mkdir()
        plan = path_plan(lanes, duration_ns=2 * S, window_bytes=window_packets * 8948 // 2)  # twice that is granted
        (folder / "plan.json").write_text(json.dumps(plan))
        # By way of a small process: what a child's parent had when it was made counts as the child's.
        words = [sys.executable, "-I", "-S", "-c", MOST_MEMORY, SIMULATOR, folder / "plan.json", folder]
        return int(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)

    assert most_bytes(16_000) - most_bytes(1_000) < 15_000 * 400
