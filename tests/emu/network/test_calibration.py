"""The calibration refuses no right path: the finest spacings, small buckets, overtaking, queues of one frame."""

from pathlib import Path
from typing import Any

import pytest

from landspeed.scenario.theory import timing, tolerances
from landspeed.worlds.emu.guest.calibration.settling import packets_until_settled
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
    fast = plan_of(tmp_path, bucket("15 kB", rate="349 Gbit/s", line_rate="400 Gbit/s"))  # 35.3 ns are 35 to Linux
    assert timing.slowest_rate_bps(fast, forward=True) == pytest.approx(MTU * 8e9 / 35, rel=1e-9)


def test_a_train_is_settled_when_the_slowest_bucket_is_empty_and_what_waited_is_gone(tmp_path: Path) -> None:
    """At 1.25 times the rate: a bucket of c packets beyond the first is empty after c / 0.2, and then what it left."""
    sent = 1.25 * 0.5 * GBIT * MTU / FRAME
    small, large = 15_000 / FRAME - 1, 30_000 / FRAME - 1

    def settled(*buckets: tuple[str, str], loss: str = "0 %") -> int:
        links = [
            {"one_way_delay": "1 ms", "queue": "1500 kB", "discipline": {"tbf": {"rate": rate, "burst": burst}}}
            for burst, rate in buckets
        ]
        links = [{"one_way_delay": "1 ms", "loss": loss}, *links]
        return packets_until_settled(plan_of(tmp_path, path(*links)), sent, forward=True)

    assert settled() == settled(("300 kB", "500 Mbit/s")) == 0
    assert settled(("15 kB", "500 Mbit/s")) == pytest.approx(small / 0.2 + 1, abs=2)
    before = small / (1 - 510 / 625)  # pass the faster bucket until it is empty
    left = large - before * 0.2  # of the slower one behind it, which its surplus empties
    assert settled(("15 kB", "510 Mbit/s"), ("30 kB", "500 Mbit/s")) == pytest.approx(before + left * 51, abs=3)
    waits = (large / 0.2 - before) * (1 - 510 / 625)  # at the faster bucket, once it is empty
    assert settled(("30 kB", "500 Mbit/s"), ("15 kB", "510 Mbit/s")) == pytest.approx(large / 0.2 + waits * 51, abs=8)
    # A tenth is lost: each packet sent takes 0.1 from the bucket in place of 0.2. Every tenth gives it
    # 0.8 back at once, so it may be empty 0.8 / 0.1 packets earlier.
    ends = small / (0.9 - 1 / 1.25) + 1
    assert ends - 0.8 / 0.1 <= settled(("15 kB", "500 Mbit/s"), loss="10 %") <= ends + 2
    # A bucket that takes less than half the tolerance away need not be empty.
    assert settled(("15 kB", "500 Mbit/s"), ("100 kB", "499.9 Mbit/s")) < 60


def test_a_round_trip_is_whole_with_what_was_skipped(tmp_path: Path) -> None:
    """90 ms and 250 ms each way: any of the four may be missing. A delay that is wrong stays wrong."""
    plan = plan_of(tmp_path, overtaking("50 %"))
    for missing_ms in (0, 90, 180, 250, 340, 430, 500, 590, 680):
        ((whole_ms, said),) = tolerances.unskipped(plan, 0, 3, 682.0, [(682.0 - missing_ms, "10.0.0.10")])
        assert (whole_ms, said) == (pytest.approx(682.0, abs=1e-6), "10.0.0.10")
    assert tolerances.unskipped(plan, 0, 3, 682.0, [(620.0, "")])[0][0] == pytest.approx(710.0)
    assert tolerances.unskipped(plan_of(tmp_path, overtaking("0 %")), 0, 3, 682.0, [(592.0, "")]) == [(592.0, "")]
