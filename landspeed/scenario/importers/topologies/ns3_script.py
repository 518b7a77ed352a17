"""ns-3 scripts of point-to-point links, C++ or Python, as far as they say their network in literal words.

A script is a program: only running it tells what it builds. What is read here is a script whose node containers,
helpers and installations are plain statements with numbers and names in quotes. Whatever is computed, comes from a
loop, a condition or a variable is refused, with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from landspeed.scenario.importers.path_evidence import MeasurementError
from landspeed.scenario.importers.reading import plain_number
from landspeed.scenario.importers.topologies.topology import MapLink, MapNode, MapWay, Topology

FRAME_BYTES = 1502  # a full packet with the two bytes of PPP, where a queue is told in packets
_BITS = {"bps": 1, "b/s": 1, "kbps": 1e3, "kb/s": 1e3, "mbps": 1e6, "mb/s": 1e6, "gbps": 1e9, "gb/s": 1e9, "tbps": 1e12}
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}
_COMMENT = re.compile(r"/\*[\s\S]*?\*/|//[^\n]*")
_HASH = re.compile(r"(?m)#[^\n]*")
_BLOCK = re.compile(r"\s*(?:for|while|if|else|switch|def(?!\s+main\b)|class)\b")
_NODES = re.compile(r"\b(\w+)\.Create\s*\((.*)\)\s*$")
_JOINED = re.compile(
    r"^(?:(?:ns3::)?NodeContainer\s+)?(\w+)\s*(?:=\s*[\w.:]*?NodeContainer)?\s*\((\s*\w+\.Get\s*\(.*)\)\s*$"
)
_ADD = re.compile(r"^(\w+)\.Add\s*\((.*)\)\s*$")
_SET = re.compile(r"\b(\w+)\.Set(Device|Channel)Attribute\s*\(\s*\"(\w+)\"\s*,\s*(.*)\)\s*$")
_QUEUE = re.compile(r"\b(\w+)\.SetQueue\s*\((.*)\)\s*$")
_INSTALL = re.compile(r"\b(\w+)\.Install\s*\((.*)\)\s*$")
_HELPER = re.compile(r"\bPointToPointHelper\s+(\w+)|\b(\w+)\s*=\s*(?:ns\.\w*\.?|ns3::)?PointToPointHelper\b")
_TIME = re.compile(
    r"(?:[\w.:]*TimeValue)?\s*\(*\s*[\w.:]*?(NanoSeconds|MicroSeconds|MilliSeconds|Seconds)\s*\(\s*([\d.]+)\s*\)\s*\)*"
)
_QUOTED = re.compile(r"(?:[\w.:]*?(?:StringValue|TimeValue|DataRateValue|DataRate|Time))?\s*\(*\s*\"([^\"]*)\"\s*\)*")
_MEMBER = re.compile(r"(\w+)\.Get\s*\(\s*(\d{1,6})\s*\)")
_OTHER = re.compile(
    r"\b(?:Csma|Wifi|YansWifi\w*|Lte|Nr|Wimax|Mesh|LrWpan|SimpleNetDevice|\w*FdNetDevice|TapBridge|Bridge|"
    r"PointToPoint(?:Dumbbell|Star|Grid|Epc))Helper\b"
)
_LOSSY = re.compile(r"\"ReceiveErrorModel\"")
_WORDS = {"NanoSeconds": "ns", "MicroSeconds": "us", "MilliSeconds": "ms", "Seconds": "s"}
WHAT = "a script that says rates, delays and nodes in literal words, or a map"


def read_ns3(file: Path, text: str) -> Topology:
    """The network of a script.

    Raises:
        MeasurementError: what it builds is computed; or it has no link between two nodes.
    """
    return _Script(file).read(text)


class _Script:
    """A script as it is read, statement by statement."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.helpers: dict[str, MapWay] = {}
        self.containers: dict[str, list[str]] = {}
        self.links: list[MapLink] = []
        self.notes: list[str] = []
        self.line = 0

    def read(self, text: str) -> Topology:
        for line, statement, nested in _statements(text, python=self.file.suffix == ".py"):
            self.line = line
            if _OTHER.search(statement):
                raise self._computed(statement, "a network that is not only links of a PointToPointHelper")
            if _LOSSY.search(statement):
                self.notes.append(f"line {line}, a model of losses")
            self._take(statement, nested=nested)
        if not self.links:
            raise MeasurementError(f"{self.file}: no link between two nodes of a PointToPointHelper; give {WHAT}")
        names = list(dict.fromkeys(end for link in self.links for end in (link.a, link.b)))
        counts = {name: sum(name in (link.a, link.b) for link in self.links) for name in names}
        hosts = frozenset(name for name, count in counts.items() if count == 1)
        return Topology(self.file.stem, [MapNode(name) for name in names], self.links, hosts, tuple(self.notes))

    def _take(self, statement: str, *, nested: bool) -> None:
        for match in _HELPER.finditer(statement):
            self.helpers[match[1] or match[2]] = MapWay()
        told = _SET.search(statement) or _QUEUE.search(statement) or _INSTALL.search(statement)
        if told and told[1] not in self.helpers:
            told = None
        nodes = _NODES.search(statement) or _JOINED.search(statement) or _ADD.search(statement)
        if nested and (told or (nodes and nodes.re is not _ADD)):
            raise self._computed(statement, "it stands in a loop or a condition")
        if told and told.re is _SET:
            self._set(told[1], told[2], told[3], told[4])
        elif told and told.re is _QUEUE:
            self._queue(told[1], told[2])
        elif told:
            self._install(told[1], told[2])
        elif nodes and nodes.re is _NODES:
            if not re.fullmatch(r"\s*\d{1,4}\s*", nodes[2]):
                raise self._computed(statement, "its number of nodes is no literal number")
            known = self.containers.setdefault(nodes[1], [])
            known += [f"{nodes[1]}-{len(known) + number}" for number in range(int(nodes[2]))]
        elif nodes and (nodes.re is _JOINED or nodes[1] in self.containers or ".Get" in nodes[2]):
            more = self._ends(nodes[2])
            self.containers[nodes[1]] = more if nodes.re is _JOINED else [*self.containers.get(nodes[1], []), *more]

    def _set(self, helper: str, of: str, key: str, value: str) -> None:
        way = self.helpers[helper]
        literal, quoted = _TIME.fullmatch(value.strip()), _QUOTED.fullmatch(value.strip())
        text = f"{literal[2]}{_WORDS[literal[1]]}" if literal else quoted[1] if quoted else ""
        match = re.fullmatch(r"([\d.]+)\s*([A-Za-z/]+)", text)
        if (of, key) == ("Device", "DataRate") and match and match[2].lower() in _BITS:
            rate = plain_number(match[1]) * _BITS[match[2].lower()]
            self.helpers[helper] = MapWay(way.delay_s, rate, source=self._source(), queue_bytes=way.queue_bytes)
        elif (of, key) == ("Channel", "Delay") and match and match[2] in _SECONDS:
            delay = plain_number(match[1]) * _SECONDS[match[2]]
            self.helpers[helper] = MapWay(delay, way.rate_bps, source=self._source(), queue_bytes=way.queue_bytes)
        elif key in ("DataRate", "Delay"):
            raise self._computed(value, f'{key} is no literal value, such as "5Mbps" or "2ms"')

    def _queue(self, helper: str, words: str) -> None:
        way, size = self.helpers[helper], re.search(r"\"MaxSize\"\s*,[^\"]*\"(\d{1,9})([pB])\"", words)
        if size is None:
            raise self._computed(words, 'its queue has no literal MaxSize, such as "100p"')
        count = int(size[1]) * (FRAME_BYTES if size[2] == "p" else 1)
        self.helpers[helper] = MapWay(way.delay_s, way.rate_bps, queue_bytes=count, source=way.source)

    def _install(self, helper: str, words: str) -> None:
        way, ends = self.helpers[helper], self._ends(words)
        if len(ends) != 2:
            raise self._computed(words, f"{len(ends)} nodes are known of the two that it joins")
        self.links.append(MapLink(ends[0], ends[1], way, way))

    def _ends(self, words: str) -> list[str]:
        """The nodes that are named: `n.Get(0), n.Get(1)`, or a container."""
        members = _MEMBER.findall(words)
        if members:
            if _MEMBER.sub("", words).strip(" ,()").rpartition(".")[2] not in ("", "NodeContainer"):
                raise self._computed(words, "not all of its nodes are literal, such as nodes.Get(0)")
            return [self._member(name, int(number)) for name, number in members]
        return list(self.containers.get(words.strip(), []))

    def _member(self, name: str, number: int) -> str:
        known = self.containers.get(name, [])
        if number >= len(known):
            raise self._computed(f"{name}.Get({number})", f"{name} has {len(known)} nodes as far as they are literal")
        return known[number]

    def _source(self) -> str:
        return f"line {self.line} of {self.file.name}"

    def _computed(self, statement: str, why: str) -> MeasurementError:
        shown = " ".join(statement.split())[:70]
        return MeasurementError(f"{self.file}:{self.line}: `{shown}`: {why}; only running it tells; give {WHAT}")


