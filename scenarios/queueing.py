"""Where on a path a queue can form, and where that can be ruled out."""

from __future__ import annotations

from . import physics as ph
from .plan import Direction, Link, Node


def prove_queueing(nodes: list[Node], links: list[Link], ip_version: int) -> list[Link]:
    """The links with `can_queue` false where every packet provably arrives no faster than it leaves.

    What limits the arrivals: the sending host's NIC (framing of its link) and bus (no framing), and each link passed.
    One of them must give every packet size at least the time that it takes to leave here; both are linear in the size,
    so the smallest and the largest packet decide. Jitter, reordering and duplication change the spacing: nothing passed
    before them proves anything any more. A world that relies on this must enforce the NIC and bus of its hosts.
    """
    mtu = min(link.mtu_bytes for link in links)
    sizes = (ph.IP_HEADER[ip_version] + ph.TCP_HEADER, mtu)
    forward = _can_queue(nodes[0], [(k.forward, k.framing_bytes) for k in links], sizes)
    reverse = _can_queue(nodes[-1], [(k.reverse, k.framing_bytes) for k in reversed(links)], sizes)[::-1]
    return [
        link.model_copy(
            update={
                "forward": link.forward.model_copy(update={"can_queue": ahead}),
                "reverse": link.reverse.model_copy(update={"can_queue": back}),
            }
        )
        for link, ahead, back in zip(links, forward, reverse, strict=True)
    ]


def _can_queue(source: Node, lanes: list[tuple[Direction, int]], sizes: tuple[int, int]) -> list[bool]:
    bounds: list[tuple[int, int]] = []  # (rate, framing) that everything arriving has passed
    if source.nic_rate_bps:
        bounds.append((source.nic_rate_bps, lanes[0][1]))
    if source.bus_rate_bps:
        bounds.append((source.bus_rate_bps, 0))
    result = []
    for lane, framing in lanes:
        proved = any(
            all((size + framing) * rate <= (size + extra) * lane.rate_bps for size in sizes) for rate, extra in bounds
        )
        result.append(not proved)
        if lane.jitter_ns or lane.reorder or lane.duplicate:
            bounds.clear()
        else:
            bounds.append((lane.rate_bps, framing))
    return result
