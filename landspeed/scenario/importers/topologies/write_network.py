"""Writer of a map as a scenario of a network; what the map does not tell has the word assumed."""

from __future__ import annotations

import heapq
from pathlib import Path

from landspeed.base.units import RATE, SIZE, TIME, format_exact, format_probability
from landspeed.scenario.importers.path_evidence import MeasurementError
from landspeed.scenario.importers.topologies.topology import (
    FIBRE_M_PER_S,
    MapLink,
    MapWay,
    Topology,
    distance_m,
    scenario_names,
)

STRETCH = 1.5
"""Fibre's length by the great circle: it follows roads and railways (Durairajan et al., InterTubes, SIGCOMM 2015)."""
ASSUMED_RATE_BPS = 10 * 10**9
ASSUMED_DELAY_S = 1e-3
ACCESS_RATE_FACTOR = 10


def write_network(topology: Topology, file: Path, name: str, title: str = "", stretch: float = STRETCH) -> str:
    """The file's text: links as the map has them, and a flow between the two ends that are farthest apart."""
    names = scenario_names(topology.nodes)
    delays = [_delay_s(topology, link, stretch) for link in topology.links]
    ends = _farthest(topology, delays, file)
    hosts = {key: names[key] if key in topology.hosts else _host(names, key) for key in ends}
    fastest = max(
        [int(way.rate_bps) for link in topology.links for way in (link.forward, link.reverse) if way.rate_bps],
        default=0,
    )
    lines = [
        "# Made by `landspeed import`. Behind each value stands its source; what no file tells is assumed.",
        "format: 1",
        f"name: {name}",
        f"title: {_quoted(title or topology.title)}",
        "",
        f"line_rate: {format_exact(RATE, ASSUMED_RATE_BPS)}  # assumed, of links of which {file.name} tells none",
        "queue: 1 BDP  # assumed, of queues of which it tells none",
        "",
    ]
    placed = [node for node in topology.nodes if node.latitude_deg is not None and node.key not in topology.hosts]
    if placed:
        lines.append("routers:")
        lines += [
            f"  {names[node.key]}: {{place: {_quoted(node.label or node.key)}, position: "
            f"{_degrees(node.latitude_deg or 0.0, 'N', 'S')} {_degrees(node.longitude_deg or 0.0, 'E', 'W')}}}"
            for node in placed
        ]
        lines.append("")
    lines.append("links:")
    for link, (delay_s, source) in zip(topology.links, delays, strict=True):
        lines += _link(link, names, delay_s, source)
    for key, host in hosts.items():
        if key not in topology.hosts:
            rate = format_exact(RATE, max(fastest, ASSUMED_RATE_BPS) * ACCESS_RATE_FACTOR)
            fast = f"one_way_delay: 0 ms, line_rate: {rate}"
            lines.append(f"  - {{from: {host}, to: {names[key]}, {fast}}}  # assumed: a host there")
    first, last = (hosts[key] for key in ends)
    lines += [
        "",
        "transfer:  # assumed",
        "  duration: 30 s",
        "",
        "flows:  # assumed: between the two ends that are farthest apart",
    ]
    lines.append(f"  - {{name: across, from: {first}, to: {last}}}")
    lines += ["", "sources:", f"  - {_quoted(f'{file.name}: {topology.title}')}"]
    if topology.notes:
        lines += ["", "assumptions:", *(f"  - {_quoted(f'Left out: {each}.')}" for each in topology.notes)]
    return "\n".join(lines) + "\n"


def _host(names: dict[str, str], key: str) -> str:
    return f"{names[key][:26]}-host"


def _link(link: MapLink, names: dict[str, str], delay_s: float, source: str) -> list[str]:
    there, back = link.forward, link.reverse
    found = [f"  - from: {names[link.a]}", f"    to: {names[link.b]}"]
    found.append(f"    one_way_delay: {format_exact(TIME, round(delay_s * 1e9))}  # {source}")
    found += _way(there, "    ")
    different = [
        each for each in ("delay_s", "rate_bps", "loss", "queue_bytes") if getattr(there, each) != getattr(back, each)
    ]
    if different and back.source:
        found.append("    reverse:")
        if back.delay_s is not None:
            found.append(f"      one_way_delay: {format_exact(TIME, round(back.delay_s * 1e9))}  # {back.source}")
        found += _way(back, "      ")
    return found


def _way(way: MapWay, margin: str) -> list[str]:
    found: list[str] = []
    if way.rate_bps:
        found.append(f"{margin}line_rate: {format_exact(RATE, round(way.rate_bps))}  # {way.source}")
    if way.loss:
        found.append(f"{margin}loss: {format_probability(way.loss)}  # {way.source}")
    if way.queue_bytes:
        found.append(f"{margin}queue: {format_exact(SIZE, way.queue_bytes)}  # {way.source}")
    return found


def _delay_s(topology: Topology, link: MapLink, stretch: float) -> tuple[float, str]:
    """One way's delay and its source: told, of the places, or assumed."""
    if link.forward.delay_s is not None:
        return link.forward.delay_s, link.forward.source
    length = distance_m(topology.node(link.a), topology.node(link.b))
    if length is None:
        return ASSUMED_DELAY_S, "assumed: no delay and no places are told"
    text = f"{length / 1e3:.0f} km of great circle × {stretch:g} at 2/3 of light's speed; the stretch is assumed"
    return length * stretch / FIBRE_M_PER_S, text


def _farthest(topology: Topology, delays: list[tuple[float, str]], file: Path) -> tuple[str, str]:
    """The two ends with the greatest delay between them: of the hosts, or of all nodes.

    Raises:
        MeasurementError: no two of them are joined.
    """
    ways: dict[str, list[tuple[str, float]]] = {}
    for link, (delay_s, _) in zip(topology.links, delays, strict=True):
        ways.setdefault(link.a, []).append((link.b, delay_s))
        ways.setdefault(link.b, []).append((link.a, delay_s))
    ends = [node.key for node in topology.nodes if node.key in (topology.hosts or ways)]
    best: tuple[float, str, str] | None = None
    for start in ends:
        far = _shortest(ways, start, topology.hosts)
        for end in ends:
            if end in far and end != start and (best is None or far[end] > best[0]):
                best = (far[end], start, end)
    if best is None:
        raise MeasurementError(f"{file}: no two ends of the map are joined; give a map in which a flow has a way")
    return best[1], best[2]


def _shortest(ways: dict[str, list[tuple[str, float]]], start: str, hosts: frozenset[str]) -> dict[str, float]:
    """Delay from a node to all others (Dijkstra); hosts forward nothing."""
    found: dict[str, float] = {}
    waiting = [(0.0, start)]
    while waiting:
        delay, node = heapq.heappop(waiting)
        if node in found:
            continue
        found[node] = delay
        if node in hosts and node != start:
            continue
        for other, further in ways.get(node, ()):
            if other not in found:
                heapq.heappush(waiting, (delay + further, other))
    return found


def _degrees(value: float, positive: str, negative: str) -> str:
    return f"{abs(value):.5g} {positive if value >= 0 else negative}"


def _quoted(text: str) -> str:
    plain = "".join(each if each.isprintable() else " " for each in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
