"""Scenario → Plan: defaults filled in, both directions of each link spelt out, seeds derived, physics computed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from . import physics as ph
from .ack_path import ack_path
from .disciplines import Discipline, check_parameters, resolve
from .document import Path
from .errors import Problem, ScenarioError
from .events import plan_events
from .keys import plan_name, plan_values
from .load import LoadedScenario
from .model import Lane, Scenario
from .model import Link as ScenarioLink
from .model import Transfer as ScenarioTransfer
from .plan import (
    Calibration,
    Direction,
    Event,
    Limit,
    Link,
    Node,
    Physics,
    Plan,
    Transfer,
)
from .queueing import prove_queueing
from .recorded import contest_facts, expected
from .units import QueueSize

MIN_BDP_QUEUE_PACKETS = 10  # a queue given in BDP holds at least this many packets, however short the path


def make_plan(loaded: LoadedScenario, *, seed: int | None = None) -> Plan:
    """The plan of a scenario, the same for every world. Raises ScenarioError.

    Whether a world honours what the file asks is another question: worlds/registry.py asks it.
    """
    scenario = loaded.scenario
    seed = scenario.seed if seed is None else seed
    problems: list[Problem] = []
    events = plan_events(scenario)
    links = _links(loaded, seed, events, problems)
    if problems:
        raise ScenarioError(problems)
    nodes = _nodes(scenario, links)
    links = prove_queueing(nodes, links, scenario.ip, events)
    return Plan(
        scenario=scenario.name,
        title=scenario.title,
        scenario_file=str(loaded.path),
        seed=seed,
        ip_version=6 if scenario.ip == 6 else 4,
        fidelity=scenario.fidelity,
        nodes=nodes,
        links=links,
        transfer=Transfer(**plan_values(scenario.transfer)),
        events=events,
        calibration=Calibration(
            rtt_tolerance=scenario.calibration.rtt_tolerance, rate_tolerance=scenario.calibration.rate_tolerance
        ),
        expect=expected(scenario),
        contest=contest_facts(scenario),
        kernel=scenario.kernel,
        physics=_physics(scenario, nodes, links),
    )


def _nodes(scenario: Scenario, links: list[Link]) -> list[Node]:
    names = [scenario.path[0].from_, *(link.to for link in scenario.path)]
    nodes: list[Node] = []
    for name in names:
        if host := scenario.hosts.get(name):
            bus = host.bus
            latitude, longitude = host.position or (None, None)
            node = Node(
                name=name,
                kind="host",
                place=host.place,
                label=host.label,
                address_note=host.address_note,
                latitude_deg=latitude,
                longitude_deg=longitude,
                nic_rate_bps=host.nic or (links[0].forward if name == names[0] else links[-1].reverse).rate_bps,
                bus_rate_bps=bus.rate if bus else None,
                bus_fitted=bool(bus and bus.fitted),
                bus_why=bus.why if bus else None,
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


@dataclass(frozen=True)
class _Lane:
    """A direction with defaults filled in; `own` tells whether a key stands under `reverse:`."""

    delay_ns: int
    rate_bps: int
    queue: QueueSize
    discipline: Discipline | None
    plain: dict[str, Any]  # what the plan has as the file has it, by the plan's names


RESOLVED_KEYS = (
    "one_way_delay",
    "line_rate",
    "queue",
    "discipline",
)  # a default from elsewhere, or another key, has a part in them


def _lane(scenario: Scenario, link: ScenarioLink, *, reverse: bool) -> _Lane:
    sides: tuple[Lane, ...] = (link.reverse, link) if reverse and link.reverse else (link,)

    def value(key: str) -> Any:
        return next((getattr(side, key) for side in sides if getattr(side, key) is not None), None)

    delay = value("one_way_delay")
    if link.rtt is not None:
        delay = link.rtt - link.rtt // 2 if reverse else link.rtt // 2
    plain = {plan_name(key, field): value(key) for key, field in Lane.model_fields.items() if key not in RESOLVED_KEYS}
    return _Lane(
        delay_ns=delay or 0,
        rate_bps=value("line_rate") or scenario.line_rate or 0,  # checks.py has seen that one of them is there
        queue=value("queue") or scenario.queue or QueueSize(bdp=Fraction(1)),
        discipline=value("discipline"),
        plain={name: found for name, found in plain.items() if found is not None},
    )


def _links(loaded: LoadedScenario, seed: int, events: list[Event], problems: list[Problem]) -> list[Link]:
    scenario = loaded.scenario
    lanes = [(_lane(scenario, k, reverse=False), _lane(scenario, k, reverse=True)) for k in scenario.path]
    rtt_ns = sum(forward.delay_ns + reverse.delay_ns for forward, reverse in lanes)
    path_mtu = min(link.mtu or scenario.mtu for link in scenario.path)
    links: list[Link] = []
    for index, (link, pair) in enumerate(zip(scenario.path, lanes, strict=True)):
        framing = link.framing or scenario.framing
        made: list[Direction] = []
        for name, lane in zip(("forward", "reverse"), pair, strict=True):
            here = _Place(loaded, index, name, path_mtu, ph.FRAMING_BYTES[framing], rtt_ns)
            touching = [event for event in events if event.link == index and name in event.directions]
            made.append(_direction(here, lane, seed, touching, problems))
        links.append(
            Link(
                index=index,
                a=link.from_,
                b=link.to,
                mtu_bytes=link.mtu or scenario.mtu,
                framing=framing,
                framing_bytes=ph.FRAMING_BYTES[framing],
                distance_m=link.distance,
                forward=made[0],
                reverse=made[1],
            )
        )
    return links


@dataclass(frozen=True)
class _Place:
    """Where a direction is: for its seed, its errors and what depends on the whole path."""

    loaded: LoadedScenario
    index: int
    direction: str
    path_mtu: int
    framing_bytes: int
    rtt_ns: int

    def key(self, name: str) -> Path:
        """The path of a key of this direction in the file: under `reverse` if it stands there."""
        link = self.loaded.scenario.path[self.index]
        if self.direction == "reverse" and link.reverse and getattr(link.reverse, name) is not None:
            return ("path", self.index, "reverse", name)
        on_link = getattr(link, name) is not None
        return ("path", self.index, name) if on_link or name == "packet_limit" else (name,)


def _direction(here: _Place, lane: _Lane, seed: int, events: list[Event], problems: list[Problem]) -> Direction:
    mtu, framing = here.path_mtu, here.framing_bytes
    queue = lane.queue.resolve(ph.bdp_bytes(lane.rate_bps, here.rtt_ns))
    super_packets = here.loaded.scenario.fidelity == "super-packets"
    if lane.queue.bytes is None:
        queue = max(queue, MIN_BDP_QUEUE_PACKETS * (ph.SUPER_PACKET_BYTES if super_packets else mtu))
    _check_queue(here, queue, super_packets, problems)
    discipline, parameters = resolve(lane.discipline, queue)
    if parameters:
        largest = ph.SUPER_PACKET_BYTES if super_packets else mtu
        for key, what, right in check_parameters(parameters, queue, lane.rate_bps, largest):
            where = (*here.key("discipline"), discipline, key)
            _add(problems, here.loaded.problem(where, f"{what} ({here.direction})", right))
    packet_limit = lane.plain.get("packet_limit")
    if packet_limit is not None:
        longest = max([lane.delay_ns, *(event.delay_ns or 0 for event in events)]) + lane.plain.get("jitter_ns", 0)
        fastest = max([lane.rate_bps, *(event.rate_bps or 0 for event in events if event.kind == "rate")])
        needed = ph.packets_needed(fastest, longest, queue, mtu, framing)
        if packet_limit < needed:
            what = (
                f"packet_limit {packet_limit} ({here.direction}) is below what the delay needs: "
                f"line rate × delay and the queue are {needed} packets of {mtu} B"
            )
            right = f"write packet_limit: {needed} or more, or leave it out"
            _add(problems, here.loaded.problem(here.key("packet_limit"), what, right))
    return Direction(
        delay_ns=lane.delay_ns,
        rate_bps=lane.rate_bps,
        queue_bytes=queue,
        can_queue=True,
        discipline=discipline,
        parameters=parameters,
        seed=direction_seed(seed, here.index, here.direction),
        **lane.plain,
    )


def _check_queue(here: _Place, queue: int, super_packets: bool, problems: list[Problem]) -> None:
    least, holds = here.path_mtu, "one packet of the path's MTU"
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


# --- physics --------------------------------------------------------------------------------------


def _all_reno(transfer: ScenarioTransfer) -> bool:
    return set(transfer.congestion_controls or [transfer.congestion_control]) == {"reno"}


def _physics(scenario: Scenario, nodes: list[Node], links: list[Link]) -> Physics:
    ip, transfer = scenario.ip, scenario.transfer
    mtu = min(link.mtu_bytes for link in links)
    mss = ph.mss_bytes(mtu, ip)
    rtt_ns = sum(link.forward.delay_ns + link.reverse.delay_ns for link in links)
    rate = min(link.forward.rate_bps for link in links)
    framings = [ph.framing_limit_bps(k.forward.rate_bps, mtu, k.framing_bytes, ip) for k in links]
    framing = min(framings)
    buses = [_bus_limit(node, mtu, ip) for node in (nodes[0], nodes[-1]) if node.bus_rate_bps]
    window = None
    limits = list(buses)
    if transfer.window is not None:
        usable = transfer.window
        if not transfer.window_exact:
            usable = ph.linux_usable_window_bytes(transfer.window, mss, scenario.fidelity)
        window = ph.window_limit_bps(usable, transfer.streams, rtt_ns)
        limits.append(Limit(kind="window", goodput_bps=window))
    slowest = [link for link, limit in zip(links, framings, strict=True) if limit == framing]
    limits.append(Limit(kind="framing", place=_links_in_words(slowest, links), goodput_bps=framing))
    limits += [_token_bucket(link, mtu, ip) for link in links if link.forward.discipline == "tbf"]
    if transfer.pacing:
        pacing = ph.pacing_limit_bps(transfer.pacing, transfer.streams)
        limits.append(Limit(kind="pacing", goodput_bps=pacing))
    if (loss := _path_loss(links)) > 0 and _all_reno(transfer):
        square_root = transfer.streams * ph.square_root_law_bps(mss, rtt_ns, loss)
        limits.append(Limit(kind="loss", goodput_bps=square_root))
    back = ack_path(links, mss=mss, ip_version=ip, fidelity=scenario.fidelity, framing_limit_bps=framing)
    if back and not back.drops:
        limits.append(Limit(kind="ack path", place=back.place, goodput_bps=back.goodput_bps))
    known = [link.distance_m for link in links if link.distance_m is not None]
    return Physics(
        rtt_ns=rtt_ns,
        distance_m=sum(known) if known else None,
        bdp_bytes=ph.bdp_bytes(rate, rtt_ns),
        mss_bytes=mss,
        framing_limit_bps=framing,
        window_limit_bps=window,
        bus_limit_bps=min((bus.goodput_bps for bus in buses), default=None),
        expected_goodput_bps=min(limit.goodput_bps for limit in limits),
        limits=limits,
    )


def _links_in_words(slowest: list[Link], links: list[Link]) -> str:
    if len(slowest) == len(links) > 1:
        return "every link"
    names = [f"{link.index + 1} {link.a}–{link.b}" for link in slowest[:3]]
    more = f" and {len(slowest) - 3} more" if len(slowest) > 3 else ""
    return f"link{'s' if len(slowest) > 1 else ''} {', '.join(names)}{more}"


def _bus_limit(node: Node, mtu: int, ip_version: int) -> Limit:
    goodput = ph.bus_limit_bps(node.bus_rate_bps or 0, mtu, ip_version)
    return Limit(kind="bus", place=node.name, fitted=node.bus_fitted, goodput_bps=goodput)


def _token_bucket(link: Link, mtu: int, ip_version: int) -> Limit:
    parameters = link.forward.parameters
    assert parameters is not None
    assert parameters.rate_bps is not None
    goodput = ph.framing_limit_bps(parameters.rate_bps, mtu, link.framing_bytes, ip_version)
    return Limit(kind="token bucket", place=f"link {link.index + 1} {link.a}–{link.b}", goodput_bps=goodput)


def _path_loss(links: list[Link]) -> float:
    arrives = 1.0
    for link in links:
        arrives *= (1 - link.forward.loss) * (1 - link.forward.corrupt)
    return 1 - arrives
