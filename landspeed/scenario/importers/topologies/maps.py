"""Kinds of maps, and which of them a file is."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from landspeed.scenario.importers.topologies.containerlab import read_containerlab
from landspeed.scenario.importers.topologies.graphs import (
    read_gml,
    read_graphml,
    read_sndlib,
    read_sndlib_native,
)
from landspeed.scenario.importers.topologies.ns3_script import read_ns3
from landspeed.scenario.importers.topologies.topology import Topology

SAMPLE_BYTES = 100_000


@dataclass(frozen=True)
class MapKind:
    """A kind of map: what it is in words, what its files have in them, and its reader."""

    what: str
    like: re.Pattern[str]
    read: Callable[[Path, str], Topology]


KINDS = (
    MapKind("a map in GML", re.compile(r"^\s*graph\s*\[", re.MULTILINE), read_gml),
    MapKind("a map in GraphML", re.compile(r"<graphml\b"), read_graphml),
    MapKind("a network of SNDlib", re.compile(r"<network\b"), read_sndlib),
    MapKind("a network of SNDlib in its native form", re.compile(r"^\?SNDlib native format"), read_sndlib_native),
    MapKind("an ns-3 script of point-to-point links", re.compile(r"\bPointToPointHelper\b"), read_ns3),
    MapKind("a topology of containerlab", re.compile(r"^topology:\s*$", re.MULTILINE), read_containerlab),
)


def map_kind(file: Path) -> MapKind | None:
    """The kind of map that a file is; None of what is none, or cannot be read."""
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            text = opened.read(SAMPLE_BYTES)
    except OSError:
        return None
    return next((kind for kind in KINDS if kind.like.search(text)), None)
