"""The built path against theory: rates and queues, packet by packet; test_truth.py has delays and shares of chance."""

import itertools
import math
from pathlib import Path
from typing import Any

import pytest

from tests.support.emu_fixtures import Train, measure, plan_of, request, scenario

pytestmark = pytest.mark.guest

SIGMAS = 5


# --- Rates -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fidelity", ["packets", "super-packets"])
def test_each_link_carries_exactly_its_line_rate(tmp_path: Path, fidelity: str) -> None:
    """100, 10 and 1 Gbit/s, three framings; forward a token bucket (it can queue), back netem's rate."""
    kinds = [(rate, framing) for rate in ("100 Gbit/s", "10 Gbit/s", "1 Gbit/s") for framing in ("ethernet", "pos")]
    kinds.append(("1 Gbit/s", "vxlan"))
    links = [
        {"one_way_delay": "1 ms", "line_rate": rate, "framing": framing, "queue": "90 MB"} for rate, framing in kinds
    ]
    first = {"line_rate": "200 Gbit/s", "one_way_delay": "1 ms"}
    content = scenario([first, *links, {"one_way_delay": "1 ms"}], nic="200 Gbit/s", mtu="9000 B", fidelity=fidelity)
    plan = plan_of(tmp_path, content)
    requests, wanted = [], []
    for link in plan.links[1:-1]:
        for origin, target, lane in (
            (link.index, link.index + 1, link.forward),
            (link.index + 1, link.index, link.reverse),
        ):
            if fidelity == "super-packets" and not lane.can_queue:
                continue  # what the first line spaced goes on as it is (test_records.py)
            for segmented in (False, True) if fidelity == "super-packets" else (False,):
                requests.append(request(plan, origin, target, 9000, 1800, together=6, segmented=segmented))
                wanted.append((9000 + link.framing_bytes) * 8e9 / lane.rate_bps)
    assert {lane.can_queue for link in plan.links[1:-1] for lane in (link.forward, link.reverse)} == {True, False}
    for train, packet_ns, asked in zip(measure(plan, tmp_path, requests), wanted, requests, strict=True):
        measured_ns = 9000 * 8e9 / train.ip_rate_bps(9000)
        assert packet_ns - 1 < measured_ns < packet_ns * 1.0001, asked  # the kernel counts whole nanoseconds
        assert len(train.arrived) == (300 if asked["segmented"] else 1800)


@pytest.mark.parametrize("size", [1500, 576, 64])
def test_framing_counts_for_packets_of_every_size(tmp_path: Path, size: int) -> None:
    """Each packet takes (size + 38) × 8 / rate, exactly, behind a token bucket and behind netem's own rate."""
    lanes = [
        {"one_way_delay": "1 ms", "line_rate": rate, "queue": "9 MB"} for rate in ("10 Gbit/s", "1 Gbit/s", "1 Gbit/s")
    ]
    plan = plan_of(tmp_path, scenario(lanes))
    trains = measure(plan, tmp_path, [request(plan, *ends, size, 2000, together=20) for ends in ((1, 2), (2, 1))])
    for train in trains:
        assert train.ip_rate_bps(size) == pytest.approx(1e9 * size / (size + 38), rel=1e-4)


# --- Queues ----------------------------------------------------------------------------------------------------------


