"""Maps of the Topology Zoo (GML and GraphML) and of SNDlib (its native form and its XML)."""

from __future__ import annotations

import html
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from landspeed.scenario.importers.path_evidence import MeasurementError
from landspeed.scenario.importers.topologies.topology import MapLink, MapNode, MapWay, Topology

RATE_KEYS = ("LinkSpeedRaw", "bandwidth", "capacity")
_SECTION = re.compile(r"^(NODES|LINKS) \(\s*\n(.*?)^\)", re.MULTILINE | re.DOTALL)
_NODE = re.compile(r"^\s*(\S+) \(\s*(\S+)\s+(\S+)\s*\)", re.MULTILINE)
_LINK = re.compile(r"^\s*\S+ \(\s*(\S+)\s+(\S+)\s*\)\s+(\S+)(?:\s+[\d.]+){0,3}(?:\s+\(([^)]*)\))?", re.MULTILINE)
_TOKEN = re.compile(r'"([^"]*)"|([\[\]])|([^\s\[\]"]+)')
Pairs = list[tuple[str, Any]]


def read_gml(file: Path, text: str) -> Topology:
    """A map in GML (Himsolt, 1997): `graph [ node [ id 0 label "Oslo" Latitude 59.9 … ] edge [ source 0 … ] ]`.

    Raises:
        MeasurementError: its brackets do not match, or it is no graph.
    """
    tokens = iter(_TOKEN.findall(text))
    pairs = _pairs(file, tokens, 0)
    graph = cast("Pairs | None", next((value for key, value in pairs if key == "graph"), None))
    if not isinstance(graph, list):
        raise MeasurementError(f"{file}: no graph of GML; give the file as the Topology Zoo has it")
    told: dict[str, Any] = dict(graph)
    nodes, edges = (
        [dict(cast(Pairs, value)) for key, value in graph if key == kind and isinstance(value, list)]
        for kind in ("node", "edge")
    )
    return _of(file, str(told.get("label") or told.get("Network") or file.stem), nodes, edges)


def _pairs(file: Path, tokens: Iterator[tuple[str, str, str]], depth: int) -> Pairs:
    found: Pairs = []
    for quoted, bracket, word in tokens:
        if bracket == "]":
            if not depth:
                raise MeasurementError(f"{file}: a bracket closes that none opened; give the whole file")
            return found
        if bracket == "[":
            raise MeasurementError(f"{file}: a bracket without a name before it; give the whole file")
        key = word or quoted
        value = next(tokens, None)
        if value is None:
            raise MeasurementError(f"{file}: cut off after '{key}'; give the whole file")
        if depth > 8:
            raise MeasurementError(f"{file}: brackets nested more than 8 deep are no map; give a map in GML")
        found.append((key, _pairs(file, tokens, depth + 1) if value[1] == "[" else value[0] or value[2]))
    if depth:
        raise MeasurementError(f"{file}: cut off: a bracket does not close; give the whole file")
    return found


def read_graphml(file: Path, text: str) -> Topology:
    """A map in GraphML: nodes and edges with `data` of named keys.

    Raises:
        MeasurementError: it is no XML, or no graph.
    """
    root = _xml(file, text)
    names = {each.get("id", ""): each.get("attr.name", "") for each in root.iter() if _plain(each) == "key"}

    def data(of: ET.Element) -> dict[str, Any]:
        said = {names.get(each.get("key", ""), ""): (each.text or "").strip() for each in of if _plain(each) == "data"}
        return {**said, **of.attrib}

    graph = next((each for each in root.iter() if _plain(each) == "graph"), None)
    if graph is None:
        raise MeasurementError(f"{file}: no graph of GraphML; give the file as the Topology Zoo has it")
    title = data(graph).get("label") or data(graph).get("Network") or file.stem
    nodes = [data(each) for each in graph if _plain(each) == "node"]
    edges = [data(each) for each in graph if _plain(each) == "edge"]
    return _of(file, str(title), nodes, edges)


def read_sndlib_native(file: Path, text: str) -> Topology:
    """A network of SNDlib in its native form: `LINKS ( L1 ( Oslo Bergen ) 40.00 … )`.

    Raises:
        MeasurementError: it has no links.
    """
    plain = re.sub(r"#.*", "", text)
    sections = dict(_SECTION.findall(plain))
    found = _NODE.findall(sections.get("NODES", ""))
    nodes = [{"id": name, "label": name, "Longitude": east, "Latitude": north} for name, east, north in found]
    edges: list[dict[str, Any]] = []
    for source, target, installed, modules in _LINK.findall(sections.get("LINKS", "")):
        edges.append({"source": source, "target": target, **_capacity([installed], modules.split()[::2])})
    return _of(file, file.stem, nodes, edges)


