"""Where a queue can form: each thing that could prove otherwise, alone, at the edge, and what takes it away."""

from dataclasses import replace
from typing import Any

import pytest

from landspeed.scenario.plan.direction import Direction, QueueParameters
from landspeed.scenario.plan.plan import Calibration, Event, Flow, Link, Node, Plan, Transfer
from landspeed.scenario.resolve.flows import UNKNOWN
from landspeed.scenario.theory.ack_path import ack_path
from landspeed.scenario.theory.queueing import prove_queueing

G, M = 10**9, 10**6


def lane(rate_bps: int, **other: Any) -> Direction:
    return Direction(delay_ns=1_000_000, rate_bps=rate_bps, queue_bytes=100_000, can_queue=True, **other)


def path(
    *rates_bps: int, nic_bps: int | None = None, bus_bps: int | None = None, mtu: int = 1500
) -> tuple[list[Node], list[Link]]:
    """A path of Ethernet links, both directions alike; NIC and bus are of both hosts."""
    last = len(rates_bps)
    hosts = [Node(name=f"n{number}", kind="host", nic_rate_bps=nic_bps, bus_rate_bps=bus_bps) for number in (0, last)]
    routers = [Node(name=f"n{number}", kind="router") for number in range(1, last)]
    nodes = [hosts[0], *routers, hosts[1]]
    links = [
        Link(
            index=number, a=f"n{number}", b=f"n{number + 1}", mtu_bytes=mtu, framing="ethernet", framing_bytes=38,
            forward=lane(rate), reverse=lane(rate),
        )
        for number, rate in enumerate(rates_bps)
    ]  # fmt: skip
    return nodes, links


def with_lane(links: list[Link], number: int, way: str, **change: Any) -> list[Link]:
    changed = replace(getattr(links[number], way), **change)
    return [*links[:number], replace(links[number], **{way: changed}), *links[number + 1 :]]


TRANSFER = Transfer(
    streams=1, congestion_control="reno", receive="discard", sample_interval_ns=10**8, duration_ns=10**9
)


def path_plan(nodes: list[Node], links: list[Link], *events: Event, ip: Any = 4) -> Plan:
    """A path with one flow."""
    flow = Flow(
        name="transfer",
        source=nodes[0].name,
        target=nodes[-1].name,
        route=list(range(len(links))),
        transfer=TRANSFER,
        physics=UNKNOWN,
    )
    return Plan(
        scenario="test",
        title="A test",
        scenario_file="",
        seed=1,
        ip_version=ip,
        fidelity="packets",
        nodes=nodes,
        links=links,
        flows=[flow],
        events=list(events),
        calibration=Calibration(),
    )


def proved(nodes: list[Node], links: list[Link], *events: Event, ip: int = 4) -> tuple[list[bool], list[bool]]:
    found = prove_queueing(path_plan(nodes, links, *events, ip=ip))
    assert [replace(link, forward=links[0].forward, reverse=links[0].reverse) for link in found] == [
        replace(link, forward=links[0].forward, reverse=links[0].reverse) for link in links
    ]
    return [link.forward.can_queue for link in found], [link.reverse.can_queue for link in found]


def event(kind: Any, link: int = 1, direction: Any = "forward", **fields: Any) -> Event:
    return Event(at_ns=0, kind=kind, link=link, direction=direction, **fields)


# --- What limits the arrivals ----------------------------------------------------------------------------------------


def test_without_nic_and_bus_nothing_is_proved_at_the_first_link() -> None:
    assert proved(*path(G, G)) == ([True, False], [False, True])


def test_a_nic_as_fast_as_its_link_fills_no_queue() -> None:
    assert proved(*path(G, G, nic_bps=G)) == ([False, False], [False, False])
    assert proved(*path(G, G, nic_bps=G + 1)) == ([True, False], [False, True])


def test_each_direction_has_the_host_that_sends() -> None:
    nodes, links = path(G, G, nic_bps=G)
    assert proved([replace(nodes[0], nic_rate_bps=2 * G), *nodes[1:]], links) == ([True, False], [False, False])
    assert proved([*nodes[:-1], replace(nodes[-1], nic_rate_bps=2 * G)], links) == ([False, False], [False, True])


