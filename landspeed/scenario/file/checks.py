"""Checks over several keys of a scenario: the order of the hops, exclusive keys, the IP version."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from landspeed.base.loss_units import BitErrors, PeriodicLoss
from landspeed.base.units import SIZE, format_exact, format_probability
from landspeed.scenario.file.datagram_checks import check_datagrams, too_large
from landspeed.scenario.file.document import KeyPath
from landspeed.scenario.file.fault import Fault
from landspeed.scenario.file.flow_transfer import flow_transfer
from landspeed.scenario.file.model import ScenarioFile, TransferSection
from landspeed.scenario.file.model_links import LinkSection
from landspeed.scenario.file.model_recorded import ExpectSection
from landspeed.scenario.file.netem_checks import check_netem
from landspeed.scenario.file.network_checks import check_network, either
from landspeed.scenario.file.network_routes import flow_ways
from landspeed.scenario.theory.physics import CELLS, LEAST_BYTES

BESIDE_PERIODS = ("loss_burst", "corrupt", "duplicate", "reorder", "jitter")
MOST_PADDED_MTU = 9180  # RFC 2225 section 7: the MTU of IP over ATM
IPV6_MIN_MTU = 1280  # RFC 8200 section 5


def check_structure(scenario: ScenarioFile) -> list[Fault]:
    """Every contradiction in the scenario, in the order of the file's sections."""
    if found := list(either(scenario)):
        return found
    shape = check_network(scenario) if scenario.is_network else [*_hosts(scenario), *_hops(scenario)]
    return [
        *_mtus(scenario),
        *shape,
        *_links(scenario),
        *_transfers(scenario),
        *_expects(scenario),
    ]


def _mtus(scenario: ScenarioFile) -> Iterator[Fault]:
    if scenario.ip == 6:
        mtus: list[tuple[KeyPath, int | None]] = [(("mtu",), scenario.mtu)]
        mtus += [((scenario.links_key, index, "mtu"), link.mtu) for index, link in enumerate(scenario.all_links)]
        for where, mtu in mtus:
            if mtu is not None and mtu < IPV6_MIN_MTU:
                what = f"an MTU of {format_exact(SIZE, mtu)} cannot carry IPv6"
                yield Fault(where, what, f"write at least {IPV6_MIN_MTU} B (RFC 8200), or ip: 4")


def _hosts(scenario: ScenarioFile) -> Iterator[Fault]:
    roles: dict[str, str] = {}
    if len(scenario.hosts) != 2:
        amount = "few" if len(scenario.hosts) < 2 else "many"
        yield Fault(("hosts",), f"hosts has too {amount} entries", "write two: those at the ends of the path")
    for name, host in scenario.hosts.items():
        if host.role is None:
            what = f"key 'role' is missing in hosts.{name}"
            yield Fault(("hosts", name, "role"), what, "add role: sender (or receiver)", at_key=True)
            continue
        if host.role in roles:
            other = "receiver" if host.role == "sender" else "sender"
            what = f"{name} and {roles[host.role]} are both {host.role}"
            yield Fault(("hosts", name, "role"), what, f"write role: {other} for one of them")
        roles.setdefault(host.role, name)
    for name in scenario.routers:
        if name in scenario.hosts:
            what = f"{name} is a host and a router"
            yield Fault(("routers", name), what, "remove it from one of the two", at_key=True)


def _hops(scenario: ScenarioFile) -> Iterator[Fault]:
    path, first = scenario.path, dict[tuple[str, str], int]()
    for index, link in enumerate(path):
        if first.setdefault((link.from_, link.to), index) != index:
            yield Fault(("path", index), f"the link {link.from_} – {link.to} stands twice", "remove one of the two")
            return
    seen = [path[0].from_]
    for index, link in enumerate(path):
        if link.from_ != seen[-1]:
            what = f"gap in the path: the hop before ends at {seen[-1]}, this one begins at {link.from_}"
            yield Fault(("path", index, "from"), what, f"write from: {seen[-1]}, or add the hop between")
            seen.append(link.from_)
        if link.to in seen:
            what = f"loop in the path: {link.to} was passed before"
            yield Fault(("path", index, "to"), what, "write each node once, from sender to receiver")
        elif link.to in scenario.hosts and index < len(path) - 1:
            what = f"{link.to} is a host in the middle of the path"
            yield Fault(("path", index, "to"), what, "hosts are the first and the last node: route through a router")
        seen.append(link.to)
    for role, node, where in (
        ("sender", path[0].from_, ("path", 0, "from")),
        ("receiver", path[-1].to, ("path", len(path) - 1, "to")),
    ):
        named = [name for name, host in scenario.hosts.items() if host.role == role]
        if named and node not in named:
            end = "begins" if role == "sender" else "ends"
            yield Fault(where, f"the path {end} at {node}, which is not the {role}", f"write {named[0]}")
    on_path = set(seen)
    for name in scenario.routers:
        if name not in on_path:
            what = f"router {name} is not on the path"
            yield Fault(("routers", name), what, "remove it, or name it in the path", at_key=True)


