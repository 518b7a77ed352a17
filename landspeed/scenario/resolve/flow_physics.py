"""Theory for one flow: the limits of the path that it takes, as if it were alone there."""

from __future__ import annotations

import math
from dataclasses import replace

from landspeed.base import limits as words
from landspeed.scenario.file.model import ScenarioFile, TransferSection
from landspeed.scenario.plan.limits import Limit, Physics
from landspeed.scenario.plan.plan import Link, Node, Plan, Transfer
from landspeed.scenario.theory import physics as ph
from landspeed.scenario.theory.ack_path import ack_path
from landspeed.scenario.theory.datagrams import active_share, payload_bytes, payload_rate_bps
from landspeed.scenario.theory.timing import path_mtu


def flow_physics(scenario: ScenarioFile, transfer: TransferSection, path: Plan) -> Physics:
    """Compute the theory for a transfer over the path of its flow alone, whose own physics are not known yet."""
    ip, mtu, links = scenario.ip, path_mtu(path), path.links
    there, ends = links[: path.hops], (path.nodes[0], path.nodes[path.hops])
    mptcp = transfer.mptcp
    mss = ph.mss_bytes(mtu, ip, mptcp=mptcp)
    rtt_ns = sum(link.forward.delay_ns + link.reverse.delay_ns for link in links)
    rate = min(link.forward.rate_bps for link in there)
    framings = [ph.line_rate_limit_bps(k.forward.rate_bps, mtu, k.framing_of(mtu), ip, mptcp=mptcp) for k in there]
    framing = min(framings)
    buses = [_bus_limit(node, mtu, ip) for node in ends if node.bus_rate_bps]
    window = None
    limits = list(buses)
    if transfer.window is not None:
        usable = transfer.window
        if not transfer.window_exact:
            usable = ph.linux_usable_window_bytes(transfer.window, mss, scenario.fidelity)
        window = ph.window_limit_bps(usable, transfer.streams, rtt_ns)
    elif (largest := ph.window_limit_bps(ph.MAX_TCP_WINDOW, transfer.streams, rtt_ns)) < framing:
        window = largest  # autotuning makes no more of it than TCP can say
    if window is not None:
        limits.append(Limit(kind=words.WINDOW, goodput_bps=window))
    slowest = [link for link, limit in zip(there, framings, strict=True) if limit == framing]
    limits.append(Limit(kind=words.LINE_RATE, place=_links_in_words(slowest, there), goodput_bps=framing))
    limits += [_token_bucket(link, mtu, ip, mptcp=mptcp) for link in links if link.forward.discipline == "tbf"]
    if transfer.pacing:
        pacing = ph.pacing_limit_bps(transfer.pacing, transfer.streams)
        limits.append(Limit(kind=words.PACING, goodput_bps=pacing))
    if (loss := _path_loss(links)) > 0 and _all_reno(transfer):
        square_root = transfer.streams * ph.square_root_law_bps(mss, rtt_ns, loss)
        limits.append(Limit(kind=words.LOSS, goodput_bps=square_root))
    back = ack_path(
        links, hops=path.hops, mss=mss, ip_version=ip, fidelity=scenario.fidelity, line_rate_limit_bps=framing
    )
    if back and not back.drops:
        limits.append(Limit(kind=words.ACK_PATH, place=back.place, goodput_bps=back.goodput_bps))
    known = [link.distance_m for link in there if link.distance_m is not None]
    physics = Physics(
        rtt_ns=rtt_ns,
        distance_m=sum(known) if known else None,
        bdp_bytes=ph.bdp_bytes(rate, rtt_ns),
        mss_bytes=mss,
        line_rate_limit_bps=framing,
        window_limit_bps=window,
        bus_limit_bps=min((bus.goodput_bps for bus in buses), default=None),
        expected_goodput_bps=min(limit.goodput_bps for limit in limits),
        limits=limits,
    )
    return physics if transfer.protect == "none" else _in_records(physics, ph.record_share(transfer.protect))


