"""Links that are passed in one step: which may be, and that nobody can tell, but for the wall time."""

import itertools
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from landspeed.results.samples_reader import Samples
from landspeed.worlds.emu.guest.joined_links import LEAST_TTL, MOST_LINES, JoinedLinks, runs_of
from tests.support.emu_fixtures import ROOT, execute, measure, plan_of, request, scenario, transfer

RECORD = ROOT / "scenarios" / "records" / "2004-06-25-geneva-pasadena.yaml"
LINK: dict[str, Any] = {"one_way_delay": "2 ms", "line_rate": "1 Gbit/s"}


def joined(folder: Path, links: list[dict[str, Any]], **more: Any) -> list[tuple[bool, int, int]]:
    """Direction, first and last link in the order in which packets pass them."""
    plan = plan_of(folder, scenario(links, **{"nic": "1 Gbit/s", **more}))
    return [(run.places[0][1], run.links[0], run.links[-1]) for run in runs_of(plan)]


# --- Which links -----------------------------------------------------------------------------------------------------


def test_what_only_takes_time_is_joined_both_ways(tmp_path: Path) -> None:
    assert joined(tmp_path, [LINK] * 5) == [(True, 0, 4), (False, 4, 0)]


def test_the_record_of_2004_is_one_run_but_for_the_line_that_its_bus_slows(tmp_path: Path) -> None:
    """Acknowledgments come at 10 Gbit/s to a bus of 6.7: they may wait there."""
    ahead, back = runs_of(plan_of(tmp_path, RECORD))
    assert ahead == JoinedLinks(
        tuple((link, True) for link in range(13)), (("pasadena", False),), arrives=(0, 1), from_host=True
    )
    assert back == JoinedLinks(
        tuple((link, False) for link in range(12, 0, -1)), (("geneva", False),), arrives=(12, 0), from_host=True
    )
    assert (ahead.routers, back.routers) == (12, 11)


SLOW = {**LINK, "line_rate": "100 Mbit/s"}


@pytest.mark.parametrize(
    "special",
    [{"loss": "0.1 %"}, {"jitter": "10 us"}, {"duplicate": "1 %"}, {"reorder": "1 %"}, {"corrupt": "1 %"}],
)
def test_chance_in_the_middle_parts_what_is_joined(tmp_path: Path, special: dict[str, str]) -> None:
    """Behind what changes the spacing a queue can form, at one link."""
    links = [LINK, LINK, {**LINK, **special}, LINK, LINK, LINK]
    respaced = not ({"loss", "corrupt"} & special.keys())
    ahead = [(True, 0, 1), (True, 4, 5) if respaced else (True, 3, 5)]
    back = [(False, 5, 3), *([] if respaced else [(False, 1, 0)])]
    assert joined(tmp_path, links) == [*ahead, *back]


@pytest.mark.parametrize(
    "event", [{"loss": "3 packets"}, {"line_rate": "2 Gbit/s"}, {"one_way_delay": "3 ms"}, {"down": "1 s"}]
)
def test_a_link_of_an_event_stays_by_itself(tmp_path: Path, event: dict[str, Any]) -> None:
    """Only in the direction that it touches."""
    found = joined(tmp_path, [LINK] * 6, events=[{"at": "0.5 s", "from": "r2", "to": "r3", **event}])
    assert (True, 0, 1) in found
    assert all(not (ahead and first <= 2 <= last) for ahead, first, last in found)
    assert [run for run in found if not run[0]] == [(False, 5, 0)]


def test_a_queue_stays_by_itself(tmp_path: Path) -> None:
    found = joined(tmp_path, [LINK, LINK, SLOW, SLOW, SLOW, LINK])
    assert found == [(True, 0, 1), (True, 3, 5), (False, 3, 0)]  # what comes back can queue at the first slow line


def test_a_packet_that_a_router_would_refuse_is_not_let_past_it(tmp_path: Path) -> None:
    """A smaller MTU in the middle: the router before it must see each packet."""
    large, small = {**LINK, "mtu": "9000 B"}, {**LINK, "mtu": "1500 B"}
    found = joined(tmp_path, [large, large, small, small, large, large])
    assert [run for run in found if run[0]] == [(True, 0, 1), (True, 3, 5)]


def test_a_packet_limit_of_ones_own_is_kept(tmp_path: Path) -> None:
    assert all(2 not in range(first, last + 1) for ahead, first, last in joined(
        tmp_path, [LINK, LINK, {**LINK, "packet_limit": 100_000}, LINK, LINK]) if ahead)  # fmt: skip


