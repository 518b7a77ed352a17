"""Packets keep their spacing while a rate is measured: what moves them rests until then.

`jitter`, `reorder` and `duplicate` of the links are switched off. Both hosts' fq lets each packet leave at its own
time, not up to ten microseconds later together with others, which a queue of one frame would lose.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from functools import cache
from typing import TYPE_CHECKING

from landspeed.worlds.emu.guest.network.netlink import PARENT_ROOT
from landspeed.worlds.emu.guest.shaping.direction_options import direction_options
from landspeed.worlds.emu.guest.shaping.encode_qdisc import options_of
from landspeed.worlds.emu.guest.shaping.link_qdiscs import CHILD, FIRST_CLASS, ROOT, shaped_device

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Link
    from landspeed.worlds.emu.guest.network.flow_path import FlowPath
    from landspeed.worlds.emu.guest.network.network import Network

AT_REST = {"jitter_ns": 0, "reorder": 0.0, "duplicate": 0.0}
FQ_SLACK_NS = 10_000  # net/sched/sch_fq.c


@contextlib.contextmanager
def spacing_kept(path: FlowPath) -> Generator[None]:
    """Hold packets in their places within the block; nothing may be under way at its ends."""
    _tell(path, AT_REST, slack_ns=1)
    try:
        yield
    finally:
        _tell(path, {}, slack_ns=FQ_SLACK_NS)


def _tell(path: FlowPath, changes: dict[str, float], *, slack_ns: int) -> None:
    network = path.network
    for position in (0, len(path.nodes) - 1):
        place, name = network.position[path.names[position]], path.interface_name(position)
        message = options_of("fq", timer_slack_ns=slack_ns)
        network.netlink(place).change_qdisc("fq", network.interface(place, name), CHILD, FIRST_CLASS, message)
    _tell_moving(network, changes)


def _tell_moving(network: Network, changes: dict[str, float]) -> None:
    for link, forward in _moving(network):
        direction = link.forward if forward else link.reverse
        options, _ = direction_options(network.plan, link, direction, forward=forward, late_ns=network.late_ns)
        place, name = shaped_device(network, link.index, forward=forward)
        message = options_of("netem", **options | changes)
        network.netlink(place).change_qdisc("netem", network.interface(place, name), ROOT, PARENT_ROOT, message)


@cache
def _moving(network: Network) -> list[tuple[Link, bool]]:
    """Links, and whether forward, that change the spacing of packets: asked for twice a path."""
    return [
        (link, forward)
        for link in network.plan.links
        for forward in (True, False)
        if (link.forward if forward else link.reverse).respaces
    ]
