"""Queues of a path: where one can form, where that can be ruled out, and how long a full one delays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from landspeed.base.limits import LINE_RATE
from landspeed.scenario.plan.direction import Direction
from landspeed.scenario.plan.flow_path import lanes, subflows
from landspeed.scenario.plan.plan import Event, Link, Plan
from landspeed.scenario.theory import physics as ph
from landspeed.scenario.theory.timing import data_rtt_ns, packet_mtu, path_mtu

_Bound: TypeAlias = tuple[int, int]
"""A rate in bit/s, and the framing with which it counts."""


def prove_queueing(plan: Plan) -> list[Link]:
    """The links with `can_queue` false where every packet provably arrives no faster than it leaves.

    What limits the arrivals: the sending host's NIC (framing of its link) and bus (no framing), and each link passed.
    One of them must give every packet size at least the time that it takes to leave here; both are linear in the size,
    so the smallest and the largest packet decide. A queue packs packets together again at the rate of its link: nothing
    passed before it proves anything any more. The same holds for jitter, reordering and duplication, which change the
    spacing, and for a delay that changes. A link that duplicates sends more than arrives. A link whose rate an event or
    a trace changes counts with its lowest rate for what leaves it and with its highest for what it lets through;
    background traffic can make a queue anywhere, and ends at the far end of its link. A world that relies on this must
    enforce the NIC and bus of its hosts.

    Where flows meet that have come over different links, a queue can form; and where none passes, nothing is proved.
    """
    before = _before(plan)
    proofs = _Proofs(plan, before)
    return [
        replace(
            link,
            forward=replace(link.forward, can_queue=proofs.can_queue((link.index, True))),
            reverse=replace(link.reverse, can_queue=proofs.can_queue((link.index, False))),
        )
        for link in plan.links
    ]


@dataclass(frozen=True)
class FullQueue:
    """The queue of a path that its transfer fills: in front of the slowest line.

    Attributes:
        link: that line's; the queue is of its forward direction.
        wait_ns: what a packet waits in it when it is full.
        rtt_ns: round trip of a full packet then, or with all of the window in the queue where that is less.
    """

    link: Link
    wait_ns: int
    rtt_ns: int


def full_queue(plan: Plan) -> FullQueue | None:
    """Queueing delay of a path by arithmetic: the queue's packets over the line's rate.

    None where no queue fills: something else than a line binds the transfer, or the line has a discipline that keeps
    its queue short, or a rate that changes.
    """
    mtu = path_mtu(plan)
    link = min(plan.links[: plan.hops], key=lambda each: each.forward.rate_bps * mtu / each.line_bytes(mtu))
    lane = link.forward
    changes = lane.trace is not None or any(
        event.kind == "rate" for event in _touching(plan.events, link.index, "forward")
    )
    bound = plan.physics.expected_bottleneck.kind == LINE_RATE
    if not bound or not lane.can_queue or lane.discipline != "fifo" or changes:
        return None
    packet_ns = ph.serialization_ns(mtu, link.framing_of(mtu), lane.rate_bps)
    wait_ns, base_ns = lane.queue_bytes * packet_ns // mtu, data_rtt_ns(plan)
    rtt_ns, window_bps = base_ns + wait_ns, plan.physics.window_limit_bps
    if window_bps is not None:
        window_packets = window_bps * plan.physics.rtt_ns / (8e9 * plan.physics.mss_bytes)
        rtt_ns = max(base_ns, min(rtt_ns, round(window_packets * packet_ns)))
    return FullQueue(link, wait_ns, rtt_ns)


Place: TypeAlias = tuple[int, bool]
"""A direction: the link's index, and whether it is the forward one."""


def _before(plan: Plan) -> dict[Place, set[Place | str]]:
    """Sources of each direction's packets: another direction, or a host by its name. ACKs count, too."""
    found: dict[Place, set[Place | str]] = {}
    for flow in (each for whole in plan.flows for each in subflows(whole)):
        there, back = lanes(plan, flow)
        for source, places in ((flow.source, there), (flow.target, back)):
            last: Place | str = source
            for place in places:
                found.setdefault(place, set()).add(last)
                last = place
    return found