def _links(scenario: ScenarioFile) -> Iterator[Fault]:
    for index, link in enumerate(scenario.all_links):
        where: KeyPath = (scenario.links_key, index)
        yield from check_netem(scenario, link, where)
        yield from _padded(scenario, link, where)
        yield from _delays(link, where)
        yield from _bursts(link, where)
        yield from _periods(scenario, link, where)
        yield from _host_queue(scenario, link, where)
        rated = link.trace is not None or (link.netem and link.netem.rate_bps)
        if link.line_rate is None and scenario.line_rate is None and not rated:
            what = f"the link {link.from_} – {link.to} has no line rate"
            yield Fault(where, what, "add line_rate: 10 Gbit/s here or at the top of the file")
    ends = [(link, index, name) for index, link in enumerate(scenario.all_links) for name in (link.from_, link.to)]
    for link, index, name in ends:
        host, rate = scenario.hosts.get(name), link.line_rate or scenario.line_rate
        if host and host.nic and rate and host.nic < rate:
            key: KeyPath = (scenario.links_key, index, "line_rate") if link.line_rate else ("hosts", name, "nic")
            what = f"the link at {name} has a higher line rate than the network interface (nic) of {name}"
            yield Fault(key, what, "write the same rate for both, or a higher nic")


def _padded(scenario: ScenarioFile, link: LinkSection, where: KeyPath) -> Iterator[Fault]:
    """Refuse what cannot stand beside a framing that pads packets: CELLS, LEAST_BYTES."""
    framing = link.framing or scenario.framing
    if framing not in CELLS and framing not in LEAST_BYTES:
        return
    at: KeyPath = (*where, "framing") if link.framing else ("framing",)
    mtu = link.mtu or scenario.mtu
    if mtu > MOST_PADDED_MTU:
        key: KeyPath = (*where, "mtu") if link.mtu else ("mtu",)
        what = f"{framing} carries no packets of {format_exact(SIZE, mtu)}"
        yield Fault(key, what, f"write at most {MOST_PADDED_MTU} B (RFC 2225)")
    if scenario.fidelity != "packets":
        yield Fault(at, f"{framing} pads packets, one by one", "write fidelity: packets")
    for name in (link.from_, link.to):
        if (host := scenario.hosts.get(name)) is not None and host.bus is not None:
            what = f"{framing} at {name}, whose bus moves packets without it"
            yield Fault(at, what, f"put a router between, or leave the bus of {name} out")
    if link.netem and link.netem.rate_bps:
        yield Fault(at, f"{framing}, and netem's rate has an overhead of its own", "leave one of the two out")


def _host_queue(scenario: ScenarioFile, link: LinkSection, where: KeyPath) -> Iterator[Fault]:
    """A queue where a host sends, and an interface that is no faster: its sockets wait, and nothing queues."""
    host, rate = scenario.hosts.get(link.to), (link.reverse and link.reverse.line_rate) or link.line_rate
    rate = rate or scenario.line_rate
    if own_queue(scenario, link) and host and host.nic and rate and host.nic <= rate:
        what = f"{link.to} sends no faster than its line: its sockets wait, and no queue forms before the line"
        fix = f"leave nic of {link.to} out, or write a faster one; or remove the queue"
        yield Fault((*where, "reverse"), what, fix, at_key=True)


def own_queue(scenario: ScenarioFile, link: LinkSection) -> bool:
    """Return whether the file asks for a queue before the line on which the host at the link's far end sends."""
    ends = (
        {scenario.path[-1].to} if scenario.path else {end for flow in scenario.flows for end in (flow.from_, flow.to)}
    )
    back = link.reverse
    return link.to in ends and back is not None and (back.queue is not None or back.discipline is not None)


