"""The parameters of a direction's discipline as the options of its qdisc."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from landspeed.scenario.theory.timing import packet_mtu
from landspeed.worlds.emu.guest.shaping.direction_options import VETH_HEADER_BYTES, bucket_rate

if TYPE_CHECKING:
    from landspeed.scenario.plan.direction import Direction
    from landspeed.scenario.plan.plan import Link, Plan

CAKE_OVERHEAD = 4  # kernel's memory for a small packet, of its bytes; CAKE counts that memory


def managed(plan: Plan, link: Link, direction: Direction, bucket: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Kind and options of the qdisc that keeps a direction's queue; None where the line itself does.

    Args:
        plan: the whole.
        link: the link.
        direction: one of its directions.
        bucket: the options of the line below (link_qdiscs.py): its limit is the queue's.
    """
    parameters = direction.parameters
    if parameters is None:
        return None
    said = {name: value for name, value in asdict(parameters).items() if value is not None}
    frame = link.mtu_bytes + VETH_HEADER_BYTES
    limit_bytes = bucket["limit_bytes"]
    room = {"limit_bytes": limit_bytes, "limit_packets": max(limit_bytes // frame, 1)}
    if direction.discipline == "tbf":
        assert parameters.burst_bytes is not None
        rate, overhead = bucket_rate(plan, parameters.rate_bps or 0, link.framing_bytes, packet_mtu(plan, link))
        if link.pads:  # its root has counted it
            rate, overhead = round((parameters.rate_bps or 0) / 8), 0
        tokens = {"rate_bytes_per_s": rate, "overhead_bytes": overhead, "burst_bytes": parameters.burst_bytes}
        return "tbf", tokens | {"limit_bytes": limit_bytes}
    if direction.discipline == "red":
        packet_us = packet_mtu(plan, link) * 1e6 / bucket["rate_bytes_per_s"]
        return "red", room | said | {"packet_us": packet_us}
    if direction.discipline == "cake":
        return "cake", said | {"memory_bytes": min(CAKE_OVERHEAD * limit_bytes, (1 << 32) - 1)}
    return direction.discipline, room | {"quantum_bytes": frame} | said
