"""Scenario → Plan: defaults filled in, both directions of each link spelt out, seeds derived, physics computed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, cast

from . import physics as ph
from .document import Path
from .errors import Problem, ScenarioError
from .events import KINDS, place_of, plan_events
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

CONGESTION_CONTROLS = (
    "reno", "cubic", "bbr", "htcp", "highspeed", "scalable", "bic", "westwood", "vegas", "illinois", "yeah", "dctcp",
)  # fmt: skip


ENGINE_KEYS = ("congestion_controls", "send")


@dataclass(frozen=True)
class Honours:
    """What a world can do of what not every world can. Another one names here what it has."""

    congestion_controls: tuple[str, ...] = CONGESTION_CONTROLS
    disciplines: tuple[str, ...] = ("fifo",)
    events: tuple[str, ...] = ()  # keys of the file
    engine_keys: tuple[str, ...] = ()  # keys of `transfer` that tell the transfer engine what to do


WORLDS = {
    "emu": Honours(disciplines=("fifo", "red", "fq_codel"), events=tuple(KINDS), engine_keys=ENGINE_KEYS),
    "sim": Honours(disciplines=("fifo", "red", "fq_codel"), events=tuple(KINDS)),
}
MIN_BDP_QUEUE_PACKETS = 10  # a queue given in BDP holds at least this many packets, however short the path


def make_plan(loaded: LoadedScenario, *, seed: int | None = None, world: str = "emu") -> Plan:
    """The plan of a scenario for a world. Raises ScenarioError for what the world cannot honour."""
    if world not in WORLDS:
        raise ValueError(f"world '{world}' is not known here; worlds: {', '.join(WORLDS)}")
    scenario = loaded.scenario
    seed = scenario.seed if seed is None else seed
    problems = _world_problems(loaded, world)
    events = plan_events(scenario)
    links = _links(loaded, seed, events, problems)
    if problems:
        raise ScenarioError(problems)
    nodes = _nodes(scenario, links)
    links = prove_queueing(nodes, links, scenario.ip, events)
    transfer = scenario.transfer
    return Plan(
        scenario=scenario.name,
        title=scenario.title,
        scenario_file=str(loaded.path),
        seed=seed,
        ip_version=6 if scenario.ip == 6 else 4,
        fidelity=scenario.fidelity,
        nodes=nodes,
        links=links,
        transfer=Transfer(
            streams=transfer.streams,
            window_bytes=transfer.window,
            window_exact=transfer.window_exact,
            initial_window_packets=transfer.initial_window,
            congestion_control=transfer.congestion_control,
            congestion_controls=transfer.congestion_controls,
            bytes=transfer.bytes,
            duration_ns=transfer.duration,
            receive=transfer.receive,
            send=transfer.send,
            sample_interval_ns=transfer.sample_interval,
            pacing_rate_bps=transfer.pacing,
            start_stagger_ns=transfer.start_stagger,
        ),
        events=events,
        calibration=Calibration(
            rtt_tolerance=scenario.calibration.rtt_tolerance, rate_tolerance=scenario.calibration.rate_tolerance
        ),
        expect=expected(scenario),
        contest=contest_facts(scenario),
        physics=_physics(scenario, nodes, links),
    )


def _world_problems(loaded: LoadedScenario, world: str) -> list[Problem]:
    """What the scenario asks and the world cannot do, each with the worlds that can."""
    scenario, problems = loaded.scenario, []

    def ask(kind: str, asked: str, where: Path, name: str, *, key: bool = False) -> None:
        if asked in getattr(WORLDS[world], kind):
            return
        able = [other for other, honours in WORLDS.items() if asked in getattr(honours, kind)]
        right = f"the world {' or '.join(able)} can (--world {able[0]}); here" if able else "no world can;"
        known = ", ".join(getattr(WORLDS[world], kind))
        choice = f"write one of: {known}" if known else "leave it out"
        problems.append(loaded.problem(where, f"{name} is not in the world '{world}'", f"{right} {choice}", key=key))

    asked = scenario.transfer.congestion_control
    ask("congestion_controls", asked, ("transfer", "congestion_control"), f"congestion control '{asked}'")
    for number, name in enumerate(scenario.transfer.congestion_controls or []):
        where = ("transfer", "congestion_controls", number)
        ask("congestion_controls", name, where, f"congestion control '{name}'")
    for name in ENGINE_KEYS:
        if getattr(scenario.transfer, name) not in (None, "auto"):
            ask("engine_keys", name, ("transfer", name), f"transfer.{name}", key=True)
    for index, link in enumerate(scenario.path):
        for side, where in ((link, ("path", index)), (link.reverse, ("path", index, "reverse"))):
            if side and side.discipline:
                ask("disciplines", side.discipline, (*where, "discipline"), f"queue discipline '{side.discipline}'")
    for number, event in enumerate(scenario.events):
        for kind in KINDS:
            if getattr(event, kind) is not None:
                ask("events", kind, ("events", number, kind), f"an event of the kind {kind}", key=True)
    if world == "emu":
        problems += _uncountable_losses(loaded)
    return problems


def _uncountable_losses(loaded: LoadedScenario) -> list[Problem]:
    """netem draws the loss of a packet and of its copy from one generator: with copies, a number cannot be kept to."""
    scenario, problems = loaded.scenario, []
    for number, event in enumerate(scenario.events):
        if event.loss is None or event.loss.packets is None or (place := place_of(scenario, event)) is None:
            continue
        link, (index, direction) = scenario.path[place[0]], place
        back = link.reverse.duplicate if link.reverse and link.reverse.duplicate is not None else link.duplicate
        copies = {"forward": link.duplicate, "reverse": back, "both": link.duplicate or back}[direction]
        if copies:
            what = f"a number of packets cannot be lost where link {index + 1} duplicates, in the world 'emu'"
            right = "the world sim can (--world sim); here write a share for a time: loss: 100 %, for: 1 ms"
            problems.append(loaded.problem(("events", number, "loss"), what, right))
    return problems


def _nodes(scenario: Scenario, links: list[Link]) -> list[Node]:
    names = [scenario.path[0].from_, *(link.to for link in scenario.path)]
    nodes = []
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
    discipline: Literal["fifo", "red", "fq_codel"]
    packet_limit: int | None
    loss: float
    corrupt: float
    duplicate: float
    reorder: float
    jitter_ns: int


def _lane(scenario: Scenario, link: ScenarioLink, *, reverse: bool) -> _Lane:
    sides: tuple[Lane, ...] = (link.reverse, link) if reverse and link.reverse else (link,)

    def value(key: str) -> object:
        return next((getattr(side, key) for side in sides if getattr(side, key) is not None), None)

    delay = value("one_way_delay")
    if link.rtt is not None:
        delay = link.rtt - link.rtt // 2 if reverse else link.rtt // 2
    return _Lane(
        delay_ns=cast(int, delay or 0),
        rate_bps=cast(int, value("line_rate") or scenario.line_rate),
        queue=cast(QueueSize, value("queue") or scenario.queue or QueueSize(bdp=Fraction(1))),
        discipline=cast('Literal["fifo", "red", "fq_codel"]', value("discipline") or "fifo"),
        packet_limit=cast("int | None", value("packet_limit")),
        loss=cast(float, value("loss") or 0.0),
        corrupt=cast(float, value("corrupt") or 0.0),
        duplicate=cast(float, value("duplicate") or 0.0),
        reorder=cast(float, value("reorder") or 0.0),
        jitter_ns=cast(int, value("jitter") or 0),
    )


def _links(loaded: LoadedScenario, seed: int, events: list[Event], problems: list[Problem]) -> list[Link]:
    scenario = loaded.scenario
    lanes = [(_lane(scenario, k, reverse=False), _lane(scenario, k, reverse=True)) for k in scenario.path]
    rtt_ns = sum(forward.delay_ns + reverse.delay_ns for forward, reverse in lanes)
    path_mtu = min(link.mtu or scenario.mtu for link in scenario.path)
    links = []
    for index, (link, pair) in enumerate(zip(scenario.path, lanes, strict=True)):
        framing = link.framing or scenario.framing
        made = []
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
    ip, mtu, framing = here.loaded.scenario.ip, here.path_mtu, here.framing_bytes
    queue = lane.queue.resolve(ph.bdp_bytes(lane.rate_bps, here.rtt_ns))
    super_packets = here.loaded.scenario.fidelity == "super-packets"
    if lane.queue.bytes is None:
        queue = max(queue, MIN_BDP_QUEUE_PACKETS * (ph.SUPER_PACKET_BYTES if super_packets else mtu))
    _check_queue(here, queue, super_packets, problems)
    longest = max([lane.delay_ns, *(event.delay_ns or 0 for event in events)]) + lane.jitter_ns
    fastest = max([lane.rate_bps, *(event.rate_bps or 0 for event in events if event.kind == "rate")])
    limit = ph.limit_packets(fastest, longest, queue, framing, ip)
    if lane.packet_limit is not None:
        needed = ph.packets_needed(fastest, longest, queue, mtu, framing)
        if lane.packet_limit < needed:
            what = (
                f"packet_limit {lane.packet_limit} ({here.direction}) is below what the delay needs: "
                f"line rate × delay and the queue are {needed} packets of {mtu} B"
            )
            right = f"write packet_limit: {needed} or more, or leave it out"
            _add(problems, here.loaded.problem(here.key("packet_limit"), what, right))
        limit = lane.packet_limit
    return Direction(
        delay_ns=lane.delay_ns,
        rate_bps=lane.rate_bps,
        queue_bytes=queue,
        limit_packets=limit,
        can_queue=True,
        loss=lane.loss,
        corrupt=lane.corrupt,
        duplicate=lane.duplicate,
        reorder=lane.reorder,
        jitter_ns=lane.jitter_ns,
        discipline=lane.discipline,
        seed=direction_seed(seed, here.index, here.direction),
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
    window = usable = None
    limits = list(buses)
    if transfer.window is not None:
        usable = transfer.window
        if not transfer.window_exact:
            usable = ph.linux_usable_window_bytes(transfer.window, mss, scenario.fidelity)
        window = ph.window_limit_bps(usable, transfer.streams, rtt_ns)
        limits.append(Limit(name="window", goodput_bps=window))
    slowest = [link for link, limit in zip(links, framings, strict=True) if limit == framing]
    limits.append(Limit(name=_framing_name(slowest, links), goodput_bps=framing))
    if transfer.pacing:
        pacing = ph.pacing_limit_bps(transfer.pacing, transfer.streams, mtu, ip)
        limits.append(Limit(name="pacing", goodput_bps=pacing))
    if (loss := _path_loss(links)) > 0 and _all_reno(transfer):
        square_root = transfer.streams * ph.square_root_law_bps(mss, rtt_ns, loss)
        limits.append(Limit(name="loss (square-root law)", goodput_bps=square_root))
    least = min(limits, key=lambda limit: limit.goodput_bps)
    bdp = ph.bdp_bytes(rate, rtt_ns)
    in_flight = bdp + sum(link.forward.queue_bytes for link in links if link.forward.can_queue)
    if usable is not None:
        in_flight = min(in_flight, transfer.streams * usable)
    known = [link.distance_m for link in links if link.distance_m is not None]
    return Physics(
        rtt_ns=rtt_ns,
        distance_m=sum(known) if known else None,
        bdp_bytes=bdp,
        mss_bytes=mss,
        framing_limit_bps=framing,
        window_limit_bps=window,
        bus_limit_bps=min((bus.goodput_bps for bus in buses), default=None),
        expected_goodput_bps=least.goodput_bps,
        expected_bottleneck=least.name,
        guest_memory_bytes=ph.guest_memory_bytes(in_flight, mtu, scenario.fidelity, transfer.receive),
        limits=limits,
    )


def _framing_name(slowest: list[Link], links: list[Link]) -> str:
    if len(slowest) == len(links) > 1:
        return "framing of every link"
    names = [f"{link.index + 1} {link.a}–{link.b}" for link in slowest[:3]]
    more = f" and {len(slowest) - 3} more" if len(slowest) > 3 else ""
    return f"framing of link{'s' if len(slowest) > 1 else ''} {', '.join(names)}{more}"


def _bus_limit(node: Node, mtu: int, ip_version: int) -> Limit:
    name = f"bus of {node.name}" + (" (fitted)" if node.bus_fitted else "")
    return Limit(name=name, goodput_bps=ph.bus_limit_bps(node.bus_rate_bps or 0, mtu, ip_version))


def _path_loss(links: list[Link]) -> float:
    arrives = 1.0
    for link in links:
        arrives *= (1 - link.forward.loss) * (1 - link.forward.corrupt)
    return 1 - arrives