def _delays(link: LinkSection, where: KeyPath) -> Iterator[Fault]:
    name = f"the link {link.from_} – {link.to}"
    if link.rtt is None and link.one_way_delay is None and link.trace is None and link.netem is None:
        yield Fault(where, f"{name} has no delay", "add one_way_delay: 10 ms, or rtt: 20 ms for both directions")
    if link.rtt is not None and link.one_way_delay is not None:
        what = f"{name} has both rtt and one_way_delay"
        yield Fault((*where, "rtt"), what, "keep one: rtt is split evenly", at_key=True)
    if link.rtt is not None and link.reverse and link.reverse.one_way_delay is not None:
        what = f"{name} has an rtt and a delay of its reverse direction"
        yield Fault((*where, "reverse", "one_way_delay"), what, "write one_way_delay for both directions", at_key=True)
    forward = link.one_way_delay if link.one_way_delay is not None else (link.rtt or 0) // 2
    delay = {"forward": forward, "reverse": forward}
    if link.reverse and link.reverse.one_way_delay is not None:
        delay["reverse"] = link.reverse.one_way_delay
    for direction in ("forward", "reverse"):
        jitter, key = _given(link, where, "jitter", direction)
        if (jitter or 0) > delay[direction] and link.trace is None:
            yield Fault(key, f"jitter is larger than the {direction} delay of {name}", "write a jitter up to the delay")
            return


def _bursts(link: LinkSection, where: KeyPath) -> Iterator[Fault]:
    """Mean lengths that no chain has: between two bursts one packet arrives at least."""
    losses = {direction: _given(link, where, "loss", direction)[0] or 0.0 for direction in ("forward", "reverse")}
    for direction, loss in losses.items():
        burst, key = _given(link, where, "loss_burst", direction)
        if burst is None:
            continue
        if isinstance(loss, BitErrors):
            yield Fault(key, "bits in error come each for itself", "remove it, or write loss: 0.1 %", at_key=True)
            return
        if loss == 0 and (key[-2] == "reverse" or not any(losses.values())):
            yield Fault(key, "bursts of losses, and no loss", "add loss: 0.1 %, the mean over all packets", at_key=True)
            return
        if loss == 1:
            yield Fault(
                key, "every packet is lost, which makes one burst", "remove it, or write less loss", at_key=True
            )
            return
        if burst * (1 - loss) < loss:
            what = f"bursts of {burst:g} packets cannot lose {format_probability(loss)} of all: one arrives after each"
            yield Fault(
                key, what, f"write at least {math.ceil(round(1000 * loss / (1 - loss), 6)) / 1000:g}, or less loss"
            )
            return


def _periods(scenario: ScenarioFile, link: LinkSection, where: KeyPath) -> Iterator[Fault]:
    """Refuse what cannot stand beside a loss of every N-th packet: it would count otherwise, or draw other numbers.

    Errors of bits need packets too: of a super-packet they would lose 120 at once.
    """
    for direction in ("forward", "reverse"):
        loss, key = _given(link, where, "loss", direction)
        if isinstance(loss, BitErrors) and scenario.fidelity != "packets":
            yield Fault(key, "a loss by errors of bits needs packets, one by one", "write fidelity: packets")
            return
        if not isinstance(loss, PeriodicLoss):
            continue
        beside = [other for other in BESIDE_PERIODS if _given(link, where, other, direction)[0]]
        if beside:
            what = f"every {loss.every}th packet is lost by count, and {beside[0]} leaves packets to chance"
            yield Fault(key, what, f"leave {beside[0]} out, or write it on a link of its own")
        elif scenario.fidelity != "packets":
            yield Fault(key, "a loss by count needs packets, one by one", "write fidelity: packets")
        else:
            continue
        return


def _given(link: LinkSection, where: KeyPath, key: str, direction: str) -> tuple[Any, KeyPath]:
    """Find a direction's value of a key, and its place: under `reverse`, or on the link for both."""
    if direction == "reverse" and link.reverse and (own := getattr(link.reverse, key)) is not None:
        return own, (*where, "reverse", key)
    return getattr(link, key), (*where, key)


