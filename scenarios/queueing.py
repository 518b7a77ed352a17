"""Where on a path a queue can form, and where that can be ruled out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from . import physics as ph
from .plan import Direction, Event, Link, Node


def prove_queueing(nodes: list[Node], links: list[Link], ip_version: int, events: Sequence[Event] = ()) -> list[Link]:
    """The links with `can_queue` false where every packet provably arrives no faster than it leaves.

    What limits the arrivals: the sending host's NIC (framing of its link) and bus (no framing), and each link passed.
    One of them must give every packet size at least the time that it takes to leave here; both are linear in the size,
    so the smallest and the largest packet decide. A queue packs packets together again at the rate of its link: nothing
    passed before it proves anything any more. The same holds for jitter, reordering and duplication, which change the
    spacing, and for a delay that changes. A link whose rate an event or a trace changes counts with its lowest rate for
    what leaves it and with its highest for what it lets through; background traffic can make a queue anywhere, and ends
    at the far end of its link. A world that relies on this must enforce the NIC and bus of its hosts.
    """
    mtu = min(link.mtu_bytes for link in links)
    sizes = (ph.IP_HEADER[ip_version] + ph.TCP_HEADER, mtu)
    ahead = [_Lane(k.forward, k.framing_bytes, _touching(events, k.index, "forward")) for k in links]
    back = [_Lane(k.reverse, k.framing_bytes, _touching(events, k.index, "reverse")) for k in reversed(links)]
    forward = _can_queue(nodes[0], ahead, sizes)
    reverse = _can_queue(nodes[-1], back, sizes)[::-1]
    return [
        replace(link, forward=replace(link.forward, can_queue=there), reverse=replace(link.reverse, can_queue=here))
        for link, there, here in zip(links, forward, reverse, strict=True)
    ]


class _Lane:
    """A direction with what events make of it in the worst case."""

    def __init__(self, direction: Direction, framing: int, events: list[Event]) -> None:
        changed = [event.rate_bps for event in events if event.kind == "rate" and event.rate_bps is not None]
        self.framing = framing
        self.slowest_bps = min([*direction.rates_bps, *changed])
        self.fastest_bps = max([*direction.rates_bps, *changed])
        self.background = any(event.kind == "background" for event in events)
        moved = len(direction.delays_ns) > 1 or any(event.kind == "delay" for event in events)
        self.respaces = direction.respaces or moved


def _touching(events: Sequence[Event], link: int, direction: str) -> list[Event]:
    return [event for event in events if event.link == link and direction in event.directions]


def _can_queue(source: Node, lanes: list[_Lane], sizes: tuple[int, int]) -> list[bool]:
    bounds: list[tuple[int, int]] = []  # (rate, framing) that everything arriving has passed
    if source.nic_rate_bps:
        bounds.append((source.nic_rate_bps, lanes[0].framing))
    if source.bus_rate_bps:
        bounds.append((source.bus_rate_bps, 0))
    result: list[bool] = []
    for lane in lanes:
        proved = any(
            all((size + lane.framing) * rate <= (size + extra) * lane.slowest_bps for size in sizes)
            for rate, extra in bounds
        )
        queues = lane.background or not proved
        result.append(queues)
        if queues or lane.respaces:
            bounds.clear()
        if not lane.respaces:
            bounds.append((lane.fastest_bps, lane.framing))
    return result
