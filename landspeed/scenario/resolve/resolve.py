"""Scenario → Plan: defaults filled in, both directions of each link spelt out, seeds derived, physics computed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from landspeed.base.errors import Problem, ScenarioError
from landspeed.base.loss_units import BitErrors, PeriodicLoss
from landspeed.base.units import TIME, QueueSize, format_exact
from landspeed.scenario.file.checks import own_queue
from landspeed.scenario.file.disciplines import Discipline, check_parameters, resolve
from landspeed.scenario.file.document import KeyPath
from landspeed.scenario.file.events import plan_events
from landspeed.scenario.file.flow_transfer import flow_transfer
from landspeed.scenario.file.key_names import plan_names
from landspeed.scenario.file.load import LoadedScenario
from landspeed.scenario.file.model import ScenarioFile
from landspeed.scenario.file.model_links import DirectionSection, HostSection
from landspeed.scenario.file.network_routes import host_names, node_names
from landspeed.scenario.plan.direction import Direction, Netem
from landspeed.scenario.plan.plan import Calibration, Event, Link, Node, Plan, padded_bytes
from landspeed.scenario.plan.routing import Lane
from landspeed.scenario.plan.trace import Trace
from landspeed.scenario.resolve import netem as ne
from landspeed.scenario.resolve.flows import lanes_passed, planned_routes, unproved_flows, with_physics
from landspeed.scenario.resolve.recorded import contest_facts
from landspeed.scenario.theory import physics as ph
from landspeed.scenario.theory.queueing import prove_queueing
from landspeed.scenario.traces.trace_file import NO_TRACE, TraceSource, read_trace

NIC_AHEAD, FASTEST_NIC_BPS = 10, 10**12  # of a host whose own line has a queue
FRAME_HEADER_BYTES = 14  # a queue of Linux counts it with the packet
MIN_BDP_QUEUE_PACKETS = 10  # a queue given in BDP holds at least this many packets, however short the path


def make_plan(loaded: LoadedScenario, *, seed: int | None = None) -> Plan:
    """The plan of a scenario, the same for every world. Raises ScenarioError.

    Whether a world honours what the file asks is another question: worlds/registry.py asks it.
    """
    scenario = loaded.scenario
    seed = scenario.seed if seed is None else seed
    if seed != scenario.seed:  # which of parallel links a flow takes goes by it
        scenario = scenario.model_copy(update={"seed": seed})
    problems: list[Problem] = []
    events = plan_events(scenario)
    routes = planned_routes(scenario)
    links = _links(loaded, seed, events, lanes_passed(scenario, routes), problems)
    if problems:
        raise ScenarioError(problems)
    nodes = _nodes(scenario, links)
    plan = Plan(
        scenario=scenario.name,
        title=scenario.title,
        scenario_file=str(loaded.path),
        seed=seed,
        ip_version=6 if scenario.ip == 6 else 4,
        fidelity=scenario.fidelity,
        nodes=nodes,
        links=links,
        flows=unproved_flows(scenario, nodes, routes),
        events=events,
        calibration=Calibration(
            rtt_tolerance=scenario.calibration.rtt_tolerance, rate_tolerance=scenario.calibration.rate_tolerance
        ),
        contest=contest_facts(scenario),
        kernel=scenario.kernel,
    )
    proved = replace(plan, links=prove_queueing(plan))
    return replace(proved, flows=with_physics(scenario, proved))


def _nodes(scenario: ScenarioFile, links: list[Link]) -> list[Node]:
    hosts = host_names(scenario) if scenario.is_network else frozenset(scenario.hosts)
    nodes: list[Node] = []
    for name in node_names(scenario):
        if name in hosts:
            host = scenario.hosts.get(name) or HostSection.model_validate({})
            bus = host.bus
            latitude, longitude = host.position or (None, None)
            own = [link.forward if link.a == name else link.reverse for link in links if name in (link.a, link.b)]
            node = Node(
                name=name,
                kind="host",
                place=host.place,
                label=host.label,
                address_note=host.address_note,
                latitude_deg=latitude,
                longitude_deg=longitude,
                nic_rate_bps=host.nic or _nic_bps(scenario, name, own),
                bus_rate_bps=bus.rate if bus else None,
                bus_fitted=bool(bus and bus.fitted),
                bus_why=bus.why if bus else None,
                paced=host.paced,
            )
        else:
            notes = scenario.routers.get(name)
            latitude, longitude = (notes.position if notes else None) or (None, None)
            node = Node(
                name=name,
                kind="router",
                place=notes.place if notes else None,
                label=notes.label if notes else None,
                address_note=notes.address_note if notes else None,
                latitude_deg=latitude,
                longitude_deg=longitude,
            )
        nodes.append(node)
    return nodes


def _nic_bps(scenario: ScenarioFile, name: str, own: list[Direction]) -> int:
    """The rate of an interface of which nothing is said: the line's, or where a queue is to form before that, above."""
    rate = max(rate for direction in own for rate in direction.rates_bps)
    queues = any(link.to == name and own_queue(scenario, link) for link in scenario.all_links)
    return min(NIC_AHEAD * rate, max(rate, FASTEST_NIC_BPS)) if queues else rate


