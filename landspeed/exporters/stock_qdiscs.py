"""Directions of links as words for `tc`, for any Linux: the qdiscs of the guest, without what its kernel has besides.

A direction is netem (delay and chance), below it a token bucket with the line's rate, below that the discipline that
keeps the queue. Frames count with their framing. Events, traces and MPTCP are no qdiscs: who exports says what is left
out (`left_out`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from landspeed.exporters.exporter import ExportError
from landspeed.scenario.plan.direction import Direction
from landspeed.scenario.plan.plan import Link, Plan
from landspeed.scenario.plan.routing import routes_of
from landspeed.scenario.theory.timing import link_name
from landspeed.worlds.emu.guest.shaping.direction_options import direction_options
from landspeed.worlds.emu.guest.shaping.discipline_options import managed
from landspeed.worlds.emu.guest.shaping.encode_netem import words as netem_words

LATE_TIMERS_NS = 1_000_000
"""Of an idle machine: as much as a token bucket makes up for."""


def qdisc_lines(plan: Plan, link: Link, *, forward: bool) -> list[str]:
    """One direction: what stands behind `tc qdisc add dev DEV`, line by line, the root first.

    Raises:
        ExportError: its discipline cannot be said to tc.
    """
    single = replace(plan, fidelity="packets")  # real programs' packets are single once offloads are off
    direction = link.forward if forward else link.reverse
    netem, bucket = direction_options(single, link, direction, forward=forward, stock=True)
    try:
        root = f"root handle 1: netem limit {netem['limit_packets']} {' '.join(netem_words(netem))}"
    except ValueError as error:
        raise ExportError(f"{plan.scenario}: {link_name(link)}: {error}") from None
    if bucket is None:
        overhead = f" {netem['overhead_bytes']}" if netem["overhead_bytes"] else ""
        return [f"{root} rate {netem['rate_bytes_per_s'] * 8}bit{overhead}"]
    if "rate_bytes_per_s" in netem:  # at which nothing takes time: jitter keeps the order
        root += f" rate {netem['rate_bytes_per_s'] * 8}bit"
    rate, overhead = bucket["rate_bytes_per_s"], bucket["overhead_bytes"]
    burst = bucket["burst_bytes"] + rate * LATE_TIMERS_NS // 10**9
    line = f"parent 1:1 handle 2: tbf rate {rate * 8}bit burst {burst} limit {max(bucket['limit_bytes'], burst)}"
    lines = [root, line + (f" overhead {overhead}" if overhead else "")]
    if (kept := managed(single, link, direction, bucket)) is not None:
        kind, options = kept
        if kind not in WORDS:
            raise ExportError(
                f"{plan.scenario}: {link_name(link)}: tc takes no parameters of '{kind}' as they stand in the "
                f"scenario; there are {', '.join(WORDS)}, and fifo: choose one with --set"
            )
        lines.append(f"parent 2:1 handle 3: {kind} {WORDS[kind](options)}")
    return lines


def left_out(plan: Plan) -> list[str]:
    """Words for what of a plan no qdisc says."""
    found: list[str] = []
    if plan.events:
        found.append(f"{len(plan.events)} events during the transfer")
    if any(each.trace for link in plan.links for each in (link.forward, link.reverse)):
        found.append("traces: the mean of each stands for it")
    if any(flow.second_route for flow in plan.flows):
        found.append("the second route of MPTCP")
    if any(link.pads for link in plan.links):
        found.append("cells and padding of lines: each packet counts as a full one does")
    routes = routes_of(plan)
    for flow in (each for each in plan.flows if each.own_way):
        tables = routes.way(flow.source, flow.target), routes.way(flow.target, flow.source)
        if tables != (flow.route, flow.route_back or flow.route[::-1]):
            found.append(f"the way of {flow.name} by itself: whatever goes to one host takes one way")
    if any(flow.transfer.protocol == "udp" for flow in plan.flows):
        found.append("flows of datagrams")
    if any(node.bus_rate_bps for node in plan.nodes):
        found.append("buses of hosts, but where one is slower than the line to it")
    return found


def _us(time_ns: int | None) -> str:
    return f"{(time_ns or 0) / 1e3:g}us"


def _codel(options: dict[str, Any]) -> str:
    mark = "" if options.get("ce_threshold_ns") is None else f" ce_threshold {_us(options['ce_threshold_ns'])}"
    ecn = "ecn" if options["ecn"] else "noecn"
    return f"limit {options['limit_packets']} target {_us(options['target_ns'])} interval {_us(options['interval_ns'])} {ecn}{mark}"  # noqa: E501


def _fq_codel(options: dict[str, Any]) -> str:
    return f"{_codel(options)} flows {options['flows']} quantum {options['quantum_bytes']} memory_limit 4294967295"


def _pie(options: dict[str, Any]) -> str:
    ecn = "ecn" if options["ecn"] else "noecn"
    control = f"alpha {options['alpha']} beta {options['beta']} {ecn}"
    return f"limit {options['limit_packets']} target {_us(options['target_ns'])} tupdate {_us(options['update_ns'])} {control}"  # noqa: E501


def _fq_pie(options: dict[str, Any]) -> str:
    return f"{_pie(options)} flows {options['flows']} quantum {options['quantum_bytes']} memory_limit 4294967295"


def _dualpi2(options: dict[str, Any]) -> str:
    """DualPI2; tc takes alpha and beta in Hz, the plan has 1/256 Hz (Linux 6.17, iproute2 6.17)."""
    control = f"alpha {options['alpha'] / 256:g} beta {options['beta'] / 256:g} coupling_factor {options['coupling']}"
    times = f"target {_us(options['target_ns'])} tupdate {_us(options['update_ns'])}"
    threshold = f"step_thresh {_us(options['ce_threshold_ns'])} classic_protection {options['classic_share']}%"
    return f"limit {options['limit_packets']} {times} {control} {threshold}"


def _sfq(options: dict[str, Any]) -> str:
    perturb = options["perturb_ns"] // 10**9
    queues = f"flows {options['flows']} depth {options['depth_packets']}"
    return (
        f"limit {min(options['limit_packets'], 65_535)} quantum {options['quantum_bytes']} perturb {perturb} {queues}"
    )


def _cake(options: dict[str, Any]) -> str:
    ack = "ack-filter" if options["ack_filter"] else "no-ack-filter"
    return f"unlimited {options['isolation']} rtt {_us(options['rtt_ns'])} {ack} memlimit {options['memory_bytes']}"


def _tbf(options: dict[str, Any]) -> str:
    words = f"rate {options['rate_bytes_per_s'] * 8}bit burst {options['burst_bytes']} limit {options['limit_bytes']}"
    return words + (f" overhead {options['overhead_bytes']}" if options["overhead_bytes"] else "")


WORDS: dict[str, Callable[[dict[str, Any]], str]] = {
    "codel": _codel,
    "fq_codel": _fq_codel,
    "pie": _pie,
    "fq_pie": _fq_pie,
    "dualpi2": _dualpi2,
    "sfq": _sfq,
    "cake": _cake,
    "tbf": _tbf,
}
"""Discipline → its words; RED is not here, for tc computes its weight and table from other figures."""


def whole_path(plan: Plan) -> tuple[list[str], list[str]]:
    """A path as one line there and one back, as two machines can have it.

    The slowest line of each direction stands for all, with its queue and discipline; the delays add up, and so do the
    chances of losing a packet; other chances are the slowest line's.

    Returns:
        the lines of `qdisc_lines` of the sender's interface, and of the receiver's.
    """
    there = min((link.forward for link in plan.links), key=lambda each: each.rate_bps)
    back = min((link.reverse for link in plan.links), key=lambda each: each.rate_bps)
    slowest = plan.links[[link.forward for link in plan.links].index(there)]
    link = replace(
        slowest,
        index=0,
        a=plan.nodes[0].name,
        b=plan.nodes[-1].name,
        mtu_bytes=min(each.mtu_bytes for each in plan.links),
        forward=_joined(there, [each.forward for each in plan.links]),
        reverse=_joined(back, [each.reverse for each in plan.links]),
    )
    ends = [plan.nodes[0], plan.nodes[-1]]
    single = replace(plan, nodes=ends, links=[link], flows=[replace(plan.flow, route=[0])], events=[])
    return qdisc_lines(single, link, forward=True), qdisc_lines(single, link, forward=False)


def _joined(slowest: Direction, all_of_them: list[Direction]) -> Direction:
    arrives = 1.0
    for each in all_of_them:
        arrives *= 1 - each.loss
    return replace(
        slowest,
        delay_ns=sum(each.delay_ns for each in all_of_them),
        jitter_ns=sum(each.jitter_ns for each in all_of_them),
        loss=1 - arrives if arrives < 1 else 0.0,
        can_queue=True,
        packet_limit=None,
        trace=None,
    )