def _capacity(installed: Iterable[str | None], modules: Iterable[str | None]) -> dict[str, float]:
    """The capacity that a link has (Mbit/s), else the most that it can be given."""
    told = [sum(_number(each) or 0 for each in installed), *(_number(each) or 0 for each in modules)]
    mbps = told[0] or max(told)
    return {"capacity": mbps * 1e6} if mbps > 0 else {}


def read_sndlib(file: Path, text: str) -> Topology:
    """A network of SNDlib (Orlowski et al., Networks 2010) in its native XML; capacities are in Mbit/s.

    Raises:
        MeasurementError: it is no XML, or no network.
    """
    root = _xml(file, text)
    nodes: list[dict[str, Any]] = []
    for each in (each for each in root.iter() if _plain(each) == "node"):
        name, place = each.get("id", ""), {"Longitude": _text(each, "x"), "Latitude": _text(each, "y")}
        nodes.append({"id": name, "label": name, **place})
    geographic = any(each.get("coordinatesType") == "geographical" for each in root.iter() if _plain(each) == "nodes")
    if not geographic:
        nodes = [{key: value for key, value in each.items() if key in ("id", "label")} for each in nodes]
    edges: list[dict[str, Any]] = []
    for link in (each for each in root.iter() if _plain(each) == "link"):
        installed, modules = (
            [each.text for of in link.iter() if _plain(of) == kind for each in of.iter() if _plain(each) == "capacity"]
            for kind in ("preInstalledModule", "additionalModules")
        )
        ends = {"source": _text(link, "source"), "target": _text(link, "target")}
        edges.append({**ends, **_capacity(installed, modules)})
    return _of(file, file.stem, nodes, edges)


def _of(file: Path, title: str, nodes: list[dict[str, Any]], edges: list[dict[str, Any]]) -> Topology:
    """The map of such nodes and edges; what cannot be used of them is told."""
    made = [
        MapNode(str(each.get("id")), html.unescape(str(each.get("label", ""))), *_place(each))
        for each in nodes
        if each.get("id") is not None
    ]
    keys = {each.key for each in made}
    links, loops, again = list[MapLink](), 0, 0
    seen: set[frozenset[str]] = set()
    for each in edges:
        a, b = str(each.get("source")), str(each.get("target"))
        if a not in keys or b not in keys:
            raise MeasurementError(
                f"{file}: an edge from {a} to {b}, of which a node is not in the file; give the whole"
            )
        if a == b:
            loops += 1
            continue
        if frozenset((a, b)) in seen:
            again += 1
            continue
        seen.add(frozenset((a, b)))
        rate, key = next(((value, key) for key in RATE_KEYS if (value := _number(each.get(key)))), (None, ""))
        way = MapWay(rate_bps=rate, source=key)
        links.append(MapLink(a, b, way, way))
    if not links:
        raise MeasurementError(f"{file}: a map without a link; give one with nodes and edges")
    joined = {key for link in links for key in (link.a, link.b)}
    alone = [each.label or each.key for each in made if each.key not in joined]
    notes = [f"{loops} links from a node to itself"] * bool(loops)
    notes += [f"{again} further links beside others"] * bool(again)
    notes += [f"nodes without a link: {', '.join(alone)}"] * bool(alone)
    return Topology(html.unescape(title), [each for each in made if each.key in joined], links, notes=tuple(notes))


def _place(node: dict[str, Any]) -> tuple[float | None, float | None]:
    north, east = _number(node.get("Latitude")), _number(node.get("Longitude"))
    if north is None or east is None or abs(north) > 90 or abs(east) > 180:
        return None, None
    return north, east


def _number(text: Any) -> float | None:
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if abs(value) < 1e15 else None


def _plain(element: ET.Element) -> str:
    """Tag of an element without the namespace."""
    return element.tag.rpartition("}")[2]


def _text(of: ET.Element, name: str) -> str:
    return next(((each.text or "").strip() for each in of.iter() if _plain(each) == name), "")


def _xml(file: Path, text: str) -> ET.Element:
    if "<!ENTITY" in text or "<!DOCTYPE" in text:
        raise MeasurementError(f"{file}: XML with a document type; give a map without one")
    try:
        return ET.fromstring(text)
    except ET.ParseError as error:
        line, column = error.position
        raise MeasurementError(f"{file}:{line}:{column + 1}: no XML ({error}); give the whole file") from error