@dataclass(frozen=True)
class _DirectionKeys:
    """A direction with defaults filled in; `own` tells whether a key stands under `reverse:`."""

    delay_ns: int
    rate_bps: int
    queue: QueueSize
    discipline: Discipline | None
    source: TraceSource | None
    plain: dict[str, Any]  # what the plan has as the file has it, by the plan's names


RESOLVED_KEYS = (
    "one_way_delay",
    "line_rate",
    "queue",
    "discipline",
    "trace",
    "jitter_distribution",
    "netem",
)  # a default from elsewhere, or another key, has a part in them


def _direction_keys(loaded: LoadedScenario, index: int, problems: list[Problem], *, reverse: bool) -> _DirectionKeys:
    scenario, link = loaded.scenario, loaded.scenario.all_links[index]
    sides: tuple[DirectionSection, ...] = (link.reverse, link) if reverse and link.reverse else (link,)

    def value(key: str) -> Any:
        return next((getattr(side, key) for side in sides if getattr(side, key) is not None), None)

    delay = value("one_way_delay")
    if link.rtt is not None:
        delay = link.rtt - link.rtt // 2 if reverse else link.rtt // 2
    plain = {name: value(key) for key, name in plan_names(DirectionSection).items() if key not in RESOLVED_KEYS}
    if isinstance(loss := plain["loss"], PeriodicLoss):
        plain |= {"loss": float(loss), "loss_every": loss.every}
    if sends_ns := _send_jitter_ns(scenario, link.to if reverse else link.from_):
        plain["jitter_ns"] = (plain["jitter_ns"] or 0) + sends_ns
    rate, queue = value("line_rate") or scenario.line_rate or 0, value("queue") or scenario.queue
    if line := value("netem"):
        plain |= ne.netem_values(line)
        delay, rate = line.delay_ns, line.rate_bps or rate
        queue = ne.netem_queue(line, link.mtu or scenario.mtu) if line.rate_bps else queue
    elif plain["jitter_ns"] and (name := value("jitter_distribution")) not in (None, "uniform"):
        plain["netem"] = Netem(distribution=name, keeps_order=True)
    plain = ne.with_table(loaded, index, plain, problems, reverse=reverse)
    return _DirectionKeys(
        delay_ns=delay or 0,
        rate_bps=rate,  # checks.py has seen that one of them is there
        queue=queue or QueueSize(bdp=Fraction(1)),
        discipline=value("discipline"),
        source=value("trace"),
        plain={name: found for name, found in plain.items() if found is not None},
    )