def test_a_queue_overflows_at_its_bytes_whatever_the_delay(tmp_path: Path) -> None:
    """A burst of twice the queue: what is queued passes, and the packet on the line; the rest is dropped."""
    queues = [30_000, 300_000, 3_000_000]
    waits = [("1 ms", queue) for queue in queues] + [("80 ms", queue) for queue in queues]
    links = [{"one_way_delay": delay, "queue": f"{queue} B"} for delay, queue in waits]
    # Rates that fall from link to link, so that each of them can queue.
    for place, link in enumerate(links):
        link["line_rate"] = f"{1000 - 10 * place} Mbit/s"
    content = scenario([{"line_rate": "10 Gbit/s", "one_way_delay": "1 ms"}, *links, {"one_way_delay": "1 ms"}])
    plan = plan_of(tmp_path, content)
    assert all(link.forward.can_queue for link in plan.links[1:-1])
    requests = [
        request(plan, link.index, link.index + 1, 1500, 2 * link.forward.queue_bytes // 1514 + 10, together=50)
        for link in plan.links[1:-1]
    ]
    for link, train in zip(plan.links[1:-1], measure(plan, tmp_path, requests), strict=True):
        lane = link.forward
        holds = lane.queue_bytes // 1514
        assert holds <= len(train.arrived) <= holds + 2, lane
        assert [each.sequence for each in train.arrived[:holds]] == list(range(holds)), "first in, first out"
        waited_ns = train.arrived[holds - 1].one_way_ns - lane.delay_ns
        assert waited_ns == pytest.approx(holds * 1538 * 8e9 / lane.rate_bps, abs=2.5 * 1538 * 8e9 / lane.rate_bps)


# --- Impairments -----------------------------------------------------------------------------------------------------

COUNT = 8000
IMPAIRED = [
    {"loss": "1 %"},
    {"duplicate": "2 %"},
    {"reorder": "5 %"},
    {"corrupt": "3 %"},
    {"jitter": "1 ms"},
]


def _impaired(folder: Path, seed: int) -> list[Train]:
    """One train over each kind of link."""
    folder.mkdir()
    links: list[dict[str, Any]] = [
        {"one_way_delay": "5 ms", "line_rate": "10 Gbit/s", "queue": "30 MB", **each} for each in IMPAIRED
    ]
    plain = {"one_way_delay": "1 ms", "line_rate": "10 Gbit/s"}
    plan = plan_of(folder, scenario([plain, *links, plain]), seed=seed)
    # Jitter is seen best when packets cannot catch up with one another.
    gaps = [0, 0, 20_000, 0, 3_000_000]
    requests = [
        request(
            plan,
            place,
            place + 1,
            1000,
            COUNT,
            gap_ns=gap,
            together=1 if gap else 20,
            whole="corrupt" in IMPAIRED[place - 1],
        )
        for place, gap in enumerate(gaps, start=1)
    ]
    return measure(plan, folder, requests)


@pytest.fixture(scope="module")
def impaired(tmp_path_factory: pytest.TempPathFactory) -> list[list[Train]]:
    """Three guests: two with one seed, one with another."""
    base = tmp_path_factory.mktemp("impaired")
    return [_impaired(base / name, seed) for name, seed in (("first", 7), ("again", 7), ("other", 8))]


def test_loss_is_independent_from_packet_to_packet(impaired: list[list[Train]]) -> None:
    """Losses that follow a loss are as rare as others: runs are geometric."""
    arrived = {each.sequence for each in impaired[0][0].arrived}
    lost = [number not in arrived for number in range(COUNT)]
    pairs = sum(a and b for a, b in itertools.pairwise(lost))
    assert pairs <= 0.0001 * COUNT + SIGMAS * math.sqrt(0.0001 * COUNT)


def test_the_same_seed_gives_the_same_packets_at_the_same_times(impaired: list[list[Train]]) -> None:
    first, again, other = impaired
    assert first == again
    for place, _ in enumerate(IMPAIRED):
        assert first[place] != other[place]


# --- Offloads --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("fidelity", "arrivals"), [("packets", 60), ("super-packets", 10)])
def test_packets_are_merged_only_where_the_scenario_allows_it(tmp_path: Path, fidelity: str, arrivals: int) -> None:
    """Even a program that merges its own datagrams (UDP_SEGMENT) sends single packets into a path of `packets`."""
    plan = plan_of(tmp_path, scenario([{"one_way_delay": "1 ms"}] * 3, fidelity=fidelity))
    ends = [(0, 3), (1, 3)]  # a program on the host, and one on a router
    requests = [request(plan, *pair, 1500, 60, together=6, segmented=True) for pair in ends]
    assert [len(train.arrived) for train in measure(plan, tmp_path, requests)] == [arrivals] * 2
