"""Scenario → Plan: the flows. A path has one, over all its links."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import cast

from landspeed.scenario.file.fault import Fault
from landspeed.scenario.file.flow_transfer import flow_transfer
from landspeed.scenario.file.key_names import plan_values
from landspeed.scenario.file.model import ScenarioFile
from landspeed.scenario.file.model import TransferSection as ScenarioTransfer
from landspeed.scenario.file.multipath import second_routes
from landspeed.scenario.file.network_routes import FlowWays, edges_of, flow_ways
from landspeed.scenario.plan.flow_path import path_of, subflows
from landspeed.scenario.plan.limits import Physics
from landspeed.scenario.plan.plan import PATH_FLOW, Flow, Node, Plan, Transfer
from landspeed.scenario.plan.routing import Lane, lanes_of
from landspeed.scenario.resolve.flow_physics import both_routes, datagram_physics, flow_physics
from landspeed.scenario.resolve.recorded import expected
from landspeed.scenario.theory.datagrams import CALL_PACKETS_PER_S, call_packet_bytes
from landspeed.scenario.theory.patience import patience_ns, slowest_bps
from landspeed.scenario.theory.timing import echo_bytes, path_mtu

MOST_ECHO_SHARE = 0.05  # of a line's rate: what draft-ietf-ippm-responsiveness allows its probes (PTC)

UNKNOWN = Physics(
    rtt_ns=0,
    distance_m=None,
    bdp_bytes=0,
    mss_bytes=0,
    line_rate_limit_bps=0,
    window_limit_bps=None,
    bus_limit_bps=None,
    expected_goodput_bps=0,
    limits=[],
)
"""Until it is known where queues can form."""


@dataclass(frozen=True)
class FlowRoutes:
    """The links of a flow: of its route, of its way back if some are others, and of the second route of MPTCP.

    Where that is its `own` way, routers know the flow by itself, not by its hosts.
    """

    first: list[int]
    back: list[int] | None = None
    second: list[int] | None = None
    own: bool = False


def planned_routes(scenario: ScenarioFile) -> list[FlowRoutes]:
    """The routes of each flow. The scenario has been checked."""
    if not scenario.is_network:
        return [FlowRoutes(list(range(len(scenario.path))))]
    ways = flow_ways(scenario)
    assert not any(isinstance(each, Fault) for each in ways), "checks.py has looked"
    both = cast(list[FlowWays], ways)
    seconds = second_routes(scenario, [each.there for each in both])
    return [
        FlowRoutes(each.there, None if each.back == each.there[::-1] else each.back, seconds.get(number), each.own)
        for number, each in enumerate(both)
    ]


def lanes_passed(scenario: ScenarioFile, routes: list[FlowRoutes]) -> list[tuple[list[Lane], list[Lane]]]:
    """The directions of links that a flow's packets pass, (there, back): of each route of each flow."""
    edges, found = edges_of(scenario), list[tuple[list[Lane], list[Lane]]]()
    ends = [(flow.from_, flow.to) for flow in scenario.flows] or [(scenario.path[0].from_, scenario.path[-1].to)]
    for (source, target), each in zip(ends, routes, strict=True):
        for route, back in ((each.first, each.back), (each.second, None)):
            if route is not None:
                returned = route[::-1] if back is None else back
                found.append((lanes_of(edges, source, route), lanes_of(edges, target, returned)))
    return found


def unproved_flows(scenario: ScenarioFile, nodes: list[Node], routes: list[FlowRoutes]) -> list[Flow]:
    """The flows without their physics."""
    if not scenario.is_network:
        return [
            Flow(
                name=PATH_FLOW,
                source=nodes[0].name,
                target=nodes[-1].name,
                route=routes[0].first,
                transfer=_transfer(scenario.transfer),
                expect=expected(scenario, scenario.expect, scenario.transfer),
                physics=UNKNOWN,
            )
        ]
    found: list[Flow] = []
    for flow, way in zip(scenario.flows, routes, strict=True):
        asked = flow_transfer(scenario, flow)
        found.append(
            Flow(
                name=flow.name,
                source=flow.from_,
                target=flow.to,
                route=way.first,
                route_back=way.back,
                second_route=way.second,
                own_way=way.own,
                start_ns=flow.start,
                transfer=_transfer(asked),
                expect=expected(scenario, flow.expect, asked),
                physics=UNKNOWN,
            )
        )
    return found


def with_physics(scenario: ScenarioFile, plan: Plan) -> list[Flow]:
    """The flows with what theory says of each, alone on its path or, with MPTCP, on its two."""
    transfers = [flow_transfer(scenario, flow) for flow in scenario.flows] or [scenario.transfer]
    found: list[Flow] = []
    for flow, transfer in zip(plan.flows, transfers, strict=True):
        paths = [path_of(plan, each) for each in subflows(flow)]
        sends = _datagrams(flow.transfer, paths[0]) if transfer.protocol == "udp" else flow.transfer
        if transfer.protocol == "udp":
            physics = [datagram_physics(sends, paths[0])]
        else:
            physics = [flow_physics(scenario, transfer, path) for path in paths]
        asked = replace(
            sends,
            stall_ns=transfer.stall or max(filter(None, map(patience_ns, paths)), default=None),
            ping_interval_ns=_ping_interval_ns(plan, flow) if transfer.ping else None,
        )
        together = physics[0] if len(physics) == 1 else both_routes(scenario, transfer, physics)
        found.append(replace(flow, transfer=asked, physics=together))
    return found


def _datagrams(asked: Transfer, path: Plan) -> Transfer:
    """The transfer with rate and size of its datagrams spelt out."""
    if asked.call is not None:
        packet = call_packet_bytes(asked.call, path.ip_version)
        return replace(asked, rate_bps=8 * packet * CALL_PACKETS_PER_S, packet_bytes=packet)
    return replace(asked, packet_bytes=asked.packet_bytes or path_mtu(path))


def _ping_interval_ns(plan: Plan, flow: Flow) -> int:
    """Time between two echoes: so many sample intervals that all echoes of a line take no more than their share."""
    beside = sum(each.transfer.ping and not _links(flow).isdisjoint(_links(each)) for each in plan.flows)
    least_ns = 0
    path = path_of(plan, flow)
    for link in path.links:
        bits = 8 * link.line_bytes(echo_bytes(plan.ip_version))
        for side, way in (("forward", link.forward), ("reverse", link.reverse)):
            events = [each for each in path.events if each.link == link.index and side in each.directions]
            line_ns = bits * 10**9 / slowest_bps(way, events)
            least_ns = max(least_ns, math.ceil(beside * line_ns / MOST_ECHO_SHARE))
    sampled_ns = flow.transfer.sample_interval_ns
    return max(1, -(-least_ns // sampled_ns)) * sampled_ns


def _links(flow: Flow) -> set[int]:
    return {*flow.route, *(flow.route_back or ())}


def _transfer(asked: ScenarioTransfer) -> Transfer:
    return Transfer(**plan_values(asked))
