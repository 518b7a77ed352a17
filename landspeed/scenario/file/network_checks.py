"""Checks over the links and flows of a network; a file is a path or a network, not both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from landspeed.base.near import meant
from landspeed.base.units import SECOND, TIME, format_exact
from landspeed.scenario.file.document import KeyPath
from landspeed.scenario.file.fault import Fault
from landspeed.scenario.file.flow_transfer import flow_transfer
from landspeed.scenario.file.model import FlowSection, ScenarioFile
from landspeed.scenario.file.multipath import check_second_routes
from landspeed.scenario.file.network_routes import flow_routes, host_names, node_names, one_of

OF_A_PATH = {"path": "write its links under links", "expect": "write it in a flow", "contest": "remove it"}
"""Keys that a network does not have, and what is right there."""
HELP_PATH = {
    "hosts": "hosts: {a: {role: sender}, b: {role: receiver}}",
    "path": "path: [{from: a, to: b, one_way_delay: 10 ms, line_rate: 1 Gbit/s}], or links and flows",
    "transfer": "transfer: {streams: 1, duration: 10 s}",
}


def either(scenario: ScenarioFile) -> Iterator[Fault]:
    """A file has path and transfer, or links and flows."""
    given = scenario.model_fields_set
    if "links" in given or "flows" in given:
        for key, right in OF_A_PATH.items():
            if key in given and getattr(scenario, key):
                own = "links" if "links" in given else "flows"
                yield Fault((key,), f"'{key}' beside '{own}': a file is a path or a network", right, at_key=True)
        if not scenario.links:
            yield Fault(
                ("links",), "flows without links", "add links: [{from: a, to: b, …}], or write path and transfer"
            )
        elif not scenario.flows:
            ends = f"from: {scenario.links[0].from_}, to: {scenario.links[-1].to}"
            right = f"add flows: [{{name: first, {ends}, duration: 10 s}}]; or write path for links, if they are one"
            yield Fault(("links",), "links without flows: nothing is sent", right, at_key=True)
        return
    for key, right in HELP_PATH.items():
        if key not in given:
            yield Fault((key,), f"key '{key}' is missing", f"add {right}", at_key=True)
    if "path" in given and not scenario.path:
        yield Fault(("path",), "path has too few entries", "write at least 1")


def check_network(scenario: ScenarioFile) -> list[Fault]:
    """Contradictions between nodes, links and flows: routes are looked for where links and flows are right."""
    shape = [*_nodes(scenario), *_links(scenario), *_flows(scenario)]
    return shape or _ways(scenario) or [*check_second_routes(scenario), *_starts(scenario)]


# --- Nodes and links -------------------------------------------------------------------------------------------------


def _nodes(scenario: ScenarioFile) -> Iterator[Fault]:
    known = set(node_names(scenario))
    for key, listed in (("hosts", scenario.hosts), ("routers", scenario.routers)):
        for name in listed:
            if name not in known:
                right = f"add a link from it or to it, or remove it from {key}"
                yield Fault((key, name), f"no link reaches {name}", right, at_key=True)
    for name, host in scenario.hosts.items():
        if host.role is not None:
            what = "hosts of a network have no role: flows say who sends"
            yield Fault(("hosts", name, "role"), what, "remove it", at_key=True)
        if host.bus and sum(name in (link.from_, link.to) for link in scenario.links) > 1:
            what = f"{name} has a bus and several links"
            yield Fault(("hosts", name, "bus"), what, "give it one link: a bus limits one interface", at_key=True)
    for name in scenario.routers:
        if name in host_names(scenario):
            what = f"{name} is a router, and a host or the end of a flow"
            yield Fault(("routers", name), what, "remove it from one of the two", at_key=True)


def _links(scenario: ScenarioFile) -> Iterator[Fault]:
    pairs = Counter(frozenset((link.from_, link.to)) for link in scenario.links)
    names: dict[str, int] = {}
    for index, link in enumerate(scenario.links):
        where: KeyPath = ("links", index)
        if link.from_ == link.to:
            yield Fault((*where, "to"), f"a link from {link.from_} to itself", "write another node")
        elif pairs[frozenset((link.from_, link.to))] > 1 and link.name is None:
            what = f"there is another link between {link.from_} and {link.to}, and this one has no name"
            yield Fault((*where, "from"), what, "add name: … to each of them", at_key=True)
        if link.hash is not None and link.parallel is None:
            what = "a hash chooses among parallel links, and this is one"
            yield Fault((*where, "hash"), what, "add parallel: 4 and a name, or remove it", at_key=True)
        if link.name is not None and link.name in names:
            what = f"link {names[link.name] + 1} has the name {link.name}, too"
            yield Fault((*where, "name"), what, "write another name")
        if link.name is not None:
            names.setdefault(link.name, index)
            if link.name in node_names(scenario):
                yield Fault((*where, "name"), f"{link.name} is a node", "write another name")


# --- Flows -----------------------------------------------------------------------------------------------------------


def _flows(scenario: ScenarioFile) -> Iterator[Fault]:
    known, names = node_names(scenario), dict[str, int]()
    for number, flow in enumerate(scenario.flows):
        where: KeyPath = ("flows", number)
        if flow.name in names:
            what = f"flow {names[flow.name] + 1} has the name {flow.name}, too"
            yield Fault((*where, "name"), what, "write another name: results are told apart by it")
        names.setdefault(flow.name, number)
        for key, end in (("from", flow.from_), ("to", flow.to)):
            if end not in known:
                yield Fault((*where, key), f"no link reaches {end}", meant(end, known) + one_of(known))
        if flow.from_ == flow.to:
            yield Fault((*where, "to"), f"{flow.name} goes from {flow.from_} to itself", "write another host")
        if flow.start % SECOND:
            begins = format_exact(TIME, flow.start)
            right = f"write {flow.start // SECOND} s or {flow.start // SECOND + 1} s: so a run repeats to the byte"
            yield Fault((*where, "start"), f"{flow.name} starts at {begins}, which is not a whole second", right)
    for key, words in (("ecn", "ECN"), ("accurate_ecn", "accurate ECN")):
        by_host: dict[str, bool] = {}
        for number, flow in enumerate(scenario.flows):
            asked = flow_transfer(scenario, flow)
            asks = getattr(asked, key)
            if asked.protocol == "udp":
                continue  # it asks nothing of the host's TCP
            for end in (flow.from_, flow.to):
                if by_host.setdefault(end, asks) != asks:
                    what = f"{end} has flows with {words} and flows without"
                    yield Fault(("flows", number, key), what, "a host has one setting for all: use another host")
    if all(flow.start > 0 for flow in scenario.flows):
        yield Fault(("flows", 0, "start"), "no flow starts at 0 s", "let the first flow start then: start: 0 s")


def _ways(scenario: ScenarioFile) -> list[Fault]:
    return [each for each in flow_routes(scenario) if isinstance(each, Fault)]


def _starts(scenario: ScenarioFile) -> Iterator[Fault]:
    """A flow that begins when all that began before it have ended: nobody wants a network at rest in between."""
    ends = [_end(scenario, flow) for flow in scenario.flows]
    for number, flow in enumerate(scenario.flows):
        before = [
            end
            for end, other in zip(ends, scenario.flows, strict=True)
            if (other.start, other.name) < (flow.start, flow.name)
        ]
        known = [end for end in before if end is not None]
        if flow.start and len(known) == len(before) and all(end <= flow.start for end in known):
            what = f"{flow.name} starts at {format_exact(TIME, flow.start)}, after every flow before it has ended"
            right = f"write a start before {format_exact(TIME, max(known))}, or a longer duration for another"
            yield Fault(("flows", number, "start"), what, right)


def _end(scenario: ScenarioFile, flow: FlowSection) -> int | None:
    """End of a flow; None if its bytes decide that."""
    duration = flow_transfer(scenario, flow).duration
    return None if duration is None else flow.start + duration