def _transfers(scenario: ScenarioFile) -> Iterator[Fault]:
    """Check the transfer of a path; of a network, each flow's with the file's defaults."""
    if not scenario.is_network:
        asked = scenario.transfer
        yield from _transfer(asked, ("transfer",), "the transfer")
        yield from check_datagrams(asked, asked, ("transfer",), "the transfer", scenario.ip)
        least = min((link.mtu or scenario.mtu for link in scenario.path), default=scenario.mtu)
        yield from too_large(asked.packet, least, ("transfer",), "the transfer")
        if scenario.transfer.mptcp:
            what = "a path has one route, and MPTCP takes two that share no link"
            yield Fault(("transfer", "mptcp"), what, "write links and flows instead of path, or remove it", at_key=True)
    for number, flow in enumerate(scenario.flows):
        asked, where, name = flow_transfer(scenario, flow), ("flows", number), f"the flow {flow.name}"
        yield from _transfer(asked, where, name)
        yield from check_datagrams(asked, flow, where, name, scenario.ip)
    if any(flow.packet or scenario.transfer.packet for flow in scenario.flows):
        yield from _packets_of_flows(scenario)


def _packets_of_flows(scenario: ScenarioFile) -> Iterator[Fault]:
    for number, (flow, way) in enumerate(zip(scenario.flows, flow_ways(scenario), strict=False)):
        if not isinstance(way, Fault) and flow_transfer(scenario, flow).protocol == "udp":
            mtus = [scenario.links[index].mtu or scenario.mtu for index in {*way[0], *way[1][:1]}]
            packet = flow_transfer(scenario, flow).packet
            yield from too_large(packet, min(mtus, default=scenario.mtu), ("flows", number), flow.name)


def _transfer(transfer: TransferSection, where: KeyPath, name: str) -> Iterator[Fault]:
    if transfer.bytes is None and transfer.duration is None:
        yield Fault(where, f"{name} has no end", "add duration: 10 s or bytes: 1 GB", at_key=len(where) == 1)
    if transfer.bytes is not None and transfer.duration is not None:
        what = f"{name} has both bytes and duration"
        yield Fault((*where, "duration"), what, "keep the one that ends it", at_key=True)
    if transfer.window_exact and transfer.window is None:
        what = "window_exact without a window"
        yield Fault((*where, "window_exact"), what, "add window: 150 MB, or remove it", at_key=True)
    if transfer.bytes is not None and transfer.bytes < transfer.streams:
        what = f"{transfer.bytes} B cannot be shared among {transfer.streams} streams"
        yield Fault((*where, "bytes"), what, f"write at least {transfer.streams} B")
    if len(transfer.congestion_controls or []) > transfer.streams:
        what = f"{len(transfer.congestion_controls or [])} congestion controls for {transfer.streams} streams"
        yield Fault((*where, "congestion_controls"), what, "write one for each stream at most", at_key=True)
    if transfer.receive == "verify" and transfer.send in ("sendfile", "splice"):
        what = f"send: {transfer.send} sends one file again and again, and receive: verify needs unique blocks"
        yield Fault((*where, "send"), what, "write send: write, zerocopy or io_uring, or leave it out")
    yield from _records(transfer, where)


def _records(transfer: TransferSection, where: KeyPath) -> Iterator[Fault]:
    """Find the keys that contradict records of the data."""
    if transfer.protect == "none":
        return
    if transfer.receive == "discard":
        what = f"protect: {transfer.protect}, and the receiver looks at none of the data"
        yield Fault((*where, "protect"), what, "add receive: memory or receive: verify", at_key=True)
    if transfer.protect == "ktls" and transfer.mptcp:
        what = "protect: ktls, and Linux has no TLS over MPTCP"
        yield Fault((*where, "protect"), what, "write protect: aead, or leave mptcp out", at_key=True)
    ways = ("auto", "write", "sendfile", "splice") if transfer.protect == "ktls" else ("auto", "write")
    if transfer.send not in ways:
        maker = "the kernel" if transfer.protect == "ktls" else "the engine"
        what = f"with protect: {transfer.protect} {maker} makes records of the data, and send: {transfer.send} cannot"
        yield Fault((*where, "send"), what, f"write send: {' or '.join(ways[1:])}, or leave it out")


def _expects(scenario: ScenarioFile) -> Iterator[Fault]:
    yield from _expect(scenario.expect, ("expect",))
    for number, flow in enumerate(scenario.flows):
        yield from _expect(flow.expect, ("flows", number, "expect"))


def _expect(expect: ExpectSection | None, where: KeyPath) -> Iterator[Fault]:
    if expect and expect.goodput is not None and expect.tolerance is None:
        yield Fault((*where, "goodput"), "an expected goodput needs a tolerance", "add tolerance: 1 %", at_key=True)
