"""The nodes of a scenario's network, and the route of each flow: given, or the shortest by delay."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

from landspeed.scenario.file.document import KeyPath
from landspeed.scenario.file.fault import Fault
from landspeed.scenario.file.flow_transfer import flow_transfer
from landspeed.scenario.file.model import FlowSection, ScenarioFile
from landspeed.scenario.file.model_links import LinkSection
from landspeed.scenario.file.parallel import parallel_links
from landspeed.scenario.plan.routing import Edge, Routes

MORE_SHOWN = 8
BACK = "route_back"


def host_names(scenario: ScenarioFile) -> frozenset[str]:
    """The hosts of a network: those with notes, and the ends of flows."""
    return frozenset((*scenario.hosts, *(end for flow in scenario.flows for end in (flow.from_, flow.to))))


def node_names(scenario: ScenarioFile) -> list[str]:
    """The nodes that links join, in the order of the file."""
    return list(dict.fromkeys(end for link in scenario.all_links for end in (link.from_, link.to)))


def edges_of(scenario: ScenarioFile) -> list[Edge]:
    """The links as routing sees them."""
    return [Edge(link.from_, link.to, _round_trip_ns(link)) for link in scenario.all_links]


class _WrongRouteError(Exception):
    """A given route cannot be taken; at which word of it, what is wrong, what would be right."""

    def __init__(self, place: int, what: str, right: str) -> None:
        super().__init__(what)
        self.place, self.what, self.right = place, what, right


def route_of(scenario: ScenarioFile, flow: FlowSection, key: str = "route") -> list[int] | Fault:
    """The links of a given route, or what is wrong with it."""
    route: list[str] = getattr(flow, key) or []
    ends = (flow.to, flow.from_) if key == BACK else (flow.from_, flow.to)
    try:
        nodes, over = _words(scenario, flow, route, ends)
        hops = itertools.pairwise(nodes)
        return [
            _link_between(scenario, ends[1], route, hop, over.get(number)) for number, hop in enumerate(hops, start=1)
        ]
    except _WrongRouteError as error:
        where: KeyPath = ("flows", scenario.flows.index(flow), key, error.place)
        return Fault(where, error.what, error.right)


def _words(
    scenario: ScenarioFile, flow: FlowSection, route: list[str], ends: tuple[str, str]
) -> tuple[list[str], dict[int, int]]:
    """The nodes of a given route, and for some hops, counted from 1, the link that is named before their end."""
    bundles = parallel_links(scenario.links)
    names = {each.name: each.member(scenario.seed, ends[1]) for each in bundles.values()}
    names |= {link.name: index for index, link in enumerate(scenario.links) if link.name}
    known = node_names(scenario)
    nodes, over = [route[0]], dict[int, int]()
    for place, word in enumerate(route[1:], start=1):
        if word in names:
            bundle = bundles.get(names[word])
            over[len(nodes)] = bundle.members[0] if bundle and bundle.by_ports else names[word]
            continue
        if word in nodes:
            what = f"loop in the route of {flow.name}: {word} was passed before"
            raise _WrongRouteError(place, what, "write each node once")
        if word not in known:
            raise _WrongRouteError(place, f"no link reaches {word}", one_of(known))
        nodes.append(word)
    for place, wanted, end in ((0, ends[0], "begins"), (len(route) - 1, ends[1], "ends")):
        if route[place] != wanted:
            what = f"the route of {flow.name} {end} at {route[place]}, and the flow at {wanted}"
            if ends[0] == flow.to:
                what = f"the way back of {flow.name} {end} at {route[place]}"
            raise _WrongRouteError(place, what, f"write {wanted}")
    return nodes, over


def _link_between(scenario: ScenarioFile, end: str, route: list[str], hop: tuple[str, str], named: int | None) -> int:
    """The link of a hop; `named`: the one whose name stands before the hop's end."""
    here, there = hop
    place, bundles = route.index(there), parallel_links(scenario.links)
    joining = [index for index, link in enumerate(scenario.links) if {link.from_, link.to} == {here, there}]
    if named is not None:
        if named not in joining:
            what = f"the link {scenario.links[named].name} does not join {here} and {there}"
            raise _WrongRouteError(place - 1, what, "write a link between them, or leave it out")
        joining = [named]
    if not joining:
        near = sorted({edge.other(here) for edge in edges_of(scenario) if here in (edge.a, edge.b)})
        raise _WrongRouteError(place, f"there is no link between {here} and {there}", one_of(near))
    if len({bundles.get(index, index) for index in joining}) == 1:
        joining = [_hashed(scenario, joining[0], end)]
    if len(joining) > 1:
        told = ", ".join(str(scenario.links[index].name) for index in joining)
        what = f"{len(joining)} links join {here} and {there}"
        raise _WrongRouteError(place, what, f"write one of their names before {there}: {told}")
    if there != end and there in host_names(scenario):
        what = f"{there} is a host in the middle of the route: hosts forward nothing"
        raise _WrongRouteError(place, what, "route through a router")
    return joining[0]