def test_long_paths_are_joined_piece_by_piece(tmp_path: Path) -> None:
    runs = runs_of(plan_of(tmp_path, scenario([LINK] * 150, nic="1 Gbit/s")))
    assert [len(run.links) for run in runs] == [64, 64, 22] * 2
    assert (runs[0].links[-1], runs[1].arrives, runs[1].routers) == (63, (63, 1), 64)
    assert MOST_LINES < LEAST_TTL


# --- And nobody can tell ---------------------------------------------------------------------------------------------

RATES = ("600 Mbit/s", "1 Gbit/s", "10 Gbit/s", "2.5 Gbit/s", "622 Mbit/s", "600 Mbit/s")
UNEVEN = [
    {
        "one_way_delay": f"{300 + 7 * number} us",
        "line_rate": rate,
        "framing": "pos" if number in (1, 3, 4) else "ethernet",
    }
    for number, rate in enumerate(RATES)
]


@pytest.mark.guest
@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize("fidelity", ["packets", "super-packets"])
def test_each_packet_arrives_at_the_same_nanosecond(tmp_path: Path, ip: int, fidelity: str) -> None:
    """Alone and in trains, over lines of several rates and framings: as over every hop."""
    plan = plan_of(tmp_path, scenario(UNEVEN, ip=ip, fidelity=fidelity, nic="600 Mbit/s"))
    ahead, back = runs_of(plan)
    assert (ahead.links, back.links) == ((0, 1, 2, 3, 4, 5), (5, 4, 3, 2, 1, 0))
    last = len(UNEVEN)
    requests = [
        *(request(plan, 0, last, size, 3, gap_ns=20_000_000) for size in (100, 577, 1500)),
        *(request(plan, 0, last, size, 200, together=200) for size in (100, 1500)),
        request(plan, last, 0, 1500, 100, together=100),
        *([request(plan, 0, last, 1500, 80, together=40, segmented=True)] if fidelity == "super-packets" else []),
    ]
    seen = []
    for every_hop in (False, True):
        folder = tmp_path / str(every_hop)
        folder.mkdir()
        trains = measure(plan, folder, requests, every_hop=every_hop)
        assert [len(train.arrived) >= 1 for train in trains] == [True] * len(requests)
        seen.append(
            [[(each.sequence, each.one_way_ns, each.frame_bytes) for each in train.arrived] for train in trains]
        )
    assert seen[0] == seen[1]


@pytest.mark.guest
@pytest.mark.parametrize("ip", [4, 6])
def test_a_ping_takes_the_short_way_there_and_back(tmp_path: Path, ip: int) -> None:
    """Its times are those of the way hop by hop, so only the counters can tell."""
    plan = plan_of(tmp_path, scenario(UNEVEN, ip=ip, nic="600 Mbit/s"))
    script = "ping -c 3 omega >/dev/null; for node in /run/netns/*; do ip netns exec ${node##*/} tc -s qdisc show; done"
    shown = execute(plan, tmp_path, "sh", "-c", script)
    passed = re.findall(r"dev (join\d) .*\n Sent \d+ bytes (\d+) pkt", shown.out)
    assert sorted(passed) == [("join0", "3"), ("join1", "3")], shown.out


