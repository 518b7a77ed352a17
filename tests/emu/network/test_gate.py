"""The calibration refuses no right path: the finest spacings, small buckets, overtaking, queues of one frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from landspeed.scenario.theory import timing, tolerances
from landspeed.worlds.emu.guest.calibration.trains import paired_rate_bps
from landspeed.worlds.emu.world import EmuOptions, EmuWorld
from tests.support.emu_fixtures import plan_of, scenario

MTU, FRAME, GBIT = 1500, 1538, 10**9


def path(*links: dict[str, Any], **more: Any) -> dict[str, Any]:
    nic = more.pop("nic", more.get("line_rate", "1 Gbit/s"))
    return scenario([{"one_way_delay": "1 ms"}, *links], nic=nic, **more)


def bucket(burst: str, rate: str = "500 Mbit/s", queue: str = "1500 kB", **more: Any) -> dict[str, Any]:
    discipline = {"tbf": {"rate": rate, "burst": burst}}
    return path({"one_way_delay": "1 ms", "queue": queue, "discipline": discipline}, **more)


def overtaking(share: str, **more: Any) -> dict[str, Any]:
    link = {"reorder": share, **more}
    return path({"one_way_delay": "90 ms", **link}, {"one_way_delay": "250 ms", **link})


PATHS = {
    "200 Gbit/s": path({"one_way_delay": "9 ms"}, line_rate="200 Gbit/s"),
    "400 Gbit/s": path({"one_way_delay": "9 ms"}, line_rate="400 Gbit/s"),
    "1 Tbit/s": path({"one_way_delay": "1 ms"}, line_rate="1 Tbit/s"),
    "1 Tbit/s into 400 Gbit/s with a short queue": path(
        {"one_way_delay": "1 ms", "line_rate": "400 Gbit/s", "queue": "20 kB"}, line_rate="1 Tbit/s"
    ),
    "400 Gbit/s, IPv6, packets of 1280 B": path({"one_way_delay": "1 ms"}, line_rate="400 Gbit/s", ip=6, mtu="1280 B"),
    "a bucket of one packet": bucket("1600 B"),
    "a bucket of 15 kB": bucket("15 kB", "100 Mbit/s"),
    "a bucket of 64 kB": bucket("64 kB"),
    "a policer": bucket("15 kB", "100 Mbit/s", queue="1514 B"),
    "a bucket nearly as fast as its line": bucket("64 kB", "950 Mbit/s"),
    "a third overtakes": overtaking("30 %"),
    "half overtakes": overtaking("50 %"),
    "all overtake": overtaking("100 %"),
    "half overtakes, with losses and jitter": overtaking("50 %", loss="1 %", jitter="2 ms"),
    "a queue of one frame": path({"one_way_delay": "9 ms", "line_rate": "100 Mbit/s", "queue": "1514 B"}),
}


@pytest.mark.guest
@pytest.mark.parametrize("which", PATHS)
def test_a_right_path_passes(tmp_path: Path, which: str) -> None:
    plan = plan_of(tmp_path, PATHS[which])
    assert EmuWorld(EmuOptions()).execute(plan, tmp_path / "run", at="alpha", command=["true"]) == 0


def test_the_planned_rate_is_that_of_a_bucket_that_a_train_empties(tmp_path: Path) -> None:
    """With framing, as the line's. A train does not get to the end of a bucket of 300 kB."""
    small, large = plan_of(tmp_path, bucket("15 kB")), plan_of(tmp_path, bucket("300 kB"))
    assert timing.slowest_rate_bps(small, forward=True) == pytest.approx(0.5 * GBIT * MTU / FRAME, rel=1e-9)
    assert timing.slowest_rate_bps(large, forward=True) == pytest.approx(GBIT * MTU / FRAME, rel=1e-9)
    assert timing.line_rate_bps(small, forward=True) == timing.slowest_rate_bps(large, forward=True)
    assert timing.bucket_packets(small, forward=True) == 10
    assert timing.bucket_packets(large, forward=True) == 0


def test_a_round_trip_is_whole_with_what_was_skipped(tmp_path: Path) -> None:
    """90 ms and 250 ms each way: any of the four may be missing. A delay that is wrong stays wrong."""
    plan = plan_of(tmp_path, overtaking("50 %"))
    for missing_ms in (0, 90, 180, 250, 340, 430, 500, 590, 680):
        ((whole_ms, said),) = tolerances.unskipped(plan, 0, 3, 682.0, [(682.0 - missing_ms, "10.0.0.10")])
        assert (whole_ms, said) == (pytest.approx(682.0, abs=1e-6), "10.0.0.10")
    assert tolerances.unskipped(plan, 0, 3, 682.0, [(620.0, "")])[0][0] == pytest.approx(710.0)
    assert tolerances.unskipped(plan_of(tmp_path, overtaking("0 %")), 0, 3, 682.0, [(592.0, "")]) == [(592.0, "")]


def test_the_rate_of_clusters_is_that_of_their_mean() -> None:
    """Four packets of 61.5 ns with each reading of a clock; and a pause, in which nothing waited for the line."""
    arrivals = [
        (number, round(number * 61.52 / 256) * 256 + (50_000 if number > 2000 else 0)) for number in range(4000)
    ]
    rate = paired_rate_bps(arrivals, 1, MTU, moved=True, longest_ns=1024)
    assert rate == pytest.approx(MTU * 8e9 / 61.52, rel=1e-3)