def _hashed(scenario: ScenarioFile, link: int, destination: str) -> int:
    """The link of its bundle that goes to a destination; itself if it is in none."""
    bundle = parallel_links(scenario.links).get(link)
    return bundle.member(scenario.seed, destination) if bundle else link


def _returned(scenario: ScenarioFile, flow: FlowSection, way: list[int]) -> list[int]:
    """The way back where none is written: the same links, and of each bundle the one that goes to the sender.

    A member that the route names is the one back, too.
    """
    named = [scenario.links[link].name in (flow.route or ()) for link in way]
    pairs = zip(way[::-1], named[::-1], strict=True)
    return [link if own else _hashed(scenario, link, flow.from_) for link, own in pairs]


def _lead_hashed(scenario: ScenarioFile, routes: Routes) -> None:
    """Give the flows without a route of their own theirs, where bundles are on them."""
    written = {end: routes.given_to(end) for end in host_names(scenario)}
    for flow in scenario.flows if parallel_links(scenario.links) else ():
        way = routes.way(flow.from_, flow.to)
        if flow.route is None and way is not None:
            routes.lead(flow.from_, [_hashed(scenario, link, flow.to) for link in way], past=written[flow.to])
            way = routes.way(flow.from_, flow.to) or way
            if flow.route_back is None:
                routes.lead(flow.to, _returned(scenario, flow, way), past=written[flow.from_])


class FlowWays(NamedTuple):
    """The links of a flow in order, those of its way back in its order, and whether routers must know it by itself."""

    there: list[int]
    back: list[int]
    own: bool


def flow_ways(scenario: ScenarioFile) -> list[FlowWays] | list[Fault]:
    """The ways of each flow, or everything that is wrong with routes.

    What is written rules. A flow's `route` is its way back, too, at the nodes for which nothing else is written.
    Routers choose by destination: a flow whose ways contradict those of flows before it has a way of its own.
    """
    edges = edges_of(scenario)
    routes, faults = Routes(edges, host_names(scenario)), list[Fault]()
    given, own = dict[tuple[int, str], list[int]](), set[int]()

    def parted(number: int, key: str, at: str | None) -> None:
        if at is None:
            return
        own.add(number)
        if flow_transfer(scenario, scenario.flows[number]).mptcp:
            faults.append(_parted(number, scenario.flows[number], key, at))

    for number, flow in enumerate(scenario.flows):
        for key, origin, listed in (("route", flow.from_, flow.route), (BACK, flow.to, flow.route_back)):
            if listed is None:
                continue
            way = route_of(scenario, flow, key)
            if isinstance(way, Fault):
                faults.append(way)
            else:
                given[number, key] = way
                parted(number, key, routes.lead(origin, way))
    written = {end: routes.given_to(end) for end in host_names(scenario)}
    for (number, key), way in given.items():
        flow = scenario.flows[number]
        if key == "route" and number not in own and flow.route_back is None:
            parted(number, key, routes.lead(flow.to, _returned(scenario, flow, way), past=written[flow.from_]))
    _lead_hashed(scenario, routes)
    return faults or _ways(scenario, routes, {place: way for place, way in given.items() if place[0] in own})


def _own_members(scenario: ScenarioFile, flow: FlowSection, way: list[int], *, ahead: bool) -> list[int]:
    """The links of a flow there or back: of bundles with a hash of ports its own, or that which its route names."""
    ends = (flow.from_, flow.to) if ahead else (flow.to, flow.from_)
    bundles = parallel_links(scenario.links)
    route = (flow.route if ahead else flow.route_back or flow.route) or ()
    found: list[int] = []
    for link in way:
        bundle = bundles.get(link)
        if bundle is None or not bundle.by_ports:
            found.append(link)
            continue
        named = [each for each in bundle.members if scenario.links[each].name in route]
        found.append(named[0] if named else bundle.of_connection(scenario.seed, *ends, flow.name))
    return found


