"""What the emulated world sets aside for a plan: packets in netem, memory in the guest."""

import math
from pathlib import Path
from typing import Any

import pytest

from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.emu.guest.shaping.packet_limit import enough_packets
from landspeed.worlds.emu.memory import KERNEL_BYTES, PAGES_SHARE, guest_memory_bytes, memory_for_bytes, transfer_memory
from tests.support.emu_fixtures import FIRST, pairs, plan_of, scenario, transfer

G, MS = 10**9, 10**6


def test_packet_limits_hold_what_is_under_way() -> None:
    """10 Gbit/s × 62 ms: 77.5 MB are 861 111 bare ACKs of 52 B and framing."""
    limit = enough_packets(10 * G, 62 * MS, 64_000_000, 38, 4)
    assert limit == math.ceil(77_500_000 / 90) + 1 + math.ceil(64_000_000 / 52) + 1000
    assert enough_packets(10**12, 60 * G, 10**15, 38, 4) == 2**32 - 1


def test_guest_memory_is_in_steps_and_grows() -> None:
    gib = 2**30
    ten = memory_for_bytes(330_000_000, 9000, "packets", "discard")
    queued = memory_for_bytes(660_000_000, 9000, "packets", "discard")
    hundred = memory_for_bytes(6_600_000_000, 9000, "packets", "discard")
    assert ten % (256 << 20) == 0
    assert 1.5 * gib <= ten < queued <= 3 * gib
    assert 8 * gib <= hundred <= 12 * gib
    assert memory_for_bytes(330_000_000, 9000, "super-packets", "discard") <= ten
    assert memory_for_bytes(330_000_000, 9000, "packets", "memory") >= ten


def test_no_more_memory_is_asked_for_than_the_transfer_sends(tmp_path: Path) -> None:
    """400 Gbit/s × 600 ms are 30 GB, and as much in the queue: 2 GB or 40 ms of them is what a short transfer has.

    A program of the user's may fill the whole path.
    """
    links = [{"one_way_delay": "1 ms"}, {"one_way_delay": "299 ms"}]
    cases = [({"bytes": "2 GB"}, 2e9 * 1500 / 1448), ({"duration": "40 ms"}, 2e9 * 1500 / 1538)]
    for asked, under_way in cases:
        plan = plan_of(tmp_path, scenario(links, line_rate="400 Gbit/s", nic="400 Gbit/s", transfer=asked))
        sent = memory_for_bytes(under_way, 1500, "packets", "discard")
        assert guest_memory_bytes(plan, transfer=True) == sent < 10 << 30
        assert guest_memory_bytes(plan) > 8 * sent


def long_path(rate: str, one_way_ms: int, mtu: str, links: int = 3, **asked: Any) -> dict[str, Any]:
    """A path that is full from its first round trip on."""
    hops = [{"one_way_delay": f"{one_way_ms / links:.6f} ms"}] * links
    return scenario(hops, line_rate=rate, nic=rate, mtu=mtu, transfer={"initial_window": 100_000, **asked})


SIZES = {
    "a few bytes": long_path("100 Mbit/s", 20, "1500 B", bytes="10 kB"),
    "120 MB of packets of 1500 B": long_path("10 Gbit/s", 50, "1500 B", duration="1 s", window="150 MB"),
    "950 MB of packets of 9000 B": long_path("40 Gbit/s", 100, "9000 B", duration="1 s", window="1 GiB"),
    "310 MB, each block made anew": long_path(
        "10 Gbit/s", 132, "9000 B", duration="2 s", window="400 MB", receive="verify"
    ),
    "128 streams": long_path("10 Gbit/s", 50, "9000 B", duration="1 s", window="4 MB", streams=128),
    "100 links": long_path("100 Mbit/s", 50, "1500 B", 100, duration="2 s"),
    "8 flows of a network": pairs(8),
}


@pytest.mark.guest
@pytest.mark.parametrize("which", SIZES)
def test_the_estimate_is_within_30_percent_of_what_is_touched(tmp_path: Path, which: str) -> None:
    touched, estimate = touched_and_estimate(plan_of(tmp_path, SIZES[which]), tmp_path)
    assert touched / 1.3 <= estimate <= touched * 1.3, (estimate >> 20, touched >> 20)


@pytest.mark.guest
def test_what_one_flow_sends_takes_no_memory(tmp_path: Path) -> None:
    """Beside the kernel, its pages and the programs there is no room for the payload's 32 MiB."""
    plan = plan_of(tmp_path, FIRST)
    touched, _ = touched_and_estimate(plan, tmp_path)
    most, _ = transfer_memory(plan, None)
    assert touched - most * PAGES_SHARE - KERNEL_BYTES < 16 << 20


@pytest.mark.guest
def test_a_host_more_takes_little_memory(tmp_path: Path) -> None:
    """What is sent takes no memory: a pair has its engines' own pages, namespaces, interfaces and packets."""
    few, many = (plan_of(tmp_path, pairs(count)) for count in (4, 24))
    (small, _), (large, estimate) = (touched_and_estimate(plan, tmp_path) for plan in (few, many))
    assert (large - small) / 40 == pytest.approx(1.95e6, rel=0.15)
    assert large / 1.3 <= estimate <= large * 1.3


def touched_and_estimate(plan: Plan, folder: Path) -> tuple[int, int]:
    """Make the transfer; the memory that its guest touched, and what was said before."""
    record, _ = transfer(plan, folder)
    most, estimate = transfer_memory(plan, None)
    touched = record.guest.memory_touched_bytes
    assert touched is not None and record.guest.memory_bytes == most
    return touched, estimate
