"""A topology of containerlab: its nodes and links, with the netem and tbf that its nodes' commands set."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from landspeed.scenario.importers.path_evidence import MeasurementError
from landspeed.scenario.importers.reading import plain_number
from landspeed.scenario.importers.topologies.topology import MapLink, MapNode, MapWay, Topology

HOST_KINDS = ("linux", "host")
MOST = {"delay_s": 1e4, "rate_bps": 1e13, "loss": 1.0, "queue_bytes": 2**40}
_TC = re.compile(r"\btc\s+qdisc\s+(?:add|replace)\s+dev\s+(\S+)\s+(.*)")
_TIMES = {"ns": 1e-9, "us": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0, "sec": 1.0, "": 1e-6}
_RATES = {
    "bit": 1.0,
    "kbit": 1e3,
    "mbit": 1e6,
    "gbit": 1e9,
    "tbit": 1e12,
    "bps": 8.0,
    "kbps": 8e3,
    "mbps": 8e6,
    "gbps": 8e9,
}
_BYTES = {"": 1, "b": 1, "k": 1024, "kb": 1024, "m": 1024**2, "mb": 1024**2}


def read_containerlab(file: Path, text: str) -> Topology:
    """A file of containerlab.

    Raises:
        MeasurementError: it is no YAML, or no topology.
    """
    try:
        data: Any = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, RecursionError) as error:
        raise MeasurementError(f"{file}: no YAML ({str(error).splitlines()[0]}); give the whole file") from error
    topology = _mapping(_mapping(data).get("topology"))
    nodes = {str(name): _mapping(told) for name, told in _mapping(topology.get("nodes")).items()}
    links: list[MapLink] = []
    shaped = {name: _shaped(file, told.get("exec")) for name, told in nodes.items()}
    for number, each in enumerate(_list(topology.get("links")), start=1):
        ends = [_end(one) for one in _list(_mapping(each).get("endpoints"))]
        if len(ends) != 2 or any(name not in nodes for name, _ in ends):
            if any(name in ("host", "mgmt-net", "macvlan") for name, _ in ends):
                continue
            raise MeasurementError(
                f"{file}: link {number}: no two endpoints of nodes of the file; right is [a:eth1, b:eth1]"
            )
        (a, device_a), (b, device_b) = ends
        links.append(MapLink(a, b, shaped[a].get(device_a, MapWay()), shaped[b].get(device_b, MapWay())))
    if not links:
        raise MeasurementError(f"{file}: no topology of containerlab with a link; give a .clab.yml")
    counts = {name: sum(name in (link.a, link.b) for link in links) for name in nodes}
    usual = str(_mapping(topology.get("defaults")).get("kind") or HOST_KINDS[0])
    kinds = {name: str(told.get("kind") or usual) for name, told in nodes.items()}
    hosts = frozenset(name for name, kind in kinds.items() if counts[name] == 1 and kind in HOST_KINDS)
    alone = [name for name, count in counts.items() if not count]
    kept = [MapNode(name) for name in nodes if counts[name]]
    title = str(_mapping(data).get("name") or file.stem)
    return Topology(title, kept, links, hosts, (f"nodes without a link: {', '.join(alone)}",) if alone else ())


def _shaped(file: Path, commands: Any) -> dict[str, MapWay]:
    """Device → what the `tc` lines of a node make of what it sends.

    Raises:
        MeasurementError: a figure is none of a link.
    """
    found: dict[str, dict[str, Any]] = {}
    for command in _list(commands):
        for device, words in _TC.findall(str(command)):
            told = found.setdefault(device, {})
            if match := re.search(r"\bdelay\s+([\d.]+)([a-z]*)", words):
                told["delay_s"] = plain_number(match[1]) * _TIMES.get(match[2], 1e-6)
            if match := re.search(r"\bloss\s+(?:random\s+)?([\d.]+)%?", words):
                told["loss"] = plain_number(match[1]) / 100
            if match := re.search(r"\brate\s+([\d.]+)([A-Za-z]+)", words):
                told["rate_bps"] = plain_number(match[1]) * _RATES.get(match[2].lower(), 1.0)
            if "tbf" in words and (match := re.search(r"\blimit\s+(\d+)([a-z]*)", words)):
                told["queue_bytes"] = round(plain_number(match[1])) * _BYTES.get(match[2], 1)
            if any(told.get(key, 0) > most for key, most in MOST.items()):
                raise MeasurementError(
                    f"{file}: `{str(command)[:80]}`: a figure that no link has; give delays up to "
                    f"{MOST['delay_s']:g} s, rates up to {MOST['rate_bps']:g} bit/s"
                )
    return {device: MapWay(**told, source=f"tc of {device}") for device, told in found.items() if told}


def _end(text: Any) -> tuple[str, str]:
    node, _, device = str(text).partition(":")
    return node, device


def _mapping(value: Any) -> dict[Any, Any]:
    return cast("dict[Any, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