def _parted(number: int, flow: FlowSection, key: str, at: str) -> Fault:
    way = "way back" if key == BACK else "route"
    what = f"at {at} the {way} of {flow.name}, which has MPTCP, goes another way than that of a flow before"
    right = "routers choose by destination: give both the same way from there on, or another host"
    return Fault(("flows", number, key), what, right, at_key=True)


def _ways(
    scenario: ScenarioFile, routes: Routes, own: Mapping[tuple[int, str], list[int]]
) -> list[FlowWays] | list[Fault]:
    """The ways that flows take by these tables, or by themselves, or why they cannot."""
    faults: list[Fault] = []
    found: list[FlowWays] = []
    hashed = {link for link, bundle in parallel_links(scenario.links).items() if bundle.by_ports}
    for number, flow in enumerate(scenario.flows):
        there = own.get((number, "route")) or routes.way(flow.from_, flow.to)
        back = own.get((number, BACK)) or routes.way(flow.to, flow.from_)
        if (number, "route") in own and (number, BACK) not in own:
            back = _returned(scenario, flow, own[number, "route"])
        if there is None or back is None:
            if crossed := _crossed_end(scenario):
                return [crossed]
            reached = sorted((routes.reachable(flow.from_) & host_names(scenario)) - {flow.from_})
            right = "add links between them" + (f"; from {flow.from_} one reaches {few(reached)}" if reached else "")
            what = f"there is no route from {flow.from_} to {flow.to} for the flow {flow.name} (hosts forward nothing)"
            faults.append(Fault(("flows", number, "to"), what, right))
            continue
        there, back = (_own_members(scenario, flow, way, ahead=way is there) for way in (there, back))
        if there != back[::-1] and flow_transfer(scenario, flow).mptcp:
            key = BACK if flow.route_back is not None else "name"
            what = f"{flow.name} has MPTCP, whose routes are the same both ways"
            faults.append(Fault(("flows", number, key), what, "remove mptcp, or the way back", at_key=key == BACK))
        parts = there[0] != back[-1] or there[-1] != back[0]  # a host sends over one link and receives over another
        by_itself = parts or any(place[0] == number for place in own)
        found.append(FlowWays(there, back, by_itself or not hashed.isdisjoint((*there, *back))))
    return faults or found


def flow_routes(scenario: ScenarioFile) -> list[list[int]] | list[Fault]:
    """The links of each flow in order, or everything that is wrong with routes."""
    ways: list[Any] = list(flow_ways(scenario))
    return [each if isinstance(each, Fault) else each[0] for each in ways]


def _crossed_end(scenario: ScenarioFile) -> Fault | None:
    """The end of one flow that no `hosts` names, and that alone keeps several others from their ways."""
    edges, ends = edges_of(scenario), host_names(scenario)
    routes = Routes(edges, ends)
    blocked = [flow for flow in scenario.flows if routes.way(flow.from_, flow.to) is None]
    for number, flow in enumerate(scenario.flows):
        for key, word, end in (("from", "begins", flow.from_), ("to", "ends", flow.to)):
            if end in scenario.hosts:
                continue
            routes = Routes(edges, ends - {end})
            freed = [
                each.name
                for each in blocked
                if end not in (each.from_, each.to) and routes.way(each.from_, each.to) is not None
            ]
            if len(freed) > 1:
                what = f"flow {flow.name} {word} at {end}, which {few(freed)} cross"
                return Fault(
                    ("flows", number, key), what, f"hosts forward nothing: write a host that has a link to {end}"
                )
    return None


def _round_trip_ns(link: LinkSection) -> int:
    if link.rtt is not None:
        return link.rtt
    ahead = link.one_way_delay or 0
    back = link.reverse.one_way_delay if link.reverse else None
    return ahead + (ahead if back is None else back)


def one_of(names: list[str]) -> str:
    """The remedy that lists names."""
    return f"write one of: {few(names)}"


def few(names: list[str]) -> str:
    """The first of many names."""
    more = f" and {len(names) - MORE_SHOWN} more" if len(names) > MORE_SHOWN else ""
    return ", ".join(names[:MORE_SHOWN]) + more