def _send_jitter_ns(scenario: ScenarioFile, name: str) -> int:
    """Variation of the times at which a node sends; of a router, none."""
    host = scenario.hosts.get(name)
    own = host.send_jitter if host else None
    return ((scenario.send_jitter if own is None else own) or 0) if name in host_names(scenario) else 0


def _traced(
    loaded: LoadedScenario, index: int, direction: _DirectionKeys, problems: list[Problem], *, reverse: bool = False
) -> _DirectionKeys:
    """The direction with its trace, whose means over the transfer take the place of the keys that it speaks of."""
    if direction.source is None or direction.source.file == NO_TRACE:
        return _checked(loaded, index, direction, problems, reverse=reverse)
    scenario, link, key = loaded.scenario, loaded.scenario.all_links[index], loaded.scenario.links_key
    own = reverse and link.reverse and link.reverse.trace is not None
    where: KeyPath = (key, index, "reverse", "trace") if own else (key, index, "trace")
    framing = ph.FRAMING_BYTES[link.framing or scenario.framing]
    try:
        trace = read_trace(direction.source, loaded.file_of(where), loaded.tree.locate(where), framing)
    except ScenarioError as error:
        for problem in error.problems:
            _add(problems, problem)
        return direction
    until_ns = _lasts_ns(scenario) or trace.lasts_ns
    plain: dict[str, Any] = {**direction.plain, "trace": trace}
    if trace.loss is not None:
        plain["loss"] = trace.mean(trace.loss, until_ns)
        if "loss_burst" in plain:
            what = "bursts of losses beside a trace of losses: each of its rows would begin anew"
            _add(problems, loaded.problem((*where[:-1], "loss_burst"), what, "leave one of the two out"))
        if plain.pop("loss_every", 0):
            what = "each N-th packet, and a trace of losses"
            _add(problems, loaded.problem((*where[:-1], "loss"), what, "leave one of the two out"))
    rate = max(round(trace.mean(trace.rate_bps, until_ns)), 1) if trace.rate_bps else direction.rate_bps
    delay = round(trace.mean(trace.delay_ns, until_ns)) if trace.delay_ns else direction.delay_ns
    direction = replace(direction, rate_bps=rate, delay_ns=delay, plain=plain)
    return _checked(loaded, index, direction, problems, reverse=reverse)


def _lasts_ns(scenario: ScenarioFile) -> int | None:
    """Duration of all sending; None if that depends on the goodput."""
    if not scenario.is_network:
        return scenario.transfer.duration
    ends = [(flow_transfer(scenario, flow).duration, flow.start) for flow in scenario.flows]
    known = [start + duration for duration, start in ends if duration]
    return max(known) if len(known) == len(ends) else None


def _checked(
    loaded: LoadedScenario, index: int, direction: _DirectionKeys, problems: list[Problem], *, reverse: bool
) -> _DirectionKeys:
    """The direction, where a link with a trace leaves nothing out that the trace does not say."""
    link, made = loaded.scenario.all_links[index], direction.plain.get("trace")
    where: KeyPath = (loaded.scenario.links_key, index)
    name = f"the link {link.from_} – {link.to}"
    if direction.rate_bps == 0:
        right = "add line_rate: 100 Mbit/s, or a column rate [Mbit/s] to the trace"
        _add(problems, loaded.problem(where, f"{name} has no line rate in one direction", right))
    own = link.reverse if reverse else None
    said = [link.netem, own and own.netem, link.rtt, link.one_way_delay, own and own.one_way_delay]
    if all(each is None for each in said) and not (made and made.delay_ns):
        right = "add one_way_delay: 10 ms, or a column delay [ms] to the trace"
        _add(problems, loaded.problem(where, f"{name} has no delay in one direction", right))
    least_ns = min((made and made.delay_ns) or [direction.delay_ns])
    jitter_ns, sender = direction.plain.get("jitter_ns", 0), link.to if reverse else link.from_
    if jitter_ns > least_ns and _send_jitter_ns(loaded.scenario, sender):
        host = loaded.scenario.hosts.get(sender)
        key: KeyPath = ("hosts", sender, "send_jitter") if host and host.send_jitter is not None else ("send_jitter",)
        what = f"send_jitter of {sender}, with its link's jitter, is above that link's least delay"
        what += f", {format_exact(TIME, least_ns)}"
        _add(problems, loaded.problem(key, what, "write less, or give the link a longer delay"))
    elif jitter_ns > least_ns and not ne.as_line(direction.plain):
        what = f"jitter is larger than the least delay of {name}, {format_exact(TIME, least_ns)}"
        _add(problems, loaded.problem((*where, "jitter"), what, "write a jitter up to that"))
    return direction