@pytest.mark.guest
@pytest.mark.parametrize(("fidelity", "lost"), [("packets", True), ("super-packets", False), ("super-packets", True)])
def test_a_transfer_is_the_same_over_every_hop(tmp_path: Path, fidelity: str, lost: bool) -> None:
    """Goodput, retransmits and each link's counters at each sample; with a link that could queue and an event.

    Nothing overflows here: what does so depends on single microseconds, which programs that read the clock move. And
    there is no chance: each packet of the calibration takes a number of it.
    """
    fast = {"one_way_delay": "3 ms", "line_rate": "10 Gbit/s"}
    links = [fast, fast, fast, *[LINK] * 6]
    content = scenario(
        links,
        mtu="9000 B",
        nic="10 Gbit/s",
        queue="2 MB",
        fidelity=fidelity,
        events=[{"at": "2 s", "from": "r4", "to": "r5", "loss": "2 packets"}] if lost else [],
        transfer={"duration": "6 s", "window": "6 MB"},
    )
    plan = plan_of(tmp_path, content)
    assert len(runs_of(plan)) >= 3
    found = []
    for every_hop in (False, True):
        record, bundle = transfer(plan, tmp_path / str(every_hop), every_hop=every_hop, exact_timers=True)
        assert record.passed, record.verdicts
        assert bool(record.guest.joined) != every_hop
        found.append((record, Samples(bundle)))
    (short, short_samples), (every, every_samples) = found
    assert short.retransmits == every.retransmits
    if fidelity == "packets":
        assert short.goodput_bps == pytest.approx(every.goodput_bps, rel=1e-4)
    elif not lost:
        assert short.goodput_bps == every.goodput_bps
    else:
        # After the losses the window is what limits. ACKs that meet the sender 256 ns (a reading of the clock) earlier
        # or later cut its bursts of 64 KB elsewhere, so CUBIC adds its next packet some ms earlier or later. Where the
        # windows differ, by one packet, so does each round trip until the next sample; and a burst can be on either
        # side of the end at both ends. Without the losses the two are the same to the byte.
        windows = [samples.sender["cwnd_packets"].to_pylist() for samples in (short_samples, every_samples)]
        apart = [abs(mine - theirs) for mine, theirs in zip(*windows, strict=True)]
        assert max(apart) <= 1
        round_trips = 0.1 / (2 * (3 * 0.003 + 6 * 0.002))  # in a sample's interval
        most = 8948 * round_trips * sum(apart) + 2 * 65536
        assert short.goodput_bps == pytest.approx(every.goodput_bps, abs=most * 8 / 6)
    largest = 180_000 if fidelity == "super-packets" else 9014
    for mine, theirs in zip(_counted(short_samples), _counted(every_samples), strict=True):
        assert mine[:2] == theirs[:2]
        assert mine[2] == pytest.approx(theirs[2], abs=10_000)
        # Three packets as the moments of reading differ; after the losses bursts of 64 KB that have gone before a
        # sample here and after it there. Four are 0.2 ms of the line, a fifteenth of a link's delay.
        assert mine[3] == pytest.approx(theirs[3], abs=3 * largest + 4 * 66_000 * lost), mine


def _counted(samples: Samples) -> list[tuple[int, str, int, int]]:
    """Link, direction, time and bytes since the transfer began, of each sample while it ran."""
    columns = [samples.links[name].to_pylist() for name in ("link", "direction", "time_ns", "bytes")]
    rows = list(zip(*columns, strict=True))
    begins: dict[tuple[int, str], int] = {}
    for link, direction, time_ns, count in rows:
        if time_ns < 0:
            begins[link, direction] = count
    return [(k, way, at, count - begins[k, way]) for k, way, at, count in rows if 0 <= at < 5_900_000_000]


@pytest.mark.guest
def test_programs_see_what_they_see_over_every_hop(tmp_path: Path) -> None:
    """TTLs, the hops of a traceroute, Ethernet addresses and interface at which packets arrive."""
    plan = plan_of(tmp_path, scenario([LINK] * 5, nic="1 Gbit/s"))
    script = (
        "traceroute -n -q 1 omega; ping -c 2 -q omega; ping -c 1 -t 64 omega;"
        "ip netns exec omega tcpdump -c 2 -i eth0 -e -n -v icmp 2>/dev/null & sleep 1; ping -c 2 omega; wait;"
        "ip netns exec omega cat /sys/class/net/eth0/statistics/rx_packets; ping -c 1 r3"
    )
    said = []
    for every_hop in (False, True):
        folder = tmp_path / str(every_hop)
        folder.mkdir()
        done = execute(plan, folder, "sh", "-c", script, every_hop=every_hop)
        assert done.status == 0, done.err
        said.append(re.sub(r"id \d+|[\d.]+/[\d.]+/[\d.]+/[\d.]+ ms|^[\d:.]+ ", "", done.out, flags=re.MULTILINE))
    assert "ttl=251" in said[0]
    assert said[0] == said[1]


@pytest.mark.guest
def test_the_samples_of_links_know_what_is_under_way(tmp_path: Path) -> None:
    """Of a path of ten links at a steady rate each has passed less than the one before, by what is between them."""
    links = [{"one_way_delay": "10 ms", "line_rate": "1 Gbit/s"}] * 10
    plan = plan_of(
        tmp_path, scenario(links, mtu="9000 B", nic="1 Gbit/s", transfer={"duration": "4 s", "window": "60 MB"})
    )
    assert [len(run.links) for run in runs_of(plan)] == [10, 10]
    _, bundle = transfer(plan, tmp_path)
    rows = pq.read_table(bundle / "links.parquet").to_pylist()
    steady = [row for row in rows if row["direction"] == "forward" and 2.5e9 < row["time_ns"] < 3.9e9]
    at = {
        time_ns: [row["bytes"] for row in steady if row["time_ns"] == time_ns]
        for time_ns in {r["time_ns"] for r in steady}
    }
    assert len(at) >= 10
    between = 1e9 / 8 * 0.01 * 9014 / 9038
    for counts in at.values():
        assert [a - b for a, b in itertools.pairwise(counts)] == pytest.approx([between] * 9, abs=2 * 9014)
