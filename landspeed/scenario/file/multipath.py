"""MPTCP (RFC 8684) in a network: the second route of a flow, and what Linux cannot do over two.

The first subflow goes from the sender's own address to the receiver's. The receiver then announces its second address,
and the sender joins a subflow to it, which takes the second route.
"""

from __future__ import annotations

from collections.abc import Iterator

from landspeed.scenario.file.document import KeyPath
from landspeed.scenario.file.fault import Fault
from landspeed.scenario.file.flow_transfer import flow_transfer
from landspeed.scenario.file.model import FlowSection, ScenarioFile, TransferSection
from landspeed.scenario.file.network_routes import edges_of, flow_routes, host_names, route_of
from landspeed.scenario.plan.routing import Edge, Routes, nodes_of, second_ends

NOT_OF_LINUX = {
    "pacing": "MPTCP has no pacing in Linux (no SO_MAX_PACING_RATE)",
    "window_exact": "MPTCP offers no exact window in Linux (no TCP_WINDOW_CLAMP)",
}
"""Keys of a transfer that its MPTCP sockets do not take (net/mptcp/sockopt.c)."""


def check_second_routes(scenario: ScenarioFile) -> list[Fault]:
    """Find the faults of flows of MPTCP, in a network whose first routes are right."""
    firsts = [each for each in flow_routes(scenario) if not isinstance(each, Fault)]
    faults: list[Fault] = []
    for number, flow in enumerate(scenario.flows):
        asked = flow_transfer(scenario, flow)
        if asked.mptcp:
            faults += _unable(asked, number)
        elif flow.second_route is not None:
            what = f"{flow.name} has a second route, and no MPTCP to use it"
            faults.append(Fault(("flows", number, "second_route"), what, "add mptcp: true, or remove it", at_key=True))
    seconds = {number: _second(scenario, number, first) for number, first in enumerate(firsts)}
    faults += [each for each in seconds.values() if isinstance(each, Fault)]
    return faults or list(_together(scenario, firsts, second_routes(scenario, firsts)))


def second_routes(scenario: ScenarioFile, firsts: list[list[int]]) -> dict[int, list[int]]:
    """Number of a flow → the links of its second route, for flows of MPTCP.

    Args:
        scenario: the network.
        firsts: the first route of each flow.
    """
    found = {number: _second(scenario, number, first) for number, first in enumerate(firsts)}
    return {number: each for number, each in found.items() if isinstance(each, list)}


def _second(scenario: ScenarioFile, number: int, first: list[int]) -> list[int] | Fault | None:
    """Find the second route of a flow, or its fault; None without MPTCP."""
    flow = scenario.flows[number]
    if not flow_transfer(scenario, flow).mptcp:
        return None
    edges = edges_of(scenario)
    if flow.second_route is not None:
        given = route_of(scenario, flow, "second_route")
        if isinstance(given, Fault) or not (shared := set(given).intersection(first)):
            return given
        edge = edges[min(shared)]
        what = f"both routes of {flow.name} take the link {edge.a} – {edge.b}"
        right = "write routes that share no link: one broken link is to leave the other whole"
        return Fault(("flows", number, "second_route"), what, right, at_key=True)
    found = Routes(edges, host_names(scenario)).way(flow.from_, flow.to, without=first)
    return _no_second(edges, number, flow, first) if found is None else found


def _no_second(edges: list[Edge], number: int, flow: FlowSection, first: list[int]) -> Fault:
    where: KeyPath = ("flows", number, "mptcp")
    for end in (flow.from_, flow.to):
        if sum(end in (edge.a, edge.b) for edge in edges) == 1:
            what = f"{end} has one link, and MPTCP of {flow.name} needs two there"
            return Fault(where, what, f"add a link from {end} to another router, or remove mptcp", at_key=True)
    way = " → ".join(nodes_of(edges, flow.from_, first))
    what = f"no second route from {flow.from_} to {flow.to} shares no link with {way}"
    return Fault(where, what, "add links, or give a route that leaves another one free, or remove mptcp", at_key=True)


def _unable(transfer: TransferSection, number: int) -> Iterator[Fault]:
    for key, what in NOT_OF_LINUX.items():
        if getattr(transfer, key):
            yield Fault(("flows", number, key), what, f"remove {key}, or mptcp", at_key=True)
    if transfer.send == "zerocopy":
        what = "MPTCP sends without zero copy in Linux (no SO_ZEROCOPY)"
        yield Fault(("flows", number, "send"), what, "write send: auto, or remove mptcp", at_key=True)


def _together(scenario: ScenarioFile, firsts: list[list[int]], seconds: dict[int, list[int]]) -> Iterator[Fault]:
    """Second routes and second addresses of several flows: Linux has one set of them for a host."""
    edges = edges_of(scenario)
    routes, ends = Routes(edges, host_names(scenario)), dict[str, tuple[str, tuple[int, int]]]()
    for number, second in seconds.items():
        flow, where = scenario.flows[number], ("flows", number, "mptcp")
        addresses = second_ends(edges, flow.from_, firsts[number], second)
        for end, does, address in zip((flow.from_, flow.to), ("sends", "receives"), addresses, strict=True):
            other, known = ends.setdefault(end, (does, address))
            if other != does:
                what = f"{end} sends and receives by MPTCP: either end would join the second subflow"
                yield Fault(where, what, "let another host do one of the two", at_key=True)
            elif known != address:
                what = f"{end} has flows of MPTCP whose second routes reach it over different links"
                yield Fault(where, what, "use another host, or give them the same last link", at_key=True)
        if (at := routes.give(flow.from_, second, second=True)) is not None:
            what = f"at {at} the second route of {flow.name} goes another way than that of a flow before"
            yield Fault(where, what, "give both the same way from there on, or use another host", at_key=True)