def _links(
    loaded: LoadedScenario,
    seed: int,
    events: list[Event],
    passed: list[tuple[list[Lane], list[Lane]]],
    problems: list[Problem],
) -> list[Link]:
    scenario = loaded.scenario
    ways = [[*there, *back] for there, back in passed]
    only_back = {lane for _, back in passed for lane in back} - {lane for there, _ in passed for lane in there}
    directions = [
        tuple(_direction_keys(loaded, i, problems, reverse=reverse) for reverse in (False, True))
        for i in range(len(scenario.all_links))
    ]
    directions = [
        (_traced(loaded, i, there, problems), _traced(loaded, i, back, problems, reverse=True))
        for i, (there, back) in enumerate(directions)
    ]
    if problems:
        return []
    mtus = [link.mtu or scenario.mtu for link in scenario.all_links]
    links: list[Link] = []
    for index, (link, pair) in enumerate(zip(scenario.all_links, directions, strict=True)):
        framing = link.framing or scenario.framing
        framing_bytes, rated = ph.FRAMING_BYTES[framing], ne.netem_overhead(link)
        if rated is not None:
            framing, framing_bytes = ne.FRAMING, ne.COUNTED_BYTES + rated
        passing = [way for way in ways if index in {lane[0] for lane in way}] or [[(index, True), (index, False)]]
        # Of the flows that pass: the longest round trip, and the largest packet.
        rtt_ns = max(sum(directions[each][not ahead].delay_ns for each, ahead in way) for way in passing)
        mtu = max(min(mtus[each] for each, _ in way) for way in passing)
        made: list[Direction] = []
        for name, direction in zip(("forward", "reverse"), pair, strict=True):
            largest = ph.ack_bytes(scenario.ip) if (index, name == "forward") in only_back else mtu
            here = _Place(loaded, index, name, mtu, largest, framing, framing_bytes, rtt_ns)
            touching = [event for event in events if event.link == index and name in event.directions]
            made.append(_direction(here, direction, seed, touching, problems))
        links.append(
            Link(
                index=index,
                name=link.name,
                a=link.from_,
                b=link.to,
                mtu_bytes=mtus[index],
                framing=framing,
                framing_bytes=framing_bytes,
                cells=ph.CELLS.get(framing),
                least_bytes=ph.LEAST_BYTES.get(framing, 0),
                distance_m=link.distance,
                forward=made[0],
                reverse=made[1],
            )
        )
    return links


@dataclass(frozen=True)
class _Place:
    """Position of a direction: for its seed, its errors and what depends on whole paths."""

    loaded: LoadedScenario
    index: int
    direction: str
    path_mtu: int
    packet_bytes: int  # of what mostly goes here: the path's MTU, or an acknowledgment
    framing: str
    framing_bytes: int
    rtt_ns: int

    def line_bytes(self, packet_bytes: int) -> int:
        """Count what a packet takes of the line."""
        least = ph.LEAST_BYTES.get(self.framing, 0)
        return padded_bytes(max(packet_bytes + self.framing_bytes, least), ph.CELLS.get(self.framing))

    def key(self, name: str) -> KeyPath:
        """The path of a key of this direction in the file: under `reverse` if it stands there."""
        link, key = self.loaded.scenario.all_links[self.index], self.loaded.scenario.links_key
        if self.direction == "reverse" and link.reverse and getattr(link.reverse, name) is not None:
            return (key, self.index, "reverse", name)
        on_link = getattr(link, name) is not None
        return (key, self.index, name) if on_link or name == "packet_limit" else (name,)


