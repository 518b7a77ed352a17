"""The plan's links as lines for `tc qdisc add`, for a Linux box between the hosts that becomes the whole path.

The same qdiscs as in the guest (guest/shaping/direction_options.py), one set for each direction of each link; on the
box a link is a veth pair and a router is a namespace (modules/landspeed_path.py). Two things differ. Timers of a
real machine are late, so a token bucket may make up for it (`late_timers_ns`). And chance is not seeded: a packet's
fate on a real path is its own.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from landspeed.scenario.plan.direction import Direction
from landspeed.scenario.plan.plan import Link, Plan
from landspeed.scenario.theory.timing import link_name
from landspeed.worlds.emu.guest.shaping.direction_options import VETH_HEADER_BYTES, direction_options
from landspeed.worlds.emu.guest.shaping.encode_netem import words as netem_words
from landspeed.worlds.real.errors import RealError

LATE_TIMERS_NS = 1_000_000
"""Of an idle machine of one's own."""
DEEPEST_BUCKET_BYTES = 2 << 20
"""What a train of the calibration surely empties (modules/landspeed_rates.py)."""


def shape_links(plan: Plan, late_timers_ns: int = LATE_TIMERS_NS) -> list[dict[str, Any]]:
    """Describe each link for the roles.

    Args:
        plan: of the path.
        late_timers_ns: how late the box's timers may be; its token buckets hold what comes in that time, which is also
            the longest burst that a link lets through after a pause.

    Returns:
        `name`, `mtu_bytes`, `rtt_ms`, `jitter_ms`; the lines `forward` and `reverse` of `tc qdisc add dev VETH …`; and
        what these are to come to, `forward_bps` and `reverse_bps`, in bit/s of IP packets of full size.

    Raises:
        RealError: the scenario has what a box between real hosts cannot be, or a bucket would be too deep.
    """
    single = replace(plan, fidelity="packets")  # real hosts send single packets
    return [
        {
            "name": link_name(link),
            "mtu_bytes": link.mtu_bytes,
            "forward_bps": _ip_rate_bps(single, link, link.forward, link.index + 1),
            "reverse_bps": _ip_rate_bps(single, link, link.reverse, link.index),
            "jitter_ms": max(link.forward.jitter_ns, link.reverse.jitter_ns) / 1e6,
            "rtt_ms": (link.forward.delay_ns + link.reverse.delay_ns) / 1e6,
            "forward": _lines(single, link, link.forward, late_timers_ns, forward=True),
            "reverse": _lines(single, link, link.reverse, late_timers_ns, forward=False),
        }
        for link in plan.links
    ]


def _ip_rate_bps(plan: Plan, link: Link, direction: Direction, far: int) -> float:
    """Rate of IP packets of full size on a link's line, or on the bus of the host that it reaches."""
    line_bps = direction.rate_bps * link.mtu_bytes / (link.mtu_bytes + link.framing_bytes)
    return min(line_bps, plan.nodes[far].bus_rate_bps or line_bps)


def _lines(plan: Plan, link: Link, direction: Direction, late_ns: int, *, forward: bool) -> list[str]:
    if direction.discipline == "red":
        raise RealError(
            f"{plan.scenario}: link {link.index}, {link.a}–{link.b}: tc cannot set the scenario's RED parameters; "
            "use discipline fifo or fq_codel on a shaped path"
        )
    netem, bucket = direction_options(plan, link, direction, forward=forward, stock=True)
    try:
        words = [f"root handle 1: netem limit {netem['limit_packets']}", *netem_words(netem)]
    except ValueError as error:
        raise RealError(f"{plan.scenario}: {link_name(link)}: {error}") from None
    if bucket is not None and "rate_bytes_per_s" in netem:
        words += [f"rate {netem['rate_bytes_per_s'] * 8}bit"]  # at which nothing takes time: jitter keeps the order
    if bucket is None:
        return [" ".join([*words, f"rate {netem['rate_bytes_per_s'] * 8}bit {netem['overhead_bytes']}"])]
    rate, overhead = bucket["rate_bytes_per_s"], bucket["overhead_bytes"]
    late_bytes = math.ceil(rate * late_ns / 1e9)
    if late_ns > LATE_TIMERS_NS and late_bytes > DEEPEST_BUCKET_BYTES:
        most_ms = DEEPEST_BUCKET_BYTES / rate * 1e3
        raise RealError(
            f"{plan.scenario}: link {link.index}, {link.a}–{link.b}: timers that are {late_ns / 1e6:g} ms late need a "
            f"bucket of {late_bytes} bytes, more than the calibration can empty; at this rate at most {most_ms:.3g} ms"
        )
    burst = bucket["burst_bytes"] + late_bytes
    tbf = f"parent 1:1 handle 2: tbf rate {rate * 8}bit burst {burst} limit {max(bucket['limit_bytes'], burst)}"
    lines = [" ".join(words), tbf + (f" overhead {overhead}" if overhead else "")]
    if direction.discipline == "fq_codel":
        lines.append("parent 2:1 handle 3: fq_codel " + _fq_codel(link, direction, bucket["limit_bytes"]))
    return lines


def _fq_codel(link: Link, direction: Direction, limit_bytes: int) -> str:
    frame, asked = link.mtu_bytes + VETH_HEADER_BYTES, direction.parameters
    assert asked is not None
    words = (
        f"limit {max(limit_bytes // frame, 1)} flows {asked.flows} quantum {asked.quantum_bytes or frame} "
        f"target {(asked.target_ns or 0) / 1e3:g}us interval {(asked.interval_ns or 0) / 1e3:g}us "
    )
    threshold = f" ce_threshold {asked.ce_threshold_ns / 1e3:g}us" if asked.ce_threshold_ns is not None else ""
    return words + ("ecn" if asked.ecn else "noecn") + f" memory_limit 4294967295{threshold}"