def test_a_bus_proves_by_its_smallest_packet() -> None:
    """A bus moves bare packets: 40 B of headers, which are 78 B on the line."""
    assert proved(*path(G, bus_bps=40 * G // 78)) == ([False], [False])
    assert proved(*path(G, bus_bps=40 * G // 78 + 1)) == ([True], [True])


def test_the_smallest_packet_of_ipv6_is_larger() -> None:
    assert proved(*path(G, bus_bps=60 * G // 98), ip=6) == ([False], [False])
    assert proved(*path(G, bus_bps=60 * G // 98 + 1), ip=6) == ([True], [True])


def test_of_nic_and_bus_either_is_enough() -> None:
    assert proved(*path(G, nic_bps=2 * G, bus_bps=100 * M)) == ([False], [False])
    assert proved(*path(G, nic_bps=G, bus_bps=2 * G)) == ([False], [False])
    assert proved(*path(G, nic_bps=2 * G, bus_bps=2 * G)) == ([True], [True])


def test_the_largest_packet_is_that_of_the_smallest_mtu() -> None:
    """POS in front: 9 B of framing a packet, so that at the same rate more of them arrive, the small ones above all."""
    nodes, links = path(G, G, nic_bps=G)
    pos = replace(links[0], framing="pos", framing_bytes=9)
    assert proved(nodes, [pos, links[1]]) == ([False, True], [False, False])
    # 49 B of line against 78: the second line needs 78/49 of the first one's rate, whatever the largest packet is.
    wide = [replace(pos, mtu_bytes=9000), with_lane(links, 1, "forward", rate_bps=G * 78 // 49 + 1)[1]]
    assert proved(nodes, wide)[0] == [False, False]
    narrow = [replace(pos, mtu_bytes=9000), with_lane(links, 1, "forward", rate_bps=G * 78 // 49)[1]]
    assert proved(nodes, narrow)[0] == [False, True]


def test_the_largest_packet_decides_where_the_framing_shrinks() -> None:
    """From Ethernet to POS, 1538 B arrive for 1509: the line may be as much slower, and for 576 B more so."""
    nodes, links = path(G, G, nic_bps=G)
    for mtu in (1500, 576):
        slow = -(-G * (mtu + 9) // (mtu + 38))
        for rate, queues in ((slow, False), (slow - 1, True)):
            second = replace(links[1], framing="pos", framing_bytes=9, mtu_bytes=9000, forward=lane(rate))
            assert proved(nodes, [replace(links[0], mtu_bytes=mtu), second])[0] == [False, queues]


def test_a_faster_link_proves_nothing_new_and_a_slower_one_queues() -> None:
    assert proved(*path(G, 2 * G, G, nic_bps=G)) == ([False, False, False], [False, False, False])
    assert proved(*path(G, G - 1, G, nic_bps=G)) == ([False, True, False], [False, True, False])


def test_a_token_bucket_queues_on_a_line_that_would_not() -> None:
    """It is slower than its line: without a queue before it, it would do nothing at all."""
    nodes, links = path(G, G, nic_bps=G)
    bucket = QueueParameters(rate_bps=50 * M, burst_bytes=20_000)
    assert not prove_queueing(path_plan(nodes, links))[1].forward.can_queue
    policed = with_lane(links, 1, "forward", discipline="tbf", parameters=bucket)
    assert prove_queueing(path_plan(nodes, policed))[1].forward.can_queue


def test_behind_a_queue_only_its_own_rate_counts() -> None:
    """What waited leaves back to back, at the rate of its own link: the NIC proves nothing any more."""
    nodes, links = path(2 * G, G, 2 * G, G, nic_bps=G)
    jittery = with_lane(links, 0, "forward", jitter_ns=1000)  # the second link queues now, and the proof begins anew
    assert proved(nodes, jittery)[0] == [False, True, False, False]
    slow = with_lane(jittery, 3, "forward", rate_bps=G - 1)
    assert proved(nodes, slow)[0] == [False, True, False, True]


def test_copies_need_room_on_their_own_line_and_take_every_proof_away() -> None:
    """More leaves than arrives: at 2 % of copies a full line's queue grows by a fiftieth of what comes."""
    nodes, links = path(G, G, G, nic_bps=G)
    copies = with_lane(links, 1, "forward", duplicate=0.02)
    assert proved(nodes, copies) == ([False, True, True], [False, False, False])
    assert proved(nodes, with_lane(copies, 1, "reverse", duplicate=0.02))[1] == [True, True, False]


@pytest.mark.parametrize("mishap", [{"jitter_ns": 1}, {"reorder": 0.1}])
def test_what_moves_packets_takes_every_proof_away(mishap: dict[str, Any]) -> None:
    nodes, links = path(G, G, G, nic_bps=G)
    assert proved(nodes, with_lane(links, 0, "forward", **mishap)) == ([False, True, False], [False, False, False])
    assert proved(nodes, with_lane(links, 2, "reverse", **mishap)) == ([False, False, False], [False, True, False])


def test_loss_and_corruption_take_none_away() -> None:
    nodes, links = path(G, G, nic_bps=G)
    assert proved(nodes, with_lane(links, 0, "forward", loss=0.5, corrupt=0.5))[0] == [False, False]


# --- Events ----------------------------------------------------------------------------------------------------------


def test_a_rate_that_falls_makes_a_queue_where_it_falls() -> None:
    nodes, links = path(G, G, G, nic_bps=G)
    assert proved(nodes, links, event("rate", rate_bps=G - 1)) == ([False, True, False], [False, False, False])
    back = event("rate", direction="reverse", rate_bps=G - 1)
    assert proved(nodes, links, back) == ([False, False, False], [False, True, False])
    both = event("rate", direction="both", rate_bps=G - 1)
    assert proved(nodes, links, both) == ([False, True, False], [False, True, False])


def test_a_rate_that_rises_lets_more_through() -> None:
    """The second link queues already. While it is faster, the third gets more than it can send."""
    nodes, links = path(2 * G, G, G, nic_bps=2 * G)
    assert proved(nodes, links)[0] == [False, True, False]
    assert proved(nodes, links, event("rate", rate_bps=G + 1))[0] == [False, True, True]


def test_of_several_rates_the_worst_counts() -> None:
    nodes, links = path(2 * G, G, G, nic_bps=2 * G)
    rates = [event("rate", rate_bps=rate) for rate in (G // 2, G, 3 * G)]
    assert proved(nodes, links, *rates)[0] == [False, True, True]
    assert proved(nodes, links, rates[0], rates[1])[0] == [False, True, False]


def test_a_delay_that_changes_moves_packets_together() -> None:
    nodes, links = path(G, G, G, nic_bps=G)
    assert proved(nodes, links, event("delay", delay_ns=5))[0] == [False, False, True]


def test_background_makes_a_queue_anywhere_and_ends_at_the_far_end() -> None:
    nodes, links = path(G, 10 * G, G, 10 * G, nic_bps=G)
    found = proved(nodes, links, event("background", rate_bps=G, duration_ns=1))
    assert found == ([False, True, True, False], [False, False, False, False])


@pytest.mark.parametrize("kind", ["loss", "down"])
def test_what_only_loses_changes_no_proof(kind: str) -> None:
    nodes, links = path(G, G, nic_bps=G)
    assert proved(nodes, links, event(kind, duration_ns=5)) == ([False, False], [False, False])


def test_an_event_touches_its_own_link_only() -> None:
    nodes, links = path(G, G, G, nic_bps=G)
    assert proved(nodes, links, event("rate", 0, rate_bps=M))[0] == [True, False, False]
    assert proved(nodes, links, event("rate", 2, rate_bps=M))[0] == [False, False, True]


# --- The way back as a limit -----------------------------------------------------------------------------------------


def test_the_way_back_that_is_filled_first() -> None:
    """Of 2 and 1 Mbit/s back, the slower: 1 Mbit/s × 2896 B / 90 B = 32.18 Mbit/s, from b to a in words."""
    _, links = path(G, G, G)
    links = with_lane(with_lane(links, 0, "reverse", rate_bps=2 * M), 1, "reverse", rate_bps=M, can_queue=False)
    found = ack_path(links, mss=1448, ip_version=4, fidelity="packets", line_rate_limit_bps=941 * M)
    assert found is not None
    joined = 941 * M * round(1_000_000 / 2048) // (8 * 10**9)  # GRO joins what comes in 488 ns: less than two packets
    assert joined < 2 * 1448
    assert (found.goodput_bps, found.drops, found.place) == (M * 2896 // 90, False, "link 2 n2–n1")
    assert found.link is links[1]
    dropping = ack_path(
        with_lane(links, 1, "reverse", can_queue=True), mss=1448, ip_version=4, fidelity="packets",
        line_rate_limit_bps=941 * M,
    )  # fmt: skip
    assert dropping is not None and dropping.drops


def test_a_way_back_that_is_wide_enough_is_no_limit() -> None:
    """Wide enough: half as much again as the lines ahead let through."""
    _, links = path(G)
    carried = G * 2896 // 90
    edge = carried * 2 // 3
    assert ack_path(links, mss=1448, ip_version=4, fidelity="packets", line_rate_limit_bps=edge) is None
    told = ack_path(links, mss=1448, ip_version=4, fidelity="packets", line_rate_limit_bps=edge + 1)
    assert told is not None and told.goodput_bps == carried


@pytest.mark.parametrize(("delay_ns", "joined_ns"), [(131_072_000, 64_000), (65_536_000, 32_000), (10**9, 64_000)])
def test_a_host_joins_what_comes_while_its_line_waits(delay_ns: int, joined_ns: int) -> None:
    """A 2048th of the delay, 64 µs at most: acknowledgments are fewer, and the way back is wider."""
    _, links = path(G, G)
    links = with_lane(with_lane(links, 1, "forward", delay_ns=delay_ns), 0, "reverse", rate_bps=M)
    found = ack_path(links, mss=1448, ip_version=4, fidelity="packets", line_rate_limit_bps=8 * G)
    assert found is not None
    assert found.goodput_bps == M * joined_ns // 90
    assert found.place == "link 1 n1–n0"


def test_super_packets_are_acknowledged_once() -> None:
    _, links = path(10 * G)
    links = with_lane(links, 0, "reverse", rate_bps=M)
    found = ack_path(links, mss=1448, ip_version=4, fidelity="super-packets", line_rate_limit_bps=9 * G)
    assert found is not None and found.goodput_bps == M * 180_000 // 90