def _direction(
    here: _Place, direction: _DirectionKeys, seed: int, events: list[Event], problems: list[Problem]
) -> Direction:
    mtu = here.path_mtu
    queue = direction.queue.resolve(ph.bdp_bytes(direction.rate_bps, here.rtt_ns))
    super_packets = here.loaded.scenario.fidelity == "super-packets"
    if direction.queue.bytes is None:
        queue = max(queue, MIN_BDP_QUEUE_PACKETS * (ph.SUPER_PACKET_BYTES if super_packets else mtu))
    _check_queue(here, queue, super_packets, problems)
    discipline, parameters = resolve(direction.discipline, queue)
    if parameters:
        largest = ph.SUPER_PACKET_BYTES if super_packets else mtu
        for key, what, right in check_parameters(parameters, queue, direction.rate_bps, largest):
            where = (*here.key("discipline"), discipline, key)
            _add(problems, here.loaded.problem(where, f"{what} ({here.direction})", right))
    plain = dict(direction.plain)
    if isinstance(loss := plain.get("loss"), BitErrors):
        plain["loss"] = loss.of_frames(here.line_bytes(here.packet_bytes))
    packet_limit = plain.get("packet_limit")
    if packet_limit is not None and not ne.as_line(plain):
        made: Trace | None = plain.get("trace")
        delays, rates = ((made and each) or [] for each in ((made and made.delay_ns), (made and made.rate_bps)))
        longest = max([direction.delay_ns, *delays, *(event.delay_ns or 0 for event in events)])
        longest += plain.get("jitter_ns", 0)
        fastest = max([direction.rate_bps, *rates, *(event.rate_bps or 0 for event in events if event.kind == "rate")])
        needed = ph.packets_needed(fastest, longest, queue, mtu, here.line_bytes(mtu) - mtu)
        if packet_limit < needed:
            what = (
                f"packet_limit {packet_limit} ({here.direction}) is below what the delay needs: "
                f"line rate × delay and the queue are {needed} packets of {mtu} B"
            )
            right = f"write packet_limit: {needed} or more, or leave it out"
            _add(problems, here.loaded.problem(here.key("packet_limit"), what, right))
    return Direction(
        delay_ns=direction.delay_ns,
        rate_bps=direction.rate_bps,
        queue_bytes=queue,
        can_queue=True,
        discipline=discipline,
        parameters=parameters,
        seed=plain.pop("seed", direction_seed(seed, here.index, here.direction)),
        **plain,
    )


def _check_queue(here: _Place, queue: int, super_packets: bool, problems: list[Problem]) -> None:
    least, holds = here.path_mtu + FRAME_HEADER_BYTES, "one frame: a packet of the path's MTU with its Ethernet header"
    if super_packets:
        least, holds = ph.SUPER_PACKET_BYTES, "one super-packet of 180 kB"
    if queue < least:
        what = f"a queue of {queue} B ({here.direction}) does not hold {holds}"
        right = f"write at least {least} B" + (", or fidelity: packets" if super_packets else "")
        _add(problems, here.loaded.problem(here.key("queue"), what, right))


def _add(problems: list[Problem], problem: Problem) -> None:
    """One problem for a place: a key of both directions is wrong once."""
    if all(problem.mark != other.mark for other in problems):
        problems.append(problem)


def direction_seed(seed: int, index: int, direction: str) -> int:
    """The seed of a link's direction: 32 bits, the same for the same plan seed, link and direction, never 0."""
    digest = hashlib.sha256(f"landspeed/{seed}/{index}/{direction}".encode()).digest()
    return int.from_bytes(digest[:4], "big") or 1