def _statements(text: str, *, python: bool) -> Iterator[tuple[int, str, bool]]:
    """Each statement with its line, and whether it stands in a loop or a condition."""
    if python:
        inside: int | None = None
        for number, line in enumerate(_HASH.sub("", text).replace("'", '"').splitlines(), start=1):
            margin = len(line) - len(line.lstrip())
            if inside is not None and line.strip() and margin <= inside:
                inside = None
            yield number, line.strip(), inside is not None
            if inside is None and _BLOCK.match(line):
                inside = margin
        return
    plain = _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    depth, blocks, begin = 0, list[int](), 0
    for match in re.finditer(r"\"(?:[^\"\\\n]|\\.)*\"|[;{}]", plain):
        if match[0][0] == '"':
            continue
        part = plain[begin : match.start()]
        line = plain.count("\n", 0, begin + len(part) - len(part.lstrip())) + 1
        alone = bool(_BLOCK.match(part)) and match[0] == ";"  # `for (…) x.Install (…);`, and the parts of `for (;;)`
        if part.strip():
            alone = alone or part.count(")") > part.count("(")
            yield line, part.strip(), bool(blocks) or alone
        if match[0] == "{":
            depth += 1
            if _BLOCK.match(part) or part.count(")") > part.count("("):
                blocks.append(depth)
        elif match[0] == "}":
            if blocks and blocks[-1] == depth:
                blocks.pop()
            depth = max(depth - 1, 0)
        begin = match.end()