class _Proofs:
    """Proofs for the directions of a plan, each made once; what goes round in a circle is not proved."""

    def __init__(self, plan: Plan, before: dict[Place, set[Place | str]]) -> None:
        self._plan, self._before = plan, before
        self._sources = {node.name: node for node in plan.nodes}
        self._lanes = {
            (link.index, ahead): _WorstDirection(
                link.forward if ahead else link.reverse,
                link.framing_bytes,
                _touching(plan.events, link.index, "forward" if ahead else "reverse"),
            )
            for link in plan.links
            for ahead in (True, False)
        }
        self._found: dict[Place, tuple[bool, list[_Bound]]] = {}

    def can_queue(self, place: Place) -> bool:
        """Return whether a queue can form before a direction."""
        chain = [place]
        while (last := self._only_direction(chain[-1])) is not None and last not in chain and last not in self._found:
            chain.append(last)
        for each in reversed(chain):  # from the source on: a path may have more links than Python's stack has room
            self._found[each] = self._prove(each)
        return self._found[place][0]

    def _only_direction(self, place: Place) -> Place | None:
        origins = self._before.get(place, set())
        (origin,) = origins if len(origins) == 1 else (None,)
        return origin if isinstance(origin, tuple) else None

    def _prove(self, place: Place) -> tuple[bool, list[_Bound]]:
        """Return whether a queue can form there, and the bounds of all traffic that leaves it."""
        direction = self._lanes[place]
        bounds = self._arriving(place)
        proved = any(
            all(
                (size + direction.framing) * rate <= (size + extra) * direction.slowest_bps
                for size in self._sizes(place)
            )
            for rate, extra in bounds
        )
        pads = self._plan.links[place[0]].pads  # small packets take more of it than of what they came over
        queues = direction.background or direction.has_bucket or direction.duplicates or pads or not proved
        leaving = [] if queues or direction.respaces else bounds
        if not direction.respaces:
            leaving = [*leaving, (direction.fastest_bps, direction.framing)]
        return queues, leaving

    def _arriving(self, place: Place) -> list[_Bound]:
        """Rates, each with its framing, that everything arriving has passed."""
        origins = self._before.get(place, set())
        if len(origins) != 1:
            return []
        (origin,) = origins
        if isinstance(origin, tuple):
            return self._found[origin][1] if origin in self._found else []
        source, bounds = self._sources[origin], list[_Bound]()
        if source.nic_rate_bps:
            bounds.append((source.nic_rate_bps, self._lanes[place].framing))
        if source.bus_rate_bps:
            bounds.append((source.bus_rate_bps, 0))
        return bounds

    def _sizes(self, place: Place) -> tuple[int, int]:
        """The smallest and the largest packet."""
        ip_version = self._plan.ip_version
        return ph.IP_HEADER[ip_version] + ph.TCP_HEADER, packet_mtu(self._plan, self._plan.links[place[0]])


class _WorstDirection:
    """A direction with what events make of it in the worst case."""

    def __init__(self, direction: Direction, framing: int, events: list[Event]) -> None:
        changed = [event.rate_bps for event in events if event.kind == "rate" and event.rate_bps is not None]
        self.framing = framing
        self.slowest_bps = min([*direction.rates_bps, *changed])
        self.fastest_bps = max([*direction.rates_bps, *changed])
        self.has_bucket = direction.discipline == "tbf"  # slower than the line, and a queue before it
        self.background = any(event.kind == "background" for event in events)
        moved = len(direction.delays_ns) > 1 or any(event.kind == "delay" for event in events)
        self.respaces = direction.respaces or moved
        self.duplicates = bool(direction.duplicate)


def _touching(events: Sequence[Event], link: int, direction: str) -> list[Event]:
    return [event for event in events if event.link == link and direction in event.directions]