def datagram_physics(transfer: Transfer, path: Plan) -> Physics:
    """Compute the theory for datagrams over the path of their flow alone.

    `mss_bytes` is the payload of one. What chance loses on the way is left out of the rate that they are sent at.
    """
    links, ip_version = path.links[: path.hops], path.ip_version
    packet, share = transfer.packet_bytes or 0, active_share(transfer)
    payload = payload_bytes(packet, ip_version)
    rtt_ns = sum(link.forward.delay_ns + link.reverse.delay_ns for link in path.links)
    lines = [link.forward.rate_bps * payload // link.line_bytes(packet) for link in links]
    slowest = [link for link, limit in zip(links, lines, strict=True) if limit == min(lines)]
    sent = round(payload_rate_bps(transfer, ip_version) * share * math.prod(1 - link.forward.loss for link in links))
    limits = [
        Limit(kind=words.PACING, goodput_bps=sent),
        Limit(kind=words.LINE_RATE, place=_links_in_words(slowest, links), goodput_bps=min(lines)),
    ]
    buses = [
        Limit(
            kind=words.BUS, place=node.name, fitted=node.bus_fitted, goodput_bps=node.bus_rate_bps * payload // packet
        )
        for node in (path.nodes[0], path.nodes[path.hops])
        if node.bus_rate_bps
    ]
    known = [link.distance_m for link in links if link.distance_m is not None]
    return Physics(
        rtt_ns=rtt_ns,
        distance_m=sum(known) if known else None,
        bdp_bytes=ph.bdp_bytes(min(link.forward.rate_bps for link in links), rtt_ns),
        mss_bytes=payload,
        line_rate_limit_bps=min(lines),
        window_limit_bps=None,
        bus_limit_bps=min((bus.goodput_bps for bus in buses), default=None),
        expected_goodput_bps=min(limit.goodput_bps for limit in (*limits, *buses)),
        limits=[*limits, *buses],
    )


def _in_records(physics: Physics, share: float) -> Physics:
    """Scale the limits for records: only that share of TCP's payload is data."""

    def of(goodput_bps: int | None) -> int | None:
        return None if goodput_bps is None else int(goodput_bps * share)

    limits = [replace(limit, goodput_bps=int(limit.goodput_bps * share)) for limit in physics.limits]
    return replace(
        physics,
        line_rate_limit_bps=int(physics.line_rate_limit_bps * share),
        window_limit_bps=of(physics.window_limit_bps),
        bus_limit_bps=of(physics.bus_limit_bps),
        expected_goodput_bps=min(limit.goodput_bps for limit in limits),
        limits=limits,
    )


def both_routes(scenario: ScenarioFile, transfer: TransferSection, alone: list[Physics]) -> Physics:
    """Combine the theory for MPTCP over two routes: the sum of what each allows, one window for both (RFC 8684).

    RTT and MSS are those of the first route. The routes share no link, so each gives what it would alone.

    Args:
        scenario, transfer: what is sent.
        alone: what is known of each route, as if everything went over it.
    """
    of_routes = [[limit for limit in each.limits if limit.kind not in (words.WINDOW, words.BUS)] for each in alone]
    least = [min(limits, key=lambda limit: limit.goodput_bps) for limits in of_routes]
    others: list[words.PlanLimit] = [limit.kind for limit in least if limit.kind != words.LINE_RATE]
    kind: words.PlanLimit = others[0] if others else words.LINE_RATE
    places = [limit.place if limit.kind == words.LINE_RATE or others[1:] else limit.name for limit in least]
    together = Limit(
        kind=kind,
        place=" and ".join(place for place in places if place),
        goodput_bps=sum(limit.goodput_bps for limit in least),
    )
    buses = [limit for limit in alone[0].limits if limit.kind == words.BUS]
    limits, window = [*buses, together], None
    if transfer.window is not None:
        usable = ph.linux_usable_window_bytes(transfer.window, alone[0].mss_bytes, scenario.fidelity)
        window = ph.window_limit_bps(usable, transfer.streams, max(each.rtt_ns for each in alone))
        limits.append(Limit(kind=words.WINDOW, goodput_bps=window))
    return replace(
        alone[0],
        bdp_bytes=ph.bdp_of_routes_bytes([(each.line_rate_limit_bps, each.rtt_ns) for each in alone]),
        line_rate_limit_bps=sum(each.line_rate_limit_bps for each in alone),
        window_limit_bps=window,
        expected_goodput_bps=min(limit.goodput_bps for limit in limits),
        limits=limits,
    )


def _all_reno(transfer: TransferSection) -> bool:
    return set(transfer.congestion_controls or [transfer.congestion_control]) == {"reno"}


def _links_in_words(slowest: list[Link], links: list[Link]) -> str:
    if len(slowest) == len(links) > 1:
        return "every link"
    names = [f"{link.index + 1} {link.a}–{link.b}" for link in slowest[:3]]
    more = f" and {len(slowest) - 3} more" if len(slowest) > 3 else ""
    return f"link{'s' if len(slowest) > 1 else ''} {', '.join(names)}{more}"


def _bus_limit(node: Node, mtu: int, ip_version: int) -> Limit:
    goodput = ph.bus_limit_bps(node.bus_rate_bps or 0, mtu, ip_version)
    return Limit(kind=words.BUS, place=node.name, fitted=node.bus_fitted, goodput_bps=goodput)


def _token_bucket(link: Link, mtu: int, ip_version: int, *, mptcp: bool) -> Limit:
    parameters = link.forward.parameters
    assert parameters is not None
    assert parameters.rate_bps is not None
    goodput = ph.line_rate_limit_bps(parameters.rate_bps, mtu, link.framing_of(mtu), ip_version, mptcp=mptcp)
    return Limit(kind=words.TOKEN_BUCKET, place=f"link {link.index + 1} {link.a}–{link.b}", goodput_bps=goodput)


def _path_loss(links: list[Link]) -> float:
    arrives = 1.0
    for link in links:
        arrives *= 1 - link.forward.loss_events
    return 1 - arrives
